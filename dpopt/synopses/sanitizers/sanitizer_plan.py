"""The plan of a generic sanitizer: one noise for all coefficients, made from public numbers alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, comb, log, log2, sqrt
from typing import Annotated

import numpy as np

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import constrain
from dpopt.errors import PlanError
from dpopt.private.measurements.sanitizer_sums import CoefficientSums, sensitivity_and_scale
from dpopt.queries.conjunctions.monomials import POWERS, Monomials
from dpopt.queries.polynomial_families import LARGEST_NORM, FunctionFamily, PolynomialFamily, SymmetricFamily
from dpopt.synopses.histograms.counts_plan import QUERIES, RECORDS, is_gaussian, whole_amount
from dpopt.synopses.summaries.noise_bounds import noise_bound

BETA = 0.05
"""The probability with which some query may be off by more than predicted."""
_LARGEST_SCALE = 2.0**46  # units; OpenDP's samplers and 64-bit sums have room above it
_LEAST_NORM = 2.0**10  # units that the coefficients of a record are worth, at least
_CUT = 1.0 + 2.0**-10  # what cutting to units loses, and the much smaller roundings of floating-point coefficients


@dataclass(frozen=True, eq=False)
class SanitizerFigures:
    """The public facts of a release besides the noisy sums; enough to answer queries from them."""

    name: str
    """Of the family."""
    labels: tuple[str, ...]
    """The meaning of each variable of a query, in words."""
    monomials: Monomials
    constant: float
    """Added to each answer, without noise."""
    width: int | None
    """The most variables that are 1 in a query; None for any number."""
    approximation: float
    """gamma."""
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    unit: float
    """The real number that a sum of 1 represents."""
    scale: float
    """Of the noise on each sum, in units. Of monomials with exponents, the paper's, it is for 2 T N as in its theorem
    (T N under add-remove), which is more than the charge asks for; of others for how far neighbours are apart."""
    size: Annotated[int, RECORDS]
    """The public number of records: n under replace-one, n0 under add-remove."""
    queries: Annotated[int, QUERIES]
    """Q: the queries that `predicted` holds for together."""
    exact_sensitivity: float
    crude_sensitivity: float
    """n times how far neighbours are apart in L1, and 2 T N (T N under add-remove)."""
    predicted: float
    """With probability 95 % none of the Q queries is off by more: gamma, and the noise of the M monomials that are 1 in
    one."""
    paper: float
    """The theorem's bound with probability 95 %: gamma, and the crude noise of all N coefficients added up."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        if len(self.labels) != self.monomials.variables:
            raise PlanError(f"found {len(self.labels)} labels of {self.monomials.variables} variables")
        self.measurement()

    def measurement(self) -> CoefficientSums:
        """Return the measurements."""
        return CoefficientSums(f"coefficients of {self.name}", self.unit, self.scale, self.gaussian)

    def error_bound(self, monomials: int, beta: float, *, queries: int = 1) -> float:
        """Bound the errors of answers that add up this many monomials, with probability 1 - beta for all of them."""
        noise = noise_bound(
            np.array([self.scale * self.unit / self.size]),
            np.array([float(monomials)]),
            beta,
            gaussian=self.gaussian,
            queries=queries,
        )
        return self.approximation + monomials * self.unit * _CUT + (noise if monomials else 0.0)


@dataclass(frozen=True, eq=False)
class SanitizerPlan:
    """The plan of a generic sanitizer's measurements."""

    family: PolynomialFamily
    figures: SanitizerFigures

    @property
    def budget(self) -> Budget:
        """The most that may be spent."""
        return self.figures.budget

    @property
    def relation(self) -> NeighbouringRelation:
        """The neighbouring relation of the charge."""
        return self.figures.relation

    @property
    def size(self) -> int:
        """The public number of records."""
        return self.figures.size

    @property
    def predicted(self) -> float:
        """With probability 95 % no query is off by more."""
        return self.figures.predicted

    @property
    def expected_error(self) -> float:
        """The predicted error, as a share of the records."""
        return self.figures.predicted

    def charges(self) -> list[Charge]:
        """Return the one charge."""
        return [self.figures.measurement().charge(self.family, self.figures.relation)]


