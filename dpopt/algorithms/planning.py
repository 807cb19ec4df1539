"""From a budget to a plan: rounds, draws and step from public quantities alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from functools import partial
from math import log, sqrt

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge
from dpopt.accounting.dualquery import dualquery_epsilon, dualquery_rho, largest_rounds
from dpopt.accounting.ledger import Budget
from dpopt.accounting.one_way import one_way_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.accuracy import proven_error
from dpopt.algorithms.plan import (
    DualQueryPlan,
    Encoding,
    FreeAttributes,
    OneWayMeasurement,
    check_limits,
    whole_number,
)
from dpopt.errors import PlanError
from dpopt.queries.workload import Workload

ONE_WAY_SHARE = 0.05
"""Share of the budget that noisy one-way marginals get when free attributes are estimated."""

DEFAULT_DELTA = 1e-9
"""The delta at which epsilon is reported where the budget names none: budgets in rho, and pure ones beside others."""

DEFAULT_STEP = Decimal("1.4")
_ROUNDS_PER_DRAW = 3.63
_USUAL_WIDTH, _LEAST_WIDTH_FACTOR = 24, 0.15
_MOST_DRAWS = 10_000_000
_ENOUGH_ROUNDS = 20_000


class PlanBy(Enum):
    """How rounds, draws and step are chosen where the user leaves them open."""

    RULE = "rule"
    """eta = 1.4 and T = 3.63 s^(2/3) min(1, 24/d) for d attributes (the factor at least 0.15), as large as the budget
    allows: near the best of a grid on seven public tables of 15 to 110 attributes."""
    SIMULATION = "simulation"
    """The best of a few plans around the rule, each simulated on public synthetic data."""
    BOUND = "bound"
    """The smallest proven bound: cautious steps, many rounds; usually larger errors in practice."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a user asks for.

    Attributes
    ----------
    size : int
        Public n (replace-one) or n0 (add-remove).
    relation : NeighbouringRelation
    budget : Budget
    rounds, draws, step :
        Fixed by the user, or None.
    plan_by : PlanBy
        How the open ones are chosen.
    free_attributes, encoding, solver, work, seconds, seed :
        Passed on to the plan.
    """

    size: int
    relation: NeighbouringRelation
    budget: Budget
    rounds: int | None = None
    draws: int | None = None
    step: Decimal | None = None
    plan_by: PlanBy = PlanBy.RULE
    free_attributes: FreeAttributes = FreeAttributes.FIRST
    encoding: Encoding = Encoding.RECORDS
    solver: str = "local-search"
    work: int | None = None
    seconds: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (("rounds", self.rounds), ("draws", self.draws)):
            if value is not None:
                object.__setattr__(self, name, whole_number(f"the number of {name}", value, least=1))
        object.__setattr__(self, "size", whole_number("the public size", self.size, least=1))
        check_limits(self.work, self.seconds, self.seed)


def make_plan(
    request: PlanRequest,
    workload: Workload,
    *,
    on_candidate: Callable[[int, int], None] = lambda number, candidates: None,
) -> DualQueryPlan:
    """Return a plan that the budget covers; only public values are read.

    Raises
    ------
    PlanError
        If the numbers that the user fixed cost more than the budget (the message says what they cost), or if the budget
        is too small for two rounds.
    AccountingError
        If the accountant has no figure for the plan.
    """
    base = _base_plan(request, len(workload.schema))
    extra = base.charges()[: 1 if base.one_way is not None else 0]
    fit = _Fit(request, extra, attributes=len(workload.schema))
    if request.rounds is not None and request.draws is not None and request.step is not None:
        return fit.checked(base, request.rounds, request.draws, request.step, "given")
    open_numbers = [name for name in ("rounds", "draws", "step") if getattr(request, name) is None]
    if len(open_numbers) == 1:
        chosen = fit.complete(request.rounds, request.draws, request.step)
        return fit.checked(base, *chosen, f"{open_numbers[0]} as large as the budget allows, the rest given")
    if request.plan_by is PlanBy.BOUND:
        return fit.checked(base, *_least_bound(fit, request, workload), "least proven bound")
    by_rule = fit.by_rule(request.rounds, request.draws, request.step)
    if request.plan_by is PlanBy.RULE:
        return fit.checked(base, *by_rule, "rule eta = 1.4, T = 3.63 s^(2/3) min(1, 24/d)")
    return _best_simulated(fit, base, by_rule, request, workload, on_candidate)


def log_universe(workload: Workload) -> float:
    """Return ln |X|, the sum of the logarithms of the attributes' sizes."""
    return sum(log(size) for size in workload.schema.sizes.tolist())


