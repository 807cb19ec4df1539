"""Linear, convex quadratic and conic programs through CVXPY, by Clarabel, OSQP, SCS and HiGHS, with their statuses.

Problem handed over: minimize |sqrt(w) (F x - t)|^2 / 2 + c . x subject to rows, bounds and cones (`cvxpy_problem`); a
quadratic program in units in which its entries are near 1 (`Scaled`).

No bound is claimed: what comes back are approximate duals, from which `dpopt.programs.duality` computes a bound that is
proven. CVXPY looks at every solver library that is installed; OR-Tools and Gurobi are kept out of its process.

Statuses are read as the library reports them, not as CVXPY sums them up: CVXPY's "optimal_inaccurate" is SCS's word for
a time limit too, and "user_limit" does not say which.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.building import Block
from dpopt.programs.conic import Cone, ConicProgram, PointProgram, matrices_of, side_of, triangle_of
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram, Scaled
from dpopt.programs.results import Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.solvers.process.adapter import (
    UNKNOWN_STATUS,
    Means,
    OwnValues,
    Verdict,
    is_incumbent,
    require_names,
    status_table,
)

if TYPE_CHECKING:
    import cvxpy
    from scipy.sparse import csr_array

    CvxpyNative = cvxpy.Problem

# A program that is dual infeasible is unbounded if it is feasible at all, which these solvers do not find out.
CLARABEL = status_table(
    (Means.OPTIMAL, "Solved"),
    (Means.INFEASIBLE, "PrimalInfeasible"),
    (Means.EITHER, "DualInfeasible"),
    (Means.IMPRECISE, "AlmostSolved AlmostPrimalInfeasible AlmostDualInfeasible InsufficientProgress"),
    (Means.WORK, "MaxIterations"),
    (Means.TIME, "MaxTime"),
    (Means.INTERRUPTED, "CallbackTerminated"),
    (Means.FAILED, "Unsolved NumericalError"),
)
"""Every name of clarabel.SolverStatus."""

OSQP = status_table(
    (Means.OPTIMAL, "1"),
    (Means.INFEASIBLE, "3"),
    (Means.EITHER, "5"),
    (Means.IMPRECISE, "2 4 6"),  # the same three, inaccurate
    (Means.WORK, "7"),
    (Means.TIME, "8"),
    (Means.INTERRUPTED, "10"),
    (Means.FAILED, "9 11"),  # not convex, unsolved
)
"""Every number of osqp.SolverStatus."""

SCS = status_table(
    (Means.OPTIMAL, "1"),
    (Means.INFEASIBLE, "-2"),
    (Means.EITHER, "-1"),
    (Means.IMPRECISE, "2 -7 -6"),  # the same three, inaccurate; or a limit, see `SCS_LIMITS`
    (Means.INTERRUPTED, "-5"),
    (Means.FAILED, "0 -3 -4"),  # unfinished, indeterminate, failed
)
"""Every number of a status in the module scs."""

SCS_LIMITS: dict[str, Verdict] = {"reached time_limit_secs": Means.TIME, "reached max_iters": Means.WORK}
"""SCS's phrases for an outcome that is not accurate, or not determined."""

HIGHS = status_table(
    (Means.OPTIMAL, "kOptimal"),
    (Means.INFEASIBLE, "kInfeasible"),
    (Means.EITHER, "kUnboundedOrInfeasible"),
    (Means.UNBOUNDED, "kUnbounded"),
    (Means.TIME, "kTimeLimit"),
    (Means.WORK, "kIterationLimit"),
    (Means.MEMORY, "kMemoryLimit"),
    (Means.INTERRUPTED, "kInterrupt kHighsInterrupt"),
    (Means.FAILED, "kNotset kLoadError kModelError kPresolveError kSolveError kPostsolveError"),
    (Means.FAILED, "kModelEmpty kUnknown"),
    (Means.FAILED, "kObjectiveBound kObjectiveTarget kSolutionLimit"),  # never set here
)
"""Every name of highspy.HighsModelStatus."""


