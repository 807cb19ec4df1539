"""Planted defects of the private side of FEM and sepFEM, one at a time: each turns a named check red."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting import selections as accounting
from dpopt.accounting.accountants import Accountant, ChargeColumns
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge, units_per_range
from dpopt.algorithms.fem import plan as fem_plan
from dpopt.algorithms.fem.plan import FemPlan, make_fem_plan
from dpopt.algorithms.options import FEM, PlanRequest, SepFEM
from dpopt.private.curators import fem_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.fem_curator import FemCurator
from dpopt.private.mechanisms.randomness import RandomWords
from dpopt.private.selections.query_selection import QuerySelection
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.transcript.released import SelectedQuery
from tests.exact_distribution import integer_weights
from tests.exact_fem_loss import FemGame, Watch, check_fem_game
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, Table, bits_schema, conjunctions

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]

ONE_QUERY = conjunctions(bits_schema(1), "a")
CELLS = parse_workload("marginals:2", bits_schema(2))
CLAUSES = conjunctions(bits_schema(2), "a", "b", "a !b")
BATCHES = (
    np.array([[0, 1], [0, 1], [1, 1]], dtype=np.int32),
    np.array([[1, 0], [1, 0], [1, 0]], dtype=np.int32),
)


def game(relation: NeighbouringRelation, range_: str = "3", rounds: int = 2) -> FemGame:
    return FemGame.of(ONE_QUERY, rounds=rounds, records=3, range_=range_, size=2, relation=relation)


def check_exact_loss(relation: NeighbouringRelation) -> None:
    """Neither the range of a selection nor a divergence over all selections exceeds what the ledger says."""
    check_fem_game(game(relation))


def check_exact_loss_of_short_ranges(relation: NeighbouringRelation) -> None:
    """As before, where Renyi divergences come close to the charged rho."""
    check_fem_game(game(relation, "0.2"))


def check_charges_are_tight(relation: NeighbouringRelation) -> None:
    """Nearly all of the charged range is reached by some pair."""
    assert check_fem_game(game(relation, rounds=1)) > Decimal("0.999")


def check_exact_distribution(relation: NeighbouringRelation) -> None:
    """Each signed query is selected with its probability, whether anything satisfies it or not; cells and clauses.

    Scores are counted on their own, in units of 1/(n s); under add-remove the table has one record more than n0.
    """
    tables: list[Table] = [((0, 1), (1, 1)), ((0, 0), (0, 0)), ((1, 0), (1, 1))]
    for workload in (CELLS, CLAUSES):
        one = FemGame.of(workload, rounds=1, records=3, range_="3", size=2, relation=relation)
        for table in tables:
            rows = (*table, (1, 1)) if relation is ADD_REMOVE else table
            for batch in BATCHES:
                watch = Watch()
                curator, _ = one.curator(rows, EventJournal(watch.events))
                with watch.selecting(one.signed):
                    curator.select(batch, round=1)
                weights = weights_of(one, rows, batch)
                expected = [Fraction(weight, sum(weights)) for weight in weights]
                assert watch.distributions == [expected], f"distribution of {table} for {batch.tolist()}"


def weights_of(one: FemGame, table: Table, batch: NDArray[np.int32]) -> list[int]:
    """Return the weight of each signed query by the text of `QuerySelection`, as whole numbers."""
    from dpopt.queries.counting.kernels import satisfied

    clauses, size, records = one.workload.clauses, one.plan.size, one.plan.records
    counts = np.sum([satisfied(clauses, np.array(row, dtype=np.int32)) for row in table], axis=0).tolist()
    by = np.sum([satisfied(clauses, row) for row in batch], axis=0).tolist()
    scores = []
    for count, c in zip(counts, by, strict=True):
        scores += [records * count - size * c, records * (len(table) - count) - size * (records - c)]
    return integer_weights(scores, one.plan.selection_range, units_per_range(records, one.plan.relation))


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn; once each per round, after the batch."""
    events: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        spend = Ledger.spend

        def recording(self: Ledger, charge: Charge) -> None:
            spend(self, charge)
            events.append(charge.label)

        patch.setattr(Ledger, "spend", recording)
        game(relation).play(((0,), (1,)), events=events)
    batch = "journal records (not waited for)"
    assert events == [
        *[batch, "selection of round 1", "journal charge", "draw", "journal query selection"],
        *[batch, "selection of round 2", "journal charge", "draw", "journal query selection"],
        batch,
    ]


