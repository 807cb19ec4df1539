from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dpopt.accounting import accountants, conversions, dualquery
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.dualquery import plan_charges, run_columns
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError, BudgetError
from dpopt.files.codec import decode, encode

REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE
PLAN = plan_charges(8, 30, 0.5, 1000, REPLACE)
EPSILON = run_columns(8, 30, 0.5, 1000, REPLACE).epsilon(Accountant.ZCDP, 1e-6)
BUDGET = Budget(EPSILON, 1e-6, None, Accountant.ZCDP)


def reserved(budget: Budget = BUDGET) -> Ledger:
    ledger = Ledger(budget, REPLACE)
    ledger.reserve(PLAN)
    return ledger


def test_a_plan_is_reserved_whole_and_spent_charge_by_charge() -> None:
    ledger = reserved()
    assert (ledger.entries, ledger.unspent, ledger.reserved) == ((), PLAN, PLAN)
    assert ledger.spent().epsilon == 0.0
    for done, charge in enumerate(PLAN, start=1):
        ledger.spend(charge)
        assert ledger.entries == PLAN[:done]
        assert ledger.unspent == PLAN[done:]
    assert ledger.spent() == BUDGET.spent(PLAN)
    assert ledger.spent().epsilon == EPSILON
    assert ledger.is_private
    assert (ledger.budget, ledger.relation) == (BUDGET, REPLACE)


def test_a_plan_over_the_budget_is_refused_and_leaves_no_trace() -> None:
    ledger = Ledger(Budget(math.nextafter(EPSILON, 0.0), 1e-6, None, Accountant.ZCDP), REPLACE)
    with pytest.raises(BudgetError, match="the plan costs epsilon"):
        ledger.reserve(PLAN)
    assert ledger.reserved == ()
    ledger.reserve(PLAN[:-1])
    assert ledger.reserved == PLAN[:-1]


def test_a_plan_over_a_budget_in_rho_is_refused() -> None:
    with pytest.raises(BudgetError, match="the budget is rho = 1e-09"):
        reserved(Budget(None, 1e-6, 1e-9, Accountant.ZCDP))


def test_a_second_plan_and_one_under_another_relation_are_refused() -> None:
    for ledger, message in (
        (reserved(), "reserved already"),
        (Ledger(BUDGET, ADD_REMOVE), "this ledger is for one record more or less"),
    ):
        with pytest.raises(BudgetError, match=message):
            ledger.reserve(PLAN)


def test_a_plan_that_is_not_private_is_refused() -> None:
    leak = Charge("scripted draw", ChargeKind.NOT_PRIVATE, math.inf, 1, REPLACE, "none")
    with pytest.raises(BudgetError, match="costs epsilon = inf"):
        Ledger(BUDGET, REPLACE).reserve([leak])


def test_a_plan_without_a_theorem_is_refused() -> None:
    noise = Charge("Gaussian noise", ChargeKind.CONCENTRATED, 1e-9, 1, REPLACE, "theorem")
    with pytest.raises(AccountingError, match="use 'zcdp'"):
        Ledger(Budget(1.0, 1e-6, None, Accountant.GDP), REPLACE).reserve([noise])


def test_nothing_is_spent_before_a_plan_is_reserved() -> None:
    with pytest.raises(BudgetError, match="reserve the whole plan before"):
        Ledger(BUDGET, REPLACE).spend(PLAN[0])


def test_a_charge_is_spent_as_often_as_it_was_reserved() -> None:
    ledger = reserved()
    ledger.spend(PLAN[3])
    with pytest.raises(BudgetError, match=r"charge 'DualQuery draw.*' \(round 4\) is spent already"):
        ledger.spend(PLAN[3])
    assert ledger.entries == (PLAN[3],)


def test_equal_charges_are_counted() -> None:
    ledger = Ledger(Budget(1.0, 0.0, None, Accountant.PURE), REPLACE)
    charge = Charge("Laplace noise", ChargeKind.PURE, 0.5, 1, REPLACE, "theorem")
    ledger.reserve([charge, charge])
    ledger.spend(charge)
    assert ledger.unspent == (charge,)
    ledger.spend(charge)
    with pytest.raises(BudgetError, match=r"spent already as often as it was reserved \(2\)"):
        ledger.spend(charge)
    assert ledger.spent().epsilon == 1.0


def test_a_charge_outside_the_plan_is_refused() -> None:
    ledger = reserved()
    cheaper = plan_charges(2, 1, 0.5, 1000, REPLACE)[1]
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        ledger.spend(cheaper)
    assert ledger.entries == ()


def test_a_repeated_draw_is_paid_for_by_the_last_round() -> None:
    ledger = reserved()
    for charge in PLAN[:3]:
        ledger.spend(charge)
    ledger.substitute(PLAN[2], given_up=PLAN[-1])
    assert ledger.entries == (*PLAN[:3], PLAN[2])
    assert ledger.unspent == PLAN[3:-1]
    assert Counter(ledger.reserved) == Counter([*PLAN[:-1], PLAN[2]])
    assert BUDGET.spent(ledger.reserved).epsilon < EPSILON
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        ledger.spend(PLAN[-1])
    for charge in PLAN[3:-1]:
        ledger.spend(charge)
    assert ledger.spent() == BUDGET.spent([*PLAN[:-1], PLAN[2]])


def test_a_draw_may_be_repeated_twice() -> None:
    ledger = reserved()
    ledger.spend(PLAN[0])
    ledger.spend(PLAN[1])
    ledger.substitute(PLAN[1], given_up=PLAN[-1])
    ledger.substitute(PLAN[1], given_up=PLAN[-2])
    assert ledger.entries == (PLAN[0], PLAN[1], PLAN[1], PLAN[1])
    assert ledger.unspent == PLAN[2:-2]


