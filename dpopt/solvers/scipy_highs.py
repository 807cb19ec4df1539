"""HiGHS, as SciPy bundles it, for linear and mixed-integer programs."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.results import Limit, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.solvers.process.adapter import UNKNOWN_STATUS, Verdict

FAILED: Verdict = (Termination.FAILED, None)
if TYPE_CHECKING:
    from scipy.sparse import csr_array

STATUS: dict[int, Verdict] = {
    0: FAILED,  # not set
    1: FAILED,  # load error
    2: FAILED,  # model error; SciPy calls it infeasible
    3: FAILED,  # presolve error
    4: FAILED,  # solve error
    5: FAILED,  # postsolve error
    6: FAILED,  # model empty
    7: (Termination.OPTIMAL, None),
    8: (Termination.INFEASIBLE, None),
    9: (Termination.INFEASIBLE_OR_UNBOUNDED, None),
    10: (Termination.UNBOUNDED, None),
    11: FAILED,  # objective bound: never set here
    12: FAILED,  # objective target: never set here
    13: (Termination.LIMIT, Limit.TIME),
    14: (Termination.LIMIT, Limit.WORK),  # iterations
    15: FAILED,  # unknown
    16: (Termination.LIMIT, Limit.WORK),  # solutions or nodes
    17: (Termination.LIMIT, Limit.INTERRUPTED),
    18: (Termination.LIMIT, Limit.MEMORY),
    19: (Termination.LIMIT, Limit.INTERRUPTED),  # HiGHS interrupted itself
}
"""Every number of HighsModelStatus. SciPy's own five codes say less, and call a model error infeasible."""

_NATIVE = re.compile(r"HiGHS Status (\d+)")


@dataclass(frozen=True, slots=True)
class ScipyHighs:
    """The adapter. `limits.work` counts nodes, and iterations of a linear program.

    Hints are not taken by SciPy's interface. A linear program goes another way than a mixed-integer one, since SciPy
    gives duals there alone; seed, threads and gap are not passed on by that way (it is one simplex method, on one thread).
    """

    name: str = "highs"
    capabilities: frozenset[Capability] = frozenset(
        {Capability.LP, Capability.MIP, Capability.DUALS, Capability.DETERMINISTIC_LIMIT}
    )

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a MixedIntegerProgram."""
        import scipy

        if not isinstance(program, MixedIntegerProgram):
            raise ProgramError("highs takes a MixedIntegerProgram")
        found = (_mixed_integer if program.integrality.any() else _linear)(program, limits)
        native = _NATIVE.search(found.words)
        termination, limit = STATUS.get(int(native.group(1)) if native else -1, UNKNOWN_STATUS)
        usable = termination in {Termination.OPTIMAL, Termination.LIMIT}
        point = found.point if usable else None
        sign = -1.0 if program.maximize else 1.0
        return SolveResult(
            termination=termination,
            limit=limit,
            solution=point,
            objective=None if point is None else program.evaluate(point),
            bound=None if found.bound is None or not usable else sign * found.bound,
            solver=self.name,
            version=f"SciPy {scipy.__version__}",
            native_status=found.words,
            report={"nodes": found.nodes},
            duals=None if found.duals is None or not usable else sign * found.duals,
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """What SciPy answers, for the minimization that it was given."""

    words: str
    point: NDArray[np.float64] | None
    bound: float | None
    nodes: int = 0
    duals: NDArray[np.float64] | None = None


def _mixed_integer(program: MixedIntegerProgram, limits: SolveLimits) -> _Found:
    from scipy.optimize import Bounds, LinearConstraint, milp

    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Unrecognized options detected", RuntimeWarning
        )  # passed on as meant
        answer = milp(
            _minimized(program),
            integrality=program.integrality.astype(np.uint8),
            bounds=Bounds(program.lower, program.upper),
            constraints=LinearConstraint(_matrix(program), program.row_lower, program.row_upper),
            options=_options(limits),  # type: ignore[arg-type]  # more options than SciPy names
        )
    point = None if answer.x is None else np.asarray(answer.x, dtype=np.float64)
    return _Found(str(answer.message), point, _finite(answer.mip_dual_bound), int(answer.mip_node_count or 0))


def _linear(program: MixedIntegerProgram, limits: SolveLimits) -> _Found:
    """Solve a linear program; its optimum is its own bound."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    equal = program.row_lower == program.row_upper
    above = np.isfinite(program.row_upper) & ~equal
    below = np.isfinite(program.row_lower) & ~equal
    matrix = _matrix(program)
    options: dict[str, float | int] = {}
    if limits.seconds is not None:
        options["time_limit"] = limits.seconds
    if limits.work is not None:
        options["maxiter"] = limits.work
    answer = linprog(  # type: ignore[call-overload]  # sparse matrices are taken
        _minimized(program),
        A_ub=vstack((matrix[above], -matrix[below]), format="csr"),
        b_ub=np.concatenate((program.row_upper[above], -program.row_lower[below])),
        A_eq=matrix[equal],
        b_eq=program.row_upper[equal],
        bounds=np.column_stack((program.lower, program.upper)),
        method="highs",
        options=options,
    )
    if answer.x is None:
        return _Found(str(answer.message), None, None)
    duals = np.zeros(program.number_of_rows)
    sides = np.asarray(
        answer.ineqlin.marginals
    )  # a row with two sides is two rows; one of them at most is active
    duals[equal] = np.asarray(answer.eqlin.marginals)
    duals[above] = sides[: int(above.sum())]
    duals[below] -= sides[int(above.sum()) :]
    return _Found(
        str(answer.message), np.asarray(answer.x, dtype=np.float64), _finite(answer.fun), duals=duals
    )


def _minimized(program: MixedIntegerProgram) -> NDArray[np.float64]:
    return -program.objective if program.maximize else program.objective


def _matrix(program: MixedIntegerProgram) -> csr_array[np.float64]:
    from scipy.sparse import csr_array

    shape = (program.number_of_rows, program.number_of_variables)
    return csr_array((program.coefficients, program.columns, program.row_starts), shape=shape)


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def _options(limits: SolveLimits) -> dict[str, float | int | bool]:
    """Return HiGHS options: those that SciPy names, and others that it passes on to HiGHS as they are."""
    options: dict[str, float | int | bool] = {
        "disp": False,
        "mip_rel_gap": 0.0,  # HiGHS would stop at 1e-4
        "random_seed": limits.seed,
        "threads": limits.threads,
    }
    if limits.seconds is not None:
        options["time_limit"] = limits.seconds
    if limits.work is not None:
        options["node_limit"] = limits.work
    if limits.gap is not None:
        options["mip_abs_gap"] = limits.gap
    return options
