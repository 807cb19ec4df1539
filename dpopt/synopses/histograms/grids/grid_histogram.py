"""A released histogram of several columns: noisy counts of blocks, the cells they agree on, and boxes with their errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.grid_least_squares import grid_least_squares, halve_from_the_whole
from dpopt.models.histograms.grid_consistency import grid_consistency
from dpopt.models.model import Model
from dpopt.queries.ranges.bins import Bins, names_of
from dpopt.queries.ranges.grids import Level, box_variances, grid_heights
from dpopt.synopses.histograms.estimates import Estimate
from dpopt.synopses.histograms.grids.grid_plan import GridPlan
from dpopt.synopses.histograms.in_rounds import not_in_rounds
from dpopt.synopses.histograms.released_counts import ReleasedCounts
from dpopt.synopses.solved import Inference, Solved


@dataclass(frozen=True, eq=False, repr=False)
class GridHistogram(ReleasedCounts):
    """Counts of the cells of a grid under differential privacy. Everything it holds may be published."""

    KEY = "dpopt_grid_histogram"
    WHAT = "histogram of several columns"
    MADE_BY = "'dpopt grid release'"
    DECLARED: ClassVar = {"axes": tuple[Bins, ...]}
    PLAN = GridPlan
    ESTIMATES = (Estimate.DIVIDED, Estimate.LEAST_SQUARES, Estimate.SHRUNKEN)
    axes: tuple[Bins, ...]
    """The bins of each column."""
    plan: GridPlan
    noisy: tuple[NDArray[np.int64], ...]
    """The noisy counts of each measured level, of `blocks_shape`."""
    privacy: Mapping[str, Any]
    """The spending, charge by charge."""
    solved: tuple[Solved, ...] = ()

    @property
    def _columns(self) -> tuple[Bins, ...]:
        return self.axes

    def _contents(self) -> list[str]:
        return [names_of(self.axes)]

    def model(self, *, nonnegative: bool = False) -> Model:
        """Return the model of consistent counts, without negative cells if asked for: `dpopt.models.grid_consistency`."""
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

    def _closed_form(self, estimate: Estimate) -> NDArray[np.float64]:
        plan = self.plan
        if estimate is Estimate.LEAST_SQUARES:
            return grid_least_squares(plan.shape, self._noisy_blocks, plan.precisions, total=plan.size)
        cells = np.asarray(self.noisy[0], dtype=np.float64)
        return halve_from_the_whole(self._unbiased.cells, cells, 1.0 / plan.precisions[plan.levels[0]])

    def _variances(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the variance of each box, (q,): the least of the bounds for boxes with the same cells.

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

    def cell_names(self) -> tuple[list[str], Iterator[Sequence[object]]]:
        """Return the columns of a table that name a cell, and the label of each cell in them, in C order."""
        labels = ([bins.label(place) for place in range(bins.number)] for bins in self.axes)
        return [bins.name for bins in self.axes], product(*labels)
