"""HiGHS, as SciPy bundles it, for linear and mixed-integer programs."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.results import Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.solvers.process.adapter import SIMPLEX_UP_TO, UNKNOWN_STATUS, Means, mixed_integer, status_table

STATUS = status_table(
    (Means.OPTIMAL, "7"),
    (Means.INFEASIBLE, "8"),
    (Means.EITHER, "9"),
    (Means.UNBOUNDED, "10"),
    (Means.TIME, "13"),
    (Means.WORK, "14 16"),  # iterations; solutions or nodes
    (Means.INTERRUPTED, "17 19"),  # by others; by HiGHS itself
    (Means.MEMORY, "18"),
    (Means.FAILED, "0 1 2 3 4 5 6 15"),  # not set; errors (SciPy calls a model's infeasible); empty; unknown
    (Means.FAILED, "11 12"),  # bounds and targets of the objective: never set here
)
"""Every number of HighsModelStatus. SciPy's own five codes say less, and call a model error infeasible."""

_NATIVE = re.compile(r"HiGHS Status (\d+)")


@dataclass(frozen=True, slots=True)
class ScipyHighs:
    """The adapter. `limits.work` counts nodes, and iterations of a linear program.

    Hints are not taken by SciPy's interface. A linear program goes another way than a mixed-integer one, since SciPy
    gives duals there alone; seed, threads and gap are not passed on by that way (one simplex method, or for large
    programs an interior point that ends at a vertex, on one thread).
    """

    name: str = "highs"
    capabilities: frozenset[Capability] = frozenset(
        {Capability.LP, Capability.MIP, Capability.DUALS, Capability.DETERMINISTIC_LIMIT}
    )

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a MixedIntegerProgram."""
        import scipy

        program = mixed_integer(program, self.name)
        found = (_mixed_integer if program.integrality.any() else _linear)(program, limits)
        native = _NATIVE.search(found.words)
        termination, limit = STATUS.get(native.group(1) if native else "", UNKNOWN_STATUS)
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
    """SciPy's answer, for the minimization that it was given."""

    words: str
    point: NDArray[np.float64] | None
    bound: float | None
    nodes: int = 0
    duals: NDArray[np.float64] | None = None


def _mixed_integer(program: MixedIntegerProgram, limits: SolveLimits) -> _Found:
    from scipy.optimize import Bounds, LinearConstraint, milp

    with warnings.catch_warnings():
        # They are passed on as meant.
        warnings.filterwarnings("ignore", "Unrecognized options detected", RuntimeWarning)
        answer = milp(
            _minimized(program),
            integrality=program.integrality.astype(np.uint8),
            bounds=Bounds(program.lower, program.upper),
            constraints=LinearConstraint(program.matrix(), program.row_lower, program.row_upper),
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
    matrix = program.matrix()
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
        method="highs" if program.coefficients.size <= SIMPLEX_UP_TO else "highs-ipm",
        options=options,
    )
    if answer.x is None:
        return _Found(str(answer.message), None, None)
    duals = np.zeros(program.number_of_rows)
    sides = np.asarray(answer.ineqlin.marginals)  # of a row with two sides, which is two rows, one at most is active
    duals[equal] = np.asarray(answer.eqlin.marginals)
    duals[above] = sides[: int(above.sum())]
    duals[below] -= sides[int(above.sum()) :]
    return _Found(str(answer.message), np.asarray(answer.x, dtype=np.float64), _finite(answer.fun), duals=duals)


def _minimized(program: MixedIntegerProgram) -> NDArray[np.float64]:
    return -program.objective if program.maximize else program.objective


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
