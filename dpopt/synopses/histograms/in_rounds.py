"""Blocks measured in rounds, the largest first: each round divides those that hold enough records by earlier ones.

What each round costs is fixed by the plan; what it groups is a function of released values. Groups that have no cell in
common cost the same whichever they are (C5 in docs/privacy), and the costs of rounds add up though each may depend on
the values of those before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PlanError, TranscriptError
from dpopt.inference.histograms.halves_in_rounds import Round, first_nodes, groups_of, next_nodes
from dpopt.private.measurements.bin_measurement import GroupSums
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.grids import Level, grid_heights, halvings
from dpopt.synopses.histograms.counts_plan import CountsPlan, noise_variance
from dpopt.synopses.release import Reserved

ROUNDS = "rounds"
"""What the options and the files call it."""


def halved_level(shape: Sequence[int], depth: int) -> Level:
    """Return the shape of the blocks that so many halvings of the whole leave, as heights."""
    heights = list(grid_heights(shape))
    for axis, half in halvings(grid_heights(shape))[:depth]:
        heights[axis] = half
    return tuple(heights)


def measured_in_rounds(run: Reserved, counts: BinCounts, plan: CountsPlan) -> tuple[NDArray[np.int64], ...]:
    """Return what the rounds of a plan give, that of single cells first: nodes and noisy counts, (2, m) each."""
    curator, found, shape = run.curator(counts), list[Round](), plan.cells_shape
    rounds = list(zip(plan.level_names, plan.scales, plan.round_levels, strict=True))[::-1]
    variances = [noise_variance(scale, gaussian=plan.gaussian) for _, scale, _ in rounds]
    with run.stage("measuring"):
        for place, (name, scale, level) in enumerate(rounds):
            depth = sum(grid_heights(shape)) - sum(level)
            nodes = (
                next_nodes(shape, found, depth, variances[place:], total=plan.size)
                if found
                else first_nodes(shape, depth)
            )
            groups = groups_of(shape, nodes)
            values = curator.measure(GroupSums(name, scale, plan.gaussian, groups, int(nodes.size))).values
            found.append(Round(nodes, values, variances[place]))
    return tuple(freeze(np.stack((one.nodes, one.counts))) for one in reversed(found))


def rounds_of(plan: CountsPlan, noisy: Sequence[NDArray[np.int64]]) -> list[Round]:
    """Return the rounds of a release, the first one first."""
    for name, values in zip(plan.level_names, noisy, strict=True):
        if values.ndim != 2 or len(values) != 2:
            raise TranscriptError(
                f"found noisy counts of {name} of shape {values.shape}; expected two rows, of nodes and of counts"
            )
        groups_of(plan.cells_shape, values[0])
    return [
        Round(values[0], values[1], noise_variance(scale, gaussian=plan.gaussian))
        for values, scale in zip(noisy[::-1], plan.scales[::-1], strict=True)
    ]


def not_in_rounds(what: str) -> PlanError:
    """Return the error of an estimate that rounds do not have."""
    return PlanError(
        f"found {what} asked of blocks that were measured in rounds, which stop at blocks of several cells; take the "
        f"estimate 'shrunken', or measure all blocks (--measure blocks, of a grid --shapes cubes)"
    )
