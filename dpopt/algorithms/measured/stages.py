"""Stages of marginals by order: distances from predictions, then residuals, each for a part of the budget.

Which precision the residual of a set of attributes is worth follows from the program of
`dpopt.models.noise_budgets.residual_allocation`. What is known beforehand of its size is a public prior, until the
distance of a marginal from its prediction was measured.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.measurements import measurement_scale
from dpopt.algorithms.measured.plan import PlannedFigures, PlannedStage
from dpopt.errors import PlanError, WorkloadError
from dpopt.inference.coarse_tables import PARTS
from dpopt.inference.interactions import scales_at_distances
from dpopt.models.noise_budgets.residual_allocation import (
    PUBLIC_UNEVENNESS,
    ResidualPrior,
    prices,
    residual_program,
    solve_residuals,
)
from dpopt.queries.distances import UNIT
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import LARGEST_UNIT, Residuals, subsets_of
from dpopt.queries.workloads.workload import Workload

NOTHING = 1e-12
"""Variance of sets that are not to be measured."""


def typical_variances(
    likely: NDArray[np.float64], sets: MarginalSet, predicted: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return the mean variance of residuals along a direction of each set, (S,), at the expected distance.

    `likely`, (S, 38), says how likely each of `DISTANCES` is. Cells lie around their prediction like Normal(0, size t m_c),
    m_c the predicted count, with the scale t of the distance (`dpopt.inference.interactions.scales_at_distances`). The
    mean over all likely variances would be larger: what a set says rarely is not worth it, as noise hides which sets do.
    """
    deviations = (likely * np.sqrt(scales_at_distances(sets, predicted, size))).sum(axis=1)
    return np.asarray((size * deviations) ** 2 / sets.cells() / prices(sets))


def best_precisions(
    marginals: MarginalSet,
    prior: ResidualPrior,
    known: NDArray[np.float64],
    allowed: NDArray[np.bool_],
    rho: float,
    unevenness: NDArray[np.float64] | float = PUBLIC_UNEVENNESS,
    *,
    figures: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.float64]:
    """Return precisions (S,) to buy for rho, above 0; 0 for sets that are not allowed, or not worth it.

    `known` (S,) were bought before, and `figures` (S,) are bought first, whatever they are worth (`for_figures`).
    `unevenness` (d,) is g_a of each attribute (RA-3); that of public tables where it is not known.
    """
    values = np.where(allowed[:, None], prior.variances, NOTHING)
    program = residual_program(
        marginals, rho=rho, prior=ResidualPrior(values, prior.chances), known=known + figures, unevenness=unevenness
    )
    program = replace(program, budget=program.budget - float((program.prices * figures).sum()))
    return figures + np.where(allowed, solve_residuals(program)[0], 0.0)


def coarse_precisions(
    marginals: MarginalSet,
    sets: MarginalSet,
    parts: NDArray[np.int64],
    size: int,
    rho: float,
    unevenness: NDArray[np.float64] | float = PUBLIC_UNEVENNESS,
) -> tuple[NDArray[np.float64], float]:
    """Return precisions (S,) that residuals of coarse tables of pairs are worth, and their share of rho beyond order 1.

    RA-1 with two sets for each pair: the directions along which its coarse table varies, where half of the squared
    deviations of public tables are taken to lie, and all others. Cells inform about both: coarse tables get what their
    directions are worth beyond them. Their errors count `WORTH` times: means within groups and triples follow from them.
    `parts`, (d,), are the numbers of parts of attributes.
    """
    used = sets.attributes >= 0
    few, counts = (np.where(used, each[sets.attributes], 2) for each in (parts, sets.domains.counts))
    coarse = (sets.widths() == 2) & (few < counts).any(axis=1)
    part = (few - 1).prod(axis=1) / (counts - 1).prod(axis=1)
    share, public = np.where(coarse, part, 0.0), ResidualPrior.public(sets, size)
    others = np.where(measurable(sets, few.shape[1]), np.where(coarse, 0.5, 1.0) / (1 - share), NOTHING)
    variances = np.concatenate((public.variances * others[:, None], public.variances * (0.5 / part)[:, None]))
    fine = residual_program(marginals, rho=rho, prior=public, unevenness=unevenness)
    weights = fine.spreads * np.stack((1 - share, WORTH * share))[:, fine.parts]
    program = replace(
        fine,
        wholes=np.tile(fine.wholes, 2),
        parts=np.concatenate((fine.parts, len(sets) + fine.parts)),
        spreads=weights.reshape(-1),
        prices=np.concatenate((fine.prices * (1 - share), fine.prices * part)),
        known=np.zeros(2 * len(sets)),
        prior=ResidualPrior(variances, np.tile(public.chances, (2, 1))),
    )
    cells, more = np.split(solve_residuals(program)[0], 2)
    more = np.where(coarse, np.maximum(more - cells, 0.0), 0.0)
    spent, beside = (fine.prices * part) @ more, (fine.prices * (sets.widths() > 1)) @ cells
    return more * (few / counts).prod(axis=1), float(spent / max(spent + beside, NOTHING))


