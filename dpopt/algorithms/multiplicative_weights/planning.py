"""From a budget to a plan of multiplicative weights: rounds, ranges and noise; from public quantities alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import ceil, fsum, log, sqrt
from typing import Any

from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_range
from dpopt.algorithms.measured.planning import noise_for, rounded_down
from dpopt.algorithms.multiplicative_weights.plan import MOST_ROUNDS, Learning, MultiplicativePlan, universe_of
from dpopt.algorithms.options import DATA_STEP, MARGINALS, MAX_ENTROPY, MWEM, PAPER, PMW, QUERIES, PlanRequest
from dpopt.errors import PlanError
from dpopt.models.model import LARGEST_FOR_SOLVERS
from dpopt.models.records.max_entropy import MOST_CELLS
from dpopt.private.curators.multiplicative_curator import UNITS
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import PlanBy

MARGINAL_SHARE, QUERY_SHARE = 0.1, 0.5
"""Shares of a round's budget for its selection."""

LEAST_ROUNDS, MOST = 4, {MARGINALS: 100, QUERIES: 400}

_REPLAYS = {PAPER: 0, DATA_STEP: 4, MAX_ENTROPY: 1}

PER_ROOT = {(MARGINALS, True): 0.25, (MARGINALS, False): 0.06, (QUERIES, True): 3.0, (QUERIES, False): 0.3}
"""Rounds for each unit of the root of size / noise, that of one measurement for the whole budget; Gaussian or not.
The scale of Gaussian noise grows with the root of the rounds, that of Laplace noise with the rounds themselves."""


def refuse_large_model(cells: int, rounds: int) -> None:
    """Refuse to hand a solver a larger universe than it takes: a cone for each cell, and two entries for each measurement."""
    entries = cells * (2 * rounds + 3)
    if cells > MOST_CELLS or entries > LARGEST_FOR_SOLVERS:
        raise PlanError(
            f"{cells:,} possible records and {rounds:,} rounds are {entries:,} coefficients; solvers are handed "
            f"{MOST_CELLS:,} records and {LARGEST_FOR_SOLVERS:,} coefficients at most. Ask queries over fewer "
            f"attributes, or name no solver"
        )


class Maker:
    """Makes plans of one request for different numbers of rounds."""

    def __init__(self, request: PlanRequest[MWEM], workload: Workload) -> None:
        asked = request.options
        universe = universe_of(workload, asked.algorithm)
        self.gaussian, self.amount = noise_for(request)
        self.select = _what_is_selected(asked, workload)
        usual_share = MARGINAL_SHARE if self.select == MARGINALS else QUERY_SHARE
        self._share = asked.selection_share or usual_share
        self._request, self._queries = request, len(workload)
        by_bound = isinstance(asked, PMW) and asked.plan_by == PlanBy.BOUND.value
        self.update = asked.update or (PAPER if by_bound else MAX_ENTROPY)
        self._stops = isinstance(asked, PMW)  # a run of pmw ends where an answer is good enough
        self._log_universe = fsum(log(count) for count in universe.shape)

    def costs(self, rounds: int) -> tuple[Decimal, float]:
        """Return range of a selection and scale of a measurement for a number of rounds."""
        each = self.amount / rounds
        step = rounded_down(selection_range(self._share * each, concentrated=self.gaussian))
        scale = measurement_scale(
            sensitivity_of(self.select, self._request.relation), amount=(1 - self._share) * each, gaussian=self.gaussian
        )
        return step, scale

    def errors(self, rounds: int) -> tuple[float, float]:
        """Return the largest errors of selections and measurements in a number of rounds, with probability 0.95."""
        (step, scale), request = self.costs(rounds), self._request
        return (
            selection_error(rounds, float(step), request.size, request.relation, self._queries),
            measurement_error(rounds, scale, request.size, gaussian=self.gaussian),
        )

    def of(self, rounds: int, *, alpha: float | None, chosen_by: str = "") -> MultiplicativePlan:
        """Return the plan of a number of rounds."""
        request, asked = self._request, self._request.options
        step, scale = self.costs(rounds)
        if alpha is None and self._stops and self.select == QUERIES:
            alpha = min(1.0, scale * (1.0 if self.gaussian else sqrt(2.0)) / request.size)  # the noise
        update, usual = self.update, Learning()
        learning = Learning(
            update=update,
            replays=_REPLAYS[update] if asked.replays is None else asked.replays,
            last_replays=usual.last_replays if update == MAX_ENTROPY else 0,
            average=asked.average,
            records=asked.records or usual.records,
        )
        return MultiplicativePlan(
            algorithm=asked.algorithm,
            size=request.size,
            relation=request.relation,
            budget=request.budget,
            gaussian=self.gaussian,
            select=self.select,
            rounds=rounds,
            step=step,
            scale=scale,
            alpha=alpha if self._stops else None,
            learning=learning,
            solver=asked.solver_name,
            seed=asked.seed,
            chosen_by=chosen_by or ("rounds given" if asked.rounds else "rule by size and noise"),
        )

    def by_bound(self) -> MultiplicativePlan:
        """Return the plan of the smallest alpha for which the rounds that the theorem needs can be paid for.

        minimize alpha  subject to  both errors of L(alpha) rounds are at most alpha

        by bisection: L falls with alpha, and so do the errors.
        """
        if self.select != QUERIES:
            raise PlanError("--plan-by bound is for --algorithm pmw with --select queries; leave it out")
        if self.update != PAPER:
            raise PlanError(
                f"nothing is proven of the update {self.update!r} beforehand; use {PAPER}, or leave --plan-by out"
            )
        low, high = 1e-6, 1.0
        if not self._suffices(high):
            raise PlanError(
                f"{self._request.budget.describe()} on n = {self._request.size:,} records proves no error below 1 for "
                f"these queries; raise the budget, ask fewer queries over fewer attributes, or leave --plan-by out: "
                f"rounds are then chosen by a rule"
            )
        while high > low * 1.001:
            middle = sqrt(low * high)
            low, high = (low, middle) if self._suffices(middle) else (middle, high)
        return self.of(rounds_needed(high, self._log_universe), alpha=high, chosen_by=f"bound: alpha = {high:.3g}")

    def _suffices(self, alpha: float) -> bool:
        rounds = rounds_needed(alpha, self._log_universe)
        return rounds <= MOST_ROUNDS and max(self.errors(rounds)) <= alpha


