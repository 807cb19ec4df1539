"""What is proven of a run of multiplicative weights, before any record is touched, with explicit constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log, sqrt
from typing import Any

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan
from dpopt.algorithms.options import DATA_STEP, HOEFFDING, MAX_ENTROPY, PAPER, QUERIES
from dpopt.private.selections.multiplicative_scores import UNITS

FAILURE = 0.05


def selection_error(
    rounds: int,
    range_: float,
    size: int,
    relation: NeighbouringRelation,
    queries: int,
    failure: float = FAILURE,
) -> float:
    """Return how much worse than the worst query a selected one is answered at most, in shares, in all rounds.

    A score of the closed class of 2 m queries lies t records below the best with probability at most 2 m exp(-eps0 t / u):
    u is 1 under add-remove and 2 under replace-one; t = (u / eps0) ln(4 m L / beta) holds in L rounds with probability
    1 - beta / 2. Public answers are rounded to 1/1,024 record, which adds as much.
    """
    units = 1 if relation is NeighbouringRelation.ADD_REMOVE else 2
    return (units / range_ * log(4 * queries * rounds / failure) + 1 / UNITS) / size


def measurement_error(
    rounds: int, scale: float, size: int, *, gaussian: bool, failure: float = FAILURE
) -> float:
    """Return how far measured answers lie from the true ones at most, in shares, in all rounds: probability 1 - beta / 2.

    Discrete Gaussian noise is sub-Gaussian: P(|Z| >= t) <= 2 exp(-t^2 / (2 sigma^2)) (Canonne, Kamath and Steinke 2020).
    Discrete Laplace noise: P(|Z| >= k) <= 2 exp(-k / b) for whole k.
    """
    tail = log(4 * rounds / failure)
    return (scale * sqrt(2 * tail) if gaussian else scale * tail + 1) / size


def rounds_needed(
    update: str, alpha: float, log_universe: float, *, slack: float = 0.0, weight: float = 0.0
) -> int | None:
    """Return after how many updates the relative entropy to the true distribution would be negative; None if nothing is proven.

    Each update is made where |y - <q, p>| > 2 alpha, and |y - q(D)| <= alpha. Then ln|X| pays for at most
        paper:        4 ln|X| / alpha^2 updates (lecture, Corollary 3),
        hoeffding:    ln|X| / (2 alpha^2), by Hoeffding's lemma,
        max-entropy:  (4 + w) ln|X| / (2 w (2 alpha - slack)^2), if the slack is at least the error of a measurement: the dual
                      value is at most ln|X|, and a round raises it by at least 2 w / (4 + w) times the squared distance to
                      the slack (models/max_entropy, ME-7); replays raise it further.
    """
    if update == PAPER:
        return ceil(4 * log_universe / alpha**2)
    if update == HOEFFDING:
        return ceil(log_universe / (2 * alpha**2))
    if update == MAX_ENTROPY and slack < 2 * alpha:
        return ceil((4 + weight) / (2 * weight) * log_universe / (2 * alpha - slack) ** 2)
    return None


def proven_multiplicative(
    plan: MultiplicativePlan, queries: int, log_universe: float, *, rules: bool = False
) -> dict[str, Any] | None:
    """Return a proven bound on the largest error as a JSON object; None for plans of which nothing is proven.

    Probability 0.95 of all selections and measurements together. The bound is of the distribution; `proven_of_records` adds how
    far the released records are from it.

    Parameters
    ----------
    rules : bool
        Whether records obey rules, which the table's records must then obey for the bound to hold.
    """
    conditions = [
        *(["the table has n0 records"] if plan.relation is NeighbouringRelation.ADD_REMOVE else []),
        *(["all of them obey the rules"] if rules else []),
    ]
    if plan.select != QUERIES:
        return None
    selected = selection_error(plan.rounds, float(plan.step), plan.size, plan.relation, queries)
    measured = measurement_error(plan.rounds, plan.scale, plan.size, gaussian=plan.gaussian)
    if plan.alpha is not None:
        return _stopping(plan, selected, measured, log_universe, conditions)
    if plan.learning.update != DATA_STEP or plan.learning.replays or not plan.learning.average:
        return None
    # Hardt, Ligett and McSherry 2012, Theorem 2.2, with the two errors of this plan in place of 10 T ln|Q| / eps.
    bound = 2 * sqrt(log_universe / plan.rounds) + measured + selected
    return {
        "kind": "bound on the largest error",
        "bound": bound,
        "failure_probability": FAILURE,
        "says_something": bound < 1,
        "if": _if(conditions),
        "assumes": conditions,
        "needs_to_stop": False,
    }


def proven_of_records(
    proven: Mapping[str, Any] | None, *, stopped_early: bool, distance: float
) -> dict[str, Any] | None:
    """Return the bound on the released records, from that of the plan; None if the run did not come to what it assumes.

    Parameters
    ----------
    proven : Mapping or None
        What `proven_multiplicative` gave.
    stopped_early : bool
        Whether the run stopped early.
    distance : float
        The largest difference, over all queries, between the records and the distribution that the bound is of.
    """
    if proven is None or (proven["needs_to_stop"] and not stopped_early):
        return None
    bound = float(proven["bound"]) + distance
    return {
        **proven,
        "bound": bound,
        "of_it_by_the_choice_of_records": distance,
        "says_something": bound < 1,
        "if": _if(proven["assumes"]),
    }


def _if(conditions: Sequence[str]) -> str:
    return f", if {' and '.join(conditions)}" if conditions else ""


def _stopping(
    plan: MultiplicativePlan,
    selected: float,
    measured: float,
    log_universe: float,
    conditions: Sequence[str],
) -> dict[str, Any]:
    alpha = plan.alpha or 1.0
    noise = plan.scale * (1.0 if plan.gaussian else sqrt(2.0)) / plan.size
    slack = plan.learning.slack * noise
    needed = rounds_needed(
        plan.learning.update, alpha, log_universe, slack=slack, weight=plan.learning.pull / noise
    )
    proven = needed is not None and plan.rounds >= needed and max(selected, measured) <= alpha
    if plan.learning.update == MAX_ENTROPY:
        proven = proven and slack >= measured
    bound = 2 * alpha + selected + measured
    return {
        "kind": "bound on the largest error",
        "bound": bound,
        "failure_probability": FAILURE,
        "says_something": bound < 1,
        "if": _if([*([] if proven else ["the run stops early"]), *conditions]),
        "assumes": list(conditions),
        "needs_to_stop": not proven,
        "alpha": alpha,
        "selection_error": selected,
        "measurement_error": measured,
        "rounds_needed": needed,
    }
