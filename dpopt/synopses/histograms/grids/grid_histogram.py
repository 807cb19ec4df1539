"""A released histogram of several columns: noisy counts of blocks, the cells they agree on, and boxes with their errors."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import TranscriptError
from dpopt.inference.histograms.grid_least_squares import grid_least_squares, halve_from_the_whole
from dpopt.inference.histograms.halves_in_rounds import halves_in_rounds
from dpopt.inference.histograms.shrunken_halves import ShrunkenHalves
from dpopt.models.histograms.grid_consistency import grid_consistency
from dpopt.models.model import Model
from dpopt.queries.ranges.bins import Bins, names_of
from dpopt.queries.ranges.grids import (
    Level,
    blocks_shape,
    box_variances,
    check_boxes,
    grid_heights,
    sides_of,
    sums_before,
    sums_of_boxes,
)
from dpopt.releases.plan import choice, refuse_removed
from dpopt.synopses.histograms.grids.grid_plan import GridPlan, blocks_name
from dpopt.synopses.histograms.histogram import CONFIDENCE, COUNTED, RangeAnswer, counted_rows, range_answers
from dpopt.synopses.histograms.in_rounds import not_in_rounds, rounds_of
from dpopt.synopses.solved import Inference, Solved
from dpopt.synopses.synopsis import PlannedSynopsis, write_rows


class GridEstimate(enum.Enum):
    """An estimate of the cells; to choose another one costs no privacy.

    `DIVIDED`: the whole is halved again and again, so that no cell is negative: empty cells nearly exact. The default.

    `LEAST_SQUARES`: unbiased, and of least variance among unbiased ones; cells may be negative.

    `SHRUNKEN`: the estimate of rounds, and theirs alone: the whole is halved again and again, each division drawn by
    empirical Bayes towards an even one or an empty half; its stated errors are those of the answer itself.
    """

    DIVIDED = "divided"
    LEAST_SQUARES = "least-squares"
    SHRUNKEN = "shrunken"


@dataclass(frozen=True, eq=False, repr=False)
class GridHistogram(PlannedSynopsis):
    """Counts of the cells of a grid under differential privacy. Everything it holds may be published."""

    KEY = "dpopt_grid_histogram"
    WHAT = "histogram of several columns"
    MADE_BY = "'dpopt grid release'"
    DECLARED: ClassVar = {"axes": tuple[Bins, ...]}
    PLAN = GridPlan
    axes: tuple[Bins, ...]
    """The bins of each column."""
    plan: GridPlan
    noisy: tuple[NDArray[np.int64], ...]
    """The noisy counts of each measured level, of `blocks_shape`."""
    privacy: Mapping[str, Any]
    """What was spent, charge by charge."""
    solved: tuple[Solved, ...] = ()

    def __post_init__(self) -> None:
        shape = tuple(bins.number for bins in self.axes)
        if shape != self.plan.shape:
            raise TranscriptError(f"found columns of {shape} bins for a plan of {self.plan.shape}")
        if self.plan.rounds:
            rounds_of(self.plan, shape, self.noisy)
            return
        for level, values in zip(self.plan.levels, self.noisy, strict=True):
            if values.shape != blocks_shape(shape, level):
                raise TranscriptError(
                    f"found noisy counts of {blocks_name(level)} of shape {values.shape}; expected "
                    f"{blocks_shape(shape, level)}"
                )

    def _held(self) -> list[str]:
        return [names_of(self.axes)]

    @cached_property
    def least_squares(self) -> NDArray[np.float64]:
        """The unbiased estimate of each cell, of the grid's shape; may be negative."""
        if self.plan.rounds:
            raise not_in_rounds("least squares")
        return freeze(
            grid_least_squares(self.plan.shape, self._noisy_blocks, self.plan.precisions, total=self.plan.size)
        )

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """The estimate of each cell: none negative, large boxes about as by least squares; `shrunken` of rounds."""
        if self.plan.rounds:
            return self._halves.cells
        cells = np.asarray(self.noisy[0], dtype=np.float64)
        variance = 1.0 / self.plan.precisions[self.plan.levels[0]]
        return freeze(halve_from_the_whole(self.least_squares, cells, variance))

    def estimate(self, name: str | GridEstimate | None = None) -> NDArray[np.float64]:
        """Return an estimate of each cell, of the grid's shape."""
        wanted = self._named(name)
        if wanted is GridEstimate.SHRUNKEN:
            return self._halves.cells
        if wanted is GridEstimate.DIVIDED:
            if self.plan.rounds:
                raise not_in_rounds("the estimate 'divided'")
            return self.counts
        return self._found.get(GridEstimate.LEAST_SQUARES.value, self.least_squares)

    @property
    def default(self) -> GridEstimate:
        """The estimate of answers that name none: `divided`, `shrunken` of rounds, or the first that a solver was asked for."""
        own = GridEstimate.SHRUNKEN if self.plan.rounds else GridEstimate.DIVIDED
        return GridEstimate(self.solved[0].estimate) if self.solved else own

    def model(self, *, nonnegative: bool = False) -> Model:
        """Return the consistency of the noisy counts as a model: `dpopt.models.grid_consistency`.

        Parameters
        ----------
        nonnegative
            Whether no cell may be below 0.
        """
        plan = self.plan
        if plan.rounds:
            raise not_in_rounds("the model")
        return grid_consistency(
            plan.shape, self._noisy_blocks, plan.precisions, total=plan.size, nonnegative=nonnegative
        )

    def inferences(self) -> dict[str, Inference]:
        """Return the estimate that is a model: `least-squares`."""
        return {
            name: Inference(size, self.model, lambda found: found["x"])
            for name, size in self.plan.model_sizes().items()
        }

    @property
    def total(self) -> float:
        """The estimate of the number of records."""
        return float(self.estimate().sum())

    def box(
        self, *sides: tuple[int, int], confidence: float = CONFIDENCE, estimate: str | GridEstimate | None = None
    ) -> RangeAnswer:
        """Return how many records lie in a box: for each column the bins start, ..., stop - 1.

        The standard error is that of the least-squares estimate where the numbers of bins are powers of 2, and at least
        that elsewhere; it is 0 for the whole grid where its total is public. Of the estimate `shrunken` it is its own.
        """
        return self.boxes([sides], confidence=confidence, estimate=estimate)[0]

    def answer(
        self, text: str, *, confidence: float = CONFIDENCE, estimate: str | GridEstimate | None = None
    ) -> RangeAnswer:
        """Return how many records lie in a box that a text names, a range for each column: "20:40,0:10" (`Bins.range_of`)."""
        return self.box(*sides_of(text, self.axes), confidence=confidence, estimate=estimate)

    def boxes(
        self,
        wanted: Sequence[Sequence[tuple[int, int]]],
        *,
        confidence: float = CONFIDENCE,
        estimate: str | GridEstimate | None = None,
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
        estimate: str | GridEstimate | None = None,
    ) -> list[RangeAnswer]:
        """Return the answers to the boxes of these corners, (q, D) each, as `box` gives each."""
        check_boxes(starts, stops, self.plan.shape)
        wanted = self._named(estimate)
        chosen = self._sums_of(wanted)
        if wanted is GridEstimate.SHRUNKEN:
            values = sums_of_boxes(chosen, starts, stops)
            return range_answers(values, values, np.sqrt(self._halves.variances(starts, stops)), confidence)
        errors = np.sqrt(self._variances(starts, stops))
        values, unbiased = (sums_of_boxes(sums, starts, stops) for sums in (chosen, self._unbiased_sums))
        return range_answers(values, unbiased, errors, confidence)

    def whole_counts(self, estimate: str | GridEstimate | None = None) -> NDArray[np.int64]:
        """Return whole numbers near an estimate, of the grid's shape, that add up to the rounded total."""
        flat = np.concatenate(([0.0], np.cumsum(self.estimate(estimate))))
        return np.asarray(np.diff(np.rint(flat)), dtype=np.int64).reshape(self.plan.shape)

    def _variances(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the variance of each box, (q,): the least of the bounds for boxes that hold the same cells of the grid.

        A box that ends with an axis holds no more where it goes on to the next power of 2, as nothing lies there; and
        both are bounds, since knowing that only makes the variance smaller.
        """
        shape, part_variances = self.plan.shape, self.plan.part_variances
        found = box_variances(starts, stops, shape, part_variances)
        ends = np.array(shape)
        continued = np.array([1 << height for height in grid_heights(shape)])
        longer = (stops == ends) & (continued > ends)
        axes = np.flatnonzero(longer.any(axis=0)).tolist()
        for some in chain.from_iterable(combinations(axes, number) for number in range(1, len(axes) + 1)):
            chosen = np.flatnonzero(longer[:, some].all(axis=1))
            further = stops[chosen]
            further[:, some] = continued[list(some)]
            bounds = box_variances(starts[chosen], further, continued.tolist(), part_variances)
            found[chosen] = np.minimum(found[chosen], bounds)
        return found

    @cached_property
    def _noisy_blocks(self) -> dict[Level, NDArray[np.float64]]:
        measured = zip(self.plan.levels, self.noisy, strict=True)
        return {level: np.asarray(values, dtype=np.float64) for level, values in measured}

    def _named(self, estimate: str | GridEstimate | None) -> GridEstimate:
        if isinstance(estimate, str):
            found: GridEstimate = choice(GridEstimate, estimate, "estimate")
            return found
        return estimate or self.default

    def _sums_of(self, estimate: GridEstimate) -> NDArray[np.float64]:
        if estimate is GridEstimate.DIVIDED:
            if self.plan.rounds:
                raise not_in_rounds("the estimate 'divided'")
            return self._sums
        if estimate is GridEstimate.SHRUNKEN:
            return self._shrunken_sums
        return self._solved_sums if self._found else self._unbiased_sums

    @cached_property
    def _halves(self) -> ShrunkenHalves:
        if not self.plan.rounds:
            refuse_removed("estimate", "shrunken without rounds")
        rounds = rounds_of(self.plan, self.plan.shape, self.noisy)
        return halves_in_rounds(self.plan.shape, rounds, total=self.plan.size)

    @cached_property
    def _shrunken_sums(self) -> NDArray[np.float64]:
        return freeze(sums_before(self._halves.cells))

    @cached_property
    def _sums(self) -> NDArray[np.float64]:
        return freeze(sums_before(self.counts))

    @cached_property
    def _solved_sums(self) -> NDArray[np.float64]:
        return freeze(sums_before(self.estimate(GridEstimate.LEAST_SQUARES)))

    @cached_property
    def _unbiased_sums(self) -> NDArray[np.float64]:
        return freeze(sums_before(self.least_squares))


def write_cells(
    histogram: GridHistogram,
    path: str | os.PathLike[str],
    *,
    whole: bool = False,
    estimate: str | GridEstimate | None = None,
) -> None:
    """Write labels of each column's bin, count, standard error and interval of 95 % of each cell; whole or not at all.

    Parameters
    ----------
    whole
        Whether counts are rounded to whole numbers that add up to the rounded total.
    """
    cells = np.stack(np.unravel_index(np.arange(np.prod(histogram.plan.shape)), histogram.plan.shape), axis=1)
    answers = histogram.boxes_from(cells.astype(np.int64), cells.astype(np.int64) + 1, estimate=estimate)
    names = ([bins.label(at) for bins, at in zip(histogram.axes, cell, strict=True)] for cell in cells.tolist())
    rows = counted_rows(names, answers, histogram.whole_counts(estimate).reshape(-1) if whole else None)
    write_rows(path, [*(bins.name for bins in histogram.axes), *COUNTED], rows, "table of cells")