def _what_is_selected(asked: MWEM, workload: Workload) -> str:
    """Return the unit of selection: the one that `select` asks for; else whole marginals for mwem if there are some."""
    if asked.select == MARGINALS and workload.marginals is None:
        raise PlanError("--select marginals needs a workload of marginals; leave it out, or use --select queries")
    if asked.select is not None:
        return asked.select
    return QUERIES if isinstance(asked, PMW) or workload.marginals is None else MARGINALS


def sensitivity_of(select: str, relation: NeighbouringRelation) -> int:
    """Return the sensitivity of a round's measurement."""
    return 2 if select == MARGINALS and relation is NeighbouringRelation.REPLACE_ONE else 1


FAILURE = 0.05


def selection_error(rounds: int, range_: float, size: int, relation: NeighbouringRelation, queries: int) -> float:
    """Return how much worse than the worst query a selected one is answered at most, in shares, in all rounds.

    A score of the closed class of 2 m queries lies t records below the best with probability at most 2 m exp(-eps0 t /
    u): u is 1 under add-remove and 2 under replace-one; t = (u / eps0) ln(4 m L / beta) holds in L rounds with
    probability 1 - beta / 2. Public answers are rounded to 1/1,024 record, which adds as much.
    """
    units = 1 if relation is NeighbouringRelation.ADD_REMOVE else 2
    return (units / range_ * log(4 * queries * rounds / FAILURE) + 1 / UNITS) / size


def measurement_error(rounds: int, scale: float, size: int, *, gaussian: bool) -> float:
    """Return how far measured answers lie from the true ones at most, in shares, in all rounds: probability 1 - beta / 2.

    Discrete Gaussian noise is sub-Gaussian: P(|Z| >= t) <= 2 exp(-t^2 / (2 sigma^2)) (Canonne, Kamath and Steinke
    2020). Discrete Laplace noise: P(|Z| >= k) <= 2 exp(-k / b) for whole k.
    """
    tail = log(4 * rounds / FAILURE)
    return (scale * sqrt(2 * tail) if gaussian else scale * tail + 1) / size


def rounds_needed(alpha: float, log_universe: float) -> int:
    """Return after how many of the lecture's steps the relative entropy to the true distribution would be negative.

    Each step is made where |y - <q, p>| > 2 alpha, and |y - q(D)| <= alpha: 4 ln|X| / alpha^2 (Corollary 3).
    """
    return ceil(4 * log_universe / alpha**2)


def proven_multiplicative(
    plan: MultiplicativePlan, queries: int, log_universe: float, *, rules: bool = False
) -> dict[str, Any] | None:
    """Return a proven bound on the largest error as a JSON object; None for plans without one.

    Probability 0.95 of all selections and measurements together. The bound is of the distribution; `proven_of_records`
    adds how far the released records are from it. Where records obey rules, the table's records must obey them for it
    to hold.
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
        average = plan.learning.average  # of distributions that answered badly, too
        return None if average else _stopping(plan, selected, measured, log_universe, conditions)
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
    """Return the bound on the released records, from that of the plan; None if the run broke its assumptions.

    `distance` is the largest difference, over all queries, between the records and the distribution that the bound is
    of.
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
    plan: MultiplicativePlan, selected: float, measured: float, log_universe: float, conditions: Sequence[str]
) -> dict[str, Any]:
    alpha = plan.alpha or 1.0
    published = plan.learning.update == PAPER and not plan.learning.replays
    needed = rounds_needed(alpha, log_universe) if published else None
    proven = needed is not None and plan.rounds >= needed and max(selected, measured) <= alpha
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