def factors_of(
    sets: MarginalSet, precisions: NDArray[np.float64], scale: float, bound: int, *, replaced: bool
) -> NDArray[np.int64]:
    """Return whole numbers k_A, (S,), with which noise of this scale leaves residuals about these precisions; 0: not at all.

    s_A = scale / (k_A N(A)), so that k_A = scale sqrt(x_A) / N(A), rounded down, and less where the squared distance of
    neighbours would be above `bound`, or k_A N(A) above `LARGEST_UNIT`. One at least is above 0.
    """
    cells, factor = sets.cells(), 1.0
    while True:
        wanted = np.floor(factor * scale * np.sqrt(precisions) / cells)
        factors = np.asarray(np.minimum(wanted, LARGEST_UNIT // cells), dtype=np.int64)
        if not factors.any():
            factors[int(np.argmax(precisions))] = 1
            return factors
        places = np.flatnonzero(factors)
        found = Residuals(sets.take(places), factors[places]).sensitivity(replaced=replaced, squared=True)
        if found <= bound:
            return factors
        factor *= min(sqrt(bound / found), 1 - 1e-6)


MOST_SETS, MOST_CELLS, MOST_OF_ONE = 10_000, 15_000_000, 250_000
"""Sets of attributes that are looked at, cells of all of them, and cells of one that is measured."""

LEAST_BOUND, MOST_BOUND = 2**40, 2**44
"""Squared distance of neighbours' residuals, in their units, that is charged: the more sets, the larger, so that the whole
factors of all are fine, and those of few stay small."""

DISTANCE_SHARE = 0.15
"""Share of the budget that an order and those above it are worth for learning which of its sets say most."""

LEAST_SHARE = 0.02
"""Orders that are worth less than this share of the budget beforehand have no stages of their own."""

WORTH, LEAST_COARSE, MOST_COARSE = 2.0, 0.2, 0.5
"""How many times errors of coarse tables count; the least share beyond order 1 for which they have a stage, and the most
that it takes."""

KEPT_BACK = 0.1
"""Share of an order's predicted worth that is kept for the last stage, which spends it on the largest gains."""


def sets_of(workload: Workload) -> tuple[MarginalSet, MarginalSet]:
    """Return the workload's marginals, and all sets of attributes within them, small ones first."""
    marginals = workload.marginals
    if marginals is None:
        raise PlanError("residuals are measured of marginals, and this workload has none; use --measure counts")
    try:
        sets, _, _ = subsets_of(marginals)
    except WorkloadError as error:
        raise PlanError(f"{error}; or use dualquery") from error
    if len(sets) > MOST_SETS or sets.number_of_cells > MOST_CELLS:
        raise PlanError(
            f"the workload has {len(sets):,} sets of attributes with {sets.number_of_cells:,} cells, expected up to "
            f"{MOST_SETS:,} with up to {MOST_CELLS:,}; ask for fewer marginals, or use --measure selected, or dualquery"
        )
    return marginals, sets


def measurable(sets: MarginalSet, order: int) -> NDArray[np.bool_]:
    """Return the sets that can be measured: up to this order, and with no more cells than records could fill."""
    return np.asarray((sets.widths() <= order) & (sets.cells() <= MOST_OF_ONE))


def for_figures(sets: MarginalSet, figures: PlannedFigures | None) -> NDArray[np.float64]:
    """Return the precisions that figures get of sets of attributes, (S,); 0 where they need none.

    Answers have no bias, so that the variance of the noise counts, whatever is expected: these minimize the sum over the
    marginals behind figures of the mean squared error of their cells (RA-1 with g = 1, and no prior).
    """
    result = np.zeros(len(sets))
    if figures is not None:
        rows = np.full((len(figures.sets), max(map(len, figures.sets))), -1, dtype=np.int32)
        for row, one in zip(rows, figures.sets, strict=True):
            row[: len(one)] = one
        known, behind = {sets.attributes_of(at): at for at in range(len(sets))}, MarginalSet(sets.domains, rows)
        if not known.keys() >= set(figures.sets):
            raise PlanError("the plan has figures of columns that are not measured together; the plan was changed")
        program = residual_program(behind, rho=figures.rho, weights=1 / behind.cells())
        places = [known[program.sets.attributes_of(place)] for place in range(len(program.sets))]
        result[places] = solve_residuals(program)[0]
    return result


def planned_stages(
    marginals: MarginalSet, sets: MarginalSet, size: int, rho: float, *, replaced: bool, figures: PlannedFigures | None
) -> tuple[PlannedStage, ...]:
    """Return the measurements of marginals with these sets of attributes for rho; a function of public values.

    One-way marginals come first, then coarse tables of pairs where they are worth it. Then, order by order, distances from
    predictions tell which sets are worth measuring, and residuals of sets up to this order are measured. What each order
    gets is what it is worth under a public prior, less a part for the last stage; and what figures cost of rho.
    """
    costs = np.bincount(sets.widths(), prices(sets) * for_figures(sets, figures)) / 2
    rho -= float(costs.sum())
    shares, widest = _shares(sets, marginals, size, rho), int(np.flatnonzero(costs).max(initial=1))
    if widest > 1:
        shares[1:widest] = np.maximum(shares[1:widest], LEAST_SHARE)
        shares /= shares.sum()
    most = max(widest, sum(shares[order:].sum() >= LEAST_SHARE for order in range(len(shares))))
    stages: list[PlannedStage] = []
    left = 1.0
    for order in range(1, most + 1):
        if order > 1:
            bound = int((sets.widths() == order).sum()) * (UNIT * (1 + replaced)) ** 2
            share = DISTANCE_SHARE * left * float(shares[order - 1 :].sum())
            stages.append(_stage(f"distances of order {order}", order, bound, share * rho, distances=True))
            left -= share
        share = left
        if order < most:
            share *= (1.0 if order == 1 else 1 - KEPT_BACK) * float(shares[order - 1])
        amount = share * rho + float(costs[order])
        stages.append(_stage(f"residuals up to order {order}", order, bound_for(len(sets)), amount, distances=False))
        left -= share
        if order == 1 < most:
            parts = np.minimum(sets.domains.counts, PARTS)
            part = min(MOST_COARSE, coarse_precisions(marginals, sets, parts, size, rho)[1])
            if part >= LEAST_COARSE:
                share = part * left
                stages.append(
                    _stage("residuals of coarse tables", 2, bound_for(len(sets)), share * rho, distances=False)
                )
                left -= share
    return tuple(stages)


def bound_for(sets: int) -> int:
    """Return the squared distance that is charged for the residuals of a number of sets, or some of them."""
    return min(MOST_BOUND, LEAST_BOUND << (sets.bit_length() - 1))


def _stage(name: str, order: int, bound: int, rho: float, *, distances: bool) -> PlannedStage:
    scale = measurement_scale(bound, amount=rho, gaussian=True)
    return PlannedStage(name, order, distances, bound, scale)


def _shares(sets: MarginalSet, marginals: MarginalSet, size: int, rho: float) -> NDArray[np.float64]:
    """Return which share of the budget each order is worth beforehand, (orders,)."""
    prior = ResidualPrior.public(sets, size)
    allowed = measurable(sets, int(sets.widths().max()))
    x = best_precisions(marginals, prior, np.zeros(len(sets)), allowed, rho)
    spent = np.bincount(sets.widths() - 1, weights=x * prices(sets))
    return np.asarray(spent / spent.sum())
