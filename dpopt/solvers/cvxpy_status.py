"""What the statuses of the solvers behind CVXPY mean.

Each is read as the library reports it, not as CVXPY sums it up: CVXPY's "optimal_inaccurate" is SCS's word for a time
limit too, and "user_limit" does not say which.
"""

from __future__ import annotations

from dpopt.programs.results import Limit, Termination
from dpopt.solvers.process.adapter import Verdict

_OPTIMAL: Verdict = (Termination.OPTIMAL, None)
_INFEASIBLE: Verdict = (Termination.INFEASIBLE, None)
_UNBOUNDED: Verdict = (Termination.UNBOUNDED, None)
_EITHER: Verdict = (Termination.INFEASIBLE_OR_UNBOUNDED, None)
_IMPRECISE: Verdict = (Termination.IMPRECISE, None)
_FAILED: Verdict = (Termination.FAILED, None)
_TIME: Verdict = (Termination.LIMIT, Limit.TIME)
_WORK: Verdict = (Termination.LIMIT, Limit.WORK)
_INTERRUPTED: Verdict = (Termination.LIMIT, Limit.INTERRUPTED)

# A program that is dual infeasible is unbounded if it is feasible at all, which these solvers do not find out.
CLARABEL: dict[str, Verdict] = {
    "Unsolved": _FAILED,
    "Solved": _OPTIMAL,
    "PrimalInfeasible": _INFEASIBLE,
    "DualInfeasible": _EITHER,
    "AlmostSolved": _IMPRECISE,
    "AlmostPrimalInfeasible": _IMPRECISE,
    "AlmostDualInfeasible": _IMPRECISE,
    "MaxIterations": _WORK,
    "MaxTime": _TIME,
    "NumericalError": _FAILED,
    "InsufficientProgress": _IMPRECISE,
    "CallbackTerminated": _INTERRUPTED,
}
"""Every name of clarabel.SolverStatus."""

OSQP: dict[str, Verdict] = {
    "1": _OPTIMAL,  # solved
    "2": _IMPRECISE,  # solved inaccurate
    "3": _INFEASIBLE,  # primal infeasible
    "4": _IMPRECISE,  # primal infeasible inaccurate
    "5": _EITHER,  # dual infeasible
    "6": _IMPRECISE,  # dual infeasible inaccurate
    "7": _WORK,  # max iter reached
    "8": _TIME,  # time limit reached
    "9": _FAILED,  # non cvx
    "10": _INTERRUPTED,  # sigint
    "11": _FAILED,  # unsolved
}
"""Every number of osqp.SolverStatus."""

SCS: dict[str, Verdict] = {
    "0": _FAILED,  # unfinished
    "1": _OPTIMAL,  # solved
    "2": _IMPRECISE,  # solved inaccurate, or a limit, see `SCS_LIMITS`
    "-2": _INFEASIBLE,  # infeasible
    "-7": _IMPRECISE,  # infeasible inaccurate
    "-1": _EITHER,  # unbounded
    "-6": _IMPRECISE,  # unbounded inaccurate
    "-3": _FAILED,  # indeterminate
    "-4": _FAILED,  # failed
    "-5": _INTERRUPTED,  # sigint
}
"""Every number of a status in the module scs."""

SCS_LIMITS: dict[str, Verdict] = {"reached time_limit_secs": _TIME, "reached max_iters": _WORK}
"""What SCS's words say of an outcome that is not accurate, or not determined."""

HIGHS: dict[str, Verdict] = {
    "kNotset": _FAILED,
    "kLoadError": _FAILED,
    "kModelError": _FAILED,
    "kPresolveError": _FAILED,
    "kSolveError": _FAILED,
    "kPostsolveError": _FAILED,
    "kModelEmpty": _FAILED,
    "kOptimal": _OPTIMAL,
    "kInfeasible": _INFEASIBLE,
    "kUnboundedOrInfeasible": _EITHER,
    "kUnbounded": _UNBOUNDED,
    "kObjectiveBound": _FAILED,  # never set here
    "kObjectiveTarget": _FAILED,  # never set here
    "kTimeLimit": _TIME,
    "kIterationLimit": _WORK,
    "kUnknown": _FAILED,
    "kSolutionLimit": _FAILED,  # never set here
    "kInterrupt": _INTERRUPTED,
    "kMemoryLimit": (Termination.LIMIT, Limit.MEMORY),
    "kHighsInterrupt": _INTERRUPTED,
}
"""Every name of highspy.HighsModelStatus."""
