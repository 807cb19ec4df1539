"""What is compared: plans without planning, and those that dpopt makes; add-remove, pure epsilon or zCDP."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.measurements import amount_for, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.queries.ranges.grids import Level, grid_levels
from dpopt.synopses.histograms.grids.box_workload import cubes
from dpopt.synopses.histograms.grids.grid_plan import GridPlan, plan_grid

DELTA = 1e-9
PLANNED, OTHER = "dpopt", "dpopt, the other shapes"
Shape = tuple[int, ...]

_PLAIN: dict[str, Callable[[Shape], list[Level]]] = {
    "cells": lambda shape: [(0,) * len(shape)],
    "quadtree": cubes,
    "quadtree, 16 children": lambda shape: cubes(shape, 2),
    "product of trees": grid_levels,
    "product of trees, 16 children": lambda shape: [
        level for level in grid_levels(shape) if all(height % 4 == 0 for height in level)
    ],
}
PLAIN = tuple(_PLAIN)


def plans(shape: Shape, epsilon: float, *, gaussian: bool) -> Iterator[tuple[str, GridPlan]]:
    """Yield each plan with its name: plain ones divide the budget equally among their levels."""
    budget = Budget(epsilon, DELTA, None, Accountant.ZCDP) if gaussian else Budget(epsilon, 0.0, None, Accountant.PURE)
    for name, levels in _PLAIN.items():
        yield name, _equal(shape, budget, levels(shape), gaussian=gaussian)
    planned = plan_grid(shape, budget, modelled=True)
    yield PLANNED, planned
    other = "rectangles" if set(planned.levels) <= set(cubes(shape)) else "cubes"
    yield OTHER, plan_grid(shape, budget, shapes=other)


def _equal(shape: Shape, budget: Budget, levels: list[Level], *, gaussian: bool) -> GridPlan:
    share = amount_for(budget, gaussian=gaussian) / len(levels)
    scale = measurement_scale(1, amount=share, gaussian=gaussian)
    return GridPlan(
        shape=shape,
        relation=NeighbouringRelation.ADD_REMOVE,
        budget=budget,
        gaussian=gaussian,
        levels=tuple(levels),
        scales=(scale,) * len(levels),
        ranges="equal levels",
        size=None,
        predicted={},
    )