KEPT_OUT = ("ortools", "gurobipy")
"""CVXPY would import these; OR-Tools and highspy each bring a HiGHS, and may crash together."""

_ACCURACY = 1e-8
_ITERATIONS = 1_000_000  # of first-order methods, where no limit is given
_STEADY = 5_000  # iterations for which OSQP keeps its step size; adapting every 25, it never ended on one small program in 170


@dataclass(frozen=True, slots=True)
class CvxpyConvex:
    """The adapter of the solver of this name.

    `limits.work` counts iterations. Gaps do not apply, hints are not taken. Not honoured: the seed by Clarabel, OSQP
    and SCS, which draw nothing; threads by OSQP and SCS, which run on one. OSQP is for quadratic programs: on the
    linear relaxation of a best response of 2,000 variables it does not get near these tolerances in 10 s, the others
    need .3 s.
    """

    name: str

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The abilities of the library."""
        known = {Capability.LP, Capability.CONVEX_QP, Capability.DUALS, Capability.DETERMINISTIC_LIMIT}
        return frozenset(known | {Capability.CONES, Capability.SDP} if LIBRARIES[self.name].cones else known)

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a linear or a quadratic program, or one with cones."""
        for name in KEPT_OUT:
            sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # None: an import of it fails
        if isinstance(program, MaxCsp):
            raise ProgramError(f"{self.name} takes linear, quadratic and conic programs")
        library = LIBRARIES[self.name]
        scaled = Scaled.of(program) if isinstance(program, QuadraticProgram) else None
        written = cvxpy_problem(program if scaled is None else scaled.program)
        problem = written.problem
        options = library.options(limits)
        data, chain, inverse = problem.get_problem_data(library.name, solver_opts=dict(options))
        answer = chain.solve_via_data(problem, data, warm_start=False, verbose=False, solver_opts=dict(options))
        native, words = library.native(answer)
        termination, limit = library.verdict(native, words)
        point = duals = None
        if termination in {Termination.OPTIMAL, Termination.IMPRECISE, Termination.LIMIT}:
            point, duals = _values(written, (answer, chain, inverse))
        if scaled is not None:
            point = None if point is None else scaled.columns * point
            duals = None if duals is None else scaled.rows * duals
        if termination is Termination.LIMIT and (
            not library.iterates or point is None or not is_incumbent(program, point)
        ):
            point = duals = None
        if point is None and termination is Termination.OPTIMAL:
            termination, limit = UNKNOWN_STATUS
        return SolveResult(
            termination=termination,
            limit=limit,
            solution=point,
            objective=None if point is None else program.evaluate(point),
            solver=self.name,
            version=library.version(),
            native_status=words,
            duals=None if duals is None or point is None else duals,
        )


@dataclass(frozen=True, slots=True, eq=False)
class CvxpyProblem:
    """A program in CVXPY's objects."""

    problem: cvxpy.Problem
    """The problem. A maximization maximizes."""
    variables: list[cvxpy.Variable]
    """One flat variable for each block."""
    constraints: list[tuple[cvxpy.Constraint, NDArray[np.int64], float]]
    """Each constraint on rows with the rows that it stands for, and the sign of its duals."""
    cones: list[tuple[cvxpy.Constraint, Cone]]
    """Each constraint on cones with their kind, in the order of the members."""
    number_of_rows: int
    """Rows of the program."""

    def point(self) -> NDArray[np.float64] | None:
        """Return the values of all variables, (n,); None if there are none."""
        values = [variable.value for variable in self.variables]
        if any(value is None for value in values):
            return None
        return np.concatenate([np.zeros(0), *(np.atleast_1d(np.asarray(one, np.float64)) for one in values)])

    def duals(self) -> NDArray[np.float64] | None:
        """Return the dual of each row, then of each member of a cone.

        A row with two sides has two constraints, of which one at most is active.
        """
        total = np.zeros(self.number_of_rows)
        for constraint, row, sign in self.constraints:
            if constraint.dual_value is None:
                return None
            total[row] += sign * np.atleast_1d(np.asarray(constraint.dual_value, dtype=np.float64))
        parts = [total]
        for constraint, kind in self.cones:
            if constraint.dual_value is None or any(one is None for one in constraint.dual_value):
                return None
            parts.append(_member_duals(constraint, kind))
        return np.concatenate(parts)


