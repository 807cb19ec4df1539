"""Errors of several releases with the same budget, on random queries and on queries of bits that are often 1."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.synopses.summaries.alternatives import alternatives
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary import CONSISTENT, Summary
from experiments.polynomial_release.exact import exact_answers
from experiments.polynomial_release.largest_noise import random_sets
from experiments.polynomial_release.other_methods import (
    as_if_independent,
    direct,
    direct_bound,
    direct_deviation,
    projected_bits,
    single_shares,
)
from experiments.polynomial_release.releases import confidence_for_all, plan_for
from experiments.polynomial_release.tables import SEED, Bits

Result = dict[str, Any]
Answers = NDArray[np.float64]
PREDICATES = ("and", "or", "atleast:2")
POLYNOMIAL, CONSISTENTLY, DIRECT = "polynomial", "polynomial, consistent", "noise on each query"
PAIRS, COLUMNS = "projection, pairs of bits", "projection, {} columns at a time"
INDEPENDENT, NOTHING, HALF = "single bits, as if independent", "0", "1/2"
RANDOM, FREQUENT = "random", "frequent"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is asked and fitted."""

    runs: int
    """Releases of each method but projection."""
    fits: int
    """Releases by projection."""
    queries: int
    """Of each kind."""
    consistent: int
    """Of them, so many are answered by linear programs too, from one release."""
    records: int
    """How many projection fits."""
    frequent: int
    """The bits that are most often 1, of which frequent queries are made."""


FULL = Effort(3, 1, 20_000, 60, 2_000, 30)
QUICK = Effort(1, 1, 40, 3, 50, 6)


def measure(table: Bits, rho: float, effort: Effort, tell: Callable[[str], None]) -> Iterator[Result]:
    """Yield one result for each width, predicate, kind of queries and method."""
    projected: dict[str, list[NDArray[np.uint8]]] = {}
    seconds: dict[str, float] = {}
    kinds = [(PAIRS, 2, False)]
    if table.codes is not None:
        kinds += [(COLUMNS.format(size), size, True) for size in (2, 3)]
    for name, size, as_columns in kinds:
        begun = time.perf_counter()
        projected[name] = [
            projected_bits(table, size, rho, seed=run, records=effort.records, as_columns=as_columns)
            for run in range(effort.fits)
        ]
        seconds[name] = (time.perf_counter() - begun) / effort.fits
        tell(f"{table.name}: {name}: {seconds[name]:.0f} seconds each")
    for width in table.widths:
        asked = {
            RANDOM: random_sets(len(table.bits), width, effort.queries, np.random.default_rng([SEED, width])),
            FREQUENT: _frequent(table, width, effort),
        }
        for predicate in PREDICATES:
            truth = {kind: exact_answers(table.bits, sets, predicate) for kind, sets in asked.items()}
            case = _Case(table, width, predicate, rho, effort, asked, truth)
            tell(f"{table.name}: {predicate} of {width}")
            yield from case.ours()
            yield from case.simple()
            for name, copies in projected.items():
                answers = [
                    {kind: exact_answers(bits, sets, predicate) for kind, sets in asked.items()} for bits in copies
                ]
                yield from case.results(name, None, answers, seconds[name])


def _frequent(table: Bits, width: int, effort: Effort) -> NDArray[np.int64]:
    often = np.sort(np.argsort(-table.bits.sum(axis=1, dtype=np.int64), kind="stable")[: effort.frequent])
    drawn = random_sets(often.size, width, effort.queries, np.random.default_rng([SEED, width, 1]))
    return often[drawn]


