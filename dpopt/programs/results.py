"""A solver's report on a program: why it stopped, and the best solution that it found.

The two are separate fields. `Termination` answers why the solver stopped; `solution`, `objective` and `bound` are what
it left. Nothing here is trusted: `certify` recomputes what can be recomputed.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import Rebuilt, frozen
from dpopt.constraints import Number, Whole, constrain
from dpopt.errors import NoSolutionError, ProgramError

LONGEST_SECONDS = 1e9
"""Some thirty years; clocks and queues of the operating system take no more than a few times that."""


@dataclass(frozen=True, slots=True)
class SolveLimits:
    """Limits of one solve. Fields left at None do not bind."""

    seconds: Annotated[float | None, Number(above=0, most=LONGEST_SECONDS)] = None
    """Wall-clock seconds, > 0 and at most 1e9. Where it cuts a search short, a repeated run may end elsewhere."""
    work: Annotated[int | None, Whole()] = None
    """Deterministic effort, >= 1, in the solver's own unit (local search: sweeps; CP-SAT: deterministic seconds; HiGHS
    and CBC: nodes): the same work and seed give the same answer."""
    gap: Annotated[float | None, Number(least=0)] = None
    """Absolute gap between bound and objective at which to stop, >= 0. None: prove optimality."""
    threads: Annotated[int, Whole()] = 1
    """Number of threads the solver may use, >= 1."""
    seed: Annotated[int, Whole(least=0, most=2**31 - 1)] = 0
    """Integer seed of the solver's own choices, 0 <= seed < 2**31. Public; never derived from records."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)


NO_LIMITS = SolveLimits()
"""The defaults: each solver's own stopping rule, one thread, seed 0."""


Point = NDArray[np.int32] | NDArray[np.float64]
"""A candidate solution: codes (d,) int32 of a MaxCsp, or values (n,) float64 of a MixedIntegerProgram."""


class Termination(enum.Enum):
    """Why the solver stopped."""

    OPTIMAL = "optimal"
    """The solver claims an optimal solution (within its tolerances)."""
    INFEASIBLE = "infeasible"
    """The solver claims that no point satisfies the constraints."""
    UNBOUNDED = "unbounded"
    """The solver claims that the objective has no finite optimum."""
    INFEASIBLE_OR_UNBOUNDED = "infeasible or unbounded"
    """The solver claims one of the two and does not say which."""
    LIMIT = "limit"
    """A limit was reached; `SolveResult.limit` says which. There may or may not be a solution."""
    IMPRECISE = "imprecise"
    """The solver stopped at a point it does not vouch for (numerical trouble, relaxed tolerances)."""
    FAILED = "failed"
    """The solver broke down, or reported something that its adapter does not know; see `native_status`."""


class Limit(enum.Enum):
    """Which limit ended the solve."""

    TIME = "time"
    WORK = "work"
    GAP = "gap"
    MEMORY = "memory"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Progress:
    """The incumbent and bound of a solver at one moment."""

    seconds: float
    """Seconds since the solve began, translation included where the solver's own clock allows it."""
    objective: float | None
    """Objective of the best solution so far as the solver states it, or None."""
    bound: float | None
    """Bound on the optimum so far as the solver states it, or None."""


_WITHOUT_SOLUTION = frozenset(
    {Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED, Termination.FAILED}
)


@dataclass(frozen=True, slots=True, eq=False)
class SolveResult(Rebuilt):
    """Outcome of one solve, as plain values."""

    termination: Termination
    limit: Limit | None = None
    """Why the solver stopped; `limit` is set if and only if `termination` is LIMIT."""
    solution: Point | None = None
    """Codes (d,) int32 for a MaxCsp, values (n,) float64 for a MixedIntegerProgram, or None."""
    objective: Annotated[float | None, Number()] = None
    """Objective of `solution` as the solver (or its adapter) evaluates it; None if and only if `solution` is."""
    bound: Annotated[float | None, Number()] = None
    """Proven bound on the optimum as the solver claims it, or None. Never an infinity."""
    solver: str = ""
    version: str = ""
    native_status: str = ""
    """Who answered, and in which words."""
    seconds: float = 0.0
    """Wall-clock seconds of the solve, child process and translation included; set by the process that started it."""
    report: Mapping[str, float | int | str] = field(default_factory=dict)
    """Further figures of the solver, for display only."""
    duals: NDArray[np.float64] | None = None
    """Dual values of the rows (r,) float64 at a linear or quadratic program's solution, or None. Sign: the change of
    the optimum per unit of the row's active side. Not trusted: `dual_bound` turns them into a bound that is proven
    whatever they are."""
    history: tuple[Progress, ...] = ()
    """Incumbents and bounds over time, in order, where the solver reports them."""

    def __post_init__(self) -> None:
        self._check_types()
        constrain(self, ProgramError)
        if (self.limit is not None) != (self.termination is Termination.LIMIT):
            raise ProgramError(f"limit is {self.limit} with termination {self.termination}; set it for LIMIT only")
        if (self.solution is None) != (self.objective is None):
            raise ProgramError("a result holds a solution and its objective, or neither")
        if self.solution is not None and self.termination in _WITHOUT_SOLUTION:
            raise ProgramError(f"a result that ended {self.termination.value} holds no solution")
        if self.solution is None and self.termination is Termination.OPTIMAL:
            raise ProgramError("an optimal result holds a solution")
        if self.solution is not None:
            object.__setattr__(self, "solution", _read_only(self.solution))
        object.__setattr__(self, "report", dict(self.report))
        object.__setattr__(self, "history", tuple(self.history))

    def _check_types(self) -> None:
        """Refuse words from a foreign solver that are none, and keep plain texts only."""
        if not isinstance(self.termination, Termination) or not isinstance(self.limit, Limit | None):
            raise ProgramError(f"termination {self.termination!r} or limit {self.limit!r} is none of dpopt's")
        for name in ("solver", "version", "native_status"):
            text = getattr(self, name)
            if not isinstance(text, str):
                raise ProgramError(f"{name} is a {type(text).__name__}; give text")
            object.__setattr__(self, name, str.__str__(text))

    def require_solution(self) -> Point:
        """Return the solution."""
        if self.solution is None:
            raise NoSolutionError(
                f"{self.solver} ended '{self.termination.value}' ({self.native_status}) without a solution; "
                "raise the limits or take another solver"
            )
        return self.solution

    def require_record(self) -> NDArray[np.int32]:
        """Return the solution of a MaxCsp, codes (d,) int32."""
        return as_record(self.require_solution())


def as_record(point: Point) -> NDArray[np.int32]:
    """Return a point as codes (d,) int32; ProgramError if it is one of a MixedIntegerProgram."""
    if point.dtype != np.int32:
        raise ProgramError(f"a record of a MaxCsp holds int32 codes, not {point.dtype}")
    return frozen(point, np.int32)


def _read_only(point: Point) -> Point:
    if point.ndim != 1 or point.dtype not in (np.dtype(np.int32), np.dtype(np.float64)):
        raise ProgramError(f"a solution is a flat int32 or float64 array, not {point.dtype} of shape {point.shape}")
    return frozen(point, np.int32) if point.dtype == np.int32 else frozen(point, np.float64)
