"""Solvers and formulations by the names that a user types."""

from __future__ import annotations

from collections.abc import Callable

from dpopt.constraints import OneOf
from dpopt.errors import PlanError, SolverUnavailableError
from dpopt.models.best_responses.max_csp_as_mip import accepting_max_csp
from dpopt.models.best_responses.own_formulation import PREFIX, OwnFormulation
from dpopt.models.best_responses.portfolio import Portfolio
from dpopt.models.best_responses.presolved import Presolved
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.programs.solver import Capability, Solver
from dpopt.solvers import registry
from dpopt.solvers.outside import tried

FIRST_FOR_DUALS = ("mathopt-highs", "glop", "highs")
"""Simplex methods end at a vertex, whose duals have small denominators; they are asked first."""

FORMULATIONS = "dpopt.formulations"
"""The group of entry points of formulations from outside: functions of a model (`OwnFormulation`)."""


def formulation_named(name: str | None) -> Formulation:
    """Return the formulation of that name; without a name the one with the tightest relaxation."""
    if name is None:
        return Formulation.CLIQUE
    return Formulation(OneOf("a formulation", tuple(known.value for known in Formulation))(name, PlanError))


def solver_and_formulation(
    given: str | Solver, solver_named: Callable[[str], Solver] | None = None
) -> tuple[Solver, Formulation | None]:
    """Return the solver that a user names as "cp-sat" or "highs:clique", and its form of weighted clauses.

    In Python a solver may be given as it is. The formulation is None for solvers that take weighted clauses as they
    are, per-literal where none is named.
    """
    name, colon, formulation = given.strip().partition(":") if isinstance(given, str) else (given, "", "")
    if name == PREFIX:
        return registered_formulation(formulation), None
    solver = solver_named(name) if solver_named and isinstance(name, str) else registry.get_solver(name)
    if Capability.MAX_CSP in solver.capabilities:
        if colon:
            raise PlanError(f"{name} takes weighted clauses as they are; leave ':{formulation}' out")
        return solver, None
    return solver, formulation_named(formulation if colon else Formulation.PER_LITERAL.value)


def registered_formulation(name: str) -> OwnFormulation:
    """Return the formulation that another package registers under this name."""
    known = registry.outside(FORMULATIONS)
    if name not in known:
        there = f"there are {', '.join(known) or 'none'}"
        raise PlanError(f"no package registers a formulation {name!r} ({there}); in Python give the function itself")
    try:
        build: object = known[name].load()
    except registry.BREAKDOWNS as problem:
        raise PlanError(f"the formulation {name!r} does not load: {type(problem).__name__}: {problem}") from problem
    if not callable(build):
        raise PlanError(f"the formulation {name!r} is a {type(build).__name__}; expected a function of a model")
    return OwnFormulation(build, name)


def clause_solver(given: str | Solver) -> Solver:
    """Return the solver of a release's rounds: the local search, or an exact solver that it helps (`Portfolio`).

    Raises as `solver_and_formulation`.
    """
    solver, formulation = solver_and_formulation(given)
    taking = accepting_max_csp(solver) if formulation is None else accepting_max_csp(solver, formulation)
    if not isinstance(taking, Presolved):
        return taking
    return Presolved(Portfolio(taking.inner, registry.get_solver(registry.DEFAULT)))


def require_solver(given: str | Solver, takes: Capability = Capability.MAX_CSP, *, bounds: bool = False) -> None:
    """Refuse a solver that is unknown, cannot run here, or does not take the problems that it is to solve.

    Weighted clauses are written out for solvers that do not take them; the local search stands for methods of our own.
    With `bounds`, a solver of clauses from outside that states none is refused, too.
    """
    if takes is Capability.MAX_CSP or given == registry.DEFAULT:
        solver = clause_solver(given)
        while isinstance(solver, Presolved | Portfolio):  # they would settle it
            solver = solver.inner
        if not isinstance(solver, OwnFormulation):  # its rows are about attributes of the schema: tried with that
            tried(solver, takes, bounds=bounds)
        return
    solver = registry.get_solver(given)
    if takes not in solver.capabilities:
        raise PlanError(f"{solver.name} does not take {takes.value}; {', '.join(_with(takes))} do")
    tried(solver, takes)


def require_solver_again(name: str, given: Solver | None, takes: Capability = Capability.MAX_CSP) -> None:
    """Refuse to continue a run without the solver that it began with, which may have been no registered one."""
    if given is not None and given.name != name:
        raise PlanError(f"the run began with the solver {name!r}, found {given.name!r}; continue it with that one")
    known = (*registry.solver_names(), *(f"{PREFIX}:{one}" for one in registry.outside(FORMULATIONS)))
    if given is None and name not in known and name.partition(":")[0] not in known:
        raise SolverUnavailableError(
            f"the run began with a solver of its own, {name!r}, and none of this name is registered; continue it in "
            f"Python, with resume(..., solver=...)"
        )
    require_solver(name if given is None else given, takes)


def solver_with_duals(name: str | None) -> Solver:
    """Return the solver of that name, or the first available one, that takes linear programs and gives their duals."""
    if name is not None:
        solver = registry.get_solver(name)
        if not gives_duals(solver):
            others = ", ".join(_with(Capability.LP, Capability.DUALS))
            raise PlanError(f"{solver.name} gives no dual values of linear programs; one of {others} does")
        return registry.require_available(solver)
    for candidate in dict.fromkeys((*FIRST_FOR_DUALS, *registry.solver_names())):
        found = _loaded(candidate)
        if found is not None and gives_duals(found) and registry.whether_it_runs(found).available:
            return found
    raise SolverUnavailableError(
        "no solver that gives dual values of linear programs can run here; 'dpopt solvers' says what is missing"
    )


def gives_duals(solver: Solver) -> bool:
    """Return whether a solver takes linear programs and gives dual values."""
    return {Capability.LP, Capability.DUALS} <= solver.capabilities


def _with(*needed: Capability) -> list[str]:
    known = ((name, _loaded(name)) for name in registry.solver_names())
    return [name for name, one in known if one is not None and one.capabilities.issuperset(needed)]


def _loaded(name: str) -> Solver | None:
    """Return the solver of that name; None for one from outside that does not load."""
    try:
        return registry.get_solver(name)
    except SolverUnavailableError:
        return None
