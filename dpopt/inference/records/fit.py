"""Records fitted to noisy answers: the record search, then column generation where rounds are asked for.

The record search: N records, each in turn replaced by its best response to all others.

Problem: minimize f(p) = 1/2 sum_g weight_g ||A_g p - values_g||^2 over the distributions p of N equally weighted
feasible records.

Method: block coordinate descent. A sweep takes the records in a public random order; each attribute of a record in turn
takes the code that lowers f most, all other attributes and records as they are. f never rises, but for this: of many
records, one in 2,000 is visited against the counts before the others of its block changed (`team.BLOCKS`), so that
threads share the work and the records do not depend on how many threads there are. At a temperature tau > 0 the code is
drawn instead (Gibbs sampling of the distribution of N records proportional to prior * exp(-f / tau)): records then
spread over what the noise cannot tell apart, where best responses fit the noise itself.

The work of a sweep grows with the cells and clauses that a record's codes touch, not with the number of all records.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze, frozen
from dpopt.inference.records.bookkeeping import Bookkeeping
from dpopt.inference.records.problem import TIME_IS_UP, FitProblem, FitProgress, FitSettings, Fitted, FitTerm
from dpopt.inference.records.start import check_one_way, estimated_one_way, start_records
from dpopt.inference.records.team import Team
from dpopt.public_random import PublicRandom
from dpopt.queries.clauses import Clauses

ORDER, DRAWS = 1, 0  # numbers of public random streams

PRESSES, PRESSED = 30, 2.0
"""Number of passes that press the bounds of marginals, each with this multiple of the weight."""
INNER = 8
"""If that does not suffice, it is repeated for bounds narrower by this factor."""
VISITS, LEAST_VISITS = 20, 500
"""Records that are visited each time: this number for each one that a count is outside, and at least."""

COARSER, LEAST_COARSE, COARSE_IMPROVEMENT = 4, 1_000, 0.01
"""Before N records of clauses are fitted, N / COARSER of them are, at least LEAST_COARSE, until a sweep lowers f by less than
this share. 20,000 records of 500,000 conjunctions on KDD Cup 1999 reach the same f in a third of the time."""


class Pool:
    """N equally weighted records (N, d), counted: feasible ones, copied. They do not depend on the number of threads.

    `one_way`, (c,), is the prior of a search at a positive temperature, `seed` that of orders and draws.
    """

    def __init__(
        self, problem: FitProblem, records: NDArray[np.int32], one_way: NDArray[np.float64], seed: int, threads: int = 1
    ) -> None:
        self.records = np.array(records, dtype=np.int32, order="C")
        self._keeping = Bookkeeping(problem, len(self.records))
        self._keeping.count(self.records, threads)
        self._team = Team(problem, one_way, threads)
        self._largest_weight = max((term.weight for term in problem.terms), default=1.0)
        self._order = PublicRandom(seed << 32 | ORDER)
        self._draws = PublicRandom(seed << 32 | DRAWS)

    def sweep(self, temperature: float, some: NDArray[np.bool_] | None = None, most: int = 0) -> int:
        """Give every record, in a public random order, its best code in each attribute (or a draw); return the changes.

        With `some`, (N,), so many of these at most, each against the counts of all others.
        """
        from dpopt.inference.records.sweep_kernels import GAIN

        self._keeping.refresh()
        number, before = len(self.records), self.records
        order = np.argsort(self._order.words(number), kind="stable")
        self.records = self._team.sweep(
            self._keeping,
            self._keeping.counters,
            before,
            order if some is None else order[some[order]][:most],
            self._draws.words(number),
            temperature=temperature * float(number) ** 2,
            gain=GAIN / self._largest_weight,
            alone=some is not None,
        )
        return int(np.count_nonzero(self.records != before))

    def press(self, marginals: int) -> None:
        """Let the last marginals of this number count `PRESSED` times as much."""
        slots = self._keeping.counters.tables.slots[-marginals:]
        self._keeping.counters.tables.weights[slots[slots >= 0]] *= PRESSED

    def objective(self) -> float:
        """Return f of the records, from their exact counts."""
        return self._keeping.objective()


Report = Callable[[FitProgress], None]


def fit_records(
    problem: FitProblem,
    settings: FitSettings,
    *,
    start: NDArray[np.int32] | None = None,
    one_way: NDArray[np.float64] | None = None,
    progress: Report | None = None,
) -> Fitted:
    """Return N equally weighted feasible records that fit; see the top of this file.

    Same seed, same records, unless `seconds` cuts the search short. `start` (r, d) are feasible records to start from,
    repeated, or thinned out evenly, to N; without them attributes are drawn independently from `one_way`, and made
    feasible under rules. `one_way` (c,), the probability of every flat column (attribute, code), is also the prior at a
    temperature above 0; estimated from the values if left out. `progress` hears of the start and every sweep.
    """
    began = time.perf_counter()
    if one_way is None:
        one_way = estimated_one_way(problem)
    check_one_way(problem, one_way)
    if start is None and _pays_coarse(problem, settings):
        coarse = replace(
            settings, records=settings.records // COARSER, improvement=max(settings.improvement, COARSE_IMPROVEMENT)
        )
        start = fit_records(problem, coarse, one_way=one_way).records
    records = start_records(problem, settings, start, one_way)
    pool = Pool(problem, records, one_way, settings.seed, settings.threads)
    history = [_noted("start", 0, began, pool, 0)]
    if progress is not None:
        progress(history[-1])
    stopped = "all sweeps done"
    for number in range(1, settings.sweeps + 1):
        if settings.seconds is not None and time.perf_counter() - began >= settings.seconds:
            stopped = TIME_IS_UP
            break
        moved = pool.sweep(settings.smoothing)
        history.append(_noted("sweep", number, began, pool, moved))
        if progress is not None:
            progress(history[-1])
        if settings.smoothing == 0 and (reason := _why_done(history, settings.improvement)):
            stopped = reason
            break
    records, objective = held(problem, pool.records, history[-1].objective, one_way, settings)
    weights = freeze(np.full(len(records), 1.0 / len(records)))
    return Fitted(frozen(records, np.int32), weights, objective, None, None, None, stopped, tuple(history))


def held(
    problem: FitProblem, records: NDArray[np.int32], f: float, one_way: NDArray[np.float64], settings: FitSettings
) -> tuple[NDArray[np.int32], float]:
    """Return records (N, d) that keep the problem's marginals (PJ-9), and f of them.

    Method: shares within the bounds become a term of the problem, whose weight grows until the bounds hold. Records are
    visited that lie in cells with too many, so that those move first that lose least. Without rules the last problem has
    no local optimum outside: where a count of an attribute is a record or more from its share, another one is off the other
    way, and a record can go there. Under rules compound moves are tried, at last further inside.
    """
    kept, number = problem.kept, len(records)
    if kept is None or not (outside := kept.outside(counts := kept.counts(records), number)):
        return records, f
    weight = max((term.weight for term in problem.terms), default=1.0)
    for reach in (kept.reach, kept.reach / INNER):
        shares = replace(kept, reach=reach).nearest(counts / number, number)
        pressed = replace(problem, terms=(*problem.terms, FitTerm(kept.queries, shares, weight)))
        pool = Pool(pressed, records, one_way, settings.seed, settings.threads)
        for _ in range(PRESSES):
            many = counts - number * shares >= 0.5
            some = np.any([many[cells] for cells in kept.cells_of(pool.records)], axis=0)
            pool.sweep(0.0, some, max(LEAST_VISITS, VISITS * outside))
            pool.press(len(kept.queries))
            records, counts = pool.records, kept.counts(pool.records)
            if not (outside := kept.outside(counts, number)):
                return records, Pool(problem, records, one_way, settings.seed, settings.threads).objective()
    return records, Pool(problem, records, one_way, settings.seed, settings.threads).objective()


def _pays_coarse(problem: FitProblem, settings: FitSettings) -> bool:
    """Return whether fewer records are fitted first, each for several of the final ones.

    From drawn records most codes change, and a change costs several visits where clauses are counted.
    """
    clauses = any(isinstance(term.queries, Clauses) for term in problem.terms)
    least = COARSER * LEAST_COARSE
    return clauses and settings.records >= least and settings.sweeps > 0 and settings.smoothing == 0


def _noted(stage: str, step: int, began: float, pool: Pool, moved: int) -> FitProgress:
    return FitProgress(stage, step, time.perf_counter() - began, pool.objective(), len(pool.records), moved)


def _why_done(history: list[FitProgress], improvement: float) -> str | None:
    last, before = history[-1], history[-2]
    if last.moved == 0:
        return "no single change of a code lowers the objective"
    if improvement > 0 and before.objective - last.objective < improvement * before.objective:
        return f"a sweep improved by less than {improvement:g} of the objective"
    return None


def fit(
    problem: FitProblem,
    settings: FitSettings,
    *,
    start: NDArray[np.int32] | None = None,
    one_way: NDArray[np.float64] | None = None,
    progress: Report | None = None,
) -> Fitted:
    """Return feasible records with weights that fit the values of a problem.

    Parameters and errors are those of `fit_records`; with `settings.rounds` above 0 its records, equal ones merged, become
    weighted ones by column generation.
    """
    began = time.perf_counter()
    searched = fit_records(problem, settings, start=start, one_way=one_way, progress=progress)
    if not settings.rounds:
        return searched
    from dpopt.inference.records.columns.column_generation import generate_columns  # loads the solvers

    return generate_columns(
        problem, settings, searched.records, one_way=one_way, progress=progress, history=searched.history, began=began
    )
