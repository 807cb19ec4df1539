"""Which of the queries of the round before are kept: independent exact Bernoulli draws."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError
from dpopt.private.mechanisms.exponential_table import ExponentialTable
from dpopt.private.mechanisms.randomness import RandomWords

_DIGITS = 60
_SAFE = 2.0**-49  # the float product below is off by at most 6 * 2**-53 of itself
_WORD = 2.0**64


class KeptQueries:
    """Keeps a query with probability exp(-(eta k / n + c)), k = n (1 - A) a whole number from 0 to 2 n.

    Parameters
    ----------
    step : Decimal
        Step eta, an exact decimal.
    margin : Decimal
        c, above 0.
    size : int
        Public size n or n0.
    table : ExponentialTable
        exp(-eta D / n) for D up to 2 n at least.

    Notes
    -----
    A query is kept if a uniform real U in [0, 1) lies below its probability a. The first 64 binary digits of U decide, except
    where they lie within a relative 2^-49 of a; there, more digits of both decide. The distribution is exact: no slack is
    due. The time this takes is not hidden (known limits). Privacy: F4 in docs/privacy.md. Test:
    `tests/private/test_reused_draws.py`.

    Raises
    ------
    PlanError
        If the table is too short, which steps above 17 bring about.
    """

    def __init__(self, step: Decimal, margin: Decimal, size: int, table: ExponentialTable) -> None:
        if table.clamp < 2 * size:
            raise PlanError(
                f"the step eta = {step} is too large for queries to be kept; take one of at most 8, or dualquery"
            )
        self._step, self._margin, self._size = step, margin, size
        self._table = table
        with localcontext(Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN, traps=[])):
            self._most = float((-margin).exp())

    def draw(self, distances: NDArray[np.int64], source: RandomWords) -> NDArray[np.bool_]:
        """Return for each k (r,) whether the query is kept; one word of `source` each, and more at the edge."""
        words = source.words(len(distances))
        table = self._table
        about = table.high[distances >> table.bits] * table.low[distances & ((1 << table.bits) - 1)]
        about = about * self._most
        kept: NDArray[np.bool_] = words < (about * (1.0 - _SAFE) * _WORD).astype(np.uint64)
        unsure = ~kept & (words <= (about * (1.0 + _SAFE) * _WORD).astype(np.uint64) + np.uint64(1))
        for place in np.flatnonzero(unsure):  # one in 2**48: none in nearly every round
            kept[place] = self._decide(int(distances[place]), int(words[place]), source)
        return kept

    def _decide(self, distance: int, drawn: int, source: RandomWords) -> bool:
        """Return whether U, which begins with the 64 digits `drawn`, lies below exp(-(eta k / n + c))."""
        digits, bits = _DIGITS, 64
        while True:
            with localcontext(Context(prec=digits, rounding=ROUND_HALF_EVEN, traps=[])):
                exponent = self._step * distance / self._size + self._margin
                scaled = (-exponent).exp() * Decimal(2) ** bits
                error = scaled * Decimal(10) ** (4 - digits)
                if Decimal(drawn) + 1 <= scaled - error:  # all reals that begin like this lie below
                    return True
                if Decimal(drawn) >= scaled + error:
                    return False
            drawn = (drawn << 64) | int(source.words(1)[0])
            digits, bits = digits + 20, bits + 64
