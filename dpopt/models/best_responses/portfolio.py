"""A portfolio: the local search finds a record, and an exact solver begins with it.

Problem: maximize sum_j w_j [clause j is true of x] over records x that obey the rules (a `MaxCsp`), with a bound. In
first rounds an exact solver by itself has found little when its time is over; the local search has a record that is
best, or nearly so, within some hundredths of a second, and proves nothing. So the search's record is the exact solver's
hint, the better record of the two is the answer, and the bound is the exact solver's (its word).

A linear relaxation beside them was measured: see experiments/portfolio.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dpopt.models.best_responses.presolved import SHORTEST, Handing
from dpopt.programs.certificate import credible_bound
from dpopt.programs.max_csp import require_max_csp
from dpopt.programs.results import NO_LIMITS, Point, Progress, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program, Solver
from dpopt.programs.verification import verified

SEARCH_SHARE = 0.25
"""The most that the search takes of the seconds; on public rounds it takes .2 s at most."""

_WITH_RECORD = frozenset({Termination.OPTIMAL, Termination.LIMIT, Termination.IMPRECISE})


@dataclass(frozen=True, slots=True)
class Portfolio(Handing):
    """A `Solver` for MaxCsp: `inner`, begun from the record of a search."""

    search: Solver
    """Finds a record without proof; its default limit of work holds."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The abilities of the inner solver; the search begins from a hint."""
        return self.inner.capabilities | {Capability.WARM_START}

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        """Solve a MaxCsp; see `dpopt.programs.solver.Solver`. A failure of the inner solver is its own answer."""
        program = require_max_csp(program, "Portfolio")
        started, seconds = time.perf_counter(), limits.seconds
        begin = None if seconds is None else max(SHORTEST, SEARCH_SHARE * seconds)
        found = self.search.solve(program, SolveLimits(begin, threads=limits.threads, seed=limits.seed), hint=hint)
        searched = time.perf_counter() - started
        left = None if seconds is None else max(SHORTEST, seconds - searched)
        answer = self.handed(program, replace(limits, seconds=left), hint if found.solution is None else found.solution)
        if answer.termination not in _WITH_RECORD:
            return answer
        joined = _joined(found, searched, verified(program, answer))
        return verified(program, replace(joined, seconds=time.perf_counter() - started))


def _joined(found: SolveResult, searched: float, answer: SolveResult) -> SolveResult:
    """Return the exact solver's answer with the better record; `found` is the search's, after this number of seconds."""
    own, bound = answer.objective, answer.bound
    behind = found.objective is not None and (own is None or own < found.objective)
    record = found if behind else answer
    objective = record.objective
    if bound is not None and objective is not None:
        bound = credible_bound(bound, objective)
    wrong = behind and answer.termination is Termination.OPTIMAL  # it claims a worse record to be best
    denied = {"claimed_bound": answer.bound} if bound is None and answer.bound is not None else {}
    return replace(
        answer,
        termination=Termination.IMPRECISE if wrong else answer.termination,
        solution=record.solution,
        objective=objective,
        bound=bound,
        version=answer.version + (f", record of {found.solver}" if behind else ""),
        report={**answer.report, "record_by": record.solver, **denied},
        history=tuple(_history(found.objective, searched, answer.history)),
    )


def _history(best: float | None, searched: float, later: tuple[Progress, ...]) -> Iterator[Progress]:
    """Yield the best record over time, with the exact solver's bound."""
    yield Progress(searched, best, None)
    for entry in later:
        best = max((one for one in (best, entry.objective) if one is not None), default=None)
        yield Progress(searched + entry.seconds, best, entry.bound)
