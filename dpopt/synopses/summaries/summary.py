"""A released summary: noisy counts of conjunctions, and answers of queries with their bounds.

A file holds the statement and the noisy counts of each size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PolynomialError, TranscriptError, WorkloadError
from dpopt.models.model_size import ModelSize, refuse_solver
from dpopt.models.polynomials.answer_polynomial import AnswerPolynomial, best_mixed_answer
from dpopt.polynomials.targets import Target
from dpopt.programs.solver import Capability, Solver
from dpopt.releases.declared_size import Total
from dpopt.synopses.histograms.counts_plan import check_confidence
from dpopt.synopses.summaries.budget_spread import answers_tried
from dpopt.synopses.summaries.consistent_interval import (
    SOLVER,
    ConsistentInterval,
    consistency_solver,
    consistent_interval,
)
from dpopt.synopses.summaries.noise_bounds import deviations_for, noise_bound
from dpopt.synopses.summaries.summary_plan import BETA, SummaryPlan
from dpopt.synopses.summaries.ways import Way, symmetric, ways_of
from dpopt.synopses.synopsis import PlannedSynopsis

POLYNOMIAL, CONSISTENT = "polynomial", "consistent"
ESTIMATES = (CONSISTENT, POLYNOMIAL)
CONTRADICTION = (
    "the noisy counts contradict each other by more than their bounds allow, which happens with less than the "
    "probability that the confidence leaves: the polynomial's answer instead"
)


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """Which share of the records satisfies a query."""

    value: float
    """The estimate, between 0 and 1."""
    bound: float
    """How far it is off at most, with the probability `confidence`. Under add-remove for tables of at most n0 records;
    see `docs/research/sanitizers.md` for others."""
    low: float
    high: float
    """The exact answer is between them with the same probability."""
    approximation: float
    """The polynomial's part of the error, for any table; 0 but for rounding if the query is answered by inclusion and
    exclusion."""
    standard_error: float
    """That of the polynomial's noise, or a little more."""
    degree: int
    """Of the polynomial: sizes of the conjunctions that were added up."""
    confidence: float
    estimate: str
    """"polynomial", or "consistent": within the range that the polynomial and all noisy counts together allow."""
    note: str = ""
    """A note on the answer, if there is one."""


def polynomial_share(approximation: float, bound: float) -> float:
    """Return the polynomial's part of the probability of failure; the rest is for consistent counts.

    Half of it; but nine tenths where the bound is mostly that of noise. Then other counts say little more, and the
    bound is hardly larger than the polynomial's alone. Both numbers are known before any count is looked at.
    """
    return 0.9 if approximation <= 0.1 * bound else 0.5


def likely_point(value: float, polynomial: AnswerPolynomial, low: float, high: float) -> float:
    """Return a point of the interval: its middle, drawn to the polynomial's value the more, the less that is off.

    As if the interval and the polynomial's own error, up to gamma either way, were uniform: the mean of least variance.
    Which point it is matters to the mean error alone; the bound is the distance to the farther end.
    """
    middle, reach = (low + high) / 2.0, (high - low) ** 2 / 12.0
    spread = polynomial.approximation**2 / 3.0 + polynomial.deviation**2
    if not reach + spread > 0:
        return middle
    return min(high, max(low, (reach * value + spread * middle) / (reach + spread)))


