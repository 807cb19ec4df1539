"""From a budget to a plan of multiplicative weights: rounds, ranges and noise; from public quantities alone."""

from __future__ import annotations

from decimal import Decimal
from math import fsum, log, sqrt
from typing import Any

from dpopt.accounting.measurements import amount_for, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_range
from dpopt.algorithms.measured.planning import is_gaussian, rounded_down
from dpopt.algorithms.multiplicative_weights.accuracy import (
    measurement_error,
    proven_multiplicative,
    rounds_needed,
    selection_error,
)
from dpopt.algorithms.multiplicative_weights.plan import MOST_ROUNDS, Learning, MultiplicativePlan
from dpopt.algorithms.multiplicative_weights.universe import log_cells, universe_of
from dpopt.algorithms.options import (
    DATA_STEP,
    HOEFFDING,
    MARGINALS,
    MAX_ENTROPY,
    MWEM,
    PAPER,
    PMW,
    QUERIES,
    PlanRequest,
)
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import PlanBy

MARGINAL_SHARE, QUERY_SHARE = 0.1, 0.5
"""Shares of a round's budget for its selection."""
_LEAST_ROUNDS, _MOST = 4, {MARGINALS: 100, QUERIES: 400}
_PER_ROOT = {(MARGINALS, True): 0.25, (MARGINALS, False): 0.06, (QUERIES, True): 3.0, (QUERIES, False): 0.3}
"""Rounds for each unit of the root of size / noise, that of one measurement for the whole budget; Gaussian or not.
The scale of Gaussian noise grows with the root of the rounds, that of Laplace noise with the rounds themselves."""


def make_multiplicative_plan(request: PlanRequest[MWEM], workload: Workload) -> MultiplicativePlan:
    """Return a plan of `pmw` or `mwem` that the budget covers; only public values are read.

    Raises
    ------
    PlanError
        If the universe is too large to be held, the workload does not suit what is asked for, or the accountant has no figure.
    AccountingError
        If the budget is too small for any noise.
    """
    asked, algorithm = request.options, request.options.algorithm
    universe = universe_of(workload, algorithm)
    gaussian = is_gaussian(algorithm, request.budget)
    amount = amount_for(request.budget, gaussian=gaussian)
    if not amount > 0:
        raise PlanError(f"{request.budget.describe()} leaves nothing to measure with; raise the budget")
    select = _what_is_selected(asked, workload)
    share = asked.selection_share or (MARGINAL_SHARE if select == MARGINALS else QUERY_SHARE)
    log_universe = fsum(log(count) for count in universe.shape)
    maker = _Maker(
        request,
        gaussian=gaussian,
        select=select,
        amount=amount,
        share=share,
        queries=len(workload),
        log_universe=log_universe,
    )
    if isinstance(asked, PMW) and asked.plan_by == PlanBy.BOUND.value:
        plan = maker.by_bound()
    else:
        sensitivity = _sensitivity(select, request.relation)
        alone = measurement_scale(
            sensitivity, amount=amount, gaussian=gaussian
        )  # the noise of one measurement of a whole run
        most = _MOST[select]
        if select == MARGINALS and workload.marginals is not None:
            most = min(most, 2 * len(workload.marginals))
        by_size = round(_PER_ROOT[select, gaussian] * sqrt(request.size / alone))
        rule = min(most, max(_LEAST_ROUNDS, by_size))
        plan = maker.of(asked.rounds or rule, alpha=asked.alpha if isinstance(asked, PMW) else None)
    _refuse_costs_beyond(request, plan)
    return plan


def _refuse_costs_beyond(request: PlanRequest[MWEM], plan: MultiplicativePlan) -> None:
    if not request.budget.allows(plan.charges()):
        spent = request.budget.spent(plan.charges())
        raise PlanError(
            f"the rounds cost epsilon = {spent.epsilon!r} (rho = {spent.rho!r}), more than "
            f"{request.budget.describe()}; please report this"
        )


