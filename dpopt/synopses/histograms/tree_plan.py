"""The interface of plans of a histogram, whichever tree they measure: measured levels and the variances of nodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.inference.histograms.tree_least_squares import range_variances
from dpopt.models.model_size import ModelSize
from dpopt.private.curators.counting_curator import Counted
from dpopt.private.measurements.bin_measurement import GroupSums
from dpopt.programs.solver import Capability
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.histograms.counts_plan import CountsPlan, noise_variance

LARGEST_DOMAIN = 2**22
SINGLE_BINS = "single bins"


@dataclass(frozen=True, slots=True)
class MeasuredLevel:
    """A level of a tree whose nodes are counted with noise."""

    name: str
    """In words; it names the measurement and its charge."""
    depth: int
    """Which level of the plan's tree, 0 for the root's."""
    scale: float
    """Of the noise, in records."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TreePlan(CountsPlan):
    """The plan of a release of a histogram: the nodes of some levels of a tree, each of which divides all bins."""

    bins: int

    def __post_init__(self) -> None:
        check_bins(self.bins)
        super().__post_init__()

    @property
    @abstractmethod
    def tree(self) -> Tree:
        """The tree; each of its levels divides all bins, but for the root's where that is not measured."""

    @property
    @abstractmethod
    def levels(self) -> tuple[MeasuredLevel, ...]:
        """The measured levels, from single bins up."""

    @property
    def level_names(self) -> tuple[str, ...]:
        """The measured levels in words."""
        return tuple(level.name for level in self.levels)

    def derived(self) -> dict[str, Any]:
        """Return derived figures, including the number of nodes of each level."""
        return {**super().derived(), "nodes": [nodes for (nodes,) in self.level_shapes()]}

    def model_sizes(self) -> dict[str, ModelSize]:
        """Return kind and size of the models of a release."""
        return tree_model_sizes(len(self.tree))

    def nodes(self, level: MeasuredLevel) -> slice:
        """Return the nodes of a measured level."""
        return self.tree.levels[level.depth]

    @property
    def cells_shape(self) -> tuple[int, ...]:
        """The number of bins."""
        return (self.bins,)

    def level_shapes(self) -> list[tuple[int, ...]]:
        """Return how many nodes each measured level has."""
        return [(nodes.stop - nodes.start,) for nodes in map(self.nodes, self.levels)]

    def measurements(self) -> Iterator[Counted]:
        """Return the measurement of each level."""
        for level in self.levels:
            sizes = self.tree.size[self.nodes(level)]
            groups = np.repeat(np.arange(sizes.size, dtype=np.int64), sizes)
            yield GroupSums(level.name, level.scale, self.gaussian, groups, sizes.size)

    def node_values(self, noisy: tuple[NDArray[np.int64], ...]) -> NDArray[np.float64]:
        """Return the measured count of each node, (v,): 0 without one; a public number of records is the root's."""
        values = np.zeros(len(self.tree))
        for level, measured in zip(self.levels, noisy, strict=True):
            values[self.nodes(level)] = measured
        if self.size is not None:
            values[0] = self.size
        return values

    def range_variances(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the variances of the least-squares counts of ranges start, ..., stop - 1, (q,)."""
        return range_variances(self.tree, self.variances, starts, stops)

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """Variance of the noise of each node of the tree, (v,): inf where it is not measured, 0 for a public total."""
        found = np.full(len(self.tree), np.inf)
        for level in self.levels:
            found[self.nodes(level)] = noise_variance(level.scale, gaussian=self.gaussian)
        if self.size is not None:
            found[0] = 0.0
        return freeze(found)


def tree_model_sizes(nodes: int) -> dict[str, ModelSize]:
    """Return kind and size of the models of a tree of this number of nodes (`estimates.tree_inferences`)."""
    size = ModelSize(Capability.CONVEX_QP, 3 * nodes)  # each node in its own row, its parent's, and a square
    return {"nonnegative": replace(size, closed_form=False), "least-squares": size}


def check_bins(bins: int) -> None:
    """Refuse a number of bins that is out of range."""
    if not 1 <= bins <= LARGEST_DOMAIN:
        raise PlanError(f"a histogram has 1 to {LARGEST_DOMAIN:,} bins, found {bins:,}")
