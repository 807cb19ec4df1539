"""Sums of all bins weighted by sine or cosine waves: measured so, ranges or prefixes have little variance (ST-6).

With the eigenvalues l_k and eigenvectors U of the inverse of G for all ranges (sines) or for prefixes (cosines), the
strategy of equal d is A = diag(l^(-1/4)) U' diag(s), where s scales each column to norm 1. It is square, so that bins
are diag(1 / s) U diag(l^(1/4)) y of what was measured, and a query w has the variance |l^(1/4) U' diag(1 / s) w|^2: by
fast Fourier transforms.

    ranges     U_ik = (2 / (n + 1))^(1/2) sin(2 pi p q / (2 n + 2)),   p = k,       q = i,       l = 4 sin^2(pi p / (2 n + 2))
    prefixes   U_ik = 2 / (2 n + 1)^(1/2) cos(2 pi p q / (8 n + 4)),   p = 2 k - 1, q = 2 i - 1, l = 4 sin^2(pi p / (4 n + 2))

for i, k = 1, ..., n. Measured are whole numbers: `weights` times the table of sines, times a unit, rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Waves:
    """The waves over n bins."""

    prefixes: bool
    """Whether they are those of prefixes; otherwise of all ranges."""
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    """Shape (n,). p of each wave and q of each bin."""
    table: Numbers
    """Shape (period,). One sine or cosine, 2 pi m / period."""
    eigenvalues: Numbers
    """Shape (n,). l."""
    norms: Numbers
    """Shape (n,). s."""
    inverse: Numbers
    """Shape (2 n + 1,). g: the covariance of bins i and j, times s_i s_j, is g(|i - j|) less (ranges) or plus
    (prefixes) g(i + j + c), with bins from 0 and c = 2 or 1."""

    @property
    def bins(self) -> int:
        """Number of bins n."""
        return self.rows.size

    @property
    def height(self) -> float:
        """The largest entry that U may have."""
        return float(2.0 / np.sqrt(2 * self.bins + 1) if self.prefixes else np.sqrt(2.0 / (self.bins + 1)))

    def weights(self) -> tuple[Numbers, Numbers]:
        """Return the factors of rows and of columns of A, (n,) each: entries are their products with the table's."""
        return self.height * self.eigenvalues**-0.25, self.norms

    def transformed(self, values: Numbers, *, of_bins: bool) -> Numbers:
        """Return U' values (of bins) or U values (of waves), (..., n)."""
        given, wanted = (self.columns, self.rows) if of_bins else (self.rows, self.columns)
        half = np.zeros((*values.shape[:-1], self.table.size // 2 + 1), dtype=np.complex128)
        half[..., given] = values if self.prefixes else -1j * values
        found = np.fft.irfft(half, self.table.size)[..., wanted]
        return np.asarray(found * (self.height * self.table.size / 2.0))

    def bins_of(self, measured: Numbers) -> Numbers:
        """Return the bins that measured sums stand for, (n,)."""
        return self.transformed(self.eigenvalues**0.25 * measured, of_bins=False) / self.norms

    def variances(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Numbers:
        """Return the variances of ranges start, ..., stop - 1, (q,), where each sum has noise of variance 1."""
        found = np.empty(starts.size)
        places, at_once = np.arange(self.bins), max(1, 2**21 // self.table.size)
        for first in range(0, starts.size, at_once):
            part = slice(first, first + at_once)
            inside = (places >= starts[part, None]) & (places < stops[part, None])
            moved = self.transformed(inside / self.norms, of_bins=True)
            found[part] = moved**2 @ np.sqrt(self.eigenvalues)
        return found

    def near_variances(self, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Numbers:
        """Return about the variances of many ranges, (q,), as if s were the same all over; exact for single bins."""
        g, places = self.inverse[: self.bins + 1], np.arange(self.bins + 1)
        near, far = np.cumsum(2.0 * g), np.cumsum(2.0 * g * places)
        middle = starts + sizes // 2
        sums = sizes * (near[sizes - 1] - g[0]) - far[sizes - 1]
        own = self.inverse[2 * middle + (1 if self.prefixes else 2)]
        alone = g[0] + (own if self.prefixes else -own)
        return np.asarray(np.where(sizes == 1, alone, np.maximum(sums, alone)) / self.norms[middle] ** 2)

    def mean_variance(self) -> float:
        """Return the mean variance of all ranges, or of all prefixes, where each sum has noise of variance 1."""
        number, place = self.bins, np.arange(self.bins, dtype=np.float64)
        low = np.ones(number) if self.prefixes else place + 1.0
        high, queries = number - place, number if self.prefixes else number * (number + 1) / 2
        own = self.inverse[2 * np.arange(number) + (1 if self.prefixes else 2)]
        sign, shift = (1.0, 1) if self.prefixes else (-1.0, 2)
        first, last = low / self.norms, high / self.norms
        total = float(first * last @ (self.inverse[0] + sign * own)) if number else 0.0
        size = 1 << max(0, number - 1).bit_length()
        one, two = np.zeros(size), np.zeros(size)
        one[:number], two[:number] = first, last
        far = np.zeros(2 * size + 2)
        far[: 2 * number - 1] = self.inverse[shift : shift + 2 * number - 1]
        near = np.zeros(2 * size)
        near[:number] = self.inverse[:number]
        block = 1
        while block < size:  # pairs i < j in neighbouring blocks: sums and differences of places by convolution
            left, right = one.reshape(-1, 2 * block)[:, :block], two.reshape(-1, 2 * block)[:, block:]
            moved = np.fft.rfft(right, 2 * block)
            sums = np.fft.irfft(np.fft.rfft(left, 2 * block) * moved, 2 * block)
            apart = np.fft.irfft(np.fft.rfft(left[:, ::-1], 2 * block) * moved, 2 * block).sum(axis=0)
            at = 2 * np.arange(0, size, 2 * block)[:, None] + block + np.arange(2 * block)
            total += 2.0 * sign * float((sums * far[at]).sum())
            total += 2.0 * float(apart @ near[1 : 2 * block + 1])
            block *= 2
        return total / queries


@lru_cache(maxsize=4)
def waves_of(bins: int, *, prefixes: bool) -> Waves:
    """Return the waves over this number of bins."""
    places = np.arange(1, bins + 1, dtype=np.int64)
    rows, period = (2 * places - 1, 8 * bins + 4) if prefixes else (places, 2 * bins + 2)
    angles = 2.0 * np.pi * np.arange(period) / period
    eigenvalues = 4.0 * np.sin(np.pi * rows / (4.0 * bins + 2.0 if prefixes else 2.0 * bins + 2.0)) ** 2

    def kernel(values: Numbers) -> Numbers:
        """Return the sums over k of values_k times the mean square of U and cos(2 pi p m / period), m = 0, ..., 2 n."""
        length = period // 2 if prefixes else period
        half = np.zeros(length // 2 + 1)
        half[rows] = values
        found = np.fft.irfft(half, length) * (length / 2.0)
        return np.asarray(
            found[np.arange(2 * bins + 1) % length] * (2.0 / (2 * bins + 1) if prefixes else 1.0 / (bins + 1))
        )

    root = kernel(eigenvalues**-0.5)
    own = root[2 * places - 1] if prefixes else -root[2 * places]
    return Waves(
        prefixes,
        freeze(rows),
        freeze(np.array(rows)),
        freeze(np.cos(angles) if prefixes else np.sin(angles)),
        freeze(eigenvalues),
        freeze((root[0] + own) ** -0.5),
        freeze(kernel(np.sqrt(eigenvalues))),
    )
