"""CP-SAT of OR-Tools: a MaxCsp as it is, with rules and a proven bound; linear programs in whole numbers.

Model: a Boolean for each code of an attribute, exactly one true (two codes: one Boolean and its negation); a Boolean
c_j for each clause, tied to its truth in the direction that the weight does not push it; the rules as below; maximize
sum_j w_j c_j.

Rules on records: one constraint for each gate that must be true, and one Boolean for each other gate. A gate's sum is
at least its bound if it is required, else if its Boolean is true; one direction is enough, as the circuit is monotone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.building import Block, names_of
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram
from dpopt.programs.reduction import reduce_max_csp
from dpopt.programs.results import Limit, Point, SolveLimits, SolveResult
from dpopt.programs.solver import Capability, Program
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from dpopt.solvers.process.adapter import UNKNOWN_STATUS, History, Means, OwnValues, require_names, status_table

if TYPE_CHECKING:
    from ortools.sat.python import cp_model
    from ortools.sat.python.cp_model_helper import Literal

    CpModel = cp_model.CpModel


def add_rules(
    model: cp_model.CpModel, rules: ThresholdCircuit, offsets: NDArray[np.int64], codes: list[Literal]
) -> None:
    """Add the gates to the model, children first. `codes` are the literals of the flat columns.

    Loops over the gates, as the library's interface is one call for each.
    """
    low, _ = rules.term_ranges()
    gains = rules.values - np.repeat(low, np.diff(rules.value_starts))  # what a code adds beyond the least
    truths: list[Literal] = []
    for gate, required in enumerate(rules.required.tolist()):
        terms = range(int(rules.term_starts[gate]), int(rules.term_starts[gate + 1]))
        needed = int(rules.bounds[gate]) - int(low[terms.start : terms.stop].sum())
        literals, amounts = _terms(rules, terms, gains, offsets, codes)
        entries = slice(int(rules.child_starts[gate]), int(rules.child_starts[gate + 1]))
        literals += [truths[child] for child in rules.children[entries].tolist()]
        amounts += rules.coefficients[entries].tolist()
        truth = None if required else model.new_bool_var("")
        truths.append(model.new_constant(1) if truth is None else truth)
        _add_gate(model, truth, literals, amounts, needed)


def _terms(
    rules: ThresholdCircuit, terms: range, gains: NDArray[np.int64], offsets: NDArray[np.int64], codes: list[Literal]
) -> tuple[list[Literal], list[int]]:
    """Return the literals of the codes that add to a gate's sum, and the amount of each."""
    starts = rules.value_starts[terms.start : terms.stop + 1]
    entry = np.arange(int(starts[0]), int(starts[-1]))
    owner = np.repeat(np.arange(terms.stop - terms.start), np.diff(starts))
    used = gains[entry] > 0
    columns = offsets[rules.term_attributes[terms.start : terms.stop]][owner] + entry - starts[:-1][owner]
    return [codes[column] for column in columns[used].tolist()], gains[entry][used].tolist()


def _add_gate(
    model: cp_model.CpModel, truth: Literal | None, literals: list[Literal], amounts: list[int], needed: int
) -> None:
    """Add: the amounts of the true literals sum to at least `needed`, if `truth` (None: always)."""
    if needed <= 0:
        return
    if all(amount >= needed for amount in amounts):
        constraint = model.add_bool_or(literals)
    else:
        total = sum(amount * literal for amount, literal in zip(amounts, literals, strict=True))
        constraint = model.add(total >= needed)
    if truth is not None:
        constraint.only_enforce_if(truth)


STATUS = status_table(
    (Means.OPTIMAL, "OPTIMAL"),
    (Means.TIME, "FEASIBLE UNKNOWN"),
    (Means.INFEASIBLE, "INFEASIBLE"),
    (Means.FAILED, "MODEL_INVALID"),
)
"""Every name of CpSolverStatus. Which limit it was is made precise by `_limit`."""

_INFINITE = 2.0**62  # objectives are whole and smaller


