"""The answer of one query from a summary, and which point of its interval it is."""

from __future__ import annotations

from dataclasses import dataclass

from dpopt.models.polynomials.mixed_answer_polynomial import MixedAnswerPolynomial

POLYNOMIAL, CONSISTENT = "polynomial", "consistent"
ESTIMATES = (CONSISTENT, POLYNOMIAL)
CONTRADICTION = (
    "the noisy counts contradict each other by more than their bounds allow, which happens with less than the probability that "
    "the confidence leaves: the polynomial's answer instead"
)


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """Which share of the records satisfies a query.

    Attributes
    ----------
    value : float
        The estimate, between 0 and 1.
    bound : float
        How far it is off at most, with the probability `confidence`. Under add-remove for tables of at most n0 records; see
        `docs/summaries.md` for others.
    low, high : float
        The exact answer is between them with the same probability.
    approximation : float
        What is due to the polynomial, for any table; 0 but for rounding if the query is answered by inclusion and exclusion.
    standard_error : float
        That of the polynomial's noise, or a little more.
    degree : int
        Of the polynomial: conjunctions of so many literals were added up.
    confidence : float
    estimate : str
        "polynomial", or "consistent": within what the polynomial and all noisy counts together leave possible.
    note : str
        A note on the answer, if there is one.
    """

    value: float
    bound: float
    low: float
    high: float
    approximation: float
    standard_error: float
    degree: int
    confidence: float
    estimate: str
    note: str = ""


def polynomial_share(approximation: float, bound: float) -> float:
    """Return the part of the probability of failure that is for the polynomial's bound; the rest is for consistent counts.

    Half of it; but nine tenths where the bound is mostly that of noise. Then other counts say little more, and the bound is
    hardly larger than the polynomial's alone. Both numbers are known before any count is looked at.
    """
    return 0.9 if approximation <= 0.1 * bound else 0.5


def likely_point(value: float, polynomial: MixedAnswerPolynomial, low: float, high: float) -> float:
    """Return a point of the interval: its middle, drawn to the polynomial's value the more, the less that is off.

    As if the interval and the polynomial's own error, up to gamma either way, were uniform: the mean of least variance. Which
    point it is matters to the mean error alone; the bound is the distance to the farther end.
    """
    middle, reach = (low + high) / 2.0, (high - low) ** 2 / 12.0
    spread = polynomial.approximation**2 / 3.0 + polynomial.deviation**2
    if not reach + spread > 0:
        return middle
    return min(high, max(low, (reach * value + spread * middle) / (reach + spread)))
