"""From a budget to a plan: rounds, draws and step from public quantities alone."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from math import log, sqrt
from typing import Any

from dpopt.algorithms.dualquery.accuracy import proven_error
from dpopt.algorithms.dualquery.budget_fit import (
    DEFAULT_STEP,
    DENSE_STEP,
    MOST_DRAWS,
    SPARSE_STEP,
    BudgetFit,
    base_fields,
    is_sparse,
    largest_number,
)
from dpopt.algorithms.dualquery.plan import DualQueryPlan, log_universe
from dpopt.algorithms.options import DualQuery, PlanRequest
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import Encoding, PlanBy

_LEAST_DENSE_DRAWS = 50


def make_plan(request: PlanRequest[DualQuery], workload: Workload) -> DualQueryPlan:
    """Return a plan that the budget covers; only public values are read.

    Raises
    ------
    PlanError
        If the numbers that the user fixed cost more than the budget (the message says what they cost), or if the budget
        is too small for two rounds.
    AccountingError
        If the accountant has no figure for the plan.
    """
    base, asked = DualQueryPlan(**base_fields(request, len(workload.schema))), request.options
    extra = base.charges()[: 1 if base.one_way is not None else 0]
    fit = BudgetFit(
        request, extra, attributes=len(workload.schema), dense_draws=_dense_draws(request, workload)
    )
    rounds, draws, step = asked.numbers
    if rounds is not None and draws is not None and step is not None:
        return fit.checked(base, rounds, draws, step, "given")
    open_numbers = [name for name in ("rounds", "draws", "step") if getattr(asked, name) is None]
    if len(open_numbers) == 1:
        chosen = fit.complete(rounds, draws, step)
        return fit.checked(base, *chosen, f"{open_numbers[0]} as large as the budget allows, the rest given")
    if asked.plan_by == PlanBy.BOUND.value:
        return fit.checked(base, *_least_bound(fit, request, workload), "least proven bound")
    by_rule = fit.by_rule(rounds, draws, step)
    if asked.plan_by == PlanBy.RULE.value:
        return fit.checked(base, *by_rule, _rule(request, workload))
    return _best_simulated(fit, base, by_rule, request, workload)


def _dense_draws(request: PlanRequest[DualQuery], workload: Workload) -> int | None:
    """Return how many draws a round has by rule on a dense table of zeros and ones: one for each attribute or query."""
    if not workload.schema.is_binary or is_sparse(request):
        return None
    return max(_LEAST_DENSE_DRAWS, min(len(workload.schema), len(workload)))


def _rule(request: PlanRequest[DualQuery], workload: Workload) -> str:
    if is_sparse(request):
        return "rule for sparse tables: eta = 2.5, T = 30 s^(2/3), s >= 10 and 35 density d^(1/2)"
    if _dense_draws(request, workload) is not None:
        return "rule for dense tables of zeros and ones: eta = 0.4, s = d, at most the number of queries"
    return "rule eta = 1.4, T = 3.63 s^(2/3) min(1, 24/d)"


def _least_bound(
    fit: BudgetFit, request: PlanRequest[DualQuery], workload: Workload
) -> tuple[int, int, Decimal]:
    """Return the numbers with the least proven error on a grid of rounds and steps that uses up the budget."""
    given_rounds, given_draws, given_step = request.options.numbers
    queries = len(workload)
    universe = log_universe(workload.schema, Encoding(request.options.record_encoding))
    best: tuple[float, int, int, Decimal] | None = None
    grid = [given_rounds] if given_rounds else sorted({int(1.25**k) for k in range(4, 45)})
    for rounds in grid:
        usual = sqrt(2 * log(2 * queries) / rounds)
        for factor in (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0):
            step = given_step or Decimal(f"{usual * factor:.3g}")
            bound = partial(_bound, rounds, step, queries, universe)
            least = given_draws or (1 if best is None else _draws_below(bound, best[0]))
            if least > MOST_DRAWS or not fit.allowed(rounds, least, float(step)):
                continue
            draws = given_draws or fit.draws(rounds, float(step))
            if best is None or bound(draws) < best[0]:
                best = (bound(draws), rounds, draws, step)
    if best is None:
        raise PlanError(
            f"{request.budget.describe()} is too small for any plan on n = {request.size:,} records. Raise the budget"
        )
    return best[1:]


def _bound(rounds: int, step: Decimal, queries: int, log_universe: float, draws: int) -> float:
    proven = proven_error(
        rounds=rounds, draws=draws, step=float(step), queries=queries, log_universe=log_universe
    )
    return proven.bound


def _draws_below(bound: Callable[[int], float], error: float) -> int:
    """Return the least number of draws with a bound below `error`, one more than `MOST_DRAWS` if there is none."""
    return 1 + largest_number(lambda draws: bound(draws) >= error, MOST_DRAWS)


def _best_simulated(
    fit: BudgetFit,
    base: DualQueryPlan,
    by_rule: tuple[int, int, Decimal],
    request: PlanRequest[DualQuery],
    workload: Workload,
) -> DualQueryPlan:
    """Return the plan with the least simulated largest error among variations of the rule."""
    from dpopt.algorithms.dualquery.simulation import predict_error

    steps = [DEFAULT_STEP, Decimal("0.7"), Decimal(1), Decimal(2)]
    if is_sparse(request):
        steps = [DEFAULT_STEP, SPARSE_STEP, Decimal(4)]
    elif _dense_draws(request, workload) is not None:
        steps = [Decimal("0.2"), DENSE_STEP, Decimal("0.8")]
    given_rounds, given_draws, given_step = request.options.numbers
    steps = [given_step] if given_step else steps
    variations = {by_rule}
    for step in steps:
        for scale in (0.6, 1.0, 1.6):
            variations.add(fit.by_rule(given_rounds, given_draws, step, scale=scale))
    fit.checked(base, *by_rule, "rule")  # refuses with the numbers if even the rule finds no plan
    plans = [
        fit.checked(base, *numbers, "least simulated largest error on public synthetic data")
        for numbers in sorted(variations)
        if fit.covers(*numbers)
    ]
    errors = []
    for number, plan in enumerate(plans, start=1):
        request.on_candidate(number, len(plans))
        errors.append(predict_error(plan, workload, runs=2, density=request.density).max_error)
    return plans[errors.index(min(errors))]


def proven_of_plan(plan: DualQueryPlan, workload: Workload) -> dict[str, Any]:
    """Return what is proven of the errors of a plan beforehand, as a JSON object."""
    return proven_error(
        rounds=plan.rounds,
        draws=plan.draws,
        step=float(plan.step),
        queries=len(workload),
        log_universe=log_universe(workload.schema, plan.encoding),
    ).to_json()
