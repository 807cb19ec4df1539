"""A released histogram: noisy counts of its levels, the counts they agree on, and answers with their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.histograms.histogram_plan import HistogramPlan
from dpopt.errors import TranscriptError, WorkloadError
from dpopt.inference.histograms.simplex_descent import divide_from_the_root
from dpopt.inference.histograms.tree_least_squares import least_squares, range_variances
from dpopt.queries.arrays import freeze, frozen
from dpopt.queries.bins import Bins

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class RangeAnswer:
    """How many records lie in a range.

    Attributes
    ----------
    value : float
        The estimate; never negative, and consistent with all others of the histogram.
    standard_error : float
        That of the least-squares estimate, exact; `value` differs from it where that would be negative somewhere.
    low, high : float
        Interval around the least-squares estimate, cut at 0: with Gaussian tails it holds the truth with this confidence.
    confidence : float
    """

    value: float
    standard_error: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of ordered bins under differential privacy. Everything it holds may be published.

    Attributes
    ----------
    bins : Bins
    plan : HistogramPlan
    noisy : tuple of (blocks,) int64 arrays
        The noisy counts of each measured level, from single bins up.
    privacy : Mapping
        What was spent, charge by charge.
    """

    bins: Bins
    plan: HistogramPlan
    noisy: tuple[NDArray[np.int64], ...]
    privacy: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.bins.number != self.plan.bins:
            raise TranscriptError(f"found {self.bins.number:,} bins for a plan of {self.plan.bins:,}")
        for height, values in zip(self.plan.heights, self.noisy, strict=True):
            if values.shape != (self.plan.blocks(height),):
                raise TranscriptError(
                    f"found {values.size:,} noisy counts of blocks of {2**height:,} bins; expected {self.plan.blocks(height):,}"
                )

    def __repr__(self) -> str:
        return (
            f"Histogram({self.bins.name!r}, {self.bins.number:,} bins, epsilon={self.privacy['epsilon']}, "
            f"delta={self.privacy['delta']:g}, {self.privacy['neighbours']})"
        )

    @cached_property
    def least_squares(self) -> NDArray[np.float64]:
        """The unbiased estimate of each bin of least variance, (n,); may be negative."""
        tree = self.plan.tree
        return freeze(least_squares(tree, self._node_values, self.plan.variances)[tree.leaf_of_bin])

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """The estimate of each bin, (n,): none negative, and wide ranges as accurate as by least squares."""
        tree = self.plan.tree
        return freeze(divide_from_the_root(tree, self._node_values, self.plan.variances)[tree.leaf_of_bin])

    @property
    def total(self) -> float:
        """The estimate of the number of records."""
        return float(self._sums[-1])

    def range(self, start: int, stop: int, *, confidence: float = CONFIDENCE) -> RangeAnswer:
        """Return how many records lie in the bins start, ..., stop - 1, with the error of the answer.

        Raises
        ------
        WorkloadError
            If there is no such range, or the confidence is not between 0 and 1.
        """
        return self.ranges([(start, stop)], confidence=confidence)[0]

    def between(self, text: str, *, confidence: float = CONFIDENCE) -> RangeAnswer:
        """Return how many records lie in a range that a text names, such as "20:40" (`Bins.range_of`).

        Raises
        ------
        WorkloadError
            If the text names no range.
        """
        return self.range(*self.bins.range_of(text), confidence=confidence)

    def ranges(
        self, wanted: Sequence[tuple[int, int]], *, confidence: float = CONFIDENCE
    ) -> list[RangeAnswer]:
        """Return the answers to many ranges, as `range` gives each."""
        from scipy.special import ndtri

        if not 0.0 < confidence < 1.0:
            raise WorkloadError(f"the confidence must lie between 0 and 1, found {confidence!r}")
        starts, stops = (np.array(side, dtype=np.int64) for side in zip(*wanted, strict=True))
        bad = (starts < 0) | (stops > self.bins.number) | (starts >= stops)
        if bad.any():
            place = int(np.argmax(bad))
            raise WorkloadError(
                f"found the range from {starts[place]} to {stops[place]}; expected 0 <= start < stop <= {self.bins.number:,}"
            )
        values = self._sums[stops] - self._sums[starts]
        unbiased = self._unbiased_sums[stops] - self._unbiased_sums[starts]
        errors = np.sqrt(range_variances(self.plan.tree, self.plan.variances, starts, stops))
        reach = float(ndtri(0.5 + confidence / 2.0)) * errors
        low, high = np.maximum(unbiased - reach, 0.0), np.maximum(unbiased + reach, 0.0)
        rows = zip(values.tolist(), errors.tolist(), low.tolist(), high.tolist(), strict=True)
        return [RangeAnswer(*row, confidence) for row in rows]

    def quantile(self, share: float) -> int:
        """Return the first bin up to which at least this share of the records lie.

        Raises
        ------
        WorkloadError
            If the share is not between 0 and 1, or the histogram is empty.
        """
        if not 0.0 <= share <= 1.0:
            raise WorkloadError(f"a quantile is a share between 0 and 1, found {share!r}")
        if self.total <= 0.0:
            raise WorkloadError("the histogram has no records by its own estimate, and so no quantiles")
        wanted = share * self.total
        place = int(np.searchsorted(self._sums[1:], wanted - 1e-9 * self.total, side="left"))
        return min(place, self.bins.number - 1)

    def whole_counts(self) -> NDArray[np.int64]:
        """Return whole numbers near the estimates, (n,), whose sums over the first bins are the rounded ones."""
        return np.asarray(np.diff(np.rint(self._sums)), dtype=np.int64)

    def to_json(self) -> dict[str, Any]:
        """Return all that is to be kept, as JSON."""
        return {
            "dpopt_histogram": 1,
            "privacy": dict(self.privacy),
            "bins": self.bins.to_json(),
            "plan": self.plan.to_json(),
            "noisy": [values.tolist() for values in self.noisy],
            "counts": np.round(self.counts, 6).tolist(),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Histogram:
        """Read what `to_json` gave; the estimates are computed again.

        Raises
        ------
        TranscriptError
            If it is no histogram, or damaged.
        """
        if given.get("dpopt_histogram") != 1:
            raise TranscriptError(
                "found no histogram of this version; expected a file of 'dpopt histogram release'"
            )
        try:
            return cls(
                Bins.from_json(given["bins"]),
                HistogramPlan.from_json(given["plan"]),
                tuple(frozen(values, np.int64) for values in given["noisy"]),
                dict(given["privacy"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise TranscriptError(f"the histogram on file is damaged: {error}") from error

    @cached_property
    def _node_values(self) -> NDArray[np.float64]:
        tree = self.plan.tree
        values = np.zeros(len(tree))
        for level, noisy in zip(reversed(tree.levels), self.noisy, strict=False):
            values[level] = noisy
        if self.plan.size is not None:
            values[0] = self.plan.size
        return freeze(values)

    @cached_property
    def _sums(self) -> NDArray[np.float64]:
        return freeze(np.concatenate(([0.0], np.cumsum(self.counts))))

    @cached_property
    def _unbiased_sums(self) -> NDArray[np.float64]:
        return freeze(np.concatenate(([0.0], np.cumsum(self.least_squares))))
