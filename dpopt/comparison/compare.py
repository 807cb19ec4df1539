"""Solvers and formulations run on the same best-response problems with equal limits, one row for each pair.

Every solver runs in a child process that is new for each problem, and that has solved a tiny problem before the clock
starts: loading a library and compiling a kernel count for nobody. Whatever one solver does (crash, hang, claim what is not
so) costs its row. Solvers from outside (entry points) may run in this process; they get copies of the problems.
Values are re-evaluated here; bounds are proven here, once for each problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from dpopt.comparison.judge import judged
from dpopt.comparison.one_run import run
from dpopt.comparison.parts import Case, CaseFacts, Comparison, Contestant, Row
from dpopt.errors import SolverUnavailableError
from dpopt.models.best_responses.relaxation_bound import relaxation_bound
from dpopt.programs.limits import SolveLimits
from dpopt.programs.solver import Solver
from dpopt.releases.solver_choice import formulation_named, solver_and_formulation, solver_with_duals
from dpopt.solvers.registry import BREAKDOWNS

LP_SECONDS = 60.0
ALL_TIME = 10**9
"""Sweeps of the local search, which would stop by itself after a few thousand: here it uses all of its time."""


def contestant_named(text: str, solver: Solver | None = None) -> Contestant:
    """Return the contestant that a user types: "cp-sat", or "highs:clique".

    Parameters
    ----------
    text
        Solver, or solver:formulation.
    solver
        In place of the registered one, for tests.

    Raises
    ------
    SolverUnavailableError
        No solver has this name.
    PlanError
        No formulation has this name, or the solver needs none.
    """
    inner, formulation = solver_and_formulation(text, in_child if solver is None else lambda name: solver)
    name = text.strip().partition(":")[0]
    if formulation is None:
        return Contestant(name, inner, None, ALL_TIME if name == "local-search" else None)
    return Contestant(f"{name}:{formulation.value}", inner, formulation)


def in_child(name: str) -> Solver:
    """Return a registered solver in a child process: the local search too, which usually runs in the driver's."""
    from dpopt.solvers.process.child_process import InChildProcess
    from dpopt.solvers.registry import AUTO, DEFAULT, SOLVERS, get_solver

    name = DEFAULT if name == AUTO else name
    solver = get_solver(name)
    if isinstance(solver, InChildProcess) or name not in SOLVERS:
        return solver
    return InChildProcess(
        SOLVERS[name].path, name=name, capabilities=solver.capabilities, availability=solver.availability
    )


def compare(
    cases: Sequence[Case],
    contestants: Sequence[Contestant],
    limits: SolveLimits,
    *,
    on_row: Callable[[Comparison], None] = lambda comparison: None,
) -> Comparison:
    """Run every contestant on every case.

    Parameters
    ----------
    cases, contestants
        What to run.
    limits
        The same for all; `seconds` is set.
    on_row
        Called after each row with everything so far; whoever interrupts the run has what was passed last.
    """
    found = Comparison(limits, tuple(contestant.label for contestant in contestants))
    for case in cases:
        facts = _facts(case, limits)
        rows: list[Row] = []
        before = list(found.rows)
        for contestant in contestants:
            rows.append(run(case, contestant, limits))
            values = [row.value for row in rows if row.value is not None]
            best = max([*values, *([] if case.best_known is None else [case.best_known])], default=None)
            now = replace(facts, best_value=best)
            found.rows = before + [judged(row, best, now.proven_bound, case.bound) for row in rows]
            found.facts = [known for known in found.facts if known.name != case.name] + [now]
            on_row(found)
    return found


def _facts(case: Case, limits: SolveLimits) -> CaseFacts:
    """Return size and proven bound of a case."""
    bound, by = case.problem.upper_bound(), "sum of the positive weights"
    try:
        duals = solver_with_duals(None)
        seconds = SolveLimits(seconds=LP_SECONDS, threads=limits.threads)
        relaxed = relaxation_bound(case.problem, duals, formulation_named(None), seconds)
    except SolverUnavailableError as error:
        by += f" ({error})"
    except BREAKDOWNS as error:  # linear programs may go to a solver from outside
        by += f" (the linear relaxation raised {type(error).__name__})"
    else:
        if relaxed.bound is not None and math.floor(relaxed.bound) < bound:
            bound = math.floor(relaxed.bound)
            by = f"weak duality, {relaxed.relaxation}, multipliers of {relaxed.solver}"
    size, clauses = case.problem.number_of_attributes, len(case.problem.clauses)
    return CaseFacts(case.name, size, clauses, bound, by, case.best_known, case.bound)
