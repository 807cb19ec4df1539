from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import fsum, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.conversions import zcdp_rho
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.measurements import one_way_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.accuracy import log_universe, proven_error
from dpopt.algorithms.dualquery.algorithm import DualQueryAlgorithm
from dpopt.algorithms.dualquery.plan import RULE_DRAWS_IN_ALL, RULE_ROUNDS, DualQueryPlan, largest_number
from dpopt.algorithms.options import DualQuery, PlanRequest
from dpopt.errors import AccountingError, DpoptError, PlanError
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.plan import FreeAttributes, PlanBy
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.small_runs import ADD_REMOVE, REPLACE, plan, workload
from tests.tiny_runs import coded_schema

make_plan = DualQueryAlgorithm().plan

ZCDP = Budget(1.0, 1e-6, None, Accountant.ZCDP)
BUDGETS = {
    "pure": Budget(20.0, 0.0, None, Accountant.PURE),
    "zcdp": ZCDP,
    "gdp": Budget(1.0, 1e-6, None, Accountant.GDP),
    "rho": Budget(None, 1e-9, 0.02, Accountant.ZCDP),
}
WORKLOAD = workload()


def request(**changes: Any) -> PlanRequest[DualQuery]:
    """Return a request for 50,000 records, changed as asked."""
    return changed(PlanRequest(50_000, REPLACE, ZCDP, DualQuery()), **changes)


def changed(asked: PlanRequest[DualQuery], **changes: Any) -> PlanRequest[DualQuery]:
    """Return a request with other fields, or other options."""
    options = {name: value for name, value in changes.items() if name in DualQuery.known}
    others = {name: value for name, value in changes.items() if name not in options}
    return replace(asked, options=replace(asked.options, **options), **others)


def spent_share(made: DualQueryPlan) -> float:
    """Return the share of the budget that the plan's charges spend, by the ledger; it must accept them."""
    ledger = Ledger(made.budget, made.relation)
    ledger.reserve(made.charges())
    for charge in made.charges():
        ledger.spend(charge)
    spent = ledger.spent()
    if made.budget.rho is not None:
        return spent.rho / made.budget.rho
    assert made.budget.epsilon is not None
    return spent.epsilon / made.budget.epsilon


def fits(made: DualQueryPlan) -> bool:
    return made.budget.allows(made.charges())


def wide(attributes: int) -> Workload:
    """Return a workload over so many boolean attributes."""
    schema = Schema(tuple(Attribute(f"a{i}", AttributeKind.BOOLEAN) for i in range(attributes)))
    return parse_workload("conjunctions:2,count=20", schema)


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE], ids=lambda relation: str(relation.value))
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    "fixed",
    [{}, {"rounds": 30}, {"draws": 20}, {"step": Decimal("0.5")}, {"rounds": 25, "step": Decimal(1)}],
    ids=lambda fixed: " and ".join(fixed) or "nothing",
)
def test_the_ledger_accepts_a_plan_and_nearly_all_of_the_budget_is_spent(
    fixed: dict[str, Any], budget: str, relation: NeighbouringRelation
) -> None:
    made = make_plan(request(budget=BUDGETS[budget], relation=relation, **fixed), WORKLOAD)
    assert 0.9 <= spent_share(made) <= 1
    assert {name: getattr(made, name) for name in fixed} == fixed
    assert not fits(replace(made, draws=made.draws + 1)) or not fits(replace(made, rounds=made.rounds + 1))


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_one_open_number_is_as_large_as_the_budget_allows(budget: str) -> None:
    asked = request(budget=BUDGETS[budget])
    rounds = make_plan(changed(asked, draws=40, step=Decimal("1.1")), WORKLOAD)
    assert (rounds.draws, rounds.step) == (40, Decimal("1.1"))
    assert not fits(replace(rounds, rounds=rounds.rounds + 1))
    draws = make_plan(changed(asked, rounds=40, step=Decimal("1.1")), WORKLOAD)
    assert (draws.rounds, draws.step) == (40, Decimal("1.1"))
    assert not fits(replace(draws, draws=draws.draws + 1))
    step = make_plan(changed(asked, rounds=60, draws=400), WORKLOAD)
    assert (step.rounds, step.draws) == (60, 400)
    assert step.step == step.step.quantize(Decimal("0.001"))
    assert not fits(replace(step, step=step.step + Decimal("0.001")))
    assert all(fits(made) for made in (rounds, draws, step))
    assert rounds.chosen_by == "rounds as large as the budget allows, the rest given"


