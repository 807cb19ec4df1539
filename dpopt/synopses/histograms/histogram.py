"""A released histogram of one column: noisy counts of its levels, the counts they agree on, quantiles and ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PlanError, WorkloadError
from dpopt.models.histograms.tree_consistency import tree_consistency
from dpopt.models.model import Model
from dpopt.queries.ranges.bins import Bins
from dpopt.releases.plan import refuse_removed
from dpopt.synopses.histograms.estimates import Estimate, estimated_nodes, tree_inferences
from dpopt.synopses.histograms.hierarchy_plan import HierarchyPlan
from dpopt.synopses.histograms.histogram_plan import HistogramPlan
from dpopt.synopses.histograms.in_rounds import not_in_rounds
from dpopt.synopses.histograms.released_counts import CONFIDENCE, RangeAnswer, ReleasedCounts
from dpopt.synopses.histograms.tree_plan import TreePlan
from dpopt.synopses.histograms.wave_plan import WavePlan
from dpopt.synopses.solved import Inference, Solved


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(ReleasedCounts):
    """Counts of ordered bins under differential privacy. Everything it holds may be published."""

    KEY = "dpopt_histogram"
    WHAT = "histogram"
    MADE_BY = "'dpopt histogram release'"
    DECLARED: ClassVar = {"bins": Bins}
    ESTIMATES = tuple(Estimate)
    bins: Bins
    plan: TreePlan
    noisy: tuple[NDArray[np.int64], ...]
    """The noisy counts of each measured level, from single bins up."""
    privacy: Mapping[str, Any]
    """The spending, charge by charge."""
    solved: tuple[Solved, ...] = ()

    @property
    def _columns(self) -> tuple[Bins, ...]:
        return (self.bins,)

    def _contents(self) -> list[str]:
        return [repr(self.bins.name), f"{self.bins.number:,} bins"]

    def range(
        self, start: int, stop: int, *, confidence: float = CONFIDENCE, estimate: str | Estimate | None = None
    ) -> RangeAnswer:
        """Return how many records lie in the bins start, ..., stop - 1, with the error of the answer."""
        return self.box((start, stop), confidence=confidence, estimate=estimate)

    def ranges(
        self,
        wanted: Sequence[tuple[int, int]],
        *,
        confidence: float = CONFIDENCE,
        estimate: str | Estimate | None = None,
    ) -> list[RangeAnswer]:
        """Return the answers to many ranges, as `range` gives each."""
        return self.boxes([(one,) for one in wanted], confidence=confidence, estimate=estimate)

    def quantile(self, share: float, *, estimate: str | Estimate | None = None) -> int:
        """Return the first bin up to which at least this share of the records lie; of numbers, those not missing."""
        if not 0.0 <= share <= 1.0:
            raise WorkloadError(f"a quantile is a share between 0 and 1, found {share!r}")
        sums = self._estimate(estimate).sums[1 : self.bins.intervals + 1]
        if sums[-1] <= 0.0:
            raise WorkloadError("the histogram has no records by its own estimate, and so no quantiles")
        return int(np.argmax(sums >= (share - 1e-9) * sums[-1]))

    def model(self, *, nonnegative: bool = False) -> Model:
        """Return the model of consistent counts, without negative bins if asked for: `dpopt.models.tree_consistency`."""
        if self.plan.round_levels:
            raise not_in_rounds("the model")
        return tree_consistency(self.plan.tree, self._node_values, self.plan.variances, nonnegative=nonnegative)

    @classmethod
    def read_plan(cls, given: Any) -> TreePlan:
        """Return the plan on file, of blocks or of a hierarchy."""
        kinds: dict[str, type[TreePlan]] = {"hierarchy": HierarchyPlan, "unit": WavePlan}
        return next((kind for key, kind in kinds.items() if key in given), HistogramPlan).from_json(given)

    @cached_property
    def _node_values(self) -> NDArray[np.float64]:
        return freeze(self.plan.node_values(self.noisy))

    def inferences(self) -> dict[str, Inference]:
        """Return the estimates that are models: `nonnegative` and `least-squares`; none of rounds."""
        if self.plan.round_levels:
            return {}
        return tree_inferences(self.plan.tree, self._node_values, self.plan.variances)

    def _closed_form(self, estimate: Estimate) -> NDArray[np.float64]:
        if estimate is Estimate.ZEROING and not isinstance(self.plan, HierarchyPlan):
            refuse_removed("estimate", "zeroing without a hierarchy")
        if estimate is Estimate.NONNEGATIVE and not any(one.estimate == estimate.value for one in self.solved):
            raise PlanError(
                "the estimate 'nonnegative' is a model for solvers: name one at the release (--solver clarabel), or "
                "solve what was released, by solved_by('clarabel'); or take 'divided'"
            )
        tree = self.plan.tree
        nodes = estimated_nodes(estimate, tree, self._node_values, self.plan.variances)
        return np.asarray(nodes[tree.leaf_of_bin])

    def _variances(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.plan.range_variances(starts[:, 0], stops[:, 0])

    def cell_names(self) -> tuple[list[str], Iterator[Sequence[object]]]:
        """Return the columns of a table that name a cell, and the label of each cell in them, in C order."""
        return ["bin", "label"], ((place, self.bins.label(place)) for place in range(self.bins.number))
