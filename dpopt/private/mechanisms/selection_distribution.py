"""The exact distribution of the exponential mechanism over a few thousand candidates, in whole numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from itertools import accumulate

from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import RandomWords, uniform_below

DEPTH = 50
BITS = 112
_DIGITS = 80


def clamp_of(range_: Decimal, spread: int) -> int:
    """Return the largest difference of scores that is told apart: exp(-range clamp / spread) is at least 2^-50.

    Raises
    ------
    PlanError
        If it is 0. What decides is public.
    """
    with localcontext(_context()):
        clamp = int(DEPTH * Decimal(2).ln() * spread / range_)
    if clamp < 1:
        raise PlanError(
            f"a selection of range {range_} could not distinguish scores, of which one record moves the difference by up to "
            f"{spread} steps; choose a smaller range"
        )
    return clamp


def selection_weights(scores: Sequence[int], *, range_: Decimal, spread: int) -> list[int]:
    """Return a whole number for each candidate, to which the probability of selecting it is exactly proportional.

    Parameters
    ----------
    scores
        One whole number per candidate, at most 10,000; larger is better. Private.
    range_ : Decimal
        Range of the mechanism, positive, an exact decimal.
    spread : int
        Largest minus smallest change of the scores over the candidates, for any two neighbours; at least 1.

    Raises
    ------
    PlanError
        If range / spread is so large that scores could not be distinguished (`clamp_of`).

    Notes
    -----
    **Distribution.** Candidate c has the weight 2^112 exp(-range min(top - score_c, clamp) / spread), rounded to a whole
    number, `clamp` being the largest whole number with exp(-range clamp / spread) at least 2^-50.

    **Theorem.** Weights proportional to exp(range score / spread) make a range-bounded-range mechanism (Dong, Durfee and Rogers
    2020). The clamp needs no slack; rounding adds less than 2^-59 to the range, for which 2^-49 is charged
    (`dpopt.accounting.dualquery.SAMPLER_SLACK`). The draw by `uniform_below` is exact. Privacy: E2 in docs/privacy.md.

    Checked by `tests/private/test_selection_distribution.py` (against rational arithmetic written apart from this file,
    range over all neighbours) and `tests/statistics/test_selection_draws.py`.
    """
    top, clamp = max(scores), clamp_of(range_, spread)
    with localcontext(_context()):
        unit = Decimal(1 << BITS)
        distances = [min(top - score, clamp) for score in scores]
        weights = {
            distance: int((unit * (-range_ * distance / spread).exp()).to_integral_value())
            for distance in set(distances)
        }
    return [weights[distance] for distance in distances]


def draw_candidate(weights: Sequence[int], source: RandomWords) -> int:
    """Return a candidate, with probability exactly proportional to its weight."""
    ends = list(accumulate(weights))
    high, low = uniform_below(ends[-1], 1, source)[0].tolist()
    return bisect_right(ends, (high << 64) + low)


def _context() -> Context:
    """Return a fresh context: the caller's own precision, rounding and traps play no part."""
    return Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN, traps=[])