def test_an_exchange_that_would_cost_more_than_the_budget_is_refused() -> None:
    ledger = reserved()
    for charge in PLAN[1:]:
        ledger.spend(charge)
    with pytest.raises(BudgetError, match="in place of charge"):
        ledger.substitute(PLAN[-1], given_up=PLAN[0])
    assert ledger.entries == PLAN[1:]
    assert ledger.unspent == (PLAN[0],)
    assert Counter(ledger.reserved) == Counter(PLAN)


def test_an_exchange_needs_a_charge_that_was_spent_and_one_that_was_not() -> None:
    ledger = reserved()
    with pytest.raises(BudgetError, match="was not spent before"):
        ledger.substitute(PLAN[0], given_up=PLAN[-1])
    ledger.spend(PLAN[0])
    ledger.spend(PLAN[-1])
    with pytest.raises(BudgetError, match="spent already"):
        ledger.substitute(PLAN[0], given_up=PLAN[-1])
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        ledger.substitute(PLAN[0], given_up=plan_charges(9, 30, 0.5, 1000, REPLACE)[-1])
    assert ledger.entries == (PLAN[0], PLAN[-1])


def test_a_mark_makes_every_total_infinite_for_good() -> None:
    ledger = reserved()
    ledger.spend(PLAN[0])
    ledger.mark_not_private("scripted randomness")
    ledger.spend(PLAN[1])
    assert not ledger.is_private
    assert (ledger.spent().epsilon, ledger.spent().rho) == (math.inf, math.inf)
    assert not ledger.spent().is_finite
    assert [entry.mechanism for entry in ledger.entries][1] == "scripted randomness"
    ledger.substitute(PLAN[1], given_up=PLAN[-1])
    assert not ledger.is_private


def test_a_mark_needs_a_reason() -> None:
    with pytest.raises(AccountingError, match="mechanism of a charge"):
        reserved().mark_not_private("")


def test_a_ledger_is_restored_by_replaying_it() -> None:
    ledger = reserved()
    for charge in PLAN[:4]:
        ledger.spend(charge)
    ledger.substitute(PLAN[3], given_up=PLAN[-1])
    again = reserved()
    for entry in json.loads(json.dumps([encode(charge) for charge in ledger.entries]))[:4]:
        again.spend(decode(Charge, entry, "a charge"))
    again.substitute(PLAN[3], given_up=PLAN[-1])
    assert (again.entries, again.unspent, again.spent()) == (ledger.entries, ledger.unspent, ledger.spent())


def test_entries_cannot_be_reached_from_outside() -> None:
    ledger = reserved()
    ledger.spend(PLAN[0])
    assert isinstance(ledger.entries, tuple)
    with pytest.raises(AttributeError):
        ledger.entries = ()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        ledger.more = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("accountant", Accountant)
@given(limit=st.floats(0.0, 2.0), rounds=st.integers(1, 60))
@settings(max_examples=25)
def test_what_is_spent_never_exceeds_the_budget(accountant: Accountant, limit: float, rounds: int) -> None:
    plan = plan_charges(rounds, 30, 0.5, 1000, REPLACE)
    budget = Budget(limit, 1e-6, None, accountant)
    ledger = Ledger(budget, REPLACE)
    if budget.allows(plan):
        ledger.reserve(plan)
        for charge in plan:
            ledger.spend(charge)
    else:
        with pytest.raises(BudgetError):
            ledger.reserve(plan)
    assert ledger.spent().epsilon <= limit


class LedgerUse(RuleBasedStateMachine):
    """Any order of calls: what is spent only grows, and stays within the reserved plan and the budget."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = reserved()
        self.before: tuple[Charge, ...] = ()

    @rule(t=st.integers(0, len(PLAN) - 1))
    def spend(self, t: int) -> None:
        if PLAN[t] in self.ledger.unspent:
            self.ledger.spend(PLAN[t])
        else:
            with pytest.raises(BudgetError):
                self.ledger.spend(PLAN[t])

    @precondition(lambda self: self.ledger.entries and self.ledger.unspent)
    @rule(t=st.integers(0, 99), u=st.integers(0, 99))
    def substitute(self, t: int, u: int) -> None:
        charge = self.ledger.entries[t % len(self.ledger.entries)]
        given_up = self.ledger.unspent[u % len(self.ledger.unspent)]
        try:
            self.ledger.substitute(charge, given_up)
        except BudgetError:
            assert charge.parameter > given_up.parameter

    @invariant()
    def nothing_is_removed(self) -> None:
        assert self.ledger.entries[: len(self.before)] == self.before
        self.before = self.ledger.entries

    @invariant()
    def the_reserved_plan_is_what_is_spent_and_what_is_left(self) -> None:
        assert Counter(self.ledger.reserved) == Counter(self.ledger.entries) + Counter(self.ledger.unspent)
        assert self.ledger.spent().epsilon <= BUDGET.spent(self.ledger.reserved).epsilon <= EPSILON


LedgerUse.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
TestLedgerUse = LedgerUse.TestCase


# Room.


def test_the_room_loads_without_scipy() -> None:
    code = (
        "import sys, dpopt.accounting.dualquery, dpopt.accounting.ledger, "
        "dpopt.accounting.many_releases, dpopt.accounting.measurements, dpopt.accounting.selections; "
        "sys.exit(any(name.split('.')[0] == 'scipy' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_theorem_names_its_source() -> None:
    named = {
        conversions: ["zcdp_epsilon", "zcdp_rho", "gdp_delta", "gdp_epsilon"],
        accountants: ["Accountant"],
        accountants.ChargeColumns: ["rho"],
        dualquery: ["draw_range", "run_columns"],
    }
    for module, names in named.items():
        for name in names:
            assert "Source:" in str(getattr(module, name).__doc__)
