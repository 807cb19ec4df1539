"""Small halfspace releases for tests: points in a few clusters, plans of one shape, noise that is none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling
from dpopt.synopses.halfspaces.halfspace_plan import HalfspacePlan
from dpopt.synopses.halfspaces.planning import Shape, plan_halfspaces

D = 4
COLUMNS = PointColumns(("a", "b", "c", "d"), Scaling.NORMALISE)
PURE = Budget(1.0, 0.0, None, Accountant.PURE)
RHO = Budget(None, 1e-9, 0.1, Accountant.ZCDP)
AMPLE = Budget(1e7, 0.0, None, Accountant.PURE)
SHAPES = {"sides": Shape(2, 60, 4), "lines": Shape(1, 240, 1), "space": Shape(3, 40, 6)}


def points(rows: int = 4000, seed: int = 0) -> NDArray[np.float64]:
    """Return points near four orthogonal directions of R^4 and antipodes of two, with different shares, (n, 4)."""
    generator = np.random.default_rng(seed)
    centres = np.concatenate((np.eye(D), -np.eye(D)[:2]))
    of = generator.choice(len(centres), rows, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    return np.asarray(3.0 * centres[of] + 0.05 * generator.normal(size=(rows, D)))


def queries() -> NDArray[np.float64]:
    """Return queries that all these points keep a margin of .45 from, (16, 4)."""
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * D)).reshape(D, -1).T
    return signs / 2.0


def plan(
    kind: str = "sides",
    budget: Budget = PURE,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    *,
    size: int = 4000,
    margin: float = 0.45,
    seed: int = 0,
) -> HalfspacePlan:
    """Return the plan of one shape."""
    return plan_halfspaces(
        COLUMNS, budget, size=size, margin=margin, relation=relation, shapes=[SHAPES[kind]], queries=16, seed=seed
    )
