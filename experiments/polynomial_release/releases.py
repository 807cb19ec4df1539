"""Random queries and those of largest noise, release by release, beside what was promised."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.models.polynomials.answer_polynomial import AnswerPolynomial
from dpopt.polynomials.targets import Target
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.queries.counting.subset_kernels import count_subsets
from dpopt.synopses.summaries.noise_bounds import deviations_for
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import BETA, SummaryPlan, plan_summary
from experiments.polynomial_release.exact import exact_answers, packed
from experiments.polynomial_release.largest_noise import neighbours, random_sets, sets_of_largest_noise
from experiments.polynomial_release.tables import SEED, Bits

DELTA = 1e-9
CHUNK = 100_000
_CLOSE = 1e-9

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Effort:
    """How many queries are asked of each release."""

    random: int
    """Random queries, the same of each release."""
    built: int
    drawn: int
    """Starts of the search for large noise: around conjunctions of each size, and random ones."""
    around: int
    """Of so many sets of largest noise all that differ in one bit are asked, too."""


MILLION = Effort(1_000_000, 100, 500, 20)
FULL = Effort(50_000, 50, 200, 5)
QUICK = Effort(200, 5, 5, 2)


def plan_for(table: Bits, width: int, predicate: str, rho: float) -> SummaryPlan:
    """Return the plan for positive literals, replaced records and rho of zCDP."""
    return plan_summary(
        ChosenLiterals.of(table.schema, None, "positive"),
        width,
        Budget(None, DELTA, rho, Accountant.ZCDP),
        size=table.bits.shape[1],
        predicate=predicate,
        relation=NeighbouringRelation.REPLACE_ONE,
    )


def direct_bound(table: Bits, width: int, rho: float) -> float:
    """Return what no answer is off by with probability 95 % if each query of k bits was counted with Gaussian noise.

    Replacing a record of zeros by one of ones changes all C(d, k) counts by 1. A share, before it is cut at 0 and 1.
    """
    queries = comb(len(table.bits), width)
    return deviations_for(BETA, queries) * sqrt(queries / (2.0 * rho)) / table.records


def confidence_for_all(plan: SummaryPlan) -> float:
    """Return the confidence of one answer with which all queries of k bits together are within bounds with 95 %."""
    return 1.0 - BETA / comb(len(plan.literals.groups.sizes), plan.width)


def runs(
    table: Bits, width: int, predicate: str, rho: float, effort: Effort, numbers: Sequence[int]
) -> Iterator[Result]:
    """Yield the figures of each release: run `number` asks queries of its own of largest noise."""
    plan = plan_for(table, width, predicate, rho)
    exact = counted(table, plan)
    asked = random_sets(len(table.bits), width, effort.random, np.random.default_rng(SEED + width))
    truth = exact_answers(table.bits, asked, predicate)
    dataset = table.dataset()
    for number in numbers:
        begun = time.perf_counter()
        summary = release_summary(dataset, plan)
        seconds = time.perf_counter() - begun
        result: Result = {
            "table": table.name,
            "records": table.bits.shape[1],
            "attributes": len(table.bits),
            "k": width,
            "predicate": predicate,
            "run": number,
            "predicted": plan.predicted,
            "approximation": plan.approximation,
            "direct": direct_bound(table, width, rho),
            "degree": plan.sizes[-1],
            "counted": sum(exact[size - 1].size for size in plan.sizes),
            "queries_of_k": comb(len(table.bits), width),
            "seconds": round(seconds, 1),
        }
        for name, confidence in (("all", confidence_for_all(plan)), ("one", 1.0 - BETA)):
            few = effort if name == "all" else replace(effort, random=effort.random // 10)
            asker = _Asker(table, summary, exact, confidence)
            result[name] = {
                **asker.random(asked[: few.random], truth[: few.random]),
                **asker.largest(few, np.random.default_rng([SEED, number])),
            }
        result["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
        yield result


def counted(table: Bits, plan: SummaryPlan) -> list[NDArray[np.int64]]:
    """Return the exact counts of the conjunctions that the plan measures."""
    return count_subsets(packed(table.bits), plan.literals.groups, plan.sizes[-1])


@dataclass(frozen=True, slots=True)
class _Asker:
    """Asks a release whose exact counts are known."""

    table: Bits
    summary: Summary
    exact: list[NDArray[np.int64]]
    confidence: float
    """Of one answer: with it the polynomial is chosen."""

    def random(self, asked: NDArray[np.int64], truth: NDArray[np.float64]) -> Result:
        """Return the errors of random queries."""
        errors = np.concatenate(
            [
                np.abs(
                    np.clip(self._answers(self.summary, asked[begin : begin + CHUNK]), 0.0, 1.0)
                    - truth[begin : begin + CHUNK]
                )
                for begin in range(0, len(asked), CHUNK)
            ]
        )
        return {"random": len(asked), "random_worst": float(errors.max()), "random_mean": float(errors.mean())}

    def largest(self, effort: Effort, generator: np.random.Generator) -> Result:
        """Return the errors of the queries of largest noise that were found, and around them."""
        plan, groups = self.summary.plan, self.summary.plan.literals.groups
        coefficients = self._coefficients()
        noise = [
            coefficients[size] * (self.summary.noisy[plan.sizes.index(size)] - exact) / plan.size
            if size in plan.sizes
            else np.zeros(exact.size)
            for size, exact in enumerate(self.exact, start=1)
        ]
        sets, values = sets_of_largest_noise(
            noise, groups, plan.width, built=effort.built, drawn=effort.drawn, generator=generator
        )
        order = np.argsort(-np.abs(values))
        if not np.allclose(self._noise(sets), values, rtol=0, atol=_CLOSE):
            raise RuntimeError("the search holds another noise than that of the answers")
        asked = np.unique(np.concatenate((sets, neighbours(sets[order[: effort.around]], groups.literals))), axis=0)
        truth = exact_answers(self.table.bits, asked, plan.predicate)
        answers = self._answers(self.summary, asked)
        deviation = float(self._polynomial().deviation)
        polynomial = self._polynomial()
        return {
            "approximation": polynomial.approximation,
            "bound": polynomial.bound(deviations_for(BETA)),
            "bound_of_all": polynomial.bound(deviations_for(BETA, comb(groups.literals, plan.width))),
            "deviation": deviation,
            "largest": len(asked),
            "ends": len(sets),
            "largest_worst": float(np.abs(np.clip(answers, 0.0, 1.0) - truth).max()),
            "largest_worst_not_cut": float(np.abs(answers - truth).max()),
            "largest_noise": float(np.abs(values).max()),
            "largest_noise_deviations": float(np.abs(values).max() / deviation),
        }

    def _noise(self, asked: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the noise of the answers, as the difference to those from exact counts."""
        plan = self.summary.plan
        without = Summary(plan, tuple(self.exact[size - 1] for size in plan.sizes), self.summary.privacy)
        return self._answers(self.summary, asked) - self._answers(without, asked)

    def _answers(self, summary: Summary, asked: NDArray[np.int64]) -> NDArray[np.float64]:
        return summary.conjunctions_of(asked, summary.plan.predicate, confidence=self.confidence)[0]

    def _polynomial(self) -> AnswerPolynomial:
        plan = self.summary.plan
        target = Target.named(plan.predicate, plan.width).values
        return self.summary.polynomial([1] * plan.width, target, self.confidence)

    def _coefficients(self) -> list[float]:
        coefficients = list(self._polynomial().coefficients)
        return coefficients + [0.0] * (self.summary.plan.sizes[-1] + 1 - len(coefficients))
