"""One setting: all measuring stages of releases, their noise redrawn, and which intervals hold the table's figures."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpopt
from dpopt.algorithms.measured.known import Known
from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.errors import AccuracyWarning
from dpopt.inference.measured_residuals import MeasuredResiduals, shrunken_residuals
from dpopt.queries.counting.kernels import shares_on_records
from dpopt.queries.residuals import Residuals, residuals_of
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.synopses.release_answers import Answering
from experiments.answers_cover.questions import COEFFICIENTS, KINDS, OUTER, Answers, Asked, asked_of, rows_of, schema_of
from experiments.experiment import Result
from experiments.one_estimator.tables import Table, load

CONFIDENCE = 0.95
MOST_CELLS, MOST_OF_ONE = 5_000_000, 4_000
"""Cells of all pairs that are measured together, as in dpopt; of one pair where there are more."""
TOGETHER = 10
"""Every tenth draw is asked for intervals that hold together as well."""
HELD, OF, UNBOUNDED, ROWS = "held", "of", "unbounded", "by the rows"
Tally = dict[str, Counter[str]]
Whole = NDArray[np.int64]
First = tuple[Whole, Residuals, float]
"""Places among the wanted sets, their residuals as they were measured first, and the scale of the noise."""


@dataclass(slots=True, eq=False)
class Draws:
    """The measuring stages of a release of a table, played as often as asked, without rows.

    Stages, factors and scales are those of `dpopt.algorithms.measured`; noise comes from a public stream, as nobody's data
    are at stake.
    """

    job: Job
    counts: Whole
    """Shape (cells,). The exact counts of all sets of attributes of the workload."""
    wanted: NDArray[np.int64]
    """Places of the sets that questions need."""
    exact: NDArray[np.float64]
    """Their exact residuals."""

    @classmethod
    def of(cls, table: Table, epsilon: float, questions: Sequence[Asked]) -> Draws:
        """Plan a release, and count what it could measure."""
        schema, size = schema_of(table.name), len(table.codes)
        terms: dict[str, Any] = {"epsilon": epsilon, "delta": min(1e-6, table.delta), "n0": size, "predict": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)  # of small budgets, which are tried on purpose
            planned = dpopt.plan(schema, workload_of(table), **terms)
        job = Job(planned.plan, schema, planned.request.workload, {}, {})
        sets = Known(job, MeasuredPlan.of(job.plan)).sets
        counts = np.rint(size * shares_on_records(sets, table.codes, schema.sizes)).astype(np.int64)
        needed = {
            part for one in questions for width in range(1, 4) for part in combinations(sorted(one.columns), width)
        }
        wanted = np.array([place for place in range(len(sets)) if sets.attributes_of(place) in needed])
        taken, cells = sets.take(wanted), np.zeros(len(sets), dtype=np.bool_)
        cells[wanted] = True
        exact = residuals_of(taken, counts[np.repeat(cells, sets.cells())].astype(np.float64))
        return cls(job, counts, wanted, exact)

    def play(self, rng: np.random.Generator) -> tuple[Known, MeasuredResiduals, list[First]]:
        """Measure stage by stage, each for what earlier ones released.

        Return what is known, what answers use of it, and how that was measured.
        """
        plan = MeasuredPlan.of(self.job.plan)
        known, first = Known(self.job, plan), list[First]()
        cells, last = known.sets.cells(), plan.stages[-1]
        seen = np.zeros(len(known.sets), dtype=np.bool_)
        for planned in plan.stages:
            if planned.distances:
                mask = known.sets.widths() == planned.order
                distances = known.distances(planned.order)
                noisy = _noisy(distances.of(self.counts[np.repeat(mask, cells)]), planned.scale, rng)
                known.add_distances(planned.order, noisy, planned.scale)
                continue
            factors, parts = known.choice(planned)
            exact = known.residuals(factors, parts).of(self.counts[np.repeat(factors > 0, cells)])
            noisy = _noisy(exact, planned.scale, rng)
            if parts is None:
                new = np.flatnonzero((factors > 0) & ~seen)
                own = np.flatnonzero(np.isin(self.wanted, new))
                if own.size:
                    places = self.wanted[own]
                    first.append((own, Residuals(known.sets.take(places), factors[places]), planned.scale))
                seen |= factors > 0
                known.add(factors, noisy, planned.scale)
            else:
                known.add_coarse(factors, parts, noisy, planned.scale)
            known.update(planned.order if planned is not last else int(known.sets.widths().max()))
        return known, self._wanted(known.measured()), first

    def _wanted(self, measured: MeasuredResiduals) -> MeasuredResiduals:
        """Return what was measured of the sets that questions need: the others only take time."""
        mask = np.zeros(len(measured.sets), dtype=np.bool_)
        mask[self.wanted] = True
        own = measured.estimates[np.repeat(mask, measured.sets.cells())]
        return MeasuredResiduals(
            measured.sets.take(self.wanted), own, measured.variances[self.wanted], measured.records,
            measured.records_variance, measured.size,
        )  # fmt: skip

    def redrawn(
        self, measured: MeasuredResiduals, first: Sequence[First], rng: np.random.Generator
    ) -> MeasuredResiduals:
        """Return what would have been measured with other noise, by the same factors and scales."""
        estimates, cells = self.exact.copy(), measured.sets.cells()
        for places, residuals, scale in first:
            mask = np.zeros(len(cells), dtype=np.bool_)
            mask[places] = True
            noise = _noisy(np.zeros(len(residuals), dtype=np.int64), scale, rng)
            estimates[np.repeat(mask, cells)] += residuals.estimates(noise)
        return MeasuredResiduals(
            measured.sets, estimates, measured.variances, measured.records, measured.records_variance, measured.size
        )


def workload_of(table: Table) -> Workload | None:
    """Return what a release is asked for: nothing, but for a table whose pairs have too many cells to be measured together."""
    pairs = list(combinations(range(len(table.sizes)), 2))
    if sum(map(table.cells, pairs)) <= MOST_CELLS:
        return None
    return table.workload([pair for pair in pairs if table.cells(pair) <= MOST_OF_ONE])


def _noisy(exact: Whole, scale: float, rng: np.random.Generator) -> Whole:
    return exact + np.rint(scale * rng.standard_normal(len(exact))).astype(np.int64)


@cache
def questions_of(name: str) -> list[Asked]:
    """Return the questions to a table."""
    return asked_of(load(name))


def measured(setting: tuple[str, float, int, int, int]) -> Result:
    """Return how often intervals held, over plays of all stages and over redraws of the noise of each play."""
    name, epsilon, plays, redraws, seed = setting
    table, questions = load(name), questions_of(name)
    draws, schema = Draws.of(table, epsilon, questions), schema_of(name)
    rng, rows = np.random.default_rng([seed, round(1000 * epsilon), *name.encode()]), rows_of(schema, table.codes[:50])
    whole, fixed = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
    calls: Counter[str] = Counter()
    each = {at: np.zeros((2, len(one.truths))) for at, one in enumerate(questions)}
    for _ in range(plays):
        _, found, first = draws.play(rng)
        lacking = {at for at, one in enumerate(questions) if not is_measured(one, found)}
        for at in lacking:
            for tally, times in ((whole, 1), (fixed, redraws)):
                _rows(tally, questions[at], times)
        asked = [one for at, one in enumerate(questions) if at not in lacking]
        for one in asked:
            tally_of(whole, one, one.answers(Answering(schema, found, rows, persons=False)))
        for number in range(redraws):
            again = Answering(schema, draws.redrawn(found, first, rng), rows, persons=False)
            for at, one in enumerate(questions):
                if at not in lacking:
                    inside = tally_of(fixed, one, one.answers(again))
                    each[at] += np.stack([inside, np.ones(inside.size)])
            if number % TOGETHER == 0 and asked:
                calls[HELD] += _together(asked, again)
                calls[OF] += 1
    return {
        "table": name, "epsilon": epsilon, "plays": plays, "redraws": redraws, "seed": seed,
        "workload": draws.job.workload.specification.get("workload", "pairs"),
        "whole": plain(whole), "fixed": plain(fixed), "together": dict(calls),
        "worst": {
            kind: min(
                (
                    float((held[one.large] / number[one.large]).min())
                    for one, (held, number) in zip(questions, each.values(), strict=True)
                    if one.of.kind == kind and number.max() == plays * redraws > 0 and one.large.any()
                ),
                default=None,
            )
            for kind in KINDS
        },
    }  # fmt: skip


def shrunken(setting: tuple[str, float, int, int, int]) -> Result:
    """Return how often posterior intervals of redrawn noise hold figures of large groups.

    Of each kind of figures: how many intervals hold, "held", of the "unbiased" ones, and "of" how many; the median of their
    "width" over the unbiased one; and "squares", sums of squared errors of both in half widths of the unbiased interval.
    """
    name, epsilon, plays, redraws, seed = setting
    table, questions = load(name), [one for one in questions_of(name) if one.of.kind != COEFFICIENTS]
    draws, schema = Draws.of(table, epsilon, questions), schema_of(name)
    rng, rows = np.random.default_rng([seed, round(1000 * epsilon), *name.encode()]), rows_of(schema, table.codes[:50])
    found = defaultdict[str, list[NDArray[np.float64]]](list)
    for _ in range(plays):
        _, known, first = draws.play(rng)
        asked = [one for one in questions if one.large.any() and is_measured(one, known)]
        for _ in range(redraws):
            again = draws.redrawn(known, first, rng)
            both = [Answering(schema, one, rows, persons=False) for one in (again, shrunken_residuals(again))]
            for one in asked:
                own, other = (one.answers(each) for each in both)
                width, truth = own.high - own.low, one.truths
                held = [(each.low <= truth) & (truth <= each.high) for each in (other, own)]
                errors = [2 * (each.estimates - truth) / width for each in (other, own)]
                found[one.of.kind].append(np.array([*held, (other.high - other.low) / width, *errors])[:, one.large])
    kinds = {}
    for kind, each in found.items():
        held, plain, width, *errors = np.concatenate(each, axis=1)
        bounded = np.isfinite(width) & np.isfinite(errors).all(axis=0)
        kinds[kind] = {
            "held": int(held.sum()), "unbiased": int(plain.sum()), "of": held.size, "width": float(np.median(width[bounded])),
            "squares": [float((one[bounded] ** 2).sum()) for one in errors],
        }  # fmt: skip
    return {"table": name, "epsilon": epsilon, "plays": plays, "redraws": redraws, "kinds": kinds}


def is_measured(one: Asked, found: MeasuredResiduals) -> bool:
    """Return whether all that a question needs was measured."""
    if one.of.kind != COEFFICIENTS:
        return found.missing(one.columns) is None
    return all(found.missing(pair) is None for pair in combinations(one.columns, 2))


def _rows(tally: Tally, one: Asked, times: int) -> None:
    for label, mask in _labels(one):
        tally[label][ROWS] += times * int(mask.sum())


def _labels(one: Asked) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    known = np.isfinite(one.truths)
    yield one.of.kind, one.large
    yield f"{one.of.kind}, small", known & ~one.large


def tally_of(tally: Tally, one: Asked, given: Answers) -> NDArray[np.bool_]:
    """Add to a tally which of the answers' intervals hold the table's figures, and which are unbounded; return the former."""
    slack = 1e-9 * np.maximum(1.0, np.abs(one.truths))
    inside = (given.low <= one.truths + slack) & (one.truths - slack <= given.high)
    for label, mask in _labels(one):
        _add(tally[label], given.low[mask], given.high[mask], inside[mask])
    if one.outer is not None:
        known = np.isfinite(one.outer)
        held = (given.least <= one.outer + slack) & (one.outer - slack <= given.greatest)
        for label, mask in ((OUTER, one.large & known), (f"{OUTER}, small", ~one.large & known)):
            _add(tally[label], given.least[mask], given.greatest[mask], held[mask])
    return inside


def _add(counts: Counter[str], low: NDArray[np.float64], high: NDArray[np.float64], inside: NDArray[np.bool_]) -> None:
    bounded = np.isfinite(low) & np.isfinite(high)
    counts[HELD] += int(inside.sum())
    counts[OF] += inside.size
    counts[UNBOUNDED] += int((~bounded).sum())


def _together(asked: Sequence[Asked], answering: Answering) -> bool:
    """Return whether all intervals hold that are asked for together (Bonferroni), as in one call."""
    figures = sum(len(one.truths) for one in asked)
    for one in asked:
        each = 1 - (1 - CONFIDENCE) / figures
        counts: Tally = defaultdict(Counter)
        tally_of(counts, one, one.answers(answering, confidence=each))
        if any(tally[HELD] < tally[OF] for tally in counts.values()):
            return False
    return True


def plain(tally: Tally) -> dict[str, str]:
    """Return counts as "held of unbounded rows"."""
    return {label: " ".join(str(counts[key]) for key in (HELD, OF, UNBOUNDED, ROWS)) for label, counts in tally.items()}