class _Maker:
    """Makes plans of one request for different numbers of rounds."""

    def __init__(
        self,
        request: PlanRequest[MWEM],
        *,
        gaussian: bool,
        select: str,
        amount: float,
        share: float,
        queries: int,
        log_universe: float,
    ) -> None:
        self._request, self._gaussian, self._select = request, gaussian, select
        self._stops = isinstance(request.options, PMW)  # a run of pmw ends where an answer is good enough
        self._amount, self._share = amount, share
        self._queries, self._log_universe = queries, log_universe

    def costs(self, rounds: int) -> tuple[Decimal, float]:
        """Return range of a selection and scale of a measurement for so many rounds."""
        each = self._amount / rounds
        step = rounded_down(selection_range(self._share * each, concentrated=self._gaussian))
        scale = measurement_scale(
            _sensitivity(self._select, self._request.relation),
            amount=(1 - self._share) * each,
            gaussian=self._gaussian,
        )
        return step, scale

    def errors(self, rounds: int) -> tuple[float, float]:
        """Return the largest errors of selections and measurements in so many rounds, with probability 0.95."""
        (step, scale), request = self.costs(rounds), self._request
        return (
            selection_error(rounds, float(step), request.size, request.relation, self._queries),
            measurement_error(rounds, scale, request.size, gaussian=self._gaussian),
        )

    def of(
        self, rounds: int, *, alpha: float | None, slack: float | None = None, chosen_by: str = ""
    ) -> MultiplicativePlan:
        """Return the plan of so many rounds."""
        request, asked = self._request, self._request.options
        step, scale = self.costs(rounds)
        if alpha is None and self._stops and self._select == QUERIES:
            alpha = min(1.0, scale * (1.0 if self._gaussian else sqrt(2.0)) / request.size)  # the noise
        update = asked.update or MAX_ENTROPY
        usual = Learning()
        learning = Learning(
            update=update,
            slack=usual.slack if slack is None else slack,
            replays=(usual.replays if update != DATA_STEP else 4) if asked.replays is None else asked.replays,
            last_replays=usual.last_replays if update == MAX_ENTROPY else 0,
            average=asked.average,
            records=asked.records or usual.records,
        )
        return MultiplicativePlan(
            algorithm=asked.algorithm,
            size=request.size,
            relation=request.relation,
            budget=request.budget,
            gaussian=self._gaussian,
            select=self._select,
            rounds=rounds,
            step=step,
            scale=scale,
            alpha=alpha if self._stops else None,
            learning=learning,
            seed=asked.seed,
            chosen_by=chosen_by or ("rounds given" if asked.rounds else "rule by size and noise"),
        )

    def by_bound(self) -> MultiplicativePlan:
        """Return the plan of the smallest alpha for which the rounds that the theorem needs can be paid for.

        minimize alpha  subject to  both errors of L(alpha) rounds are at most alpha

        by bisection: L falls with alpha, and so do the errors.

        Raises
        ------
        PlanError
            If the algorithm has no theorem, or alpha would be above 1.
        """
        if self._select != QUERIES:
            raise PlanError("--plan-by bound is for --algorithm pmw with --select queries; leave it out")
        low, high = 1e-6, 1.0
        if not self._suffices(high):
            raise PlanError(
                f"{self._request.budget.describe()} on n = {self._request.size:,} records proves no error below 1 for these "
                "queries; raise the budget, ask fewer queries over fewer attributes, or leave --plan-by out: rounds are then "
                "chosen by a rule"
            )
        while high > low * 1.001:
            middle = sqrt(low * high)
            low, high = (low, middle) if self._suffices(middle) else (middle, high)
        rounds, slack = self._for_alpha(high)
        return self.of(rounds, alpha=high, slack=slack, chosen_by=f"bound: alpha = {high:.3g}")

    def _for_alpha(self, alpha: float) -> tuple[int, float]:
        """Return rounds for an alpha by the theorem, and the slack of the max-entropy update in scales of the noise."""
        update = self._request.options.update or MAX_ENTROPY
        if update in (PAPER, HOEFFDING):
            needed = rounds_needed(update, alpha, self._log_universe)
            return needed or MOST_ROUNDS, 0.0
        if update != MAX_ENTROPY:
            raise PlanError(
                f"nothing is proven of the update {update!r}; use {PAPER}, {HOEFFDING} or {MAX_ENTROPY}"
            )
        # A slack of at most alpha leaves a distance of at least alpha; the weight of the pull is that of the widest slack.
        rounds = rounds_needed(HOEFFDING, alpha, self._log_universe) or MOST_ROUNDS
        for _ in range(50):
            _, scale = self.costs(min(rounds, MOST_ROUNDS))
            noise = scale * (1.0 if self._gaussian else sqrt(2.0)) / self._request.size
            slack = measurement_error(rounds, scale, self._request.size, gaussian=self._gaussian)
            needed = rounds_needed(
                MAX_ENTROPY,
                alpha,
                self._log_universe,
                slack=min(slack, alpha),
                weight=Learning().pull / noise,
            )
            if needed is None or needed <= rounds:
                return rounds, slack / noise * (1 + 1e-9)
            rounds = needed
        return rounds, slack / noise * (1 + 1e-9)

    def _suffices(self, alpha: float) -> bool:
        rounds, _ = self._for_alpha(alpha)
        return rounds <= MOST_ROUNDS and max(self.errors(rounds)) <= alpha


def _what_is_selected(asked: MWEM, workload: Workload) -> str:
    """Return what is selected: what `select` asks for; else whole marginals for mwem where there are some."""
    if asked.select == MARGINALS and workload.marginals is None:
        raise PlanError(
            "--select marginals needs a workload of marginals; leave it out, or use --select queries"
        )
    if asked.select is not None:
        return asked.select
    return QUERIES if isinstance(asked, PMW) or workload.marginals is None else MARGINALS


def _sensitivity(select: str, relation: NeighbouringRelation) -> int:
    """Return by how much one record moves what a round measures."""
    return 2 if select == MARGINALS and relation is NeighbouringRelation.REPLACE_ONE else 1


def proven_of_plan(plan: MultiplicativePlan, workload: Workload) -> dict[str, Any] | None:
    """Return what is proven of the errors of a plan beforehand, as a JSON object; None where nothing is."""
    cells = log_cells(workload, plan.algorithm)
    return proven_multiplicative(plan, len(workload), cells, rules=bool(workload.schema.rules))
