"""Released counts of cells over one axis or several: estimates of the cells, and answers to boxes with their errors.

`RangeAnswer` is the answer to a range or a box; what is particular to one column or to several is in `Histogram` and
`GridHistogram`.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PlanError, TranscriptError
from dpopt.inference.histograms.halves_in_rounds import halves_in_rounds
from dpopt.inference.histograms.shrunken_halves import ShrunkenHalves
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import check_boxes, sides_of, sums_before, sums_of_boxes
from dpopt.releases.plan import refuse_removed
from dpopt.synopses.histograms.counts_plan import CountsPlan, check_confidence
from dpopt.synopses.histograms.estimates import Estimate
from dpopt.synopses.histograms.in_rounds import not_in_rounds, rounds_of
from dpopt.synopses.histograms.range_workload import ALL
from dpopt.synopses.solved import Solved
from dpopt.synopses.synopsis import PlannedSynopsis, write_rows

CONFIDENCE = 0.95
_BOXES = 4_096  # that a verdict looks at


@dataclass(frozen=True, slots=True)
class RangeAnswer:
    """How many records lie in a range, or in a box."""

    value: float
    """The estimate that was asked for: the sum of its bins or cells, so that all answers of one estimate agree."""
    standard_error: float
    """Of rounds their own, by the posterior. Otherwise that of the least-squares estimate, from which others differ
    where that would be negative somewhere: exact, but an upper bound for several columns whose numbers of bins are no
    powers of 2."""
    low: float
    high: float
    """Interval around the least-squares estimate, or that of rounds, cut at 0: with Gaussian tails it holds the truth
    with this confidence."""
    confidence: float


def range_answers(
    values: NDArray[np.float64], unbiased: NDArray[np.float64], errors: NDArray[np.float64], confidence: float
) -> list[RangeAnswer]:
    """Return the answers of these values, with intervals around the unbiased estimates; all arrays (q,)."""
    from scipy.special import ndtri

    check_confidence(confidence)
    reach = float(ndtri(0.5 + confidence / 2.0)) * errors
    low, high = np.maximum(unbiased - reach, 0.0), np.maximum(unbiased + reach, 0.0)
    rows = zip(values.tolist(), errors.tolist(), low.tolist(), high.tolist(), strict=True)
    return [RangeAnswer(*row, confidence) for row in rows]


def spread_boxes(shape: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and stops of some thousand boxes, (q, D) each, that lie evenly among all boxes of a grid (Sobol')."""
    from scipy.stats import qmc  # takes long to load

    places = qmc.Sobol(2 * len(shape), scramble=False).random(_BOXES)
    ends = np.sort((places.reshape(_BOXES, 2, -1) * (np.array(shape) + 1)).astype(np.int64), axis=1)
    boxes = ends[(ends[:, 0] < ends[:, 1]).all(axis=1)]
    return boxes[:, 0], boxes[:, 1]


@dataclass(frozen=True, slots=True, eq=False)
class CellEstimate:
    """An estimate of all cells, of the grid's shape, and its sums over the boxes from the first cell."""

    cells: NDArray[np.float64]
    sums: NDArray[np.float64]

    @classmethod
    def of(cls, cells: NDArray[np.float64]) -> CellEstimate:
        """Return the estimate of these cells."""
        return cls(freeze(cells), freeze(sums_before(cells)))