def test_a_step_that_fits_any_budget_stops_at_ten() -> None:
    made = make_plan(request(rounds=2, draws=1, budget=replace(ZCDP, epsilon=1e6)), WORKLOAD)
    assert made.step == 10


def test_three_given_numbers_are_taken_as_they_are() -> None:
    made = make_plan(request(rounds=5, draws=3, step=Decimal("0.25"), work=9, seed=4), WORKLOAD)
    assert (made.rounds, made.draws, made.step, made.chosen_by) == (5, 3, Decimal("0.25"), "given")
    assert (made.work, made.seed, made.attributes, made.size) == (9, 4, 4, 50_000)


def test_three_given_numbers_beyond_the_budget_are_refused_with_what_they_cost() -> None:
    asked = request(rounds=500, draws=700, step=Decimal(2))
    with pytest.raises(PlanError) as refusal:
        make_plan(asked, WORKLOAD)
    cost = ZCDP.spent(replace(make_plan(request(), WORKLOAD), rounds=500, draws=700, step=Decimal(2)).charges())
    text = str(refusal.value)
    assert f"T = 500, s = 700, eta = 2 cost epsilon = {cost.epsilon:.6g} at delta = 1e-06" in text
    assert f"(rho = {cost.rho:.6g}) under replace-one with public n" in text
    assert "more than epsilon = 1.0 at delta = 1e-06" in text
    assert "Leave one of rounds=, draws=, step= out" in text


NO_ROOM = "cost epsilon = .* more than epsilon = 0.0001"
TOO_SMALL = "is too small for two rounds on n = 100 records. Raise the budget"
BEYOND: list[tuple[dict[str, Any], type[DpoptError], str]] = [
    ({"epsilon": 1e-4, "rounds": 20, "step": Decimal(5)}, PlanError, NO_ROOM),
    ({"epsilon": 1e-4, "rounds": 300, "draws": 10**6}, PlanError, NO_ROOM),
    ({"epsilon": 1e-5}, PlanError, TOO_SMALL),
    ({"epsilon": 1e-5, "draws": 50}, PlanError, TOO_SMALL),
    ({"epsilon": 1e-5, "step": Decimal("0.3")}, PlanError, TOO_SMALL),
    ({"epsilon": 0.0, "plan_by": "bound"}, PlanError, "is too small for any plan on n = 100 records"),
    (
        {"budget": Budget(0.0, 0.0, None, Accountant.PURE), "free_attributes": FreeAttributes.ESTIMATED},
        PlanError,
        "estimated free attributes need a positive budget",
    ),
    ({"rounds": 10**6 + 1}, AccountingError, "expected a whole number from 1 to 1,000,000"),
]


@pytest.mark.parametrize(("asked", "kind", "message"), BEYOND, ids=str)
def test_what_no_budget_pays_for_is_refused(asked: dict[str, Any], kind: type[DpoptError], message: str) -> None:
    budget = asked.get("budget", replace(ZCDP, epsilon=asked.get("epsilon", 1.0)))
    others = {name: value for name, value in asked.items() if name not in {"epsilon", "budget"}}
    with pytest.raises(kind, match=message):
        make_plan(request(size=100, budget=budget, **others), WORKLOAD)


def test_one_round_is_free_where_it_is_asked_for() -> None:
    made = make_plan(request(rounds=1, draws=10, budget=replace(ZCDP, epsilon=0.0)), WORKLOAD)
    assert made.rounds == 1
    assert ZCDP.spent(made.charges()).epsilon == 0


def test_the_rule_keeps_its_curve() -> None:
    made = make_plan(request(), WORKLOAD)
    assert made.step == Decimal("1.4")
    assert made.rounds == pytest.approx(3.63 * made.draws ** (2 / 3), rel=0.03)
    assert made.chosen_by.startswith("rule")


@pytest.mark.parametrize(("attributes", "factor"), [(24, 1.0), (48, 0.5), (200, 0.15)])
def test_wider_records_get_more_draws_per_round(attributes: int, factor: float) -> None:
    made = make_plan(request(size=500_000), wide(attributes))
    assert made.rounds == pytest.approx(factor * 3.63 * made.draws ** (2 / 3), rel=0.03)


