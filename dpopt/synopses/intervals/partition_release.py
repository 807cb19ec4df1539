"""A released partition: boxes with weights, what was measured of them, and answers to any box with bounds of their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import TranscriptError, WorkloadError
from dpopt.files.codec import chosen
from dpopt.inference.histograms.tree_least_squares import TreeGains
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import sides_of
from dpopt.synopses.histograms.counts_plan import noise_variance
from dpopt.synopses.histograms.estimates import Estimate, estimated_nodes
from dpopt.synopses.histograms.histogram import CONFIDENCE
from dpopt.synopses.intervals.interval_plan import IntervalPlan
from dpopt.synopses.intervals.noise_reach import reach_of_sums
from dpopt.synopses.intervals.partition import Partition
from dpopt.synopses.intervals.partition_plan import PartitionPlan
from dpopt.synopses.intervals.split_plan import SplitPlan
from dpopt.synopses.synopsis import PlannedSynopsis

_AT_ONCE = 2**22  # numbers in a table of parts or of weights
KINDS: Mapping[str, type[PartitionPlan]] = {"intervals": IntervalPlan, "split": SplitPlan}
"""The class of each kind of plan by its name on file."""


@dataclass(frozen=True, slots=True)
class PartitionAnswer:
    """How many records lie in a box.

    Attributes
    ----------
    value : float
        The estimate: of a box of the partition that is cut, the part of its cells that lies within.
    bound : float
        How far the value is off at most, with this confidence.
    low, high : float
        The truth lies between them, with this confidence.
    confidence : float
    """

    value: float
    bound: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, eq=False)
class PartitionRelease(PlannedSynopsis):
    """Boxes of a grid with weights under differential privacy. Everything it holds may be published.

    Attributes
    ----------
    axes : tuple of Bins
        The bins of each column.
    plan : PartitionPlan
    partition : Partition
        Found by noisy searches.
    noisy : tuple of (g,) int64 arrays
        The noisy sums of each measured level of groups, from the top down; none for printed weights.
    privacy : Mapping
        What was spent, charge by charge.
    """

    KEY = "dpopt_intervals"
    WHAT = "release of intervals"
    MADE_BY = "'dpopt intervals release'"
    DECLARED: ClassVar = {"axes": tuple[Bins, ...], "partition": Partition}
    axes: tuple[Bins, ...]
    plan: PartitionPlan
    partition: Partition
    noisy: tuple[NDArray[np.int64], ...]
    privacy: Mapping[str, Any]

    def __post_init__(self) -> None:
        shape = tuple(bins.number for bins in self.axes)
        if shape != self.partition.shape or shape != self.plan.shape:
            raise TranscriptError(
                f"found columns of {list(shape)} bins, a plan for {list(self.plan.shape)} and boxes of "
                f"{list(self.partition.shape)}"
            )
        expected = [level.shape for level in self.partition.groups]
        found = [values.shape for values in self.noisy]
        if found != expected or len(self.plan.mass_scales) != len(expected):
            raise TranscriptError(f"found noisy sums of shapes {found}; expected {expected}")

    def __repr__(self) -> str:
        names = " x ".join(f"{bins.name!r} ({bins.number:,})" for bins in self.axes)
        return (
            f"PartitionRelease({names}, {len(self.partition):,} boxes, epsilon={self.privacy['epsilon']}, "
            f"delta={self.privacy['delta']:g}, {self.privacy['neighbours']})"
        )

    @property
    def known_total(self) -> int | None:
        """The number of records where it is public, and not one near it."""
        return self.plan.size if self.plan.total_is_public else None

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The estimate of the records in each box, (c,), none negative."""
        if not self.noisy:
            return freeze(printed_weights(len(self.partition), self.plan.aim, self.plan.size))
        nodes = estimated_nodes(Estimate.DIVIDED, self.partition.tree, self._values, self._variances)
        return freeze(np.array(nodes[self.partition.tree.leaf_of_bin]))

    @property
    def total(self) -> float:
        """The estimate of the number of records."""
        return float(self.weights.sum())

    def answer(self, text: str, *, confidence: float = CONFIDENCE) -> PartitionAnswer:
        """Return how many records lie in a box that a text names, a range for each column: "20:40,0:10" (`Bins.range_of`).

        Raises
        ------
        WorkloadError
            If the text names no box.
        """
        return self.boxes([sides_of(text, self.axes)], confidence=confidence)[0]

    def boxes(
        self, wanted: Sequence[Sequence[tuple[int, int]]], *, confidence: float = CONFIDENCE
    ) -> list[PartitionAnswer]:
        """Return the answers to boxes, for each column the bins start, ..., stop - 1, with bounds of their errors.

        With measured sums the truth lies between the sum of the boxes of the partition that lie within and the sum of those
        that are touched, each with its noise (`reach_of_sums`, exact variances of least squares). With printed weights all
        ranges together are off by at most the error of the plan, at the plan's confidence; another one is refused.

        Raises
        ------
        WorkloadError
            If there is no such box, or no such confidence.
        """
        starts = np.array([[start for start, _ in sides] for sides in wanted], dtype=np.int64)
        stops = np.array([[stop for _, stop in sides] for sides in wanted], dtype=np.int64)
        self._check_confidence(confidence)
        found: list[PartitionAnswer] = []
        step = max(1, _AT_ONCE // (2 * len(self.partition.tree)))
        for place in range(0, len(starts), step):
            chosen = slice(place, place + step)
            parts = self.partition.parts_within(starts[chosen], stops[chosen])
            values = parts @ self.weights
            low, high = self._bounds(parts, values, confidence)
            bound = np.maximum(values - low, high - values)
            rows = zip(values.tolist(), bound.tolist(), low.tolist(), high.tolist(), strict=True)
            found.extend(PartitionAnswer(*row, confidence) for row in rows)
        return found

    def values(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the estimates of boxes with these corners, (q, D) each, without bounds; (q,)."""
        step = max(1, _AT_ONCE // len(self.partition))
        found = [
            self.partition.parts_within(starts[place : place + step], stops[place : place + step])
            @ self.weights
            for place in range(0, len(starts), step)
        ]
        return np.concatenate(found) if found else np.zeros(0)

    def whole_counts(self, records: int) -> NDArray[np.int64]:
        """Return how many of so many synthetic records each box has, (c,): whole numbers near the shares of its weight.

        Raises
        ------
        WorkloadError
            If there are no records to share, by the request or by the release's own estimate.
        """
        if records < 1 or self.total <= 0.0:
            raise WorkloadError(
                f"found {records:,} records to share among boxes that have {self.total:g}; both must be above 0"
            )
        sums = np.rint(np.cumsum(self.weights) * (records / self.total))
        sums[-1] = records
        return np.asarray(np.diff(sums, prepend=0.0), dtype=np.int64)

    @classmethod
    def read_plan(cls, given: Any) -> PartitionPlan:
        """Return the plan on file, of intervals or of boxes."""
        return chosen(KINDS, given, "kind", "the plan", TranscriptError).from_json(given)

    @cached_property
    def _variances(self) -> NDArray[np.float64]:
        """Variance of each node of the tree: the root's is inf, or 0 where the number of records is public."""
        tree = self.partition.tree
        found = np.full(len(tree), np.inf)
        for level, scale in zip(tree.levels[1:], self.plan.mass_scales, strict=True):
            found[level] = noise_variance(scale, gaussian=self.plan.gaussian)
        if self.known_total is not None:
            found[0] = 0.0
        return freeze(found)

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        values = np.zeros(len(self.partition.tree))
        for level, noisy in zip(self.partition.tree.levels[1:], self.noisy, strict=True):
            values[level] = noisy
        if self.known_total is not None:
            values[0] = self.known_total
        return freeze(values)

    @cached_property
    def _gains(self) -> TreeGains:
        return TreeGains.of(self.partition.tree, self._variances)

    @cached_property
    def _unbiased(self) -> NDArray[np.float64]:
        """The least-squares estimate of each box, (c,)."""
        return freeze(np.array(self._gains.fit(self._values)[self.partition.tree.leaf_of_bin]))

    @cached_property
    def _node_scales(self) -> NDArray[np.float64]:
        """Scale of the noise of each node, (v,); 0 for the root, which is never measured."""
        found = np.zeros(len(self.partition.tree))
        for level, scale in zip(self.partition.tree.levels[1:], self.plan.mass_scales, strict=True):
            found[level] = scale
        return freeze(found)

    def _check_confidence(self, confidence: float) -> None:
        if not 0.0 < confidence < 1.0:
            raise WorkloadError(f"the confidence must lie between 0 and 1, found {confidence!r}")
        if not self.noisy and confidence > 1.0 - self.plan.beta + 1e-12:
            raise WorkloadError(
                f"the error of printed weights was planned for the confidence {1.0 - self.plan.beta:g}, found {confidence:g}; "
                "ask for that one, or plan with another --confidence"
            )

    def _bounds(
        self, parts: NDArray[np.float64], values: NDArray[np.float64], confidence: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if not self.noisy:
            low, high = values - self.plan.error, values + self.plan.error
        else:
            within, touched = parts >= 1.0, parts > 0.0
            low = within @ self._unbiased - self._reach(within, confidence)
            high = touched @ self._unbiased + self._reach(touched, confidence)
        most = np.inf if self.known_total is None else float(self.known_total)
        low = np.clip(low, 0.0, most)
        return low, np.clip(high, low, most)

    def _reach(self, chosen: NDArray[np.bool_], confidence: float) -> NDArray[np.float64]:
        """Return what the noise of the least-squares sum of the chosen boxes (q, c) stays below, (q,).

        The covariance of the estimates of nodes with the sum of chosen boxes is what least squares makes of values that are
        the box's variance at chosen boxes, and 0 elsewhere; divided by its variance it is the weight of each noisy sum.
        """
        tree = self.partition.tree
        values = np.zeros((len(tree), len(chosen)))
        leaves = tree.leaf_of_bin
        values[leaves] = chosen.T * self._variances[leaves, None]
        covariances = self._gains.fit(values)
        measured = slice(1, None)
        weights = covariances[measured] / self._variances[measured, None]
        return reach_of_sums(
            weights, self._node_scales[measured], 1.0 - confidence, gaussian=self.plan.gaussian
        )


def printed_weights(intervals: int, threshold: int, size: int) -> NDArray[np.float64]:
    """Return the paper's weights: the threshold for each interval that was found, the rest for the last; (intervals,).

    Where the found ones would have more than all records, they share these equally and the last has none.
    """
    found = intervals - 1
    each = min(float(threshold), size / found) if found else 0.0
    return np.array([each] * found + [size - each * found])
