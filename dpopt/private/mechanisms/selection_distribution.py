"""The exact distribution of the exponential mechanism over a few thousand candidates, and its weights.

exp(-eta D / n) for integer D is correctly rounded, without trust in the machine's exponential.

Privacy: E3 in docs/privacy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import RandomWords, uniform_below

_LARGEST_TABLE = 4_000_000


class ExponentialTable:
    """The weight of a query whose score lies D below the largest one, for D = 0 .. clamp.

    The product of two entries, rounded once more, has relative error at most 3 * 2**-53 (1 + 2**-50): each factor
    contributes one rounding, the product the third. It is at least 2**-(depth + 1) and has 53 bits, so times 2**(depth
    + 54) it is an exact integer.

    `step` is eta, an exact decimal above 0, `size` the public n or n0. Larger D than `clamp` count as it: exp(-eta clamp
    / n) is at least 2**-depth, and exp(-eta (clamp + 1) / n) is below it. D is split as ``high * 2**bits + low``; the
    arrays `high` (r,) and `low` (2**bits,) are exp(-eta high 2**bits / n) and exp(-eta low / n), each the double nearest
    to the true value.
    """

    __slots__ = ("bits", "clamp", "high", "low")

    def __init__(self, step: Decimal, size: int, *, depth: int = 50) -> None:
        if not step.is_finite() or step <= 0:
            raise PlanError(f"the step eta must be a positive number, found {step}")
        if size < 1:
            raise PlanError(f"the public size must be at least 1, found {size}")
        # A fresh context: the caller's own precision, rounding and traps play no part.
        with localcontext(Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN, traps=[])):
            rate = step / Decimal(size)
            self.clamp = int(depth * Decimal(2).ln() / rate)
            if self.clamp == 0:
                raise PlanError(
                    f"eta / n = {rate:.3e} is so large that the scores of two queries could not be distinguished "
                    f"(at most {depth * Decimal(2).ln():.1f}); choose a smaller step"
                )
            self.bits = self.clamp.bit_length() // 2
            base = 1 << self.bits
            if base > _LARGEST_TABLE:
                raise PlanError(
                    f"eta / n = {rate:.3e} is so small that the sampler's tables would need {2 * base:,} entries "
                    f"(at most {2 * _LARGEST_TABLE:,}); choose a larger step"
                )
            self.low = _powers((-rate).exp(), base)
            self.high = _powers((-rate * base).exp(), (self.clamp >> self.bits) + 1)


def _powers(ratio: Decimal, count: int) -> NDArray[np.float64]:
    """Return ratio**0 .. ratio**(count - 1), each computed to about 70 digits and then rounded to the nearest double."""
    values = np.empty(count, dtype=np.float64)
    power = Decimal(1)
    for index in range(count):
        values[index] = float(power)
        power *= ratio
    values.flags.writeable = False
    return values


DEPTH = 50
BITS = 112
_DIGITS = 80


def clamp_of(range_: Decimal, spread: int) -> int:
    """Return the largest difference of scores that has an effect: exp(-range clamp / spread) is at least 2^-50."""
    with localcontext(_context()):
        clamp = int(DEPTH * Decimal(2).ln() * spread / range_)
    if clamp < 1:
        raise PlanError(
            f"a selection of range {range_} could not distinguish scores, of which one record moves the difference by "
            f"up to {spread} steps; choose a smaller range"
        )
    return clamp


def selection_weights(scores: Sequence[int], *, range_: Decimal, spread: int) -> list[int]:
    """Return a whole number for each candidate, to which the probability of selecting it is exactly proportional.

    **Distribution.** Candidate c has the weight 2^112 exp(-range min(top - score_c, clamp) / spread), rounded to a
    whole number, `clamp` being the largest whole number with exp(-range clamp / spread) at least 2^-50.

    **Theorem.** Weights proportional to exp(range score / spread) make a range-bounded-range mechanism (Dong, Durfee
    and Rogers 2020). The clamp needs no slack; rounding adds less than 2^-59 to the range, for which 2^-49 is charged
    (`dpopt.accounting.dualquery.SAMPLER_SLACK`). The draw by `uniform_below` is exact. Privacy: E2 in docs/privacy.

    Checked by `tests/private/test_selection.py` (against rational arithmetic written apart from this file,
    range over all neighbours) and `tests/statistics/test_draws.py`.

    There is one score per candidate, at most 10,000; larger is better. `range_` is that of the mechanism, `spread` the
    largest minus the smallest change of the scores over the candidates, for any two neighbours; at least 1.
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