@dataclass(frozen=True, slots=True)
class _Case:
    """Queries of one width and predicate, and their exact answers."""

    table: Bits
    width: int
    predicate: str
    rho: float
    effort: Effort
    asked: dict[str, NDArray[np.int64]]
    truth: dict[str, Answers]

    def ours(self) -> Iterator[Result]:
        """Yield the results of the polynomial release, as its answers stand and made consistent."""
        plan = plan_for(self.table, self.width, self.predicate, self.rho)
        dataset = self.table.dataset()
        begun = time.perf_counter()
        summaries = [release_summary(dataset, plan) for _ in range(self.effort.runs)]
        seconds = (time.perf_counter() - begun) / self.effort.runs
        answers = [
            {
                kind: np.clip(
                    one.conjunctions_of(sets, self.predicate, confidence=confidence_for_all(plan))[0], 0.0, 1.0
                )
                for kind, sets in self.asked.items()
            }
            for one in summaries
        ]
        yield from self.results(POLYNOMIAL, plan.predicted, answers, seconds)
        yield from self._consistent(summaries[0], answers[0])
        promised = alternatives(plan)
        yield {
            **self._labels(),
            "method": "promises",
            "polynomial": promised.polynomial,
            "direct": direct_bound(self.table, self.width, self.rho),
            "marginals": promised.marginals,
            "marginal_size": promised.marginal_size,
        }

    def _consistent(self, summary: Summary, by_polynomial: dict[str, Answers]) -> Iterator[Result]:
        """Yield the errors of consistent answers to the first queries, and of the polynomial's on the same."""
        for kind, sets in self.asked.items():
            few = sets[: self.effort.consistent]
            begun = time.perf_counter()
            listed = summary.answers(few, self.predicate, estimate=CONSISTENT)
            seconds = (time.perf_counter() - begun) / len(few)
            truth = self.truth[kind][: len(few)]
            errors = np.abs(by_polynomial[kind][: len(few)] - truth)
            values = np.array([one.value for one in listed])
            (result,) = self.results(CONSISTENTLY, None, [{kind: values}], seconds)
            yield {
                **result,
                "polynomial_worst": float(errors.max()),
                "polynomial_mean": float(errors.mean()),
                "bound_alone": summary.conjunctions_of(few[:1], self.predicate)[1],
                "mean_bound": float(np.mean([one.bound for one in listed])),
                "largest_bound": max(one.bound for one in listed),
                "outside": sum(
                    not one.low <= exact <= one.high for one, exact in zip(listed, truth.tolist(), strict=True)
                ),
            }

    def simple(self) -> Iterator[Result]:
        """Yield the results of noise on each query, of single bits, and of constants."""
        drawn = [np.random.default_rng([SEED, run]) for run in range(self.effort.runs)]
        deviation = direct_deviation(self.table, self.width, self.rho)
        noisy = [{kind: direct(truth, deviation, one) for kind, truth in self.truth.items()} for one in drawn]
        yield from self.results(DIRECT, direct_bound(self.table, self.width, self.rho), noisy, None)
        shares = [single_shares(self.table, self.rho, one) for one in drawn]
        independent = [
            {kind: as_if_independent(one, sets, self.predicate) for kind, sets in self.asked.items()} for one in shares
        ]
        yield from self.results(INDEPENDENT, None, independent, None)
        for name, value in ((NOTHING, 0.0), (HALF, 0.5)):
            constant = {kind: np.full(truth.size, value) for kind, truth in self.truth.items()}
            yield from self.results(name, max(value, 1.0 - value), [constant], None)

    def results(
        self, method: str, predicted: float | None, answers: list[dict[str, Answers]], seconds: float | None
    ) -> Iterator[Result]:
        """Yield the largest and the mean error of a method, over its runs; of its first answers where it gave fewer."""
        for kind in answers[0]:
            truth = self.truth[kind]
            errors = np.array([np.abs(one[kind] - truth[: one[kind].size]) for one in answers])
            yield {
                **self._labels(),
                "asked": kind,
                "method": method,
                "predicted": predicted,
                "runs": len(answers),
                "queries": errors.shape[1],
                "worst": float(errors.max()),
                "mean": float(errors.mean()),
                "largest_answer": float(truth.max()),
                "seconds": seconds,
            }

    def _labels(self) -> Result:
        return {"table": self.table.name, "k": self.width, "predicate": self.predicate}