def check_nothing_is_drawn_unpaid(relation: NeighbouringRelation) -> None:
    """A round selects once, on resuming too, and no more rounds select than were planned."""
    plan, batch = game(relation), np.array([[0], [1], [1]], dtype=np.int32)
    first, second = plan.plan.charges()
    watch = Watch()
    curator, _ = plan.curator(((0,), (1,)), EventJournal(watch.events))
    attempts: list[Callable[[], object]] = [
        lambda: curator.select(batch, round=1, again=True),  # nothing was recalled
        lambda: curator.recall(first, drawn=True),
        lambda: curator.select(batch, round=1, again=True),
        lambda: curator.select(batch, round=1),
        lambda: curator.recall(second, drawn=False),
        lambda: curator.select(batch, round=2, again=True),  # the one that is paid
        lambda: curator.select(batch, round=2, again=True),
        lambda: curator.select(batch, round=2),
        lambda: curator.select(batch, round=3),
    ]
    with watch.selecting(plan.signed):
        for attempt in attempts:
            try:
                attempt()
            except Exception:  # noqa: BLE001
                continue
    assert watch.events == ["draw", "journal query selection"]


def check_plans_keep_their_budget(relation: NeighbouringRelation) -> None:
    """T selections of range eps0 cost T eps0^2 / 8 of rho, or T eps0: within the budget, and nearly all of it."""
    rho, epsilon = 0.02, 0.7
    for kind in (FEM, SepFEM):
        for rounds in (None, 12):
            asked = kind(rounds=rounds)
            request = PlanRequest(5_000, relation, Budget(None, 1e-9, rho, Accountant.ZCDP), asked)
            plan = make_fem_plan(request, CELLS)
            assert 0.999 < share_of(plan, float(plan.selection_range) ** 2 / 8 / rho) <= 1, "budget of rho"
            pure = replace(request, budget=Budget(epsilon, 0.0, None, Accountant.PURE))
            plan = make_fem_plan(pure, CELLS)
            assert 0.999 < share_of(plan, float(plan.selection_range) / epsilon) <= 1, "budget of epsilon"


def share_of(plan: FemPlan, share_of_a_round: float) -> float:
    assert len(plan.charges()) == plan.rounds, "budget for another number of rounds"
    return plan.rounds * share_of_a_round


def halve_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    """Under replace-one: two queries that move apart are taken for one that moves."""
    patch.setattr(fem_curator, "units_per_range", lambda records, relation: records)


def forget_the_number_of_synthetic_records(patch: pytest.MonkeyPatch) -> None:
    """Scores in units of 1/(n s), their sensitivity in units of 1/n."""
    patch.setattr(fem_curator, "units_per_range", lambda records, relation: units_per_range(1, relation))


def double_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        fem_curator, "units_per_range", lambda records, relation: 2 * units_per_range(records, relation)
    )


def charge_half_of_the_range(patch: pytest.MonkeyPatch) -> None:
    """Plan and curator agree on an epsilon per selection that is half of what is drawn with."""

    def half(number: int, range_: Decimal, relation: NeighbouringRelation) -> Charge:
        return selection_charge(number, range_ / 2, relation)

    patch.setattr(accounting, "selection_charge", half)
    patch.setattr(fem_curator, "selection_charge", half)


def charge_half_of_rho(patch: pytest.MonkeyPatch) -> None:
    original = ChargeColumns.rho
    patch.setattr(ChargeColumns, "rho", lambda self: original(self) / 2)


def draw_with(patch: pytest.MonkeyPatch, change: Callable[[dict[str, object]], None]) -> None:
    """Change the named arguments of every query selection."""
    original = QuerySelection.__init__

    def changed(self: QuerySelection, held: object, counts: object, **rest: object) -> None:
        change(rest)
        original(self, held, counts, **rest)  # type: ignore[arg-type]

    patch.setattr(QuerySelection, "__init__", changed)


def draw_with_twice_the_range(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda rest: rest.update(range_=2 * Decimal(str(rest["range_"]))))


def divide_by_the_true_number_of_records(patch: pytest.MonkeyPatch) -> None:
    """Scores in units of s count minus rows c: the private number of records in place of the public n0."""
    draw_with(patch, lambda rest: rest.update(size=rest["rows"]))


def score_a_negation_as_minus_its_query(patch: pytest.MonkeyPatch) -> None:
    """Right under replace-one; under add-remove it doubles the sensitivity, since both move at once and apart."""
    draw_with(patch, lambda rest: rest.update(rows=rest["size"]))


