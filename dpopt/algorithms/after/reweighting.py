"""Re-weighting: the records of a DualQuery release with weights under which its transcript is most likely, free of cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.errors import PlanError
from dpopt.models.records.reweighting import TranscriptLikelihood
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.releases.records import SyntheticRecords, merged
from dpopt.releases.rounds import Round

MOST_ROUNDS = 3_000
"""Beyond this many rounds the Hessian would not be formed at once."""
MOST_ANSWERS = 2_000_000_000
"""Bytes for the answer of each round's record to each query."""

_STEPS, _INNER, _GAP = 40, 3_000, 1e-3
_PARTS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Reweighted:
    """Weights of a release's records.

    Attributes
    ----------
    weights : (T,) float64
        One for each round's record, at least 0, summing to 1.
    before, after : float
        Log-likelihood of the transcript with equal weights and with these.
    gap : float
        By how much the best weights could be more likely at most, in the same units: proven, since the log-likelihood is
        concave (RW-5: largest entry of the gradient less its mean under the weights).
    steps : int
        Newton steps that were taken.
    """

    weights: NDArray[np.float64]
    before: float
    after: float
    gap: float
    steps: int


def reweight(
    rounds: Sequence[Round], clauses: Clauses, plan: DualQueryPlan, *, gap: float = _GAP
) -> Reweighted:
    """Return weights for the records of all rounds that maximize the likelihood of the released draws.

    maximize L(w)  subject to  w >= 0, sum w = 1  (`dpopt.models.records.reweighting`, RW-1)

    by Newton steps: the quadratic model is maximized over the simplex, and the step is halved until L grows by a tenth of what
    the model's slope promises. Ends when the proven gap (RW-5) is at most `gap`.

    Parameters
    ----------
    rounds : sequence of Round
        All rounds of a run of DualQuery, in order.
    clauses : Clauses
        The workload's base queries over the coding of the records.
    plan : DualQueryPlan
        The plan of the run.
    gap : float
        Enough accuracy, in units of log-likelihood.

    Raises
    ------
    PlanError
        If the plan is not DualQuery's (queries that DQRS keeps are no independent draws), or there are more than 3,000 rounds
        or 2e9 answers of a round's record to a query.
    """
    if plan.keeps_draws:
        raise PlanError(
            f"records of {plan.algorithm} are not re-weighted: its queries are no independent draws of one distribution"
        )
    if not 1 <= len(rounds) <= MOST_ROUNDS:
        raise PlanError(f"re-weighting takes 1 to {MOST_ROUNDS:,} rounds, found {len(rounds):,}")
    if len(rounds) * len(clauses) > MOST_ANSWERS:
        raise PlanError(
            f"re-weighting keeps the answer of each record to each query, at most {MOST_ANSWERS:,}; found {len(rounds):,} "
            f"rounds and {len(clauses):,} queries"
        )
    records = [done.kept for done in rounds]
    likelihood = TranscriptLikelihood.of(
        clauses, records, [done.sampled for done in rounds], draws=plan.draws, step=float(plan.step)
    )
    return maximize_likelihood(likelihood, gap=gap)


def maximize_likelihood(likelihood: TranscriptLikelihood, *, gap: float = _GAP) -> Reweighted:
    """Return the weights of largest likelihood, from equal ones on."""
    number = likelihood.answers.shape[1]
    weights = np.full(number, 1.0 / number)
    value, gradient, curvature = likelihood.derivatives(weights)
    before, steps = value, 0
    while _gap_of(gradient, weights) > gap and steps < _STEPS:
        target = _best_on_simplex(gradient + curvature @ weights, curvature, weights)
        direction = target - weights
        slope, length = float(gradient @ direction), 1.0
        if slope <= 0.0:
            break
        while likelihood.value(weights + length * direction) < value + 0.1 * length * slope:
            length /= 2.0
            if length < 1e-9:
                return Reweighted(weights, before, value, _gap_of(gradient, weights), steps)
        weights = np.maximum(weights + length * direction, 0.0)
        weights /= weights.sum()
        value, gradient, curvature = likelihood.derivatives(weights)
        steps += 1
    return Reweighted(weights, before, value, _gap_of(gradient, weights), steps)


def weighted_records(rounds: Sequence[Round], weights: NDArray[np.float64]) -> SyntheticRecords:
    """Return the distinct records with multiplicities out of a million, by largest remainders."""
    records, _, place = merged([done.kept for done in rounds])
    shares = np.bincount(place, weights=weights, minlength=len(records)) * _PARTS
    parts = np.floor(shares).astype(np.int64)
    largest = np.argsort(parts - shares, kind="stable")[: _PARTS - int(parts.sum())]
    parts[largest] += 1
    kept = np.flatnonzero(parts)
    held = records.take(kept) if isinstance(records, BitRecords) else records[kept]
    return SyntheticRecords(held, parts[kept])


def _gap_of(gradient: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    return float(gradient.max() - gradient @ weights)


def _best_on_simplex(
    linear: NDArray[np.float64], curvature: NDArray[np.float64], start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return about the maximizer of linear' w - w' curvature w / 2 over the simplex: accelerated projected gradients."""
    smooth = max(float(np.abs(curvature).sum(axis=1).max()), 1e-12)  # at least the largest eigenvalue
    point = previous = start
    momentum = 1.0
    for _ in range(_INNER):
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0
        ahead = point + (momentum - 1.0) / following * (point - previous)
        slope = linear - curvature @ ahead
        previous, point = point, _onto_simplex(ahead + slope / smooth)
        momentum = following if slope @ (point - previous) >= 0.0 else 1.0
        if np.abs(point - previous).max() < 1e-13:
            break
    return point


def _onto_simplex(point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest point of the simplex (Held, Wolfe and Crowder 1974)."""
    ordered = np.sort(point)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(point) + 1)
    level = excess[np.flatnonzero(ordered > excess)[-1]]
    nearest: NDArray[np.float64] = np.maximum(point - level, 0.0)
    return nearest