def cvxpy_problem(
    program: PointProgram, variables: Sequence[Block] = (), rows: Sequence[Block] = (), cones: Sequence[Block] = ()
) -> CvxpyProblem:
    """Return the program in CVXPY's objects: a vector for each block of variables, a constraint for each side of a block."""
    import cvxpy
    from scipy.sparse import csr_array

    linear = program.linear
    parts = variables or [Block("x", 0, (linear.number_of_variables,))]
    found = [_cvxpy_variable(linear, part) for part in parts]

    def product(matrix: csr_array[np.float64]) -> cvxpy.Expression:
        terms: list[cvxpy.Expression] = []
        for part, variable in zip(parts, found, strict=True):
            own = matrix[:, part.first : part.first + part.size]
            if own.nnz or not (terms or part is not parts[-1]):
                terms.append(own @ variable)  # rows without entries are rows, too
        return sum(terms[1:], terms[0])

    objective = cvxpy.sum(product(csr_array(linear.objective[None, :])))
    quadratic = program.quadratic if isinstance(program, ConicProgram) else program
    if isinstance(quadratic, QuadraticProgram) and quadratic.targets.size:
        roots = np.sqrt(quadratic.weights)
        objective += cvxpy.sum_squares(product(quadratic.square_matrix(roots)) - roots * quadratic.targets) / 2
    matrix = linear.matrix()
    sense = 1.0 if linear.maximize else -1.0
    constraints = []
    for block in rows or [Block("r", 0, (linear.number_of_rows,))]:
        numbers = np.arange(block.first, block.first + block.size)
        lower, upper = linear.row_lower[numbers], linear.row_upper[numbers]
        equal = numbers[lower == upper]
        above = numbers[np.isfinite(upper) & (lower != upper)]
        below = numbers[np.isfinite(lower) & (lower != upper)]
        for chosen, side in ((equal, 0), (above, 1), (below, -1)):
            if not chosen.size:
                continue
            sums = product(matrix[chosen])
            if side < 0:
                constraint = sums >= linear.row_lower[chosen]
            else:
                bound = linear.row_upper[chosen]
                constraint = sums <= bound if side else sums == bound
            constraint.set_label(block.symbol)
            constraints.append((constraint, chosen, sense if side >= 0 else -sense))
    coned = _cone_constraints(program, product, cones) if isinstance(program, ConicProgram) else []
    goal = cvxpy.Maximize(objective) if linear.maximize else cvxpy.Minimize(objective)
    problem = cvxpy.Problem(goal, [*(one for one, _, _ in constraints), *(one for one, _ in coned)])
    return CvxpyProblem(problem, found, constraints, coned, linear.number_of_rows)


def _cone_constraints(
    program: ConicProgram, product: Callable[[csr_array[np.float64]], cvxpy.Expression], labels: Sequence[Block]
) -> list[tuple[cvxpy.Constraint, Cone]]:
    """Return one constraint for each block of cones, or for each matrix, with its kind."""
    import cvxpy
    from scipy.sparse import csr_array

    found: list[tuple[cvxpy.Constraint, Cone]] = []
    matrix, first = program.member_matrix(), 0
    for place, block in enumerate(program.blocks):
        number, size = block.number, block.size
        members = np.arange(first, first + number * size).reshape(number, size)
        first += number * size
        if block.kind is Cone.SEMIDEFINITE:
            side = side_of(size)
            whole = matrices_of(np.arange(float(size))).astype(np.int64).ravel()  # which member is each entry
            symmetric = csr_array((np.ones(whole.size), (np.arange(whole.size), whole)))
            for one in members:
                sums = symmetric @ (product(matrix[one]) + program.constants[one])
                constraint = cvxpy.PSD(cvxpy.reshape(sums, (side, side), order="C"))
                if labels:
                    constraint.set_label(labels[place].symbol)
                found.append((constraint, block.kind))
            continue
        sums = [product(matrix[one]) + program.constants[one] for one in members.T]
        if block.kind is Cone.EXPONENTIAL:
            constraint = cvxpy.ExpCone(*sums)
        elif block.kind is Cone.SECOND_ORDER:
            constraint = cvxpy.SOC(sums[0], cvxpy.vstack(sums[1:]), axis=0)
        else:
            p, q, *rest = sums
            constraint = cvxpy.SOC(p + q, cvxpy.vstack([p - q, *(2 * one for one in rest)]), axis=0)
        if labels:
            constraint.set_label(labels[place].symbol)
        found.append((constraint, block.kind))
    return found