@dataclass(frozen=True, slots=True)
class CpSat:
    """The adapter. `limits.work` counts CP-SAT's deterministic seconds; with it and one thread, runs repeat."""

    name: str = "cp-sat"
    capabilities: frozenset[Capability] = frozenset(
        {Capability.MAX_CSP, Capability.RULES, Capability.WHOLE, Capability.WARM_START, Capability.DETERMINISTIC_LIMIT}
    )

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a MaxCsp, or a program in whole numbers."""
        from ortools.sat.python import cp_model

        if not isinstance(program, MaxCsp | MixedIntegerProgram):
            raise ProgramError("cp-sat takes a MaxCsp or a linear program in whole numbers")
        history = History(beyond=_INFINITE)
        posed = _of_clauses(program, hint) if isinstance(program, MaxCsp) else _of_program(program, hint)
        solver = _configured(cp_model.CpSolver(), limits)
        solver.best_bound_callback = lambda bound: history.note(bound=bound)
        status = solver.solve(posed.model, _listener(history))
        native = solver.status_name(status)
        termination, limit = STATUS.get(native, UNKNOWN_STATUS)
        found = native in {"OPTIMAL", "FEASIBLE"}
        bounded = found or native == "UNKNOWN"
        bound = float(solver.best_objective_bound)
        if found:
            history.note(objective=float(solver.objective_value), bound=bound)
        return SolveResult(
            termination=termination,
            limit=_limit(solver, limits) if limit is not None else None,
            solution=posed.point(solver) if found else None,
            objective=float(solver.objective_value) if found else None,
            bound=bound if bounded and np.isfinite(bound) else None,
            solver=self.name,
            version=_version(),
            native_status=native,
            report={"branches": int(solver.num_branches), "deterministic_seconds": float(_work(solver))},
            history=history.entries(),
        )


@dataclass(frozen=True, slots=True)
class _Posed:
    """A model, and how a solution of the problem is read off."""

    model: cp_model.CpModel
    point: Callable[[cp_model.CpSolver], Point]


def _of_clauses(program: MaxCsp, hint: Point | None) -> _Posed:
    from ortools.sat.python import cp_model

    reduction = reduce_max_csp(program, hint)
    problem, model = reduction.problem, cp_model.CpModel()
    codes = _codes(model, problem)
    add_rules(model, problem.rules, problem.offsets(), codes)
    truths = _truths(model, problem, codes)
    model.maximize(sum(w * c for w, c in zip(problem.weights.tolist(), truths, strict=True)))
    if hint is not None:
        _add_hint(model, codes, truths, problem, reduction.shrink())

    def record(solver: cp_model.CpSolver) -> Point:
        values = np.array([solver.boolean_value(literal) for literal in codes])
        offsets = problem.offsets()[:-1]
        chosen = np.add.reduceat(np.arange(values.size) * values, offsets) - offsets if values.size else offsets
        return reduction.expand(chosen.astype(np.int32))

    return _Posed(model, record)


def _of_program(program: MixedIntegerProgram, hint: Point | None) -> _Posed:
    model = cp_sat_model(program)
    for variable, value in enumerate([] if hint is None else hint.tolist()):
        model.add_hint(model.get_int_var_from_proto_index(variable), round(value))
    return _Posed(model, lambda solver: np.array(solver.response_proto.solution, dtype=np.float64))


def _listener(history: History) -> cp_model.CpSolverSolutionCallback:
    """Return a callback that notes every new incumbent and the bound at that moment."""
    from ortools.sat.python import cp_model

    class Listener(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            history.note(objective=float(self.objective_value), bound=float(self.best_objective_bound))

    return Listener()


def _version() -> str:
    import ortools

    return str(vars(ortools).get("__version__", ""))


def _configured(solver: cp_model.CpSolver, limits: SolveLimits) -> cp_model.CpSolver:
    parameters = solver.parameters
    parameters.num_workers = limits.threads
    parameters.random_seed = limits.seed
    parameters.catch_sigint_signal = False  # else Ctrl-C is swallowed
    # All of the linear relaxation: it proves in a fraction of a second what the default does not in minutes. With a
    # few threads the default portfolio has no worker that uses it.
    parameters.linearization_level = 2
    if limits.threads > 1:
        parameters.extra_subsolvers.append("max_lp")
    if limits.seconds is not None:
        parameters.max_time_in_seconds = limits.seconds
    if limits.work is not None:
        parameters.max_deterministic_time = float(limits.work)
    if limits.gap is not None:
        parameters.absolute_gap_limit = limits.gap
    return solver


def _limit(solver: cp_model.CpSolver, limits: SolveLimits) -> Limit:
    return Limit.WORK if limits.work is not None and _work(solver) >= limits.work else Limit.TIME


def _work(solver: cp_model.CpSolver) -> float:
    return float(solver.response_proto.deterministic_time)


def _codes(model: cp_model.CpModel, problem: MaxCsp) -> list[Literal]:
    """Return a literal for every flat column, exactly one true per attribute."""
    literals: list[Literal] = []
    for size in problem.sizes.tolist():
        if size == 2:
            first = model.new_bool_var("")
            group: list[Literal] = [first, ~first]
        else:
            group = [model.new_bool_var("") for _ in range(size)]
            model.add_exactly_one(group)
        literals += group
    return literals


def _truths(model: cp_model.CpModel, problem: MaxCsp, codes: list[Literal]) -> list[Literal]:
    """Return a Boolean for every clause, tied to its truth.

    Loops over the clauses, as the library's interface is one call for each: some 10 microseconds per clause.
    """
    from ortools.sat.python import cp_model

    clauses, offsets = problem.clauses, problem.offsets()
    columns = (offsets[clauses.attributes] + clauses.values).tolist()
    signs, accepted = clauses.signs.tolist(), clauses.accepted.tolist()
    truths: list[Literal] = []
    for j, width in enumerate(clauses.widths().tolist()):
        pairs = zip(columns[j][:width], signs[j][:width], strict=True)
        literals = [codes[column] if sign else ~codes[column] for column, sign in pairs]
        truth = model.new_bool_var("")
        rewarded = bool(problem.weights[j] > 0)
        if accepted[j] == 1 << width:
            _tie_conjunction(model, truth, literals, rewarded=rewarded)
        elif accepted[j] == (1 << width) - 1:
            _tie_conjunction(model, ~truth, literals, rewarded=not rewarded)
        else:
            wanted = [count for count in range(width + 1) if (accepted[j] >> count & 1) == rewarded]
            domain = cp_model.Domain.from_values(wanted)
            constraint = model.add_linear_expression_in_domain(sum(literals), domain)
            constraint.only_enforce_if(truth if rewarded else ~truth)
        truths.append(truth)
    return truths


def _tie_conjunction(model: cp_model.CpModel, truth: Literal, literals: list[Literal], *, rewarded: bool) -> None:
    """Let `truth` be at most (rewarded) or at least (not) the conjunction of the literals."""
    if rewarded:
        model.add_bool_and(literals).only_enforce_if(truth)
    else:
        model.add_bool_or([truth, *(~literal for literal in literals)])


def _add_hint(
    model: cp_model.CpModel, codes: list[Literal], truths: list[Literal], problem: MaxCsp, start: NDArray[np.int32]
) -> None:
    """Hint at a record and the truth of its clauses: CP-SAT may lose a hint that leaves variables open."""
    from dpopt.queries.counting.kernels import satisfied  # imports numba

    offsets = problem.offsets()
    chosen = set((offsets[:-1] + start).tolist())
    for attribute, size in enumerate(problem.sizes.tolist()):
        low = int(offsets[attribute])
        for column in range(low, low + (1 if size == 2 else size)):
            model.add_hint(codes[column], column in chosen)
    for truth, true in zip(truths, satisfied(problem.clauses, start).tolist(), strict=True):
        model.add_hint(truth, true)


def cp_sat_model(
    program: MixedIntegerProgram | QuadraticProgram,
    variables: Sequence[Block] = (),
    rows: Sequence[Block] = (),
    *,
    name: str = "dpopt",
) -> cp_model.CpModel:
    """Return a program in whole numbers as a model of OR-Tools' CP-SAT."""
    from ortools.sat.python import cp_model

    instead = "; take to_mathopt or to_cvxpy"
    if isinstance(program, QuadraticProgram):
        raise ProgramError("CP-SAT holds linear programs in whole numbers, and no squares" + instead)
    names = names_of(variables, "x", program.number_of_variables)
    reason = program.why_not_whole(names)
    if reason is not None:
        raise ProgramError(f"CP-SAT holds linear programs in whole numbers only; {reason}" + instead)
    model = cp_model.CpModel()
    model.name = name
    lower, upper = np.ceil(program.lower).astype(int).tolist(), np.floor(program.upper).astype(int).tolist()
    found = [model.new_int_var(*one) for one in zip(lower, upper, names, strict=True)]
    starts, columns = program.row_starts.tolist(), program.columns.tolist()
    coefficients = program.coefficients.astype(np.int64).tolist()
    labels = names_of(rows, "r", program.number_of_rows)
    for i, label in enumerate(labels):
        entries = range(starts[i], starts[i + 1])
        total = cp_model.LinearExpr.weighted_sum(
            [found[columns[e]] for e in entries], [coefficients[e] for e in entries]
        )
        low, high = program.row_lower[i], program.row_upper[i]
        model.add_linear_constraint(
            total,
            int(np.ceil(low)) if np.isfinite(low) else cp_model.INT_MIN,
            int(np.floor(high)) if np.isfinite(high) else cp_model.INT_MAX,
        ).with_name(label)
    goal = cp_model.LinearExpr.weighted_sum(found, program.objective.astype(np.int64).tolist())
    (model.maximize if program.maximize else model.minimize)(goal)
    return model


def own_values(model: CpModel, names: Sequence[str], limits: SolveLimits) -> OwnValues:
    """Solve a model in CP-SAT's objects, and return the values of these variables."""
    from ortools.sat.python import cp_model

    place = {variable.name: number for number, variable in enumerate(model.proto.variables)}
    require_names(names, place)
    solver = _configured(cp_model.CpSolver(), limits)
    native = solver.status_name(solver.solve(model))
    values = None
    if native in {"OPTIMAL", "FEASIBLE"}:
        values = np.array(solver.response_proto.solution, dtype=np.float64)[[place[name] for name in names]]
    return OwnValues(values, STATUS.get(native, UNKNOWN_STATUS), native, f"CP-SAT {_version()}")
