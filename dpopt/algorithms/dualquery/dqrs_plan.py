"""The plan of a DQRS run: a DualQuery plan whose rounds keep queries of the round before, and how one is made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge
from dpopt.accounting.dqrs import LARGEST_REUSE_STEP, dqrs_charges, round_rhos
from dpopt.algorithms.dualquery.budget_fit import RULE_DRAWS_IN_ALL, base_fields, largest_number
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.options import DQRS, PlanRequest
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import Workload

DEFAULT_DQRS_STEP = Decimal("0.7")
MARGIN_SHARE = Decimal("0.1")
"""c over eta: large enough that the outcome "drawn again" reveals little, small enough that most queries are kept."""

MOST_DQRS_ROUNDS = 5_000
_ROUNDS_PER_DRAW = 5.9
_USUAL_WIDTH, _LEAST_WIDTH_FACTOR = 24, 0.15
_MOST_DRAWS = 1_000_000


@dataclass(frozen=True, slots=True)
class DqrsPlan(DualQueryPlan):
    """Parameters of a DQRS run.

    Attributes
    ----------
    margin : Decimal
        c, above 0: a query is kept with probability exp(eta (A - 1) - c). A tenth of the step if left at 0.
    others :
        As in `DualQueryPlan`.

    Raises
    ------
    PlanError
        As `DualQueryPlan`; a step above 8, a margin out of range, or an accountant other than zcdp.
    """

    algorithm: ClassVar[str] = DQRS.algorithm
    keeps_draws: ClassVar[bool] = True
    margin: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        DualQueryPlan.__post_init__(self)
        if self.margin == 0:
            object.__setattr__(self, "margin", self.step * MARGIN_SHARE)
        if self.step > Decimal(LARGEST_REUSE_STEP):
            raise PlanError(
                f"the step eta = {self.step} is too large for dqrs, which keeps queries only at small steps "
                f"(at most {LARGEST_REUSE_STEP:g}); take a smaller one, or dualquery"
            )
        if not self.margin.is_finite() or not Decimal("1e-9") <= self.margin <= Decimal(LARGEST_REUSE_STEP):
            raise PlanError(
                f"the margin c must be from 1e-9 to {LARGEST_REUSE_STEP:g}, found {self.margin}; a tenth of eta is usual"
            )
        if self.budget.accountant is not Accountant.ZCDP:
            raise PlanError(
                f"dqrs is accounted for by zcdp alone, found {self.budget.accountant.value!r}; "
                "use --accountant zcdp, or dualquery"
            )

    def charges(self) -> tuple[Charge, ...]:
        """Return every charge of the run, in order: what the ledger reserves before the first draw."""
        played = dqrs_charges(
            self.rounds, self.draws, float(self.step), float(self.margin), self.size, self.relation
        )
        measured = self.one_way_charge()
        return played if measured is None else (measured, *played)


def make_dqrs_plan(request: PlanRequest[DQRS], workload: Workload) -> DqrsPlan:
    """Return a DQRS plan that the budget covers; only public values are read.

    Rule, where rounds and draws are open: eta = 0.7, T = 5.9 s^(2/3) min(1, 24/d) for d attributes (the factor at least 0.15),
    as many draws as the budget covers. Set on public random populations of 12 to 20 attributes.

    Raises
    ------
    PlanError
        If the numbers that the user fixed cost more than the budget, or the budget is too small for two rounds.
    """
    attributes = len(workload.schema)
    asked = request.options
    given_rounds, given_draws, step = asked.numbers
    base = DqrsPlan(**{**base_fields(request, attributes), "step": step or DEFAULT_DQRS_STEP})
    rho = _rho_left(base)
    # Per draw, what T rounds cost together.
    costs = np.cumsum(
        round_rhos(
            given_rounds or MOST_DQRS_ROUNDS, float(base.step), float(base.margin), base.size, base.relation
        )
    )
    rounds, draws = given_rounds, given_draws
    if rounds is None and draws is None:
        factor = _ROUNDS_PER_DRAW * max(_LEAST_WIDTH_FACTOR, min(1.0, _USUAL_WIDTH / attributes))
        draws = largest_number(
            lambda s: (
                factor * s ** (5 / 3) <= RULE_DRAWS_IN_ALL
                and int(np.searchsorted(costs * s, rho, side="right")) >= factor * s ** (2 / 3)
            ),
            _MOST_DRAWS,
        )
        draws = max(1, draws)
    if rounds is None and draws is not None:
        covered = int(np.searchsorted(costs * draws, rho, side="right"))
        rounds = max(1, min(covered, RULE_DRAWS_IN_ALL // draws))
    if rounds is not None and draws is None:
        most = max(1, min(_MOST_DRAWS, RULE_DRAWS_IN_ALL // rounds))
        draws = max(1, min(most, int(rho / max(float(costs[rounds - 1]), 1e-300))))
    chosen_by = "given" if given_rounds and given_draws else "rule eta = 0.7, T = 5.9 s^(2/3) min(1, 24/d)"
    return _covered(replace(base, rounds=rounds or 1, draws=draws or 1, chosen_by=chosen_by), request)


def _covered(plan: DqrsPlan, request: PlanRequest[DQRS]) -> DqrsPlan:
    """Return the plan, with the last rounds or draws left out that rounding of the sums made too many."""
    if plan.rounds < 2 and request.options.rounds is None:
        raise PlanError(
            f"{plan.budget.describe()} is too small for two rounds on n = {plan.size:,} records. Raise the budget"
        )
    for fewer in range(3):
        tried = plan
        if request.options.rounds is None and plan.rounds > fewer:
            tried = replace(plan, rounds=plan.rounds - fewer)
        elif request.options.draws is None and plan.draws > fewer:
            tried = replace(plan, draws=plan.draws - fewer)
        if plan.budget.allows(tried.charges()):
            return tried
    spent = plan.budget.spent(plan.charges())
    raise PlanError(
        f"T = {plan.rounds}, s = {plan.draws}, eta = {plan.step} cost epsilon = {spent.epsilon:.6g} at delta = "
        f"{spent.delta:g} (rho = {spent.rho:.6g}) under {plan.relation.describe()}, more than {plan.budget.describe()}. "
        "Leave one of --rounds, --draws out and it is fitted to the budget"
    )


def _rho_left(base: DqrsPlan) -> float:
    """Return the rho that is left for the rounds."""
    budget = base.budget
    measured = base.one_way_charge()
    left = budget.amount - budget.spent([] if measured is None else [measured]).rho
    return left / budget.group**2