@pytest.mark.parametrize(
    ("given_numbers", "rounds", "most_drawn"),
    [
        ({"draws": 10}, 5_000, 50_000),
        ({"draws": 10, "step": Decimal("1.4")}, 20_000, 200_000),
        ({"rounds": 10}, 10, 10_000_000),
        ({"rounds": 100}, 100, 25_000_000),
        ({"rounds": 100, "step": Decimal("0.1")}, 100, 25_000_000),
        ({"rounds": 100, "plan_by": "bound"}, 100, 25_000_000),
        ({}, 1_973, 25_000_000),
    ],
)
def test_rounds_and_draws_do_not_grow_with_the_budget_without_end(
    given_numbers: dict[str, Any], rounds: int, most_drawn: int
) -> None:
    for budget in (replace(ZCDP, epsilon=1e9), Budget(None, 1e-9, 1e9, Accountant.ZCDP)):
        made = make_plan(request(budget=budget, **given_numbers), WORKLOAD)
        assert made.rounds == rounds
        assert 0.999 * most_drawn < made.rounds * made.draws <= most_drawn
        assert "take long: name --rounds and --draws" in made.describe()


def test_the_bound_is_no_larger_than_that_of_any_other_way_of_choosing() -> None:
    universe, queries = log_universe(WORKLOAD.schema), len(WORKLOAD)

    def bound(made: DualQueryPlan) -> float:
        return proven_error(
            rounds=made.rounds, draws=made.draws, step=float(made.step), queries=queries, log_universe=universe
        ).bound

    asked = request(size=1_000_000)
    least = make_plan(changed(asked, plan_by=PlanBy.BOUND.value), WORKLOAD)
    assert 0.9 <= spent_share(least) <= 1
    assert bound(least) < bound(make_plan(asked, WORKLOAD))
    for rounds in (least.rounds // 2, 2 * least.rounds):
        assert bound(least) < bound(make_plan(changed(asked, rounds=rounds, step=least.step), WORKLOAD))


@pytest.mark.parametrize("fixed", [{"rounds": 12}, {"draws": 30}, {"step": Decimal("0.2")}])
def test_the_bound_keeps_what_is_fixed(fixed: dict[str, Any]) -> None:
    made = make_plan(request(plan_by=PlanBy.BOUND.value, **fixed), WORKLOAD)
    assert {name: getattr(made, name) for name in fixed} == fixed
    assert fits(made)


def test_the_size_of_the_universe_is_the_product_of_the_attributes_sizes() -> None:
    assert log_universe(WORKLOAD.schema) == pytest.approx(np.log(3 * 3 * 2 * 4))


@pytest.mark.parametrize("seed", range(20))
def test_the_logarithm_of_the_universe_is_the_rounded_sum_over_all_attributes(seed: int) -> None:
    """To the last digit, though attributes with the same number of values are added together."""
    sizes = np.random.default_rng(seed).integers(1, 12, 300).tolist()
    schema = coded_schema(*sizes)
    assert log_universe(schema) == fsum(log(size) for size in sizes)
    count = 1_000 * seed + 1
    assert log_universe(Schema.binary(count)) == fsum(log(2) for _ in range(count))


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE], ids=lambda relation: str(relation.value))
@pytest.mark.parametrize("name", ["pure", "zcdp", "gdp", "rho"])
def test_estimated_free_attributes_get_a_twentieth_of_the_budget(name: str, relation: NeighbouringRelation) -> None:
    budget = BUDGETS[name]
    made = make_plan(request(budget=budget, relation=relation, free_attributes=FreeAttributes.ESTIMATED), WORKLOAD)
    assert made.one_way is not None
    measured, *drawn = made.charges()
    scale, gaussian = made.one_way.scale, made.one_way.gaussian
    assert measured == one_way_charge(made.attributes, scale=scale, gaussian=gaussian, relation=relation)
    assert len(drawn) == made.rounds
    assert made.one_way.gaussian == (budget.accountant is Accountant.ZCDP)
    if budget.rho is not None:
        whole = budget.rho
    else:
        assert budget.epsilon is not None
        whole = zcdp_rho(budget.epsilon, budget.delta) if name == "zcdp" else budget.epsilon
    assert 0.0499 * whole <= measured.parameter <= 0.05 * whole
    assert 0.9 <= spent_share(made) <= 1


def test_the_gaussian_accountant_below_a_delta_of_one_in_a_thousand_million_is_refused() -> None:
    with pytest.raises(AccountingError, match="found 9e-10, expected at least 1e-9"):
        Budget(1.0, 9e-10, None, Accountant.GDP)
    assert make_plan(request(budget=Budget(1.0, 1e-9, None, Accountant.GDP)), WORKLOAD).rounds > 2


