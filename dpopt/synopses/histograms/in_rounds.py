"""Blocks measured in rounds, the largest first: each round divides those that hold enough records by earlier ones.

A block that is not divided is measured for the last time, with all that is left of the budget for its cells, if the
noise of the rounds so far is small enough to be sure of that. The plan fixes what all rounds cost, which is paid before
the first; what they group is a function of released values (C20 in docs/privacy).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.measurements import joint_scale
from dpopt.arrays import freeze
from dpopt.errors import PlanError, TranscriptError
from dpopt.inference.histograms.halves_in_rounds import WORTH, Round, depths_of, first_nodes, groups_of, next_nodes
from dpopt.models.noise_budgets.budget_program import LevelBudgets
from dpopt.models.noise_budgets.level_budgets import LevelProgram
from dpopt.private.curators.prefix_curator import RoundsCurator
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.grids import Level, grid_heights, halvings
from dpopt.synopses.histograms.counts_plan import CountsPlan, noise_variance
from dpopt.synopses.release import Reserved

ROUNDS = "rounds"
"""Name in options and files."""
SURE = 0.5
"""A block that is not divided is measured for the last time if the deviation of a block's noise so far is at most this share of
the records that would be worth a division."""

EARLIER = 1.2
"""A round gets this many times as much, beside the one after it, as the best budgets where all blocks are divided give: most
blocks that hold few records are measured for the last time before the last round."""


def budgets_of_rounds(budgets: LevelBudgets, program: LevelProgram) -> LevelBudgets:
    """Return the amounts of rounds for the best ones of their levels, and what they predict where all blocks are divided."""
    places = np.cumsum(budgets.amounts > 0)  # single cells first, which are measured last
    amounts = budgets.amounts * EARLIER**places
    amounts[0] = max(amounts[0], amounts[1:].sum() * program.least / (1 - program.least))
    amounts = freeze(amounts * (program.amount / amounts.sum()))
    return replace(budgets, amounts=amounts, variances=freeze(program.variances(amounts)), gap=None)


def halved_level(shape: Sequence[int], depth: int) -> Level:
    """Return the shape of the blocks after this number of halvings of the whole, as heights."""
    heights = list(grid_heights(shape))
    for axis, half in halvings(grid_heights(shape))[:depth]:
        heights[axis] = half
    return tuple(heights)


def measured_in_rounds(run: Reserved, counts: BinCounts, plan: CountsPlan) -> tuple[NDArray[np.int64], ...]:
    """Return the results of a plan's rounds, that of single cells first: nodes and noisy counts, (2, m) each."""
    curator, rounds = run.curator(RoundsCurator, counts), plan.rounds_of_sums
    found, shape = list[Round](), plan.cells_shape
    with run.stage("measuring"):
        for level in plan.round_levels[::-1]:
            nodes, last = next_round(shape, found, level, rounds.scales, gaussian=plan.gaussian, total=plan.size)
            values = curator.measure_round(rounds, groups_of(shape, nodes), last)
            variances = round_variances(rounds.scales[len(found) :], gaussian=plan.gaussian)
            found.append(Round(nodes, values, np.where(last, *variances), last))
    return tuple(freeze(np.stack((one.nodes, one.counts))) for one in reversed(found))


def round_variances(scales: Sequence[float], *, gaussian: bool) -> tuple[float, float]:
    """Return the variance of a block of a last time, and of one that is measured again, where these rounds are left."""
    left = joint_scale(scales, gaussian=gaussian)
    return noise_variance(left, gaussian=gaussian), noise_variance(scales[0], gaussian=gaussian)


def next_round(
    shape: Sequence[int],
    found: Sequence[Round],
    level: Level,
    scales: Sequence[float],
    *,
    gaussian: bool,
    total: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the nodes of the next round, and which of them are measured for the last time; `scales` are of all rounds."""
    place, depth = len(found), sum(grid_heights(shape)) - sum(level)
    if not found:
        nodes = first_nodes(shape, depth)
        return nodes, np.zeros(nodes.size, dtype=np.bool_)
    left, _ = round_variances(scales[place:], gaussian=gaussian)
    nodes = next_nodes(shape, found, depth, left, total=total)
    so_far = 1.0 / sum(1.0 / noise_variance(scale, gaussian=gaussian) for scale in scales[:place])
    sure = bool(np.sqrt(so_far) <= SURE * WORTH * np.sqrt(left))
    return nodes, (depths_of(nodes) < depth) & sure


def rounds_of(plan: CountsPlan, noisy: Sequence[NDArray[np.int64]]) -> list[Round]:
    """Return the rounds of a release in order; a node without cells in later rounds was measured for the last time."""
    for name, values in zip(plan.level_names, noisy, strict=True):
        if values.ndim != 2 or len(values) != 2:
            raise TranscriptError(
                f"found noisy counts of {name} of shape {values.shape}; expected two rows, of nodes and of counts"
            )
    found, later = list[Round](), None
    for place, values in enumerate(noisy):
        groups = groups_of(plan.cells_shape, values[0])
        last = _last_time(groups, later, values.shape[1])
        variances = round_variances(plan.scales[place::-1], gaussian=plan.gaussian)
        found.append(Round(values[0], values[1], np.where(last, *variances), last))
        later = groups
    if later is None or later.min() < 0:
        raise TranscriptError("found cells that the first round does not measure")
    return found[::-1]


def _last_time(groups: NDArray[np.int64], later: NDArray[np.int64] | None, number: int) -> NDArray[np.bool_]:
    """Return which groups of a round have no cell in the one after it; all of them have all of theirs, or none."""
    if later is None:
        return np.zeros(number, dtype=np.bool_)
    again = np.bincount(groups[(later >= 0) & (groups >= 0)], minlength=number)
    whole = np.bincount(groups[groups >= 0], minlength=number)
    if (groups[later >= 0] < 0).any() or ((again > 0) & (again < whole)).any():
        raise TranscriptError("found cells in a round that were measured for the last time before")
    return np.asarray(again < np.maximum(whole, 1))


def not_in_rounds(what: str) -> PlanError:
    """Return the error of an estimate, or a model, that rounds do not have."""
    return PlanError(
        f"found {what} asked of blocks that were measured in rounds, which stop at blocks of several cells; take the "
        f"estimate 'shrunken', or measure all blocks (--measure blocks, of a grid --shapes cubes)"
    )
