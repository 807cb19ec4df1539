"""The multisets that the net mechanism draws from, and its distribution in whole numbers.

The weight of a distance, however small, has 126 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from math import comb
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dpopt.constraints import Whole, constrain
from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import RandomWords

BITS = 128
MOST_DEPTH = 20_000
_DIGITS = 100


class NetDistribution:
    """Weights exp(-range distance / spread), times one power of two, as whole numbers.

    **Distribution.** With r = range / spread, distance d (at most the clamp), e = floor(r d / ln 2) and D = floor(r
    clamp / ln 2), the weight is floor(2^128 exp(e ln 2 - r d)) 2^(D - e): the exponential times 2^(128 + D), cut off
    after 128 bits.

    **Theorem.** Weights proportional to exp(-range distance / spread) make a range-bounded-range mechanism, so it is
    range-DP and (range^2 / 8)-zCDP (Dong, Durfee and Rogers 2020; the net mechanism of Blum, Ligett and Roth 2013 is
    this with the distance max over Q of |Q(D) - Q(D')|). The clamp needs no slack; cutting off adds less than 2^-123 to
    the range, for which 2^-49 is charged (`dpopt.accounting.dualquery.SAMPLER_SLACK`). Privacy: E8 in docs/privacy.

    Larger distances never weigh more: two distances that are told apart differ by a factor of at least exp(-r), far
    more than the 2^-126 of the cutting (`MOST_DEPTH` and 64-bit distances see to it).

    Checked by `tests/private/test_net_distribution.py` against rational arithmetic written apart from this file.

    The `range_` is the epsilon of the mechanism without the slack of the sampler, `spread` the largest minus the smallest
    change of the distances over the candidates, for any two neighbours; distances above `clamp`, public, count as it.
    """

    __slots__ = ("_known", "_log_of_two", "_rate", "clamp", "depth")

    def __init__(self, range_: Decimal, spread: int, clamp: int) -> None:
        if not range_.is_finite() or range_ <= 0 or spread < 1 or clamp < 0:
            raise PlanError(
                f"a net mechanism needs a range above 0, a spread of at least 1 and a clamp of at least 0; found "
                f"{range_}, {spread} and {clamp}"
            )
        with localcontext(_context()):
            self._rate = range_ / Decimal(spread)
            self._log_of_two = Decimal(2).ln()
            depth = self._rate * clamp / self._log_of_two
        if depth >= MOST_DEPTH:
            raise PlanError(
                f"the weights of a net mechanism of range {range_} would span a factor of 2^{int(depth):,}, and "
                f"2^{MOST_DEPTH:,} is the most; choose a smaller range"
            )
        self.depth = int(depth)
        self.clamp = clamp
        self._known: dict[int, int] = {}

    def weight(self, distance: int) -> int:
        """Return the weight of a distance of at least 0."""
        distance = min(distance, self.clamp)
        known = self._known.get(distance)
        if known is None:
            known = self._known[distance] = self._computed(distance)
        return known

    def _computed(self, distance: int) -> int:
        with localcontext(_context()):
            exponent = self._rate * distance
            shift = int(exponent / self._log_of_two)
            fraction = (shift * self._log_of_two - exponent).exp()
            return int(fraction * (1 << BITS)) << (self.depth - shift)


def whole_below(total: int, source: RandomWords) -> int:
    """Return a whole number exactly uniform on 0 .. total - 1, however large `total`.

    Words are masked to the bit length of ``total - 1`` and drawn again while not below `total`: two tries on average.
    """
    if total < 1:
        raise ValueError(f"the range must be at least 1, found {total}")
    bits = (total - 1).bit_length()
    words, mask = -(-bits // 64), (1 << bits) - 1
    while True:
        drawn = np.ascontiguousarray(source.words(words), dtype="<u8").tobytes() if words else b""
        number = int.from_bytes(drawn, "little") & mask
        if number < total:
            return number


def _context() -> Context:
    """Return a fresh context: the caller's own precision, rounding and traps play no part."""
    return Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN, traps=[])


MOST_MULTISETS = 2**62
MOST_RECORDS, MOST_ELEMENTS = 1_000, 4_096
LARGEST_TARGET = 2**50


@dataclass(frozen=True, slots=True, eq=False)
class Multisets:
    """All multisets of m elements of a universe, in a fixed order."""

    answers: NDArray[np.int8]
    """Shape (k, A). Value of each of k queries on each of A elements, 0 or 1. Public."""
    records: Annotated[int, Whole("the number of records of a small database", most=MOST_RECORDS)]
    """How many elements m a multiset has."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        if self.answers.ndim != 2 or 0 in self.answers.shape:
            raise PlanError(f"answers of queries on elements form a matrix, found the shape {self.answers.shape}")
        if np.any((self.answers != 0) & (self.answers != 1)):
            raise PlanError("the value of a query on an element is 0 or 1; found another number")
        if self.elements > MOST_ELEMENTS:
            raise PlanError(
                f"a small database is drawn over at most {MOST_ELEMENTS:,} elements, found {self.elements:,}"
            )
        if self.number >= MOST_MULTISETS:
            raise PlanError(
                f"there are {float(self.number):.2g} multisets of {self.records} of {self.elements:,} elements, and a "
                f"draw is possible among fewer than 2^62 = {float(MOST_MULTISETS):.1e}; ask for fewer records"
            )

    @property
    def elements(self) -> int:
        """Number A of elements."""
        return int(self.answers.shape[1])

    @property
    def number(self) -> int:
        """Number of multisets: A + m - 1 over m."""
        return comb(self.elements + self.records - 1, self.records)