def _member_duals(constraint: cvxpy.Constraint, kind: Cone) -> NDArray[np.float64]:
    """Return the duals of the members of a block of cones, cone by cone."""
    if kind is Cone.SEMIDEFINITE:
        return triangle_of(np.asarray(constraint.dual_value, dtype=np.float64), 2.0)
    if kind is Cone.EXPONENTIAL:
        return np.column_stack([np.ravel(one) for one in constraint.dual_value]).ravel()
    head, rest = np.ravel(constraint.dual_value[0]), np.asarray(constraint.dual_value[1], dtype=np.float64)
    rest = rest.reshape(-1, head.size)
    if kind is Cone.SECOND_ORDER:
        return np.vstack((head, rest)).T.ravel()
    return np.vstack((head + rest[0], head - rest[0], 2.0 * rest[1:])).T.ravel()


def _cvxpy_variable(program: MixedIntegerProgram, block: Block) -> cvxpy.Variable:
    import cvxpy

    part = slice(block.first, block.first + block.size)
    whole = program.integrality[part]
    kind: dict[str, object] = {}
    if whole.all() and whole.size:
        kind["integer"] = True
    elif whole.any():
        kind["integer"] = (np.flatnonzero(whole),)
    return cvxpy.Variable(block.size, name=block.symbol, bounds=[program.lower[part], program.upper[part]], **kind)