def _base_plan(request: PlanRequest, attributes: int) -> DualQueryPlan:
    estimated = request.free_attributes is FreeAttributes.ESTIMATED
    return DualQueryPlan(
        rounds=1,
        draws=1,
        step=DEFAULT_STEP,
        size=request.size,
        relation=request.relation,
        budget=request.budget,
        attributes=attributes,
        free_attributes=request.free_attributes,
        encoding=request.encoding,
        one_way=_one_way(request, attributes) if estimated else None,
        solver=request.solver,
        work=request.work,
        seconds=request.seconds,
        seed=request.seed,
    )


def _one_way(request: PlanRequest, attributes: int) -> OneWayMeasurement:
    """Give one-way marginals a twentieth of the budget: of rho under zCDP, of epsilon elsewhere."""
    from dpopt.accounting.conversions import zcdp_rho

    budget, gaussian = request.budget, request.budget.accountant is Accountant.ZCDP
    if budget.rho is not None:
        amount = budget.rho
    elif gaussian:
        amount = zcdp_rho(budget.epsilon or 0.0, budget.delta)
    else:
        amount = budget.epsilon or 0.0
    if amount <= 0:
        raise PlanError(
            "estimated free attributes need a positive budget; use --free-attributes first or random"
        )
    scale = one_way_scale(
        attributes, amount=ONE_WAY_SHARE * amount, gaussian=gaussian, relation=request.relation
    )
    return OneWayMeasurement(scale, gaussian)


class _Fit:
    """Fits rounds, draws and step into a budget."""

    def __init__(self, request: PlanRequest, extra: Sequence[Charge], *, attributes: int) -> None:
        self._request = request
        # Wider records need more draws per round: each draw says something about a few attributes only.
        self._ratio = _ROUNDS_PER_DRAW * max(_LEAST_WIDTH_FACTOR, min(1.0, _USUAL_WIDTH / attributes))
        self._extra = extra
        self._budget = request.budget

    def allowed(self, rounds: int, draws: int, step: float) -> bool:
        """Return whether the budget covers a run."""
        request, budget = self._request, self._budget
        if budget.rho is not None:
            return (
                dualquery_rho(rounds, draws, step, request.size, request.relation, self._extra) <= budget.rho
            )
        return self._epsilon(rounds, draws, step) <= (budget.epsilon or 0.0)

    def rounds(self, draws: int, step: float) -> int:
        """Return the largest number of rounds that the budget covers, up to 20,000."""
        if self._budget.rho is not None:
            return _largest(lambda rounds: self.allowed(rounds, draws, step), _ENOUGH_ROUNDS)
        request, budget = self._request, self._budget
        most = largest_rounds(
            draws,
            step,
            request.size,
            request.relation,
            budget.accountant,
            budget.epsilon or 0.0,
            budget.delta,
            self._extra,
        )
        return min(most, _ENOUGH_ROUNDS)

    def draws(self, rounds: int, step: float) -> int:
        """Return the largest number of draws per round that the budget covers."""
        return _largest(lambda draws: self.allowed(rounds, draws, step), _MOST_DRAWS)

    def step(self, rounds: int, draws: int) -> Decimal:
        """Return the largest step in thousandths that the budget covers, at most 10."""
        return Decimal(_largest(lambda part: self.allowed(rounds, draws, part / 1000), 10_000)) / 1000

    def complete(
        self, rounds: int | None, draws: int | None, step: Decimal | None
    ) -> tuple[int, int, Decimal]:
        """Return the numbers with the single open one as large as the budget allows."""
        if rounds is None and draws is not None and step is not None:
            return max(1, self.rounds(draws, float(step))), draws, step
        if draws is None and rounds is not None and step is not None:
            return rounds, max(1, self.draws(rounds, float(step))), step
        if step is None and rounds is not None and draws is not None:
            return rounds, draws, max(self.step(rounds, draws), Decimal("0.001"))
        raise PlanError("exactly one of rounds, draws and step must be open")

    def by_rule(
        self, rounds: int | None, draws: int | None, step: Decimal | None, *, scale: float = 1.0
    ) -> tuple[int, int, Decimal]:
        """Return numbers on the curve of the rule, times `scale`, that use up the budget; at least two are open."""
        eta = DEFAULT_STEP if step is None else step
        if rounds is not None:
            return self.complete(rounds, None, eta)
        if draws is not None:
            return self.complete(None, draws, eta)
        few = _largest(
            lambda s: self.rounds(s, float(eta)) >= scale * self._ratio * s ** (2 / 3), _MOST_DRAWS
        )
        fitted = self.complete(None, max(1, few), eta)
        # Rounds are whole, so a part of the budget is left; it pays for a few more draws in each of them.
        return self.complete(fitted[0], None, eta) if fitted[0] < _ENOUGH_ROUNDS else fitted

    def covers(self, rounds: int, draws: int, step: Decimal) -> bool:
        """Return whether the numbers make a plan that the budget covers and that tells something about the records."""
        enough = rounds >= 2 or self._request.rounds is not None
        return enough and self.allowed(rounds, draws, float(step))

    def checked(
        self, base: DualQueryPlan, rounds: int, draws: int, step: Decimal, chosen_by: str
    ) -> DualQueryPlan:
        """Return the plan if the budget covers it."""
        if not self.allowed(rounds, draws, float(step)):
            plan = replace(base, rounds=rounds, draws=draws, step=step)
            spent = self._budget.spent(plan.charges())
            raise PlanError(
                f"T = {rounds}, s = {draws}, eta = {step} cost epsilon = {spent.epsilon:.6g} at delta = {spent.delta:g} "
                f"(rho = {spent.rho:.6g}) under {self._request.relation.describe()}, more than {self._budget.describe()}. "
                "Leave one of --rounds, --draws, --step out and it is fitted to the budget"
            )
        if rounds < 2 and self._request.rounds is None:
            raise PlanError(
                f"{self._budget.describe()} is too small for two rounds on n = {self._request.size:,} records. "
                "Raise the budget, or give --rounds 1 for a release that tells nothing about the records"
            )
        return replace(base, rounds=rounds, draws=draws, step=step, chosen_by=chosen_by)

    def _epsilon(self, rounds: int, draws: int, step: float) -> float:
        request, budget = self._request, self._budget
        return dualquery_epsilon(
            rounds,
            draws,
            step,
            request.size,
            request.relation,
            budget.accountant,
            budget.delta,
            self._extra,
        )


