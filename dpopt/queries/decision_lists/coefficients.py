"""The coefficients of each decision list in each conjunction, and by how much one row moves all of them.

With s = how many of the first i literals of a row are true at a point, "none of them is" is approximated by

    q_i(s) = sum_{a, b} c_i(a, b) C(s, a) C(i - s, b),

a sum over conjunctions of a of these literals and the negations of b others. Since x(y) = b_1 + sum_i d_i [none of the
first i is true] with d_i = b_{i+1} - b_i, a row counts

    u_p(a, b) = sum_{i >= p} d_i c_i(a, b)

in each conjunction of j = a + b literals on variables of the row, the last of which stands at place p, with a of them
as they stand there and b negated; and b_1 + sum_i d_i c_i(0, 0) in the empty one. The coefficients are whole multiples
of a public unit 2^-g, so that counts are whole numbers and their noise is discrete.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dpopt.constraints import Whole, constrain
from dpopt.errors import WorkloadError
from dpopt.queries.decision_lists.families import ListFamily, RowKind

LARGEST_BITS = 20
_LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class ListCoefficients:
    """Whole numbers 2^g c_i(a, b). Public."""

    family: ListFamily
    """The rows that they are for, of up to k literals."""
    values: NDArray[np.int64]
    """Shape (k + 1, t + 1, t + 1). Of i, a and b; 0 for i = 0 and for a + b above i or t."""
    bits: Annotated[int, Whole("g, for units of 2^-g,", least=0, most=LARGEST_BITS)]
    """g."""

    def __post_init__(self) -> None:
        constrain(self, WorkloadError)
        k, t = self.family.length, self.values.shape[-1] - 1
        if self.values.shape != (k + 1, t + 1, t + 1) or not 0 <= t <= k:
            raise WorkloadError(f"found coefficients of shape {self.values.shape}; expected ({k + 1}, t + 1, t + 1)")
        i, a, b = np.nonzero(self.values)
        if (i == 0).any() or (a + b > np.minimum(i, t)).any():
            raise WorkloadError("found coefficients of conjunctions with more literals than there are")
        largest = 2**self.bits + k * max(abs(int(self.values.max())), abs(int(self.values.min())))
        if 4 * largest**2 * max(comb(k, j) * 2**j for j in range(t + 1)) >= _LARGEST:
            raise WorkloadError(f"found coefficients up to {largest / 2**self.bits:.3g}; too large to add up")

    @property
    def largest_size(self) -> int:
        """t: the most literals of a conjunction."""
        return int(self.values.shape[-1]) - 1

    def used(self, size: int) -> bool:
        """Return whether rows count anything in the conjunctions of a size."""
        return any(self.values[:, a, size - a].any() for a in range(size + 1))

    def up_to(self, size: int) -> ListCoefficients:
        """Return the same without the larger sizes, which are not used."""
        return ListCoefficients(self.family, np.ascontiguousarray(self.values[:, : size + 1, : size + 1]), self.bits)

    def conjunctions(self, size: int) -> int:
        """Return how many conjunctions of a size there are over all variables: 2^j C(m, j)."""
        return int(2**size * comb(len(self.family.variables), size))

    def sensitivity(self, size: int, *, replaced: bool, squared: bool) -> int:
        """Return the largest distance of the counts of a size between neighbours, in units: L1, or the square of L2.

        **Add-remove.** The largest norm of what one row counts, over all ways in which its output may change.
        **Replace-one.** Twice that norm; for disjunctions and conjunctions in L2 the largest distance of two rows; for
        the empty conjunction the largest difference. At least 1. Privacy: C10 in docs/privacy. Test:
        `tests/queries/test_list_kernels.py`.
        """
        if not 0 <= size <= self.largest_size:
            raise WorkloadError(f"found conjunctions of {size} literals; expected 0 to {self.largest_size}")
        if size == 0:
            counted = self.of_empty(self.family.patterns)
            width = int(counted.max() - counted.min()) if replaced else int(np.abs(counted).max())
            return max(1, width**2 if squared else width)
        norm = int(self._norms(size, squared=squared).max())
        if not replaced:
            return max(1, norm)
        if self.family.kind is RowKind.LISTS or not squared:
            return max(1, norm * (4 if squared else 2))
        return max(1, self._farthest(size))

    def of_empty(self, patterns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the contribution of rows with these outputs to the empty conjunction, (r,), in units."""
        return np.asarray((patterns[:, 0] << self.bits) + np.diff(patterns, axis=1) @ self.values[1:, 0, 0])

    def _norms(self, size: int, *, squared: bool) -> NDArray[np.int64]:
        """Return, for each form of the output, the norm of a row's contributions to the conjunctions of a size, (r,)."""
        steps = np.diff(self.family.patterns, axis=1)
        places = range(1, self.family.length + 1)
        found = np.zeros(len(steps), dtype=np.int64)
        for a in range(size + 1):
            each = steps * self.values[1:, a, size - a]
            counted = each[:, ::-1].cumsum(axis=1)[:, ::-1]  # u_p(a, b), p = 1, ..., k
            numbers = np.array([comb(p - 1, size - 1) * comb(size, a) for p in places], dtype=np.int64)
            found += (counted**2 if squared else np.abs(counted)) @ numbers
        return found

    def _farthest(self, size: int) -> int:
        """Return the largest squared L2 distance between two rows that change their output once, in the same direction.

        Such rows of i and h literals count c_i and c_h. If they share e literals and o variables with opposite
        literals, they meet in the conjunctions on shared variables only, and of those with j' of the e and j - j' of
        the o, a conjunction agrees with alpha and beta of the first row's literals and with alpha and j - j' - beta of
        the other's.
        """
        k, variables = self.family.length, len(self.family.variables)
        norms = [0] + [
            comb(i, size) * sum(comb(size, a) * int(self.values[i, a, size - a]) ** 2 for a in range(size + 1))
            for i in range(1, k + 1)
        ]
        best = max(norms)  # against a row that always gives the same
        for i in range(1, k + 1):
            for h in range(1, i + 1):
                products = self._products(i, h, size)
                for equal in range(h + 1):
                    for opposite in range(max(0, i + h - variables - equal), h - equal + 1):
                        inner = sum(
                            comb(equal, part) * comb(opposite, size - part) * products[part] for part in range(size + 1)
                        )
                        best = max(best, norms[i] + norms[h] - 2 * inner)
        return best

    def _products(self, i: int, h: int, size: int) -> list[int]:
        """Return for each number of equal literals the sum of products over the signs of a set of shared variables."""
        one, other = ([int(self.values[row, a, size - a]) for a in range(size + 1)] for row in (i, h))
        return [
            sum(
                comb(part, alpha) * comb(size - part, beta) * one[alpha + beta] * other[alpha + size - part - beta]
                for alpha in range(part + 1)
                for beta in range(size - part + 1)
            )
            for part in range(size + 1)
        ]
