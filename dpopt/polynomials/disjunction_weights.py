"""Predicates of how many of k literals are true as sums over disjunctions of some of them; exact.

With s of the k literals true, C(k, j) - C(k - s, j) of the disjunctions of j literals are true, and

    [s < r] = sum_{j = k - r + 1..k} (-1)^(j - (k - r + 1)) C(j - 1, k - r) C(k - s, j)     (1 <= r <= k)

by inclusion and exclusion on the k - s false ones: at least k - r + 1 of them are. At s = 0 it says that the weights w_j times
C(k, j) add up to 1, so that no constant is left:

    [s >= r] = sum_j w_j sum_{|J| = j} [some literal of J is true].

Source: Thaler, Ullman and Vadhan 2012, Remark 4.7, which states neither the weights nor their sum; these are our own.
"""

from __future__ import annotations

from math import comb

from dpopt.polynomials.targets import Target


def disjunction_weights(needed: int, width: int) -> tuple[int, ...]:
    """Return w_0, ..., w_k with [s >= r] = sum_j w_j times the number of true disjunctions of j of the k literals.

    Raises
    ------
    PolynomialError
        k outside 1..256, or r outside 1..k.
    """
    Target.at_least(needed, width)
    first = width - needed + 1
    return tuple(
        0 if size < first else (-1) ** (size - first) * comb(size - 1, first - 1) for size in range(width + 1)
    )


def total_weight(needed: int, width: int) -> int:
    """Return sum_j |w_j| C(k, j): by how much the errors of disjunctions can grow; 1 for r = 1, 2 k - 1 for r = 2."""
    return sum(
        abs(weight) * comb(width, size) for size, weight in enumerate(disjunction_weights(needed, width))
    )