def _largest(allowed: Callable[[int], bool], most: int) -> int:
    """Return the largest number from 1 to `most` that is allowed, 0 if none; `allowed` turns false once and for all."""
    if not allowed(1):
        return 0
    low, high = 1, 2
    while high <= most and allowed(high):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


def _least_bound(fit: _Fit, request: PlanRequest, workload: Workload) -> tuple[int, int, Decimal]:
    """Return the numbers with the least proven error on a grid of rounds and steps that uses up the budget."""
    queries, universe = len(workload.clauses), log_universe(workload)
    best: tuple[float, int, int, Decimal] | None = None
    grid = [request.rounds] if request.rounds else sorted({int(1.25**k) for k in range(4, 45)})
    for rounds in grid:
        usual = sqrt(2 * log(2 * queries) / rounds)
        for factor in (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0):
            step = request.step or Decimal(f"{usual * factor:.3g}")
            bound = partial(_bound, rounds, step, queries, universe)
            least = request.draws or (1 if best is None else _draws_below(bound, best[0]))
            if least > _MOST_DRAWS or not fit.allowed(rounds, least, float(step)):
                continue
            draws = request.draws or fit.draws(rounds, float(step))
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
    """Return the least number of draws with a bound below `error`, one more than `_MOST_DRAWS` if there is none."""
    return 1 + _largest(lambda draws: bound(draws) >= error, _MOST_DRAWS)


def _best_simulated(
    fit: _Fit,
    base: DualQueryPlan,
    by_rule: tuple[int, int, Decimal],
    request: PlanRequest,
    workload: Workload,
    on_candidate: Callable[[int, int], None],
) -> DualQueryPlan:
    """Return the plan with the least simulated largest error among variations of the rule."""
    from dpopt.algorithms.simulation import predict_error

    steps = [request.step] if request.step else [Decimal("0.7"), Decimal(1), DEFAULT_STEP, Decimal(2)]
    variations = {by_rule}
    for step in steps:
        for scale in (0.6, 1.0, 1.6):
            variations.add(fit.by_rule(request.rounds, request.draws, step, scale=scale))
    fit.checked(base, *by_rule, "rule")  # refuses with the numbers if even the rule finds no plan
    plans = [
        fit.checked(base, *numbers, "least simulated largest error on public synthetic data")
        for numbers in sorted(variations)
        if fit.covers(*numbers)
    ]
    errors = []
    for number, plan in enumerate(plans, start=1):
        on_candidate(number, len(plans))
        errors.append(predict_error(plan, workload, runs=2).max_error)
    return plans[errors.index(min(errors))]
