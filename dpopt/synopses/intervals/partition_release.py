"""A released partition: boxes with weights, measured counts, and answers to any box with error bounds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PlanError, TranscriptError, WorkloadError
from dpopt.files.codec import chosen
from dpopt.inference.histograms.tree_least_squares import TreeGains
from dpopt.queries.ranges.bins import Bins, names_of
from dpopt.queries.ranges.grids import sides_of
from dpopt.releases.declared_size import Total
from dpopt.synopses.histograms.counts_plan import check_confidence, noise_variance
from dpopt.synopses.histograms.estimates import Estimate, estimated_nodes, tree_inferences
from dpopt.synopses.histograms.released_counts import CONFIDENCE
from dpopt.synopses.intervals.interval_plan import IntervalPlan
from dpopt.synopses.intervals.partition import Partition
from dpopt.synopses.intervals.partition_plan import MODEL, PartitionPlan
from dpopt.synopses.intervals.split_plan import SplitPlan
from dpopt.synopses.solved import Inference, Solved
from dpopt.synopses.summaries.noise_bounds import reach_of_sums
from dpopt.synopses.synopsis import PlannedSynopsis, write_rows

_AT_ONCE = 2**22  # numbers in a table of parts or of weights
KINDS: Mapping[str, type[PartitionPlan]] = {"intervals": IntervalPlan, "split": SplitPlan}
"""The class of each kind of plan by its name on file."""


@dataclass(frozen=True, slots=True)
class PartitionAnswer:
    """How many records lie in a box."""

    value: float
    """The estimate: of a box of the partition that is cut, the part of its cells that lies within."""
    bound: float
    """How far the value is off at most, with this confidence."""
    low: float
    high: float
    """The truth lies between them, with this confidence."""
    confidence: float


@dataclass(frozen=True, eq=False, repr=False)
class PartitionRelease(PlannedSynopsis):
    """Boxes of a grid with weights under differential privacy. Everything it holds may be published."""

    KEY = "dpopt_intervals"
    WHAT = "release of intervals"
    MADE_BY = "'dpopt intervals release'"
    DECLARED: ClassVar = {"axes": tuple[Bins, ...], "partition": Partition}
    axes: tuple[Bins, ...]
    """The bins of each column."""
    plan: PartitionPlan
    partition: Partition
    """Found by noisy searches."""
    noisy: tuple[NDArray[np.int64], ...]
    """The noisy sums of each measured level of groups, from the top down."""
    privacy: Mapping[str, Any]
    solved: tuple[Solved, ...] = ()

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

    def _error(self) -> tuple[str, float, bool]:
        return "counts of ranges and boxes", self.plan.expected_error, False

    def _contents(self) -> list[str]:
        return [names_of(self.axes), f"{len(self.partition):,} boxes"]

    @property
    def known_total(self) -> int | None:
        """The number of records where it is public, and not one near it."""
        return self.plan.size if self.plan.total_is_public else None

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The estimate of the records in each box, (c,), none negative."""
        if MODEL in self._found:
            return self._found[MODEL]
        estimate = Estimate(MODEL) if self.solved else Estimate.DIVIDED
        nodes = estimated_nodes(estimate, self.partition.tree, self._values, self._variances)
        return freeze(np.array(nodes[self.partition.tree.leaf_of_bin]))

    def inferences(self) -> dict[str, Inference]:
        """Return the estimate of the weights that is a model: `nonnegative`."""
        return {MODEL: tree_inferences(self.partition.tree, self._values, self._variances)[MODEL]}

    @property
    def total(self) -> float:
        """The estimate of the number of records."""
        return float(self.weights.sum())

    def totals(self) -> list[Total]:
        """Return the number of records by each measured level, whose boxes hold all records."""
        noise = [scale * (1.0 if self.plan.gaussian else 2.0**0.5) for scale in self.plan.mass_scales]
        return [
            Total(float(values.sum()), one * values.size**0.5, gaussian=self.plan.gaussian)
            for values, one in zip(self.noisy, noise, strict=True)
        ]

    def answer(self, text: str, *, confidence: float = CONFIDENCE) -> PartitionAnswer:
        """Return how many records lie in a box that a text names, a range for each column: "20:40,0:10" (`Bins.range_of`)."""
        return self.boxes([sides_of(text, self.axes)], confidence=confidence)[0]

    def boxes(
        self, wanted: Sequence[Sequence[tuple[int, int]]], *, confidence: float = CONFIDENCE
    ) -> list[PartitionAnswer]:
        """Return the answers to boxes, for each column the bins start, ..., stop - 1, with bounds of their errors.

        The truth lies between the sum of the boxes of the partition that lie within and the sum of those that are
        touched, each with its noise (`reach_of_sums`, exact variances of least squares).
        """
        starts = np.array([[start for start, _ in sides] for sides in wanted], dtype=np.int64)
        stops = np.array([[stop for _, stop in sides] for sides in wanted], dtype=np.int64)
        check_confidence(confidence)
        found: list[PartitionAnswer] = []
        step = max(1, _AT_ONCE // (2 * len(self.partition.tree)))
        for place in range(0, len(starts), step):
            chosen = slice(place, place + step)
            parts = self.partition.parts_within(starts[chosen], stops[chosen])
            values = parts @ self.weights
            low, high = self._bounds(parts, confidence)
            bound = np.maximum(values - low, high - values)
            rows = zip(values.tolist(), bound.tolist(), low.tolist(), high.tolist(), strict=True)
            found.extend(PartitionAnswer(*row, confidence) for row in rows)
        return found

    def whole_counts(self, records: int) -> NDArray[np.int64]:
        """Return the number of synthetic records in each box, (c,): whole numbers near its share of `number`."""
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
        variances = [noise_variance(scale, gaussian=self.plan.gaussian) for scale in self.plan.mass_scales]
        return self._of_nodes(np.inf if self.known_total is None else 0.0, variances)

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        return self._of_nodes(self.known_total or 0, self.noisy)

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
        return self._of_nodes(0.0, self.plan.mass_scales)

    def _of_nodes(self, root: float, levels: Iterable[float | NDArray[np.int64]]) -> NDArray[np.float64]:
        """Return a number for each node, (v,), from those of the root and of each measured level."""
        found = np.full(len(self.partition.tree), root, dtype=np.float64)
        for level, numbers in zip(self.partition.tree.levels[1:], levels, strict=True):
            found[level] = numbers
        return freeze(found)

    def _bounds(self, parts: NDArray[np.float64], confidence: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        within, touched = parts >= 1.0, parts > 0.0
        low = within @ self._unbiased - self._reach(within, confidence)
        high = touched @ self._unbiased + self._reach(touched, confidence)
        most = np.inf if self.known_total is None else float(self.known_total)
        low = np.clip(low, 0.0, most)
        return low, np.clip(high, low, most)

    def _reach(self, chosen: NDArray[np.bool_], confidence: float) -> NDArray[np.float64]:
        """Return a bound on the noise of the least-squares sum of the chosen boxes (q, c), (q,).

        The covariance of the estimates of nodes with the sum of chosen boxes is what least squares makes of values that
        are the box's variance at chosen boxes, and 0 elsewhere; divided by its variance it is the weight of each noisy
        sum.
        """
        tree = self.partition.tree
        values = np.zeros((len(tree), len(chosen)))
        leaves = tree.leaf_of_bin
        values[leaves] = chosen.T * self._variances[leaves, None]
        covariances = self._gains.fit(values)
        measured = slice(1, None)
        weights = covariances[measured] / self._variances[measured, None]
        return reach_of_sums(weights, self._node_scales[measured], 1.0 - confidence, gaussian=self.plan.gaussian)


MOST_RECORDS = 10_000_000


def write_boxes(released: PartitionRelease, path: str | os.PathLike[str]) -> None:
    """Write the first and the last bin of each box along each column, and its weight; whole or not at all."""
    header = [f"{bins.name} {end}" for bins in released.axes for end in ("first", "last")]
    partition = released.partition
    ends = zip(partition.starts.tolist(), partition.stops.tolist(), released.weights.tolist(), strict=True)
    rows = (
        [
            *(
                label
                for bins, low, high in zip(released.axes, start, stop, strict=True)
                for label in (bins.label(low), bins.label(high - 1))
            ),
            f"{weight:.6g}",
        ]
        for start, stop, weight in ends
    )
    write_rows(path, [*header, "weight"], rows)


def write_records(released: PartitionRelease, path: str | os.PathLike[str], records: int) -> None:
    """Write synthetic records: as many in each box as its weight says, evenly over its cells; whole or not at all.

    A bin of numbers is written as its lower edge, which lies in it; any other as its label.
    """
    if records > MOST_RECORDS:
        raise PlanError(f"found {records:,} records to write; expected at most {MOST_RECORDS:,}")
    cells = synthetic_cells(released, records)
    labels = [_values_of(bins) for bins in released.axes]
    rows = ([names[place] for names, place in zip(labels, cell, strict=True)] for cell in cells.tolist())
    write_rows(path, [bins.name for bins in released.axes], rows)


def synthetic_cells(released: PartitionRelease, records: int) -> NDArray[np.int64]:
    """Return the cell of each synthetic record, (records, D).

    Of c records in a box of v cells record r, from 0, lies in cell (2 r + 1) v / (2 c), rounded down.
    """
    partition = released.partition
    counts = released.whole_counts(records)
    box = np.repeat(np.arange(len(partition)), counts)
    place = np.arange(box.size) - np.repeat(np.cumsum(counts) - counts, counts)
    volume = partition.volumes[box]
    flat = np.floor((2 * place + 1) * volume / (2 * counts[box])).astype(np.int64)
    found = np.empty((box.size, len(partition.shape)), dtype=np.int64)
    sides = (partition.stops - partition.starts)[box]
    for axis in range(len(partition.shape) - 1, -1, -1):
        found[:, axis] = partition.starts[box, axis] + flat % sides[:, axis]
        flat //= sides[:, axis]
    return found


def _values_of(bins: Bins) -> list[str]:
    if bins.edges is None:
        return [bins.label(place) for place in range(bins.number)]
    labels = map(bins.label, range(bins.intervals, bins.number))
    return [*(_lower_end(bins, place) for place in range(bins.intervals)), *labels]


def _lower_end(bins: Bins, place: int) -> str:
    """Return the lower edge of a bin; in files from before bins had forms of dates only its label says that it is one."""
    found = re.match(r"\[(.*)[)\]]", bins.label(place))
    if bins.date_format is not None or found is None:
        return bins.edge_text(place)
    ends = found[1].split(", ")  # dates may hold commas too
    return ", ".join(ends[: len(ends) // 2])
