"""The plan of a summary: conjunctions of which sizes are counted, with how much noise; made from public numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import LARGEST_SCALE, SMALLEST_SCALE, amount_for, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.summaries.noise_bounds import deviations_for, noise_bound
from dpopt.errors import PlanError
from dpopt.formulations.answer_polynomial import AnswerPolynomial, best_answer
from dpopt.polynomials.joint import least_predicted_error
from dpopt.polynomials.targets import Target
from dpopt.private.conjunction_curator import ConjunctionCounts
from dpopt.queries.chosen_literals import ChosenLiterals

BETA = 0.05
"""The probability with which some query of the planned kind may be off by more than predicted."""
MOST_COUNTED = 20_000_000
"""Conjunctions of all sizes together, at most: they are counted, get noise and are kept."""
LARGEST_WIDTH = 16

SMALL_QUERIES = 0.05
"""The share of the budget that the sizes below k have together at least, as far as sizes above them are counted."""

_GAUSSIAN, _LAPLACE = "discrete Gaussian", "discrete Laplace"
_LEFT_OUT = Fraction(10) ** 12  # the weight of sizes that are not counted
_LEAST_SHARE = 1e-4  # of the budget, for a size to be counted
_ROUNDS = 30
_DEARER = (0.1, 0.3, 1.0, 2.0, 4.0, 10.0)


@dataclass(frozen=True, eq=False)
class SummaryPlan:
    """What a summary measures.

    Attributes
    ----------
    literals : ChosenLiterals
    width : int
        k, the largest number of literals of a query.
    predicate : str
        "and", "or" or "atleast:R": the queries that the budget was spread for; others of at most k literals are answered too.
    relation : NeighbouringRelation
    budget : Budget
    gaussian : bool
    sizes : tuple of int
        The counted sizes of conjunctions, increasing.
    scales : tuple of float
        Scale of the noise of each, in records.
    size : int
        The public number of records: n under replace-one, n0 under add-remove.
    predicted : float
        With probability 95 % every query of the planned kind with k literals is off by at most this share of records.
    approximation : float
        What of it is due to the polynomial; the rest is noise.
    direct : float
        What would be predicted if each of these queries was counted with noise of its own; inf for queries that are none.
    """

    literals: ChosenLiterals
    width: int
    predicate: str
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    sizes: tuple[int, ...]
    scales: tuple[float, ...]
    size: int
    predicted: float
    approximation: float
    direct: float

    def __post_init__(self) -> None:
        check_width(self.width, self.literals)
        if not self.sizes or list(self.sizes) != sorted(set(self.sizes)) or self.sizes[0] < 1:
            raise PlanError(f"found the sizes {self.sizes}; expected increasing ones from 1 on")
        if self.sizes[-1] > self.width:
            raise PlanError(f"found conjunctions of {self.sizes[-1]} literals for queries of {self.width}")
        if len(self.scales) != len(self.sizes):
            raise PlanError(f"found {len(self.scales)} scales for {len(self.sizes)} sizes")
        if not all(SMALLEST_SCALE <= scale < LARGEST_SCALE for scale in self.scales):
            raise PlanError(
                f"found noise of scales {self.scales}; expected {SMALLEST_SCALE:g} to below {LARGEST_SCALE:g}"
            )
        if self.size < 1:
            raise PlanError(f"found {self.size} records; a summary needs at least one")
        Target.named(self.predicate, self.width)

    def measurements(self) -> list[ConjunctionCounts]:
        """Return what is asked of the curator."""
        return [
            ConjunctionCounts(size, scale, self.gaussian)
            for size, scale in zip(self.sizes, self.scales, strict=True)
        ]

    def charges(self) -> list[Charge]:
        """Return what each size costs."""
        return [one.charge(self.literals, self.relation) for one in self.measurements()]

    @property
    def deviations(self) -> NDArray[np.float64]:
        """Standard deviation of a count of each size 1, ..., t, (t,); inf where none was counted."""
        found = np.full(self.sizes[-1], inf)
        for size, scale in zip(self.sizes, self.scales, strict=True):
            found[size - 1] = scale if self.gaussian else scale * sqrt(2.0)
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "literals": self.literals.to_json(),
            "width": self.width,
            "predicate": self.predicate,
            "relation": self.relation.value,
            "neighbours": self.relation.describe(),
            "budget": self.budget.to_json(),
            "noise": _GAUSSIAN if self.gaussian else _LAPLACE,
            "sizes": list(self.sizes),
            "conjunctions": [self.literals.groups.conjunctions(size) for size in self.sizes],
            "scales": list(self.scales),
            "size": self.size,
            "predicted_error": self.predicted,
            "predicted_approximation": self.approximation,
            "predicted_error_of_direct_counts": None if self.direct == inf else self.direct,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> SummaryPlan:
        """Read what `to_json` gave.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is no plan; a `PlanError` where a number is out of range.
        """
        if given["noise"] not in {_GAUSSIAN, _LAPLACE}:
            raise PlanError(f"found the noise {given['noise']!r}; expected {_GAUSSIAN} or {_LAPLACE}")
        direct = given["predicted_error_of_direct_counts"]
        return cls(
            literals=ChosenLiterals.from_json(given["literals"]),
            width=int(given["width"]),
            predicate=str(given["predicate"]),
            relation=NeighbouringRelation(given["relation"]),
            budget=Budget.from_json(given["budget"]),
            gaussian=given["noise"] == _GAUSSIAN,
            sizes=tuple(int(size) for size in given["sizes"]),
            scales=tuple(float(scale) for scale in given["scales"]),
            size=int(given["size"]),
            predicted=float(given["predicted_error"]),
            approximation=float(given["predicted_approximation"]),
            direct=inf if direct is None else float(direct),
        )


def check_width(width: int, literals: ChosenLiterals) -> None:
    """Refuse a k that is out of range.

    Raises
    ------
    PlanError
        If it is.
    """
    most = min(LARGEST_WIDTH, len(literals.groups.sizes))
    if not 1 <= width <= most:
        raise PlanError(
            f"found k = {width}; expected 1 to {most}: queries have one literal of a column, and at most 16"
        )


def plan_summary(
    literals: ChosenLiterals,
    width: int,
    budget: Budget,
    *,
    size: int,
    predicate: str = "and",
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
) -> SummaryPlan:
    """Return the plan with the least predicted error of the queries of k literals that the budget covers.

    minimize E + zeta sum_j |a_j| w_j over polynomials a (models/approximation_plus_noise), the noise of each size scaled best.
    What is predicted holds for all Q queries together (`noise_bound`).

    Parameters
    ----------
    literals : ChosenLiterals
    width : int
        k, from 1 to 16 and to the number of columns.
    budget : Budget
        With the accountant `PURE`: Laplace noise; with `ZCDP`: Gaussian noise.
    size : int
        The public number of records.
    predicate : str
        "and", "or" or "atleast:R".
    relation : NeighbouringRelation

    Raises
    ------
    PlanError
        If k or size is out of range, or the accountant has no figure for either noise.
    PolynomialError
        If there is no such predicate.
    AccountingError
        If the budget is too small for any noise.
    """
    check_width(width, literals)
    if size < 1:
        raise PlanError(f"found {size} records; a summary needs at least one")
    if budget.accountant not in {Accountant.PURE, Accountant.ZCDP}:
        raise PlanError(
            f"the accountant {budget.accountant.value!r} has no figure for the noise of counts; use 'pure' or 'zcdp'"
        )
    gaussian = budget.accountant is Accountant.ZCDP
    amount = amount_for(budget, gaussian=gaussian)
    if not amount > 0:
        raise PlanError(f"{budget.describe()} leaves nothing to measure with; raise the budget")
    target = Target.named(predicate, width)
    kept = _countable(literals, width)
    replaced = relation is NeighbouringRelation.REPLACE_ONE
    moved = np.array(
        [literals.groups.moved(j, replaced=replaced) for j in range(1, width + 1)], dtype=np.float64
    )
    queries = literals.groups.conjunctions(width)
    measured = _Measured(moved[:kept], amount, size, queries, gaussian)
    spread = _spread(target, measured)
    sizes = tuple((np.flatnonzero(spread.shares) + 1).tolist())
    direct = inf
    if target == Target.conjunction(width) or width == 1:
        alone = replace(measured, moved=moved[-1:])
        direct = alone.noise(np.ones(1), np.ones(1), np.ones(1))
    return SummaryPlan(
        literals=literals,
        width=width,
        predicate=predicate,
        relation=relation,
        budget=budget,
        gaussian=gaussian,
        sizes=sizes,
        scales=tuple(
            measurement_scale(
                int(moved[j - 1]),
                amount=amount * float(spread.shares[j - 1]),
                gaussian=gaussian,
            )
            for j in sizes
        ),
        size=size,
        predicted=spread.bound,
        approximation=spread.answer.approximation,
        direct=direct,
    )


def _countable(literals: ChosenLiterals, width: int) -> int:
    """Return the largest size up to which all conjunctions can be counted."""
    total, largest = 0, 0
    for size in range(1, width + 1):
        total += literals.groups.conjunctions(size)
        if total > MOST_COUNTED:
            break
        largest = size
    if not largest:
        raise PlanError(f"{literals.groups.literals:,} literals are too many; take fewer columns (--columns)")
    return largest


@dataclass(frozen=True, slots=True)
class _Measured:
    """What is known of the measurements before the budget is spread.

    Attributes
    ----------
    moved : (t,) float64
        How many conjunctions of each size a record moves.
    amount : float
        rho or epsilon, for all sizes together.
    size : int
        Public number of records.
    queries : int
        Q, the number of queries that the bound is to hold for together.
    gaussian : bool
    """

    moved: NDArray[np.float64]
    amount: float
    size: int
    queries: int
    gaussian: bool

    def scales(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scale of the noise of a count of each size, as a share of the records; inf where no budget is spent."""
        with np.errstate(divide="ignore"):
            if self.gaussian:
                return np.asarray(np.sqrt(self.moved / (2.0 * self.amount * shares)) / self.size)
            return np.asarray(self.moved / (self.amount * shares) / self.size)

    def deviations(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard deviation of a count of each size, likewise."""
        return np.asarray(self.scales(shares) * (1.0 if self.gaussian else sqrt(2.0)))

    def noise(
        self, shares: NDArray[np.float64], coefficients: NDArray[np.float64], numbers: NDArray[np.float64]
    ) -> float:
        """Return how far noise goes in answers that add up so many counts of each size, times a coefficient."""
        used = coefficients > 0
        scales = coefficients[used] * self.scales(shares)[used]
        return noise_bound(scales, numbers[used], BETA, gaussian=self.gaussian, queries=self.queries)


@dataclass(frozen=True, slots=True)
class _Spread:
    """The share of the budget of each size, the polynomial for these, and the bound on the error of all queries."""

    shares: NDArray[np.float64]
    answer: AnswerPolynomial
    bound: float


def _spread(target: Target, measured: _Measured) -> _Spread:
    """Return the best spread found."""
    k, sizes = target.width, measured.moved.size
    numbers = np.array([comb(k, j) for j in range(1, sizes + 1)], dtype=np.float64)
    # As if each size had the whole budget. With Gaussian noise the program is exact for shares that are scaled best.
    costs = deviations_for(BETA, measured.queries) * np.sqrt(numbers) * measured.deviations(np.ones(sizes))
    found = []
    # With Laplace noise it is not convex, and begun at several places.
    for dearer in (1.0,) if measured.gaussian else _DEARER:
        weights = [
            Fraction(0),
            *(Fraction(one).limit_denominator(10**15) for one in (dearer * costs).tolist()),
        ]
        weights += [_LEFT_OUT] * (k + 1 - len(weights))
        begun = least_predicted_error(target, weights).polynomial.coefficients[1 : sizes + 1]
        coefficients = np.zeros(sizes)
        coefficients[: len(begun)] = [abs(float(one)) for one in begun]
        found.append(_improved(coefficients, target, measured, numbers))
    return min(found, key=lambda one: one.bound)


def _improved(
    coefficients: NDArray[np.float64], target: Target, measured: _Measured, numbers: NDArray[np.float64]
) -> _Spread:
    """Take turns: the best noise for a polynomial, then the best polynomial for that noise."""
    zeta, best = deviations_for(BETA, measured.queries), None
    for _ in range(_ROUNDS):
        shares = _best_shares(coefficients, measured.moved, numbers, gaussian=measured.gaussian)
        shares = _with_small_sizes(shares, target.width)
        answer = best_answer(target.values, np.sqrt(numbers) * measured.deviations(shares), zeta)
        coefficients = np.zeros(numbers.size)
        coefficients[: len(answer.coefficients) - 1] = np.abs(answer.coefficients[1:])
        bound = answer.approximation + measured.noise(shares, coefficients, numbers)
        if best is not None and bound >= best.bound * (1 - 1e-9):
            break
        best = _Spread(shares, answer, bound)
    assert best is not None  # noqa: S101  the first round gives one
    return best


def _best_shares(
    coefficients: NDArray[np.float64],
    moved: NDArray[np.float64],
    combinations: NDArray[np.float64],
    *,
    gaussian: bool,
) -> NDArray[np.float64]:
    """Return the shares of the budget of least variance of sum_j a_j times the sum over C(k, j) counts.

    Gaussian: b_j in proportion to |a_j| (m_j C_j)^(1/2); Laplace: to (|a_j| m_j C_j^(1/2))^(2/3).
    """
    if gaussian:
        shares = coefficients * np.sqrt(moved * combinations)
    else:
        shares = (coefficients * moved * np.sqrt(combinations)) ** (2.0 / 3.0)
    if (
        not shares.any()
    ):  # a constant answers: nothing is worth counting, and single literals are counted all the same
        shares = np.eye(moved.size)[0]
    shares = np.where(shares >= _LEAST_SHARE * shares.sum(), shares, 0.0)
    return np.asarray(shares / shares.sum())


def _with_small_sizes(shares: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return the shares with a little for each size below k up to the largest one: smaller queries are asked, too."""
    small = np.zeros_like(shares)
    small[: min(int(np.flatnonzero(shares)[-1]) + 1, width - 1)] = SMALL_QUERIES / max(1, width - 1)
    lacking = np.where(shares < small, small, 0.0)
    rest = np.where(shares < small, 0.0, shares)
    return np.asarray(lacking + rest * ((1.0 - lacking.sum()) / rest.sum()))
