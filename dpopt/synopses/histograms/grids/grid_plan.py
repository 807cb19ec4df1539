"""The plan of a histogram of several columns: which blocks are measured with how much noise; from public numbers alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.inference.histograms.grid_least_squares import grid_precisions
from dpopt.models.histograms.grid_consistency import grid_coefficients
from dpopt.models.model_size import ModelSize
from dpopt.models.noise_budgets.budget_program import LevelBudgets
from dpopt.models.noise_budgets.level_budgets import LevelProgram, best_level_budgets
from dpopt.private.curators.counting_curator import Counted
from dpopt.private.measurements.bin_measurement import GroupSums
from dpopt.programs.solver import Capability, Solver
from dpopt.queries.ranges.grids import Level, block_of_cells, blocks_shape, grid_heights, grid_levels
from dpopt.synopses.histograms.counts_plan import (
    CountsPlan,
    LevelNoise,
    OnSolved,
    check_scales,
    discard,
    is_gaussian,
    noise_variance,
)
from dpopt.synopses.histograms.grids.box_workload import BoxWorkload, cubes, starting_shares
from dpopt.synopses.histograms.in_rounds import ROUNDS, budgets_of_rounds, halved_level

LARGEST_GRID = 2**22
MOST_LEVELS = 1_000
SHAPES = ("auto", "cubes", "rectangles", "cells", ROUNDS)
ROUND_DEPTH = 5
"""So often a round halves each block; the first round halves the whole as often as is left."""
MOSTLY_EMPTY = 0.25
"""Of the variance that is predicted where all blocks hold many records, rounds are taken to have this part beside Gaussian
noise. On the eight grids of DPBench, 81 to 100 % of whose cells are empty, it was .03 to .65 at epsilon .01, .1 and 1, and
.18 in the geometric mean."""
WORTH_RECTANGLES = 0.8
"""Rectangles are measured where their predicted variance is below this share of that of cubes: cubes lie one in another, so
that cells without records become exact more easily."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GridPlan(CountsPlan):
    """The plan of a release of a histogram of several columns."""

    shape: tuple[int, ...]
    """Bins of each column."""
    levels: tuple[Level, ...]
    """Measured shapes of blocks, single cells first: (h, k) has blocks of 2^h by 2^k bins."""
    rounds: bool = False
    """Whether they are measured from the largest down, and blocks with few records divided no further
    (`dpopt.synopses.histograms.in_rounds`)."""

    def __post_init__(self) -> None:
        check_shape(self.shape)
        tops = grid_heights(self.shape)
        fits = all(
            len(level) == len(tops) and all(0 <= height <= top for height, top in zip(level, tops, strict=True))
            for level in self.levels
        )
        if not self.levels or any(self.levels[0]) or not fits or len(set(self.levels)) < len(self.levels):
            raise PlanError(f"found the levels {self.levels}; expected different ones up to {tops}, single cells first")
        check_scales(self.scales, self.levels)
        super().__post_init__()

    @property
    def level_names(self) -> tuple[str, ...]:
        """The measured shapes of blocks in words."""
        return tuple(blocks_name(level) for level in self.levels)

    @property
    def cells_shape(self) -> tuple[int, ...]:
        """Bins of each column."""
        return self.shape

    @property
    def round_levels(self) -> tuple[Level, ...]:
        """The measured shapes of blocks, if they are measured in rounds; otherwise none."""
        return self.levels if self.rounds else ()

    def level_shapes(self) -> list[tuple[int, ...]]:
        """Return how many blocks each measured level has along each axis."""
        return [blocks_shape(self.shape, level) for level in self.levels]

    def measurements(self) -> Iterator[Counted]:
        """Return the measurement of each level."""
        for level, scale, blocks in zip(self.levels, self.scales, self.level_shapes(), strict=True):
            groups = block_of_cells(self.shape, level)
            yield GroupSums(blocks_name(level), scale, self.gaussian, groups, prod(blocks))

    @property
    def expected_error(self) -> float:
        """The product of the mean variances of all groups of boxes; of rounds those with many empty cells."""
        return super().expected_error * (MOSTLY_EMPTY if self.rounds else 1.0) ** len(self.predicted)

    def model_sizes(self) -> dict[str, ModelSize]:
        """Return kind and size of the model of a release: `least-squares`; none of one in rounds."""
        if self.rounds:
            return {}
        coefficients = grid_coefficients(self.shape, self.levels, known_total=self.size is not None)
        return {"least-squares": ModelSize(Capability.CONVEX_QP, coefficients)}

    @property
    def precisions(self) -> dict[Level, float]:
        """One over the variance of the noise of a block of each measured level."""
        return {
            level: 1.0 / noise_variance(scale, gaussian=self.gaussian)
            for level, scale in zip(self.levels, self.scales, strict=True)
        }

    @cached_property
    def part_variances(self) -> NDArray[np.float64]:
        """One over the precision of each part of the grid (LB-7); 0 for the total where it is public."""
        found = 1.0 / grid_precisions(self.shape, self.precisions)
        if self.size is not None:
            found[(-1,) * len(self.shape)] = 0.0
        return freeze(found)

    def derived(self) -> dict[str, Any]:
        """Return derived figures, including the number of blocks of each level."""
        return {**super().derived(), "blocks": [list(blocks) for blocks in self.level_shapes()]}


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse grids that are none, or too large."""
    if not shape or min(shape) < 1 or prod(shape) > LARGEST_GRID:
        raise PlanError(
            f"a grid has 1 to {LARGEST_GRID:,} cells, found {' x '.join(f'{bins:,}' for bins in shape) or 'no column'}"
        )
    levels = prod(height + 1 for height in grid_heights(shape))
    if levels > MOST_LEVELS:
        raise PlanError(f"a grid has at most {MOST_LEVELS:,} shapes of blocks, found {levels:,}; take fewer columns")


def blocks_name(level: Level) -> str:
    """Return a level in words; it names the measurement and its charge."""
    return "single cells" if not any(level) else "blocks of " + " x ".join(f"{2**height:,}" for height in level)


def plan_grid(
    shape: tuple[int, ...],
    budget: Budget,
    size: int | None = None,
    *,
    ranges: str = "all",
    shapes: str = "auto",
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    modelled: bool = False,
    solver: str | Solver | None = None,
    on_solved: OnSolved = discard,
) -> GridPlan:
    """Return the plan with the least predicted variance of boxes that the budget covers.

    minimize max_g (1 / r_g) sum_h c_gh / lambda_h over the parts b_h of the budget (models/level_budgets, LB-1 to LB-4,
    LB-7)

    `ranges` are "all" (the mean over all boxes) or "sizes:1x1,16x16,4x256" (each divided by the variance of the best
    simple strategy); a solver and `on_solved` are as of `plan_blocks`. `shapes` are the blocks that may be measured:
    "cubes" (of equal sides), "rectangles" (all), "cells"; "rounds": blocks that halve all columns in turn, measured
    from the largest down, and divided no further where they hold few records; or "auto": rounds of two columns with
    Laplace noise, if there are several rounds and no estimates that are models will be asked for (`modelled`), which
    rounds do not have; else rectangles where they are predicted to be better by a fifth, else cubes.
    """
    check_shape(shape)
    if shapes not in SHAPES:
        raise PlanError(f"found the shapes {shapes!r}; expected one of {', '.join(SHAPES)}")
    if shapes == ROUNDS and solver is not None:
        raise PlanError("rounds have no solver: leave it out, or measure other shapes")
    noise, workload = LevelNoise(budget, relation), BoxWorkload.parse(ranges, shape)
    if shapes == "auto" and len(shape) == 2 and not (modelled or is_gaussian(budget)):
        in_rounds = _spread(workload, ROUNDS, noise, None)[1]
        shapes = ROUNDS if np.count_nonzero(in_rounds.amounts) > 1 else shapes
    levels, found, program = _spread(workload, shapes, noise, solver)
    on_solved(found.solved, found.gap)
    if shapes == ROUNDS:
        found = budgets_of_rounds(found, program)
    measured = np.flatnonzero(found.amounts).tolist()
    return GridPlan(
        shape=shape,
        rounds=shapes == ROUNDS,
        levels=tuple(levels[place] for place in measured),
        ranges=ranges,
        **noise.plan(found.amounts, measured, size),
        predicted=dict(zip(workload.names, found.variances.tolist(), strict=True)),
    )


def _spread(
    workload: BoxWorkload, shapes: str, noise: LevelNoise, solver: str | Solver | None
) -> tuple[list[Level], LevelBudgets, LevelProgram]:
    def spread(chosen: list[Level]) -> tuple[list[Level], LevelBudgets, LevelProgram]:
        levels = chosen[:-1] if noise.known_total and len(chosen) > 1 and chosen[-1] == tops else chosen
        program = workload.program(levels, **noise.program(), known_total=noise.known_total)
        return levels, best_level_budgets(program, starting_shares(levels, workload.shape), solver), program

    tops = grid_heights(workload.shape)
    every, depths = grid_levels(workload.shape), sum(tops)
    if shapes == ROUNDS:
        number = max(1, round(depths / ROUND_DEPTH))
        halved = [halved_level(workload.shape, depths - ROUND_DEPTH * above) for above in range(number)]
        return spread(halved)
    if shapes in {"cells", "rectangles"}:
        return spread(every[:1] if shapes == "cells" else every)
    of_cubes = spread(cubes(workload.shape))
    if shapes == "cubes" or len(tops) == 1:
        return of_cubes
    of_all = spread(every)
    every_error, error = (program.objective(found.amounts) for _, found, program in (of_all, of_cubes))
    return of_all if every_error < WORTH_RECTANGLES * error else of_cubes
