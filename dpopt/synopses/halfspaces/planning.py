"""Plan halfspace releases: noise from the budget, errors predicted on public points, and the best of some shapes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.public_random import PublicRandom
from dpopt.queries.halfspaces.halfspaces import COPIES, PointColumns
from dpopt.synopses.halfspaces.bias_sample import moment_bound
from dpopt.synopses.halfspaces.estimators import Answering, Estimator
from dpopt.synopses.halfspaces.halfspace_plan import MARGIN, HalfspacePlan, Prediction
from dpopt.synopses.histograms.counts_plan import QUERIES, RECORDS, is_gaussian, whole_amount
from dpopt.synopses.summaries.noise_bounds import noise_bound

BETA = 0.05
"""The probability that some query is off by more than predicted: half for the projections, half for the noise."""
RECORDS_SHARE = 0.02
"""The share of the budget that the number of records gets under add-remove."""
_TRIED = 12  # public queries that predictions are made with
_NOTHING = Prediction(1.0, 1.0, 0.0, 1.0, 1, 1.0, 1)


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the measurements: T, m and h."""

    dimension: int
    number: int
    directions: int


def named_shapes(dimension: int | None, projections: int | None, directions: int | None) -> list[Shape] | None:
    """Return the one shape that a user names, or none."""
    if dimension is None and projections is None and directions is None:
        return None
    if dimension is None or projections is None or directions is None:
        raise PlanError("give --projected-to, --projections and --directions together, or none of them")
    if directions % 2 or directions < 2:
        raise PlanError(f"found {directions} directions; expected an even number: each with its antipode")
    return [Shape(dimension, projections, directions // 2)]


def plan_halfspaces(
    columns: PointColumns,
    budget: Budget,
    size: int | None,
    *,
    margin: float,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    shapes: Sequence[Shape] | None = None,
    queries: int = 1000,
    seed: int = 0,
    copies: int = COPIES,
) -> HalfspacePlan:
    """Return the plan with the least predicted error among some shapes, for all of some `queries` together."""
    size, queries = RECORDS(size or 0, PlanError), QUERIES(queries, PlanError)
    margin = MARGIN(margin, PlanError)
    gaussian, amount = is_gaussian(budget), whole_amount(budget)
    found = []
    for shape in default_shapes(gaussian=gaussian) if shapes is None else shapes:
        plan = HalfspacePlan(
            columns=columns,
            dimension=shape.dimension,
            number=shape.number,
            directions=shape.directions,
            seed=seed,
            copies=copies,
            relation=relation,
            budget=budget,
            gaussian=gaussian,
            scales=_scales(shape, amount, relation, gaussian=gaussian),
            size=size,
            margin=margin,
            prediction=_NOTHING,
        )
        found.append(replace(plan, prediction=predicted(plan, amount, queries)))
    return min(found, key=lambda plan: plan.prediction.error)


def default_shapes(*, gaussian: bool) -> list[Shape]:
    """Return the shapes that are tried: T = 1 and T = 2.

    Where weights come from a regression, many projections with few directions each know more than few with many. With
    Gaussian noise more halfspaces have no more noise, so only 2,400 are tried. Laplace noise grows with their number.
    """
    found = [Shape(1, 2400, 1), Shape(2, 600, 4)]
    if not gaussian:
        found += [Shape(1, 800, 1), Shape(2, 200, 4)]
    return found


def predicted(plan: HalfspacePlan, amount: float, queries: int, estimator: Estimator | None = None) -> Prediction:
    """Return the errors to expect of queries of the planned margin, on public queries and points."""
    if estimator is None:
        estimator = Estimator.usual(plan)
    answering = Answering(plan, estimator, plan.margin)
    tried = public_queries(plan.columns.dimension, _TRIED, seed=plan.seed)
    biases = list(answering.of_queries(tried))
    # One moment of all queries together: an average over them bounds the tail of a query that is as random as these.
    moments = tuple(np.mean([bias.moments for bias in biases], axis=0).tolist())
    bias = moment_bound(moments, BETA / 2.0 / queries)
    noise = max(answering.noise(one.weights, BETA / 2.0, queries=queries) for one in biases)
    error = bias + noise
    return Prediction(
        error=error,
        bias=bias,
        noise=noise,
        typical=sqrt(moments[0]),
        queries=queries,
        direct=direct_error(queries, amount, plan.size, gaussian=plan.gaussian),
        worth=_break_even(error, amount, plan.size, gaussian=plan.gaussian),
    )


def direct_error(queries: int, amount: float, size: int, *, gaussian: bool) -> float:
    """Return the largest error of this number of queries (with 95 %) if each is counted with separate noise.

    One record moves each of Q counts by at most 1.
    """
    scale = measurement_scale(queries, amount=amount, gaussian=gaussian)
    return noise_bound(np.array([scale / size]), np.ones(1), BETA, gaussian=gaussian, queries=queries)


def public_queries(columns: int, number: int, *, seed: int) -> NDArray[np.float64]:
    """Return public random unit vectors, (q, d)."""
    words = PublicRandom(seed ^ 0xA5C).words(number * columns)
    rough = (2.0 * np.bitwise_count(words) - 64.0).reshape(number, columns)
    rough[~(rough != 0).any(axis=1), 0] = 1.0
    return np.asarray(rough / np.sqrt((rough**2).sum(axis=1, keepdims=True)))


def _scales(shape: Shape, amount: float, relation: NeighbouringRelation, *, gaussian: bool) -> tuple[float, ...]:
    """Return the scales of the noise: a small share for the number of records, the rest for the sides."""
    add_remove = relation is NeighbouringRelation.ADD_REMOVE
    found, left = [], amount
    if add_remove:
        found.append(measurement_scale(1, amount=RECORDS_SHARE * amount, gaussian=gaussian))
        left = (1.0 - RECORDS_SHARE) * amount
    return (*found, measurement_scale(shape.number * shape.directions, amount=left, gaussian=gaussian))


def _break_even(error: float, amount: float, size: int, *, gaussian: bool) -> int:
    """Return from how many queries on direct counts have a larger error: at the latest where their scale alone is it."""
    off = error * size
    most = ceil(2.0 * amount * off**2 if gaussian else amount * off)

    def worse(number: int) -> bool:
        return direct_error(number, amount, size, gaussian=gaussian) > error

    return bisect_left(range(1, most + 2), x=True, key=worse) + 1