def plan_sanitizer(
    family: PolynomialFamily,
    budget: Budget,
    size: int | None,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
) -> SanitizerPlan:
    """Return the plan of the generic sanitizer for a family and a budget.

    A function whose table of all records is small is asked for it here, once, and then left out of the release. The
    accountant `PURE` pays for Laplace noise (Theorem 3.1), `ZCDP` for Gaussian noise (Theorem 3.2, where the paper has
    Laplace noise of about the same size).
    """
    size = RECORDS(size or 0, PlanError)
    gaussian, amount = is_gaussian(budget), whole_amount(budget)
    if isinstance(family, FunctionFamily) and family.can_be_tabulated:
        family = family.tabulated()
    replaced = relation is NeighbouringRelation.REPLACE_ONE
    unit, scale = _unit_and_scale(family, amount, gaussian=gaussian, replaced=replaced)
    moves = family.moves(unit)
    figures = SanitizerFigures(
        name=family.name,
        labels=_labels(family),
        monomials=family.monomials,
        constant=family.constant,
        width=family.width,
        approximation=family.approximation,
        relation=relation,
        budget=budget,
        gaussian=gaussian,
        unit=unit,
        scale=scale,
        size=size,
        queries=_number_of_queries(family),
        exact_sensitivity=(moves.replaced if replaced else moves.added) * unit,
        crude_sensitivity=crude_sensitivity(family, replaced=replaced),
        predicted=0.0,
        paper=theorem_error(family, amount, size, gaussian=gaussian, replaced=replaced),
    )
    ones = family.monomials.variables if family.width is None else family.width
    predicted = figures.error_bound(family.monomials.most_true(ones), BETA, queries=figures.queries)
    return SanitizerPlan(family, replace(figures, predicted=predicted))


def crude_sensitivity(family: PolynomialFamily, *, replaced: bool) -> float:
    """Return n times the theorem's L1 sensitivity: 2 T N under replace-one, T N under add-remove."""
    return (2.0 if replaced else 1.0) * family.largest * family.monomials.count


def theorem_error(family: PolynomialFamily, amount: float, size: int, *, gaussian: bool, replaced: bool) -> float:
    """Return alpha of Theorem 3.1 (or 3.2) with explicit constants, for beta = `BETA`.

    Laplace: gamma + b (N + (2 N ln(1 / beta))^(1/2) + ln(1 / beta)), b = 2 T N / (epsilon n): the tail of the sum of N
    exponential variables, as every monomial is 0 or 1. Gaussian: gamma + sigma (2 N (N ln 2 + ln(1 / beta)))^(1/2),
    sigma = 2 T N^(1/2) / (n (2 rho)^(1/2)), by Markov's inequality on the moment 2^N e^{N (t sigma)^2 / 2} of the sum
    of N absolute values.
    """
    number, crude = family.monomials.count, crude_sensitivity(family, replaced=replaced)
    tail = log(1.0 / BETA)
    if not gaussian:
        return family.approximation + crude / (amount * size) * (number + sqrt(2 * number * tail) + tail)
    deviation = crude / sqrt(number) / (size * sqrt(2.0 * amount))
    return family.approximation + deviation * sqrt(2.0 * number * (number * log(2.0) + tail))


def _unit_and_scale(family: PolynomialFamily, amount: float, *, gaussian: bool, replaced: bool) -> tuple[float, float]:
    """Return the least unit in which sums and noise have room, and the scale of the noise in it."""
    norm = family.norm
    if not norm > 0:
        raise PlanError(f"{family.name}: all coefficients are 0; there is nothing to release")
    unit = 2.0 ** ceil(log2(norm / LARGEST_NORM))
    while norm / unit > LARGEST_NORM:
        unit *= 2.0
    while norm / unit >= _LEAST_NORM:
        needed = _needed(family, unit, amount, gaussian=gaussian, replaced=replaced)
        if needed <= _LARGEST_SCALE:
            return unit, _scale(family, unit, amount, needed, gaussian=gaussian, replaced=replaced)
        unit *= 2.0 ** max(1, ceil(log2(needed / _LARGEST_SCALE)))
    raise PlanError(f"{family.name}: the budget is too small, or the noise of the theorem too large; raise the budget")


def _needed(family: PolynomialFamily, unit: float, amount: float, *, gaussian: bool, replaced: bool) -> float:
    """Return the scale of the noise, in units, but for roundings."""
    sensitivity, shrunk = sensitivity_and_scale(family, unit, 1.0, gaussian=gaussian, replaced=replaced)
    exact = (sqrt(sensitivity / (2.0 * amount)) if gaussian else sensitivity / amount) / shrunk
    if family.monomials.kind != POWERS:
        return exact
    given = crude_sensitivity(family, replaced=replaced) / unit
    by_theorem = given / sqrt(family.monomials.count) / sqrt(2.0 * amount) if gaussian else given / amount
    return max(exact, by_theorem)


def _scale(
    family: PolynomialFamily, unit: float, amount: float, needed: float, *, gaussian: bool, replaced: bool
) -> float:
    """Return the same so that its charge is at most the amount."""
    sensitivity, shrunk = sensitivity_and_scale(family, unit, 1.0, gaussian=gaussian, replaced=replaced)
    return max(needed, measurement_scale(sensitivity, amount=amount, gaussian=gaussian) / shrunk)


def _labels(family: PolynomialFamily) -> tuple[str, ...]:
    if isinstance(family, SymmetricFamily):
        return family.literals.labels
    return tuple(f"y{place}" for place in range(1, family.monomials.variables + 1))


def _number_of_queries(family: PolynomialFamily) -> int:
    if isinstance(family, SymmetricFamily):
        return max(1, family.literals.groups.conjunctions(family.width))
    variables = family.monomials.variables
    return 2**variables if family.width is None else comb(variables, family.width)