class ReleasedCounts(PlannedSynopsis):
    """Counts of the cells of a grid of one axis or several. Everything it holds may be published."""

    ESTIMATES: ClassVar[tuple[Estimate, ...]]
    """Those that a user may choose from."""
    plan: CountsPlan
    noisy: tuple[NDArray[np.int64], ...]
    """The noisy counts of each measured level, single cells first; of rounds the nodes and their counts."""
    solved: tuple[Solved, ...] = ()

    def __post_init__(self) -> None:
        found, expected = tuple(bins.number for bins in self._columns), self.plan.cells_shape
        if found != expected:
            raise TranscriptError(f"found columns of {found} bins for a plan of {expected}")
        if self.plan.round_levels:
            rounds_of(self.plan, self.noisy)
            return
        levels = zip(self.plan.level_names, self.plan.level_shapes(), self.noisy, strict=True)
        for name, shape, values in levels:
            if values.shape != shape:
                raise TranscriptError(f"found noisy counts of {name} of shape {values.shape}; expected {shape}")

    @property
    @abstractmethod
    def _columns(self) -> tuple[Bins, ...]:
        """The bins of each column."""

    @abstractmethod
    def _closed_form(self, estimate: Estimate) -> NDArray[np.float64]:
        """Return an estimate of the cells by dpopt's own method; of levels that were not measured in rounds."""

    @abstractmethod
    def _variances(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the variances of the least-squares counts of boxes, (q,); starts and stops are (q, D)."""

    @abstractmethod
    def cell_names(self) -> tuple[list[str], Iterator[Sequence[object]]]:
        """Return the columns of a table that name a cell, and the label of each cell in them, in C order."""

    def _error(self) -> tuple[str, float, bool]:
        which, variance = max(self.plan.predicted.items(), key=lambda one: one[1])
        if (
            self.plan.round_levels and self.plan.ranges == ALL
        ):  # the prediction is a bound, far above where cells are empty
            variance = float(self._halves.variances(*spread_boxes(self.plan.cells_shape)).mean())
        return f"counts of {which}", variance**0.5, False

    def estimate(self, name: str | Estimate | None = None) -> NDArray[np.float64]:
        """Return an estimate of each cell, of the grid's shape, computed once (`estimates.Estimate`)."""
        return self._estimate(name).cells

    @property
    def counts(self) -> NDArray[np.float64]:
        """The estimate of each cell that answers are made of, of the grid's shape: see `default`."""
        return self.estimate()

    @property
    def least_squares(self) -> NDArray[np.float64]:
        """The unbiased estimate of each cell of least variance, of the grid's shape; may be negative."""
        return self.estimate(Estimate.LEAST_SQUARES)

    @property
    def total(self) -> float:
        """The estimate of the number of records."""
        return float(self._estimate(None).sums.flat[-1])

    @property
    def default(self) -> Estimate:
        """The default estimate of answers: `divided`, `shrunken` of rounds, or the first by a solver."""
        own = Estimate.SHRUNKEN if self.plan.round_levels else Estimate.DIVIDED
        return Estimate(self.solved[0].estimate) if self.solved else own

    def answer(
        self, text: str, *, confidence: float = CONFIDENCE, estimate: str | Estimate | None = None
    ) -> RangeAnswer:
        """Return how many records lie in a box that a text names, a range for each column: "20:40,0:10" (`Bins.range_of`)."""
        return self.box(*sides_of(text, self._columns), confidence=confidence, estimate=estimate)

    def box(
        self, *sides: tuple[int, int], confidence: float = CONFIDENCE, estimate: str | Estimate | None = None
    ) -> RangeAnswer:
        """Return how many records lie in a box: for each column the bins start, ..., stop - 1."""
        return self.boxes([sides], confidence=confidence, estimate=estimate)[0]

    def boxes(
        self,
        wanted: Sequence[Sequence[tuple[int, int]]],
        *,
        confidence: float = CONFIDENCE,
        estimate: str | Estimate | None = None,
    ) -> list[RangeAnswer]:
        """Return the answers to many boxes, as `box` gives each."""
        starts = np.array([[start for start, _ in sides] for sides in wanted], dtype=np.int64)
        stops = np.array([[stop for _, stop in sides] for sides in wanted], dtype=np.int64)
        return self.boxes_from(starts, stops, confidence=confidence, estimate=estimate)

    def boxes_from(
        self,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        *,
        confidence: float = CONFIDENCE,
        estimate: str | Estimate | None = None,
    ) -> list[RangeAnswer]:
        """Return the answers to the boxes of these corners, (q, D) each, as `box` gives each."""
        check_boxes(starts, stops, self.plan.cells_shape)
        wanted = self._wanted(estimate)
        values = sums_of_boxes(self._estimate(wanted).sums, starts, stops)
        if wanted is Estimate.SHRUNKEN:
            return range_answers(values, values, np.sqrt(self._halves.variances(starts, stops)), confidence)
        unbiased = sums_of_boxes(self._unbiased.sums, starts, stops)
        return range_answers(values, unbiased, np.sqrt(self._variances(starts, stops)), confidence)

    def whole_counts(self, estimate: str | Estimate | None = None) -> NDArray[np.int64]:
        """Return whole numbers near an estimate, of the grid's shape, with rounded sums over the first cells."""
        cells = self.estimate(estimate)
        sums = np.concatenate(([0.0], np.cumsum(cells)))
        return np.asarray(np.diff(np.rint(sums)), dtype=np.int64).reshape(cells.shape)

    def _wanted(self, name: str | Estimate | None) -> Estimate:
        text = name if isinstance(name, str) else (name or self.default).value
        known = {one.value: one for one in self.ESTIMATES}
        if text not in known:
            refuse_removed("estimate", text)
            raise PlanError(f"--estimate is one of {', '.join(known)}; found {text!r}")
        return known[text]

    def _estimate(self, name: str | Estimate | None) -> CellEstimate:
        wanted = self._wanted(name)
        if wanted not in self._estimates:
            self._estimates[wanted] = self._new_estimate(wanted)
        return self._estimates[wanted]

    @cached_property
    def _estimates(self) -> dict[Estimate, CellEstimate]:
        return {}

    def _new_estimate(self, wanted: Estimate) -> CellEstimate:
        if wanted.value in self._found:
            return CellEstimate.of(self._found[wanted.value])
        if wanted is Estimate.SHRUNKEN:
            return CellEstimate.of(self._halves.cells)
        if self.plan.round_levels:
            raise not_in_rounds(f"the estimate {wanted.value!r}")
        return self._unbiased if wanted is Estimate.LEAST_SQUARES else CellEstimate.of(self._closed_form(wanted))

    @cached_property
    def _unbiased(self) -> CellEstimate:
        """The least-squares estimate in closed form: its errors are those stated, and intervals lie around it."""
        return CellEstimate.of(self._closed_form(Estimate.LEAST_SQUARES))

    @cached_property
    def _halves(self) -> ShrunkenHalves:
        if not self.plan.round_levels:
            refuse_removed("estimate", "shrunken without rounds")
        rounds = rounds_of(self.plan, self.noisy)
        return halves_in_rounds(self.plan.cells_shape, rounds, total=self.plan.size)


def write_cells(
    released: ReleasedCounts,
    path: str | os.PathLike[str],
    *,
    whole: bool = False,
    estimate: str | Estimate | None = None,
) -> None:
    """Write the name, count (`whole_counts` if asked for), standard error and interval of 95 % of each cell; or nothing."""
    starts = np.argwhere(np.ones(released.plan.cells_shape, dtype=np.bool_))
    answers = released.boxes_from(starts, starts + 1, estimate=estimate)
    counts = map(str, released.whole_counts(estimate).flat) if whole else (f"{one.value:.6g}" for one in answers)
    header, names = released.cell_names()
    rows = (
        [*name, count, *(f"{value:.6g}" for value in (one.standard_error, one.low, one.high))]
        for name, count, one in zip(names, counts, answers, strict=True)
    )
    write_rows(path, [*header, "count", "standard_error", "low", "high"], rows)