Values = tuple[Fraction | None, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Summary(PlannedSynopsis):
    """Noisy counts of conjunctions under differential privacy. Everything it holds may be published."""

    KEY = "dpopt_summary"
    WHAT = "summary"
    MADE_BY = "'dpopt summary release'"
    PLAN = SummaryPlan
    plan: SummaryPlan
    noisy: tuple[NDArray[np.int64], ...]
    """The noisy counts of each counted size, in the order of `LiteralGroups.numbers`."""
    privacy: Mapping[str, Any]

    def __post_init__(self) -> None:
        groups = self.plan.literals.groups
        for size, counts in zip(self.plan.sizes, self.noisy, strict=True):
            if counts.shape != (groups.conjunctions(size),):
                raise TranscriptError(
                    f"found {counts.size:,} counts of conjunctions of {size} literals; expected "
                    f"{groups.conjunctions(size):,}"
                )

    def _error(self) -> tuple[str, float, bool]:
        return "shares of conjunctions", self.plan.predicted, True

    def _contents(self) -> list[str]:
        groups = self.plan.literals.groups
        return [f"{len(groups.sizes)} columns", f"{groups.literals} literals", f"k={self.plan.width}"]

    def totals(self) -> list[Total]:
        """Bound the number of records by counts: a column's values hold all of them, no conjunction more than all."""
        plan, codes = self.plan, self.plan.literals.codes
        whole = [len(own) == one.size for own, one in zip(codes, plan.literals.schema.attributes, strict=True)]
        found = []
        for size, counts, noise in zip(plan.sizes, self.noisy, plan.deviations[np.array(plan.sizes) - 1], strict=True):
            found.append(Total(float(counts.max()), float(noise), "at least", counts.size, plan.gaussian))
            if size == 1 and any(whole):
                own = np.repeat(whole, plan.literals.groups.sizes)
                # Each column's total has a variance in proportion to its values; their plain mean is good enough.
                number = sum(whole)
                total = float(counts[own].sum()) / number
                found.append(Total(total, float(noise) * float(own.sum()) ** 0.5 / number, gaussian=plan.gaussian))
        return found

    def answer(
        self,
        query: str,
        predicate: str = "and",
        *,
        confidence: float = 1.0 - BETA,
        estimate: str = CONSISTENT,
        solver: str | Solver | None = None,
    ) -> SummaryAnswer:
        """Return which share of the records satisfies a query, with its bound.

        Parameters
        ----------
        query
            Conditions with commas between them, "smoker=yes,age>=50", at most k; several on one column are one
            condition.
        predicate
            "and" (all hold), "or" (at least one) or "atleast:R" (at least R).
        estimate
            "polynomial": a weighted sum of noisy counts, whose bound is known beforehand. "consistent": a point of what
            that sum, and records whose counts are as near to all noisy ones as the noise lets them be, leave possible
            together; its bound depends on the noisy counts. A single condition is always answered by the polynomial.
        solver
            Of the two linear programs of a consistent answer (models/consistent_records), with dual values; highs if
            left out. One that takes cones also finds the polynomial (models/answer_polynomial), else dpopt's own method
            does. What it proves, and how far its points are from that, stands in the note.
        """
        conditions = self.plan.literals.conditions(query, predicate)
        if len(conditions) > self.plan.width:
            raise WorkloadError(
                f"found {len(conditions)} conditions; this summary answers queries of at most k = {self.plan.width}. "
                f"Use {self.plan.width} conditions at most, or release a summary with --k {len(conditions)}"
            )
        check_confidence(confidence)
        ways = ways_of(
            conditions,
            Target.named(predicate, len(conditions)).values,
            self.plan.literals,
            self.plan.sizes[-1],
            fixed_size=self.plan.relation is not NeighbouringRelation.ADD_REMOVE,
        )
        return self._best(ways, confidence, estimate, solver)

    def _best(
        self, ways: Sequence[Way], confidence: float, estimate: str, solver: str | Solver | None
    ) -> SummaryAnswer:
        if estimate not in ESTIMATES:
            raise WorkloadError(f"found the estimate {estimate!r}; expected {' or '.join(ESTIMATES)}")
        by_cones = None if solver is None else _taking_cones(solver, alone=estimate == POLYNOMIAL)
        chosen = None if estimate == POLYNOMIAL else consistency_solver(SOLVER if solver is None else solver)
        beta = of_polynomial = 1.0 - confidence
        way, polynomial, bound = self._chosen(ways, beta, by_cones)
        # A condition alone is counted as it is: other counts hardly say more of it.
        shared = chosen is not None and len(ways[0].counted) + len(ways[0].negated) > 1
        if shared:
            of_polynomial = beta * polynomial_share(polynomial.approximation, bound)
            way, polynomial, bound = self._chosen(ways, of_polynomial, by_cones)
        value, degree = self._value(polynomial, way)
        low, high = max(0.0, value - bound), min(1.0, value + bound)
        consistent, notes = False, []
        if solver is not None:
            own = bound if by_cones is None else self._chosen(ways, of_polynomial)[2]
            notes.append(_compared(by_cones, bound, own))
        if chosen is not None and shared:
            interval = consistent_interval(way, self.plan, self.noisy, beta - of_polynomial, solver=chosen)
            notes += [] if solver is None else [_proved(chosen, interval)]
            consistent = not interval.contradiction and max(interval.low, low) <= min(interval.high, high)
        if consistent:
            low, high = max(low, interval.low), min(high, interval.high)
            value = likely_point(value, polynomial, low, high)
            bound = max(value - low, high - value)
        else:
            notes = [CONTRADICTION] if shared else notes
            value, estimate = min(1.0, max(0.0, value)), POLYNOMIAL
            low, high = min(value, low), max(value, high)
        return SummaryAnswer(
            value=value,
            bound=bound,
            low=low,
            high=high,
            approximation=polynomial.approximation,
            standard_error=polynomial.deviation,
            degree=degree,
            confidence=confidence,
            estimate=estimate,
            note="; ".join(notes),
        )

    def _chosen(
        self, ways: Sequence[Way], beta: float, solver: str | Solver | None = None
    ) -> tuple[Way, AnswerPolynomial, float]:
        """Return the way with the least bound that fails with probability beta, its polynomial and the bound."""
        found = ((way, self._polynomial_of(way, 1.0 - beta, solver)) for way in ways)
        bounded = [(way, one, self._bound(one, way.terms(self.plan.sizes[-1]), beta)) for way, one in found]
        return min(bounded, key=lambda each: each[2])

    def polynomial(
        self, sets: Sequence[int], target: Values, confidence: float, solver: str | Solver | None = None
    ) -> AnswerPolynomial:
        """Return the polynomial for a query with these numbers of literals per condition; its numbers are shares."""
        terms = np.sqrt(np.array(symmetric(sets, min(len(sets), self.plan.sizes[-1])), dtype=np.float64)[1:])
        deviations = self.plan.deviations[: terms.size] * terms / self.plan.size
        found = answers_tried(
            target, deviations, deviations_for(1.0 - confidence), gaussian=self.plan.gaussian, solver=solver
        )
        counts = np.array(symmetric(sets, len(sets)), dtype=np.float64)[:, None]
        return min(found, key=lambda one: self._bound(one, counts, 1.0 - confidence))

    def conjunctions_of(
        self, literals: NDArray[np.int64], predicate: str = "and", *, confidence: float = 1.0 - BETA
    ) -> tuple[NDArray[np.float64], float]:
        """Return the answers to many queries of as many literals each, (q,), not cut at 0 and 1, and the bound of each.

        `literals` (q, k) are numbers of literals, of increasing groups in each row; the predicate is as for `answer`.
        """
        literals = self.plan.literals.groups.checked(literals)
        width = literals.shape[1]
        if not 1 <= width <= self.plan.width:
            raise WorkloadError(f"found queries of {width} literals; this summary answers 1 to {self.plan.width}")
        target = Target.named(predicate, width).values
        polynomial = self.polynomial([1] * width, target, confidence)
        values = np.full(len(literals), polynomial.coefficients[0])
        by_size = self._by_size
        for j, _, coefficient in polynomial.terms():
            for chosen in combinations(range(width), j):
                numbers = self.plan.literals.groups.numbers(literals[:, chosen])
                values += coefficient * by_size[j][numbers] / self.plan.size
        counts = np.array(symmetric([1] * width, width), dtype=np.int64)[:, None]
        return values, self._bound(polynomial, counts, 1.0 - confidence)

    @property
    def _by_size(self) -> dict[int, NDArray[np.int64]]:
        return dict(zip(self.plan.sizes, self.noisy, strict=True))

    def _polynomial_of(self, way: Way, confidence: float, solver: str | Solver | None = None) -> AnswerPolynomial:
        if not way.negated:
            values = tuple(row[0] for row in way.values)
            return self.polynomial([len(one) for one in way.counted], values, confidence, solver)
        sizes = np.add.outer(np.arange(len(way.counted) + 1), np.arange(len(way.negated) + 1))
        known = np.concatenate(([inf], self.plan.deviations))
        each = np.where(sizes < known.size, known[np.minimum(sizes, known.size - 1)], inf)
        counts = np.maximum(1, way.terms(self.plan.sizes[-1])).astype(np.float64)
        return best_mixed_answer(
            way.values, each * np.sqrt(counts) / self.plan.size, deviations_for(1.0 - confidence), solver
        )

    def _value(self, polynomial: AnswerPolynomial, way: Way) -> tuple[float, int]:
        """Return the weighted sum of noisy counts, not cut at 0 and 1, and the degree."""
        groups, by_size = self.plan.literals.groups, self._by_size
        value, degree = polynomial.coefficients[0], 0
        for i, j, coefficient in polynomial.terms():
            value += coefficient * int(by_size[i + j][way.numbers(groups, i, j)].sum()) / self.plan.size
            degree = max(degree, i + j)
        return value, degree

    def _bound(
        self, polynomial: AnswerPolynomial, counts: NDArray[np.float64] | NDArray[np.int64], beta: float
    ) -> float:
        """Return gamma and a bound on the noise, if these numbers of counts of each pair of sizes are added up."""
        scales = dict(zip(self.plan.sizes, self.plan.scales, strict=True))
        used = polynomial.terms()
        noise = noise_bound(
            np.array([abs(coefficient) * scales[i + j] for i, j, coefficient in used]) / self.plan.size,
            np.array([counts[i, j] for i, j, _ in used], dtype=np.float64),
            beta,
            gaussian=self.plan.gaussian,
        )
        return polynomial.approximation + noise


def _taking_cones(solver: str | Solver, *, alone: bool) -> str | Solver | None:
    """Return the solver if it takes programs with cones; else None, or an error where it has nothing else to solve."""
    size = ModelSize(Capability.CONES, 0)
    if size.taken_by(solver):
        refuse_solver(solver, {"polynomial": size})
        return solver
    if alone:
        name = solver if isinstance(solver, str) else solver.name
        raise PolynomialError(
            f"the solver {name!r} cannot solve programs with cones, as answer_polynomial is; give another one, such "
            f"as clarabel"
        )
    return None


def _compared(solver: str | Solver | None, bound: float, own: float) -> str:
    """Say who found the polynomial, and how its bound compares; that is exact for its rounded coefficients."""
    if solver is None:
        return "answer_polynomial by dpopt's own method, because the solver cannot solve programs with cones"
    apart = f"{abs(bound - own):.2g} {'above' if bound >= own else 'below'} that of dpopt's own method"
    name = solver if isinstance(solver, str) else solver.name
    return f"answer_polynomial by {name}: its bound is {bound:.6g}, {apart}"


def _proved(solver: Solver, interval: ConsistentInterval) -> str:
    """Report a named solver's proof about an answer."""
    found = f"its points reach them to within {interval.gap:.2g} of the records"
    return (
        f"consistent_records by {solver.name}: the share is between {interval.low:.6g} and {interval.high:.6g}, proved "
        f"by its dual values; {found if isfinite(interval.gap) else 'it found no point'}"
    )
