"""From a budget to residuals that are measured: whole factors and one scale of noise, within the budget to the last digit."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.accounting.measurements import LARGEST_SCALE, LARGEST_SENSITIVITY, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.models.noise_budgets.residual_allocation import (
    ResidualAllocation,
    ResidualPrior,
    allocate_residuals,
)
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import LARGEST_UNIT, Residuals

FINENESS = 8
"""Least factor k_A that is aimed at: rounding it changes a deviation by at most a sixteenth, and the error by far less."""


def plan_residuals(
    marginals: MarginalSet,
    *,
    rho: float,
    relation: NeighbouringRelation,
    prior: ResidualPrior | float | None = None,
    known: ArrayLike = 0.0,
    weights: ArrayLike = 1.0,
) -> tuple[Residuals, float, ResidualAllocation]:
    """Return which residuals to measure, the scale of the discrete Gaussian noise on them, and the allocation behind both.

    Parameters are those of `allocate_residuals`; rho is what the measurement costs under the relation. The precision that a set
    gets is 1 / `Residuals.variances(scale**2)`: that of the allocation, but for rounding.

    Raises
    ------
    PlanError
        If nothing that is worth its cost is small enough to be measured.
    ProgramError, WorkloadError
        As `allocate_residuals`.
    """
    replaced = relation is NeighbouringRelation.REPLACE_ONE

    def at(ratio: float) -> tuple[ResidualAllocation, Residuals]:
        """Given what a record that is replaced costs beside one that is added: it hardly depends on the budget."""
        found = allocate_residuals(marginals, rho=rho / ratio, prior=prior, known=known, weights=weights)
        return found, _whole(found.sets, found.precisions, rho)

    allocation, residuals = at(2.0 if replaced else 1.0)
    if replaced:
        dearer = residuals.sensitivity(replaced=True, squared=True)
        allocation, residuals = at(dearer / residuals.sensitivity(replaced=False, squared=True))
    sensitivity = residuals.sensitivity(replaced=replaced, squared=True)
    return residuals, measurement_scale(sensitivity, amount=rho, gaussian=True), allocation


def _whole(sets: MarginalSet, precisions: NDArray[np.float64], rho: float) -> Residuals:
    """Return residuals with factors about in proportion to the roots of precisions over cells, as fine as 64 bits allow."""
    roots, cells = np.sqrt(precisions), sets.cells()
    scale = min(
        FINENESS * float((cells / roots).max()),
        LARGEST_UNIT / float(roots.max()),
        sqrt(
            LARGEST_SENSITIVITY / (32.0 * rho)
        ),  # replaced records cost up to four times, and factors are rounded
        LARGEST_SCALE / 4.0,
    )
    factors = np.minimum(np.rint(scale * roots / cells).astype(np.int64), LARGEST_UNIT // cells)
    kept = np.flatnonzero(factors)
    if not kept.size:
        raise PlanError(
            f"no residual is small enough to be measured: the smallest has {int(cells.min()):,} cells; use marginals of fewer"
        )
    return Residuals(sets.take(kept), factors[kept])
