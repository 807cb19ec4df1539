"""A portfolio: the local search finds a record, a linear program a bound, and an exact solver begins where they end.

Problem: maximize sum_j w_j [clause j is true of x] over records x that obey the rules (a `MaxCsp`), with a bound. In
first rounds an exact solver by itself has found little when its time is over; the local search has a record that is
best, or nearly so, within some hundredths of a second, and proves nothing. The relaxation of the clique rows (BR-10 to
BR-12, PA-3, TH-1 to TH-3) bounds parities and thresholds better than exact solvers do at their root. So

    record   the better one of the search's and the exact solver's, which gets the search's as its hint;
    bound    the smaller one of the relaxation's (proven in exact arithmetic) and the exact solver's (its word).

The exact solver is not asked where record and bound are already within the gap that is allowed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dpopt.errors import ProgramError
from dpopt.models.best_responses.presolved import SHORTEST, Handing
from dpopt.models.best_responses.relaxation_bound import RelaxationBound, relaxation_bound
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.programs.certificate import credible_bound, rounded_down
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Limit, Point, Progress, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program, Solver
from dpopt.programs.verification import verified

SEARCH_SHARE, RELAXATION_SHARE = 0.25, 0.4
"""The most that search and relaxation take of the seconds; on public rounds the search takes .2 s at most."""

_WITH_RECORD = frozenset({Termination.OPTIMAL, Termination.LIMIT, Termination.IMPRECISE})


@dataclass(frozen=True, slots=True)
class Portfolio(Handing):
    """A `Solver` for MaxCsp: `inner`, begun from the record of a search, with a bound from a linear program beside its own."""

    search: Solver
    """Finds a record without proof; its default limit of work holds."""
    duals: Solver | None
    """Solves the linear program, and is not trusted. None: no relaxation, so that the inner solver is always asked."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the inner solver can do; the search begins from a hint."""
        return self.inner.capabilities | {Capability.WARM_START}

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        """Solve a MaxCsp; see `dpopt.programs.solver.Solver`. A failure of the inner solver is its own answer."""
        if not isinstance(program, MaxCsp):
            raise ProgramError(
                f"Portfolio takes a MaxCsp, not a {type(program).__name__}; call the inner solver directly"
            )
        started = time.perf_counter()
        begin = SolveLimits(seconds=_part(limits.seconds, SEARCH_SHARE), threads=limits.threads, seed=limits.seed)
        found = self.search.solve(program, begin, hint=hint)
        searched = time.perf_counter() - started
        relaxed = self._relaxed(program, limits)
        known = _Known(program, found, relaxed, searched, time.perf_counter() - started)
        if self.duals is not None and known.within(limits.gap):
            return verified(program, replace(known.settled(self.name), seconds=time.perf_counter() - started))
        left = None if limits.seconds is None else max(SHORTEST, limits.seconds - (time.perf_counter() - started))
        start = hint if found.solution is None else found.solution
        answer = self.handed(program, replace(limits, seconds=left), start)
        if answer.termination not in _WITH_RECORD:
            return answer
        checked = verified(program, answer)
        return verified(program, replace(known.joined(checked), seconds=time.perf_counter() - started))

    def _relaxed(self, program: MaxCsp, limits: SolveLimits) -> RelaxationBound:
        if self.duals is None:
            return RelaxationBound(None, "no relaxation was asked for", "the positive weights", "none")
        within = SolveLimits(seconds=_part(limits.seconds, RELAXATION_SHARE), threads=limits.threads)
        return relaxation_bound(program, self.duals, Formulation.CLIQUE, within)


def _part(seconds: float | None, share: float) -> float | None:
    return None if seconds is None else max(SHORTEST, share * seconds)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known before the exact solver is asked: a record, a bound, and after how many seconds each."""

    program: MaxCsp
    found: SolveResult
    relaxed: RelaxationBound
    searched: float
    bounded: float

    @property
    def bound(self) -> int:
        """The relaxation's bound, or the sum of the positive weights."""
        most = self.program.upper_bound()
        return most if self.relaxed.bound is None else min(most, math.floor(self.relaxed.bound))

    def within(self, gap: float | None) -> bool:
        """Return whether record and bound are as close as is asked for: without a gap, equal."""
        return self.found.objective is not None and self.bound - self.found.objective <= (gap or 0.0)

    def settled(self, name: str) -> SolveResult:
        """Return the answer without the exact solver, in its name."""
        optimal = self.found.objective == self.bound
        return replace(
            self.found,
            termination=Termination.OPTIMAL if optimal else Termination.LIMIT,
            limit=None if optimal else Limit.GAP,
            bound=float(self.bound),
            solver=name,
            version=f"not asked: {self.found.solver} {self.found.version}, {self.relaxed.solver}",
            native_status=f"record of the search, bound of the {self.relaxed.relaxation}",
            report={"record_by": self.found.solver, "bound_by": self.relaxed.solver},
            history=tuple(self._history(())),
        )

    def joined(self, answer: SolveResult) -> SolveResult:
        """Return the exact solver's answer with the better record and the smaller bound."""
        own, bound = answer.objective, answer.bound
        behind = self.found.objective is not None and (own is None or own < self.found.objective)
        record = self.found if behind else answer
        objective = record.objective
        if bound is not None and objective is not None:
            bound = credible_bound(bound, objective)
        tighter = self.relaxed.bound is not None and (bound is None or self.bound < rounded_down(bound))
        wrong = behind and answer.termination is Termination.OPTIMAL  # it claims a worse record to be best
        by = f", record of {self.found.solver}" if behind else ""
        return replace(
            answer,
            termination=Termination.IMPRECISE if wrong else answer.termination,
            solution=record.solution,
            objective=objective,
            bound=float(self.bound) if tighter else bound,
            version=answer.version + by + (f", bound of {self.relaxed.solver}" if tighter else ""),
            report={
                **answer.report,
                "record_by": record.solver,
                "bound_by": self.relaxed.solver if tighter else answer.solver,
                **({"claimed_bound": answer.bound} if bound is None and answer.bound is not None else {}),
            },
            history=tuple(self._history(answer.history)),
        )

    def _history(self, later: tuple[Progress, ...]) -> Iterator[Progress]:
        """Yield the best record and bound over time."""
        best, least = self.found.objective, None if self.relaxed.bound is None else float(self.bound)
        yield Progress(self.searched, best, None)
        yield Progress(self.bounded, best, least)
        for entry in later:
            best = max((one for one in (best, entry.objective) if one is not None), default=None)
            least = min((one for one in (least, entry.bound) if one is not None), default=None)
            yield Progress(self.bounded + entry.seconds, best, least)
