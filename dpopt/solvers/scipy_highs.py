"""HiGHS, as SciPy bundles it, for linear and mixed-integer programs."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

import numpy as np

from dpopt.errors import ProgramError
from dpopt.programs.limits import SolveLimits
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.results import Limit, Point, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.solvers.adapter import UNKNOWN_STATUS, Verdict

FAILED: Verdict = (Termination.FAILED, None)
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
    """The adapter. `limits.work` counts nodes; hints are not taken by SciPy's interface."""

    name: str = "highs"
    capabilities: frozenset[Capability] = frozenset(
        {Capability.LP, Capability.MIP, Capability.DETERMINISTIC_LIMIT}
    )

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a MixedIntegerProgram."""
        import scipy
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        if not isinstance(program, MixedIntegerProgram):
            raise ProgramError("highs takes a MixedIntegerProgram")
        sign = -1.0 if program.maximize else 1.0
        shape = (program.number_of_rows, program.number_of_variables)
        matrix = csr_array((program.coefficients, program.columns, program.row_starts), shape=shape)
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Unrecognized options detected", RuntimeWarning
            )  # passed on as meant
            answer = milp(
                sign * program.objective,
                integrality=program.integrality.astype(np.uint8),
                bounds=Bounds(program.lower, program.upper),
                constraints=LinearConstraint(matrix, program.row_lower, program.row_upper),
                options=_options(limits),  # type: ignore[arg-type]  # more options than SciPy names
            )
        native = _NATIVE.search(str(answer.message))
        number = int(native.group(1)) if native else -1
        termination, limit = STATUS.get(number, UNKNOWN_STATUS)
        # The bound of a MIP; a linear program that is solved to optimality is its own.
        bound = answer.mip_dual_bound if program.integrality.any() else answer.fun
        solution = answer.x if termination in {Termination.OPTIMAL, Termination.LIMIT} else None
        return SolveResult(
            termination=termination,
            limit=limit,
            solution=None if solution is None else np.asarray(solution, dtype=np.float64),
            objective=None if solution is None else program.evaluate(np.asarray(solution)),
            bound=sign * float(bound) if bound is not None and np.isfinite(bound) else None,
            solver=self.name,
            version=f"SciPy {scipy.__version__}",
            native_status=str(answer.message),
            seconds=0.0,
            report={"nodes": int(answer.mip_node_count or 0)},
        )


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
