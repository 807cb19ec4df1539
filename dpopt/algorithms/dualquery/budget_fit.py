"""Rounds, draws and step that fit a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from math import sqrt
from typing import Any

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge
from dpopt.accounting.dualquery import dualquery_epsilon, dualquery_rho, largest_rounds
from dpopt.accounting.measurements import one_way_scale
from dpopt.algorithms.dualquery.plan import DualQueryPlan, OneWayMeasurement
from dpopt.algorithms.options import DrawnOptions, DualQuery, PlanRequest
from dpopt.errors import PlanError
from dpopt.releases.plan import Encoding, FreeAttributes

ONE_WAY_SHARE = 0.05
"""Share of the budget that noisy one-way marginals get when free attributes are estimated."""
DEFAULT_STEP = Decimal("1.4")
SPARSE_STEP = Decimal("2.5")
DENSE_STEP = Decimal("0.4")
_ROUNDS_PER_DRAW = 3.63
_USUAL_WIDTH, _LEAST_WIDTH_FACTOR = 24, 0.15
_SPARSE_ROUNDS_PER_DRAW, _LEAST_SPARSE_DRAWS = 30, 10
_SPARSE_DRAWS_PER_DENSITY, _ENOUGH_SPARSE_ROUNDS = 35, 30
LARGEST_SPARSE_DENSITY = 0.1
"""Up to this share of ones a table is planned as a sparse one."""
_LEAST_DENSE_ROUNDS = 30
MOST_DRAWS = 1_000_000
_ENOUGH_ROUNDS = 20_000
RULE_ROUNDS, RULE_DRAWS_IN_ALL = 5_000, 25_000_000
"""The most rounds, and draws in all of them, that a rule plans however large the budget is. More take hours and gain little: on
public populations of 4 and 14 attributes the largest error is .0006 and .0025 after 2,000 rounds. Who wants more names them."""


class BudgetFit:
    """Fits rounds, draws and step into a budget.

    `dense_draws` is how many draws a round has by rule on a dense table of zeros and ones, None for other tables.
    """

    def __init__(
        self,
        request: PlanRequest[DualQuery],
        extra: Sequence[Charge],
        *,
        attributes: int,
        dense_draws: int | None = None,
    ) -> None:
        self._request = request
        # Wider records need more draws per round: each draw says something about a few attributes only.
        self._ratio = _ROUNDS_PER_DRAW * max(_LEAST_WIDTH_FACTOR, min(1.0, _USUAL_WIDTH / attributes))
        self._step, self._least_draws, self._wanted_draws = DEFAULT_STEP, 1, 1
        if is_sparse(request):
            # A record of zeros is nearly right already, and each draw can spoil it: few draws, and many rounds to average over.
            self._ratio, self._step = _SPARSE_ROUNDS_PER_DRAW, SPARSE_STEP
            self._least_draws = _LEAST_SPARSE_DRAWS
            # With more ones a record of zeros is wrong more often, and a round must hear of more columns to put them right.
            self._wanted_draws = int(_SPARSE_DRAWS_PER_DENSITY * (request.density or 0.0) * sqrt(attributes))
        self._dense_draws = dense_draws
        if dense_draws is not None:
            self._step = DENSE_STEP
        self._extra = (*request.budget.beside, *extra)
        self._budget = request.budget

    def allowed(self, rounds: int, draws: int, step: float) -> bool:
        """Return whether the budget covers a run."""
        request, budget = self._request, self._budget
        if budget.rho is not None:
            return (
                dualquery_rho(
                    rounds,
                    draws,
                    step,
                    request.size,
                    request.relation,
                    self._extra,
                    group=budget.group,
                )
                <= budget.rho
            )
        return self._epsilon(rounds, draws, step) <= (budget.left or 0.0)

    def rounds(self, draws: int, step: float, most: int = _ENOUGH_ROUNDS) -> int:
        """Return the largest number of rounds that the budget covers, up to `most`."""
        if self._budget.rho is not None:
            return largest_number(lambda rounds: self.allowed(rounds, draws, step), most)
        request, budget = self._request, self._budget
        return largest_rounds(
            draws,
            step,
            request.size,
            request.relation,
            budget.accountant,
            budget.left or 0.0,
            budget.delta,
            self._extra,
            group=budget.group,
            most=most,
        )

    def draws(self, rounds: int, step: float, most: int = MOST_DRAWS) -> int:
        """Return the largest number of draws per round that the budget covers, up to `most`."""
        return largest_number(lambda draws: self.allowed(rounds, draws, step), most)

    def step(self, rounds: int, draws: int) -> Decimal:
        """Return the largest step in thousandths that the budget covers, at most 10."""
        return Decimal(largest_number(lambda part: self.allowed(rounds, draws, part / 1000), 10_000)) / 1000

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
        """Return numbers on the curve of the rule, times `scale`; at least two are open.

        They use up the budget, or as much of it as `RULE_ROUNDS` and `RULE_DRAWS_IN_ALL` allow.
        """
        eta = self._step if step is None else step
        if rounds is not None:
            return self._with_draws(rounds, eta)
        if draws is not None:
            return self._with_rounds(draws, eta)
        few = largest_number(partial(self._leaves_what_is_wanted, float(eta), scale), MOST_DRAWS)
        if self._dense_draws is not None:
            few = min(few, int(self._dense_draws / scale))
        if self._wanted_draws > max(self._least_draws, few):
            few = largest_number(
                lambda s: self.rounds(s, float(eta)) >= _ENOUGH_SPARSE_ROUNDS, self._wanted_draws
            )
        fitted = self._with_rounds(max(self._least_draws, few), eta)
        # Rounds are whole, so a part of the budget is left; it pays for a few more draws in each of them.
        return self._with_draws(fitted[0], eta) if fitted[0] < RULE_ROUNDS else fitted

    def _with_rounds(self, draws: int, step: Decimal) -> tuple[int, int, Decimal]:
        most = max(1, min(RULE_ROUNDS, RULE_DRAWS_IN_ALL // draws))
        return max(1, self.rounds(draws, float(step), most)), draws, step

    def _with_draws(self, rounds: int, step: Decimal) -> tuple[int, int, Decimal]:
        most = max(1, min(MOST_DRAWS, RULE_DRAWS_IN_ALL // rounds))
        return rounds, max(1, self.draws(rounds, float(step), most)), step

    def _leaves_what_is_wanted(self, step: float, scale: float, draws: int) -> bool:
        """Return whether so many draws leave room for the rounds that the rule wants with them."""
        wanted = self._wanted(draws, scale)
        within = wanted <= RULE_ROUNDS and wanted * draws <= RULE_DRAWS_IN_ALL
        return within and self.rounds(draws, step, RULE_ROUNDS) >= wanted

    def _wanted(self, draws: int, scale: float) -> float:
        """Return how many rounds the rule wants with so many draws each."""
        return (
            _LEAST_DENSE_ROUNDS if self._dense_draws is not None else scale * self._ratio * draws ** (2 / 3)
        )

    def covers(self, rounds: int, draws: int, step: Decimal) -> bool:
        """Return whether the numbers make a plan that the budget covers and that depends on the records."""
        enough = rounds >= 2 or self._request.options.rounds is not None
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
        if rounds < 2 and self._request.options.rounds is None:
            raise PlanError(
                f"{self._budget.describe()} is too small for two rounds on n = {self._request.size:,} records. "
                "Raise the budget, or give --rounds 1 for a release that does not depend on the records"
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
            group=budget.group,
        )


def is_sparse(request: PlanRequest[DualQuery]) -> bool:
    """Return whether a request is about a table declared, or assumed, to be sparse: at most a tenth of its cells are ones."""
    return request.density is not None and request.density <= LARGEST_SPARSE_DENSITY


def largest_number(allowed: Callable[[int], bool], most: int) -> int:
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


def base_fields(request: PlanRequest[DrawnOptions], attributes: int) -> dict[str, Any]:
    """Return the fields of a plan of one round and one draw that a request gives to both DualQuery and DQRS."""
    asked = request.options
    estimated = asked.free_attributes == FreeAttributes.ESTIMATED.value
    return {
        "rounds": 1,
        "draws": 1,
        "step": DEFAULT_STEP,
        "size": request.size,
        "relation": request.relation,
        "budget": request.budget,
        "attributes": attributes,
        "free_attributes": FreeAttributes(asked.free_attributes),
        "encoding": Encoding(asked.record_encoding),
        "one_way": one_way_measurement(request, attributes) if estimated else None,
        "solver": asked.solver_name,
        "work": asked.work,
        "seconds": asked.time_limit,
        "seed": asked.seed,
    }


def one_way_measurement(request: PlanRequest[DrawnOptions], attributes: int) -> OneWayMeasurement:
    """Give one-way marginals a twentieth of the budget: of rho under zCDP, of epsilon elsewhere."""
    budget, gaussian = request.budget, request.budget.accountant is Accountant.ZCDP
    amount = budget.amount / (budget.group**2 if gaussian else budget.group)
    if amount <= 0:
        raise PlanError(
            "estimated free attributes need a positive budget; use --free-attributes first or random"
        )
    scale = one_way_scale(
        attributes, amount=ONE_WAY_SHARE * amount, gaussian=gaussian, relation=request.relation
    )
    return OneWayMeasurement(scale, gaussian)
