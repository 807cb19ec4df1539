"""Planted defects of the private side of FEM."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting import selections as accounting
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation, once_or_twice
from dpopt.algorithms.fem import plan as fem_plan
from dpopt.algorithms.fem.algorithm import FemAlgorithm
from dpopt.algorithms.options import FEM as FEM_OPTIONS
from dpopt.algorithms.options import PlanRequest
from dpopt.private.curators import fem_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.fem_curator import FemCurator
from dpopt.private.selections.query_selection import QuerySelection
from dpopt.queries.counting.kernels import satisfied
from dpopt.queries.workloads.workload import parse_workload
from tests.boundary.planted import (
    ADD,
    BOTH,
    REP,
    Mechanism,
    attempt,
    charge_after_the_selection,
    charge_half_of_rho,
    charge_half_of_the_range,
    check_share,
    defect,
    draw_a_selection_twice,
    is_reached,
    label_of,
    named,
    pay_for_whatever_was_recalled,
    put_on_file_unspent,
    spending,
    wrap,
    write_the_charge_before_it_is_spent,
)
from tests.exact_distribution import integer_weights
from tests.exact_fem_loss import FemGame, Watch, check_fem_game, curator_of
from tests.tiny_runs import ADD_REMOVE, EventJournal, Table, bits_schema, conjunctions

ONE_QUERY = conjunctions(bits_schema(1), "a")
CELLS = parse_workload("marginals:2", bits_schema(2))
CLAUSES = conjunctions(bits_schema(2), "a", "b", "a !b")
BATCHES = (np.array([[0, 1], [0, 1], [1, 1]], dtype=np.int32), np.array([[1, 0], [1, 0], [1, 0]], dtype=np.int32))


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
    is_reached(check_fem_game(game(relation, rounds=1)), "0.999")


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
                curator, _ = curator_of(one.workload, one.plan, rows, EventJournal(watch.events))
                with watch.selecting(one.signed):
                    curator.select(batch, round=1)
                weights = weights_of(one, rows, batch)
                expected = [Fraction(weight, sum(weights)) for weight in weights]
                assert watch.distributions == [expected], f"distribution of {table} for {batch.tolist()}"


def weights_of(one: FemGame, table: Table, batch: NDArray[np.int32]) -> list[int]:
    """Return the weight of each signed query by the text of `QuerySelection`, as whole numbers."""
    clauses, size, records = one.workload.clauses, one.plan.size, one.plan.records
    counts = np.sum([satisfied(clauses, np.array(row, dtype=np.int32)) for row in table], axis=0).tolist()
    by = np.sum([satisfied(clauses, row) for row in batch], axis=0).tolist()
    scores = []
    for count, c in zip(counts, by, strict=True):
        scores += [records * count - size * c, records * (len(table) - count) - size * (records - c)]
    return integer_weights(scores, one.plan.selection_range, once_or_twice(records, one.plan.relation))


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn; once each per round, after the batch."""
    events: list[str] = []
    with spending(events, label_of):
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
    curator, _ = curator_of(plan.workload, plan.plan, ((0,), (1,)), EventJournal(watch.events))
    with watch.selecting(plan.signed):
        attempt(
            lambda: curator.select(batch, round=1, again=True),  # nothing was recalled
            lambda: curator.recall(first, drawn=True),
            lambda: curator.select(batch, round=1, again=True),
            lambda: curator.select(batch, round=1),
            lambda: curator.recall(second, drawn=False),
            lambda: curator.select(batch, round=2, again=True),  # the one that is paid
            lambda: curator.select(batch, round=2, again=True),
            lambda: curator.select(batch, round=2),
            lambda: curator.select(batch, round=3),
        )
    assert watch.events == ["draw", "journal query selection"]


def check_plans_keep_their_budget(relation: NeighbouringRelation) -> None:
    """T selections of range eps0 cost T eps0^2 / 8 of rho, or T eps0: within the budget, and nearly all of it."""
    budgets = {"rho": Budget(None, 1e-9, 0.02, Accountant.ZCDP), "epsilon": Budget(0.7, 0.0, None, Accountant.PURE)}
    for rounds in (None, 12):
        for name, budget in budgets.items():
            plan = FemAlgorithm().plan(PlanRequest(5_000, relation, budget, FEM_OPTIONS(rounds=rounds)), CELLS)
            assert len(plan.charges()) == plan.rounds, "budget for another number of rounds"
            range_ = float(plan.selection_range)
            each = range_ / 0.7 if name == "epsilon" else range_**2 / 8 / 0.02
            check_share(name, plan.rounds * each)


def of_held_queries_alone(usual: Any, self: QuerySelection, held: Any, by: Any, source: Any) -> int:
    """Only queries that a record of the table or of the batch satisfies are ever selected."""
    everything, self._queries = self._queries, len(self._with(held, by)[0])
    try:
        return int(usual(self, held, by, source))
    finally:
        self._queries = everything


def best_of(usual: Any, self: QuerySelection, satisfied: Any, by: Any, source: Any) -> int:
    """The query with the largest score, whatever point was drawn."""
    usual(self, satisfied, by, source)
    held, scores = self._with(satisfied, by)
    return 2 * int(held[np.argmax(scores)])


def second_of(pair: Any, change: Any) -> Any:
    """Return a pair whose second part is changed."""
    return pair[0], change(pair[1])


def once(usual: Any, self: Door[Any], charge: Charge, **where: int) -> Any:
    return usual(self, charge, **where) if where["round"] == 1 else self._on_file(charge, **where)