def count_each_record_twice(patch: pytest.MonkeyPatch) -> None:
    original = FemCurator._exact_counts

    def twice(self: FemCurator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        held, counts = original(self)
        return held, 2 * counts

    patch.setattr(FemCurator, "_exact_counts", twice)


def forget_queries_that_nothing_satisfies(patch: pytest.MonkeyPatch) -> None:
    """Only queries that a record of the table or of the batch satisfies are ever selected."""
    original = QuerySelection.draw

    def forgetful(
        self: QuerySelection, satisfied: NDArray[np.int64], by: NDArray[np.int64], source: RandomWords
    ) -> int:
        everything, held = self._queries, self._with(satisfied, by)[0]
        self._queries = len(held)
        try:
            return original(self, satisfied, by, source)
        finally:
            self._queries = everything

    patch.setattr(QuerySelection, "draw", forgetful)


def weigh_queries_that_nothing_satisfies_least(patch: pytest.MonkeyPatch) -> None:
    original = QuerySelection._weight
    patch.setattr(QuerySelection, "_weight", lambda self, distance: original(self, self._table.clamp))


def take_the_best_query(patch: pytest.MonkeyPatch) -> None:
    """The query with the largest score, whatever point was drawn."""
    original = QuerySelection.draw

    def greedy(
        self: QuerySelection, satisfied: NDArray[np.int64], by: NDArray[np.int64], source: RandomWords
    ) -> int:
        original(self, satisfied, by, source)
        held, scores = self._with(satisfied, by)
        return 2 * int(held[np.argmax(scores)])

    patch.setattr(QuerySelection, "draw", greedy)


def count_equal_synthetic_records_once(patch: pytest.MonkeyPatch) -> None:
    original = FemCurator._answers_of

    def once(self: FemCurator, records: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        satisfied, by = original(self, records)
        return satisfied, np.minimum(by, 1)

    patch.setattr(FemCurator, "_answers_of", once)


def charge_after_the_selection(patch: pytest.MonkeyPatch) -> None:
    def late(
        self: FemCurator,
        records: NDArray[np.int32],
        *,
        round: int,  # noqa: A002
        again: bool = False,
    ) -> SelectedQuery:
        charge = self._charge(round)
        selected = self._selected(round, *self._answers_of(records), charge)
        self._charged(charge, round=round)
        return selected

    patch.setattr(FemCurator, "select", late)


def write_the_charge_before_it_is_spent(patch: pytest.MonkeyPatch) -> None:
    def early(self: Door[PrivateDataset], charge: Charge, **where: int) -> Charge:
        self._on_file(charge, **where)
        self._ledger.spend(charge)
        return charge

    patch.setattr(Door, "_charged", early)


def select_without_a_charge(patch: pytest.MonkeyPatch) -> None:
    """Nothing is spent; what the selection says of its charge is right."""
    patch.setattr(FemCurator, "_charged", lambda self, charge, **where: self._on_file(charge, **where))


def charge_the_first_round_alone(patch: pytest.MonkeyPatch) -> None:
    original = Door._charged

    def once(self: Door[PrivateDataset], charge: Charge, **where: int) -> Charge:
        return original(self, charge, **where) if where["round"] == 1 else self._on_file(charge, **where)

    patch.setattr(Door, "_charged", once)


def draw_a_selection_twice(patch: pytest.MonkeyPatch) -> None:
    original = FemCurator._selected

    def twice(self: FemCurator, *given: object) -> SelectedQuery:
        original(self, *given)  # type: ignore[arg-type]
        return original(self, *given)  # type: ignore[arg-type]

    patch.setattr(FemCurator, "_selected", twice)


def keep_the_larger_of_two_draws(patch: pytest.MonkeyPatch) -> None:
    """One selection is on file, two were made."""

    def larger(
        self: FemCurator, number: int, satisfied: NDArray[np.int64], by: NDArray[np.int64], charge: Charge
    ) -> SelectedQuery:
        signed = max(self._selection.draw(satisfied, by, self._words) for _ in range(2))
        selected = SelectedQuery(number, signed // 2, signed % 2 == 1, charge)
        return self._released(selected, selected.to_json())

    patch.setattr(FemCurator, "_selected", larger)


def pay_for_whatever_was_recalled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Door, "_recalled", lambda self, expected, what: expected)


def plan_for_half_of_each_charge(patch: pytest.MonkeyPatch) -> None:
    original = fem_plan._covers
    patch.setattr(fem_plan, "_covers", lambda request, rounds, range_: original(request, rounds, range_ / 2))


def plan_for_half_of_the_rounds(patch: pytest.MonkeyPatch) -> None:
    original = fem_plan._covers
    patch.setattr(fem_plan, "_covers", lambda request, rounds, range_: original(request, rounds // 2, range_))


def leave_the_last_selection_out_of_the_plan(patch: pytest.MonkeyPatch) -> None:
    original = accounting.fem_charges
    patch.setattr(fem_plan, "fem_charges", lambda rounds, *rest: original(rounds, *rest)[:-1])


CHECKS = [
    check_exact_loss,
    check_exact_loss_of_short_ranges,
    check_charges_are_tight,
    check_exact_distribution,
    check_order_of_events,
    check_nothing_is_drawn_unpaid,
    check_plans_keep_their_budget,
]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", CHECKS)
def test_without_a_defect_every_check_is_green(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_a_run_of_sepfem_costs_what_is_charged_at_most(relation: NeighbouringRelation) -> None:
    """Other batches, of Laplace perturbations; the private side is the same."""
    of_fem = FemGame.of(CELLS, rounds=1, records=3, range_="3", size=2, relation=relation)
    of_sepfem = replace(of_fem, plan=replace(of_fem.plan, algorithm="sepfem"))
    batches, others = (one.play(((0, 1), (1, 1)))[2] for one in (of_fem, of_sepfem))
    assert [batch.records.tolist() for batch in batches] != [batch.records.tolist() for batch in others]
    assert check_fem_game(of_sepfem) <= 1


@pytest.mark.parametrize(
    ("plant", "check", "relation", "message"),
    [
        (halve_the_sensitivity, check_exact_loss, REPLACE, "range .*, charged"),
        (forget_the_number_of_synthetic_records, check_exact_loss, REPLACE, "range .*, charged"),
        (forget_the_number_of_synthetic_records, check_exact_loss, ADD_REMOVE, "range .*, charged"),
        (double_the_sensitivity, check_charges_are_tight, REPLACE, "Decimal"),
        (double_the_sensitivity, check_charges_are_tight, ADD_REMOVE, "Decimal"),
        (charge_half_of_the_range, check_exact_loss, REPLACE, "range .*, charged"),
        (charge_half_of_the_range, check_exact_loss, ADD_REMOVE, "range .*, charged"),
        (charge_half_of_rho, check_exact_loss_of_short_ranges, REPLACE, "zcdp|order"),
        (charge_half_of_rho, check_exact_loss_of_short_ranges, ADD_REMOVE, "zcdp|order"),
        (draw_with_twice_the_range, check_exact_loss, REPLACE, "range .*, charged"),
        (draw_with_twice_the_range, check_exact_distribution, ADD_REMOVE, "distribution"),
        (divide_by_the_true_number_of_records, check_exact_loss, ADD_REMOVE, "range .*, charged"),
        (score_a_negation_as_minus_its_query, check_exact_loss, ADD_REMOVE, "range .*, charged"),
        (count_each_record_twice, check_exact_loss, REPLACE, "range .*, charged"),
        (forget_queries_that_nothing_satisfies, check_exact_distribution, REPLACE, "distribution"),
        (weigh_queries_that_nothing_satisfies_least, check_exact_distribution, REPLACE, "distribution"),
        (take_the_best_query, check_exact_distribution, REPLACE, "distribution"),
        (count_equal_synthetic_records_once, check_exact_distribution, REPLACE, "distribution"),
        (charge_after_the_selection, check_order_of_events, REPLACE, "selection of round 1"),
        (write_the_charge_before_it_is_spent, check_order_of_events, REPLACE, "selection of round 1"),
        (select_without_a_charge, check_exact_loss, REPLACE, "charged 0 times"),
        (select_without_a_charge, check_nothing_is_drawn_unpaid, REPLACE, "draw"),
        (charge_the_first_round_alone, check_exact_loss, ADD_REMOVE, "charged 1 times"),
        (draw_a_selection_twice, check_exact_loss, REPLACE, "drawn 4 times"),
        (draw_a_selection_twice, check_order_of_events, REPLACE, "draw"),
        (keep_the_larger_of_two_draws, check_order_of_events, REPLACE, "draw"),
        (pay_for_whatever_was_recalled, check_nothing_is_drawn_unpaid, REPLACE, "draw"),
        (plan_for_half_of_each_charge, check_plans_keep_their_budget, REPLACE, "budget of rho"),
        (plan_for_half_of_the_rounds, check_plans_keep_their_budget, ADD_REMOVE, "budget of rho"),
        (leave_the_last_selection_out_of_the_plan, check_plans_keep_their_budget, REPLACE, "another number"),
    ],
)
def test_a_planted_defect_is_caught(
    plant: Plant,
    check: Check,
    relation: NeighbouringRelation,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=message):
        check(relation)