def _values(
    written: CvxpyProblem, answer: tuple[object, object, object]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Let CVXPY turn the library's answer back into values of the variables and of the rows' duals."""
    import cvxpy

    try:
        written.problem.unpack_results(*answer)
    except cvxpy.error.SolverError:
        return None, None
    point = written.point()
    return point, None if point is None else written.duals()


Options = dict[str, float | int | bool | str]


@dataclass(frozen=True, slots=True)
class _Library:
    """One solver behind CVXPY.

    `code` and `words` find the status in what the library answers; the words are the code where they are left out.
    `iterates`: at a limit it leaves its last iterate (HiGHS leaves zeros, which CVXPY copies). `cones`: it takes cones.
    """

    name: str
    module: str
    statuses: dict[str, Verdict]
    options: Callable[[SolveLimits], Options]
    code: Callable[[object], object]
    words: Callable[[object], object] | None = None
    iterates: bool = True
    cones: bool = False

    def native(self, answer: object) -> tuple[str, str]:
        """Return the status by the name in `statuses`, and the status in the library's words."""
        code = self.code(answer)
        name = str(int(code)) if isinstance(code, int) else str(code)  # a number may be a member of an enumeration
        return name, name if self.words is None else str(self.words(answer))

    def version(self) -> str:
        """Return the version of the library where it is known, and of CVXPY."""
        import cvxpy

        own = vars(sys.modules[self.module]).get("__version__", "")
        return f"{self.module} {own} (CVXPY {cvxpy.__version__})".replace("  ", " ")

    def verdict(self, native: str, words: str) -> Verdict:
        """Return the meaning of a status; only SCS's text says that a limit was reached."""
        found = self.statuses.get(native, UNKNOWN_STATUS)
        if self.name == "SCS" and found[0] in {Termination.IMPRECISE, Termination.FAILED}:
            found = next((meaning for text, meaning in SCS_LIMITS.items() if text in words), found)
        return found


def _timed(limits: SolveLimits, seconds: str, work: str, options: Options) -> Options:
    if limits.seconds is not None:
        options[seconds] = limits.seconds
    if limits.work is not None:
        options[work] = limits.work
    return options


def _clarabel(limits: SolveLimits) -> Options:
    return _timed(limits, "time_limit", "max_iter", {"max_threads": limits.threads})


def _osqp(limits: SolveLimits) -> Options:
    options: Options = {
        "eps_abs": _ACCURACY,
        "eps_rel": _ACCURACY,
        "max_iter": _ITERATIONS,
        "polishing": True,
        "adaptive_rho_interval": _STEADY,
    }
    return _timed(limits, "time_limit", "max_iter", options)


def _scs(limits: SolveLimits) -> Options:
    options: Options = {"eps_abs": _ACCURACY, "eps_rel": _ACCURACY, "max_iters": _ITERATIONS}
    return _timed(limits, "time_limit_secs", "max_iters", options)


def _highs(limits: SolveLimits) -> Options:
    options: Options = {"threads": limits.threads, "random_seed": limits.seed}
    # HiGHS adds 1e-7 to the diagonal of the squares: with variances of 1e4 that moved a tree of 1,024 bins by 10, "optimal".
    options["qp_regularization_value"] = 0.0
    if limits.work is not None:
        options |= {"qp_iteration_limit": limits.work, "ipm_iteration_limit": limits.work}
    return _timed(limits, "time_limit", "simplex_iteration_limit", options)


def _entry(*keys: str) -> Callable[[object], object]:
    """Return a function that looks up an entry in nested dictionaries."""

    def look_up(answer: object) -> object:
        for key in keys:
            answer = cast("dict[str, object]", answer)[key]
        return answer

    return look_up


LIBRARIES: dict[str, _Library] = {
    "clarabel": _Library("CLARABEL", "clarabel", CLARABEL, _clarabel, attrgetter("status"), cones=True),
    "osqp": _Library("OSQP", "osqp", OSQP, _osqp, attrgetter("info.status_val"), attrgetter("info.status")),
    "scs": _Library("SCS", "scs", SCS, _scs, _entry("info", "status_val"), _entry("info", "status"), cones=True),
    "cvxpy-highs": _Library("HIGHS", "highspy", HIGHS, _highs, _entry("model_status"), iterates=False),
}
"""Names in the registry."""


def own_values(problem: cvxpy.Problem, names: Sequence[str], limits: SolveLimits) -> OwnValues:
    """Solve a problem in CVXPY's objects by HiGHS, and return the values of the vector x, which these name."""
    import cvxpy

    require_names(["x"], problem.var_dict)
    # HiGHS fails where a process asks it for another number of threads than before.
    options: Options = {} if limits.seconds is None else {"time_limit": limits.seconds}
    problem.solve(solver=cvxpy.HIGHS, **options)
    found = problem.var_dict["x"].value
    meaning = OWN_STATUS.get(str(problem.status), UNKNOWN_STATUS)
    known = (
        found is not None and np.size(found) == len(names) and meaning[0] in {Termination.OPTIMAL, Termination.LIMIT}
    )
    values = np.asarray(found, dtype=np.float64).reshape(-1) if known else None
    return OwnValues(values, meaning, str(problem.status), f"CVXPY {cvxpy.__version__}")


OWN_STATUS = status_table(
    (Means.OPTIMAL, "optimal"),
    (Means.IMPRECISE, "optimal_inaccurate infeasible_inaccurate unbounded_inaccurate"),
    (Means.TIME, "user_limit"),
    (Means.INFEASIBLE, "infeasible"),
    (Means.UNBOUNDED, "unbounded"),
    (Means.EITHER, "infeasible_or_unbounded"),
    (Means.FAILED, "solver_error"),
)
"""Every status of a problem of CVXPY."""