def larger(usual: Any, self: FemCurator, kind: type, number: int, draw: Any, charge: Charge) -> Any:
    """One selection is on file, two were made."""
    return usual(self, kind, number, lambda: max(draw(), draw()), charge)


RANGE, DISTRIBUTION, SHORT = "range .*, charged", "distribution", "zcdp|order"
UNPAID = check_nothing_is_drawn_unpaid
FEM = Mechanism(
    [
        check_exact_loss, check_exact_loss_of_short_ranges, check_charges_are_tight, check_exact_distribution,
        check_order_of_events, check_nothing_is_drawn_unpaid, check_plans_keep_their_budget,
    ],
    {
        # Under replace-one: two queries that move apart are taken for one that moves.
        "halve the sensitivity": defect(
            wrap(fem_curator, "once_or_twice", lambda usual, records, relation: records), (check_exact_loss, REP, RANGE)
        ),
        # Scores in units of 1/(n s), their sensitivity in units of 1/n.
        "forget the number of synthetic records": defect(
            wrap(fem_curator, "once_or_twice", lambda usual, records, relation: usual(1, relation)),
            (check_exact_loss, BOTH, RANGE),
        ),
        "double the sensitivity": defect(
            wrap(fem_curator, "once_or_twice", lambda usual, *given: 2 * usual(*given)),
            (check_charges_are_tight, BOTH, "is reached"),
        ),
        "charge half of the range": defect(charge_half_of_the_range(accounting), (check_exact_loss, BOTH, RANGE)),
        "charge half of rho": defect(charge_half_of_rho, (check_exact_loss_of_short_ranges, BOTH, SHORT)),
        "draw with twice the range": defect(
            named(QuerySelection, "__init__", range_=lambda range_: 2 * Decimal(str(range_))),
            (check_exact_loss, REP, RANGE),
            (check_exact_distribution, ADD, DISTRIBUTION),
        ),
        # Scores in units of s count minus rows c: the private number of records in place of the public n0.
        "divide by the true number of records": defect(
            wrap(
                QuerySelection,
                "__init__",
                lambda usual, *given, **more: usual(*given, **{**more, "size": more["rows"]}),
            ),
            (check_exact_loss, ADD, RANGE),
        ),
        # Right under replace-one; under add-remove it doubles the sensitivity, since both move at once and apart.
        "score a negation as minus its query": defect(
            wrap(
                QuerySelection,
                "__init__",
                lambda usual, *given, **more: usual(*given, **{**more, "rows": more["size"]}),
            ),
            (check_exact_loss, ADD, RANGE),
        ),
        "count each record twice": defect(
            wrap(FemCurator, "_exact_counts", lambda usual, self: second_of(usual(self), lambda counts: 2 * counts)),
            (check_exact_loss, REP, RANGE),
        ),
        "forget queries that nothing satisfies": defect(
            wrap(QuerySelection, "draw", of_held_queries_alone), (check_exact_distribution, REP, DISTRIBUTION)
        ),
        "weigh queries that nothing satisfies least": defect(
            wrap(QuerySelection, "_weight", lambda usual, self, distance: usual(self, self._table.clamp)),
            (check_exact_distribution, REP, DISTRIBUTION),
        ),
        "take the best query": defect(
            wrap(QuerySelection, "draw", best_of), (check_exact_distribution, REP, DISTRIBUTION)
        ),
        "count equal synthetic records once": defect(
            wrap(
                FemCurator, "_answers_of", lambda usual, *given: second_of(usual(*given), lambda by: np.minimum(by, 1))
            ),
            (check_exact_distribution, REP, DISTRIBUTION),
        ),
        "charge after the selection": defect(
            charge_after_the_selection, (check_order_of_events, REP, "selection of round 1")
        ),
        "write the charge before it is spent": defect(
            write_the_charge_before_it_is_spent, (check_order_of_events, REP, "selection of round 1")
        ),
        "select without a charge": defect(
            put_on_file_unspent(FemCurator), (check_exact_loss, REP, "charged 0 times"), (UNPAID, REP, "draw")
        ),
        "charge the first round alone": defect(
            wrap(Door, "_charged", once), (check_exact_loss, ADD, "charged 1 times")
        ),
        "draw a selection twice": defect(
            draw_a_selection_twice, (check_exact_loss, REP, "drawn 4 times"), (check_order_of_events, REP, "draw")
        ),
        "keep the larger of two draws": defect(wrap(Door, "_drawn", larger), (check_order_of_events, REP, "draw")),
        "pay for whatever was recalled": defect(pay_for_whatever_was_recalled, (UNPAID, REP, "draw")),
        "plan for half of each charge": defect(
            wrap(fem_plan, "_covers", lambda usual, budget, of, rounds, range_: usual(budget, of, rounds, range_ / 2)),
            (check_plans_keep_their_budget, REP, "budget of rho"),
        ),
        "plan for half of the rounds": defect(
            wrap(fem_plan, "_covers", lambda usual, budget, of, rounds, range_: usual(budget, of, rounds // 2, range_)),
            (check_plans_keep_their_budget, ADD, "budget of rho"),
        ),
        "leave the last selection out of the plan": defect(
            wrap(fem_plan, "fem_charges", lambda usual, *given: usual(*given)[:-1]),
            (check_plans_keep_their_budget, REP, "another number"),
        ),
    },
)  # fmt: skip