NO_SHARE = "density=, the public share of ones in the table"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "the number of rounds must be a whole number of at least 1, found 0"),
        ({"draws": -1}, "the number of draws must be a whole number of at least 1, found -1"),
        ({"size": 0}, "the public size must be a whole number of at least 1, found 0"),
        ({"seed": -5}, "the seed must be a whole number of at least 0, found -5"),
        ({"work": 0}, "the work per round must be"),
        ({"seconds": -1.0}, "the seconds per round must be"),
        *(({"density": wrong}, NO_SHARE) for wrong in (0, 1, -0.1, float("nan"), True, "0.1")),
    ],
    ids=str,
)
def test_a_request_that_no_plan_can_meet_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        request(**changes)


@given(threshold=st.integers(0, 60), most=st.integers(1, 50))
def test_the_largest_allowed_number_is_found(threshold: int, most: int) -> None:
    assert largest_number(lambda number: number <= threshold, most) == min(threshold, most)


@given(
    size=st.integers(50, 10**7),
    epsilon=st.floats(0.001, 20),
    delta=st.sampled_from([1e-3, 1e-6, 1e-9]),
    accountant=st.sampled_from(list(Accountant)),
    relation=st.sampled_from([REPLACE, ADD_REMOVE]),
)
def test_no_plan_of_the_rule_is_over_budget(
    size: int, epsilon: float, delta: float, accountant: Accountant, relation: NeighbouringRelation
) -> None:
    budget = Budget(epsilon, delta, None, accountant)
    try:
        made = make_plan(PlanRequest(size, relation, budget, DualQuery()), WORKLOAD)
    except PlanError:
        assert not budget.allows(plan(rounds=2, draws=1, size=size, relation=relation).charges())
        return
    assert spent_share(made) <= 1
    within = made.rounds < RULE_ROUNDS and made.rounds * (made.draws + 1) <= RULE_DRAWS_IN_ALL
    assert not within or not fits(replace(made, draws=made.draws + 1))


def on_zeros_and_ones(attributes: int, **changes: Any) -> DualQueryPlan:
    asked = parse_workload("conjunctions:3,count=2000", Schema.binary(attributes))
    return make_plan(request(**changes), asked)


def test_sparse_tables_get_few_draws_and_a_large_step() -> None:
    made = on_zeros_and_ones(10_000, density=0.001)
    assert made.step == Decimal("2.5")
    assert 30 * made.draws ** (2 / 3) == pytest.approx(made.rounds, rel=0.1)
    assert made.chosen_by.startswith("rule for sparse tables")
    assert 0.9 <= spent_share(made) <= 1
    small = on_zeros_and_ones(10_000, density=0.01, size=2000)
    assert (small.draws, small.step) == (10, Decimal("2.5"))
    assert 0.8 <= spent_share(small) <= 1
    filled = on_zeros_and_ones(10_000, density=0.05)  # 35 density d^(1/2)
    assert filled.draws == pytest.approx(175, rel=0.05)
    assert filled.rounds >= 30
    poor = on_zeros_and_ones(10_000, density=0.05, size=2000)
    assert poor.draws == 10  # where 30 rounds are beyond the budget, as many rounds as it allows
    assert spent_share(filled) <= 1
    fixed = on_zeros_and_ones(10_000, density=0.01, step=Decimal(1))
    assert fixed.step == 1


@pytest.mark.parametrize(("attributes", "draws"), [(20, 50), (400, 400), (512_000, 2000)])
def test_dense_tables_of_zeros_and_ones_get_a_draw_for_each_attribute(attributes: int, draws: int) -> None:
    """But no more than there are queries, which are 2,000, and at least 50."""
    for density in (None, 0.2):
        made = on_zeros_and_ones(attributes, density=density)
        assert made.step == Decimal("0.4")
        assert made.draws == pytest.approx(draws, rel=0.05)  # what is left of the budget pays for a few more
        assert made.draws >= draws
        assert made.chosen_by.startswith("rule for dense tables of zeros and ones")
        assert 0.9 <= spent_share(made) <= 1


def test_dense_tables_under_a_small_budget_get_thirty_rounds() -> None:
    made = on_zeros_and_ones(512_000, size=3000)
    assert made.rounds == 30
    assert made.draws < 2000


def test_a_table_of_other_attributes_keeps_its_rule() -> None:
    assert make_plan(request(), wide(40)).chosen_by.startswith("rule eta = 1.4")
    sparse = make_plan(request(density=0.05), wide(40))
    assert sparse.step == Decimal("2.5")
