"""Selections of pmw and mwem: the exact distribution of the docstrings, and refusals before anything is drawn."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation, once_or_twice
from dpopt.algorithms.options import MARGINALS
from dpopt.errors import BudgetError, PlanError, PrivateDataError
from dpopt.private.curators.multiplicative_curator import MultiplicativeCurator
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_selection import QuerySelection
from tests.exact_distribution import exp_minus, integer_weights
from tests.exact_fem_loss import Points
from tests.tiny_measuring import SCHEMA, marginals
from tests.tiny_multiplicative import CLAUSES, RoundGame, TinyRound, public_answers, tiny_plan
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, dataset_of

RELATIONS = list(NeighbouringRelation)
TABLE = ((0, 1), (1, 2), (0, 0))


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_signed_query_is_selected_with_its_probability(relation: NeighbouringRelation, rows: int) -> None:
    """Scores counted again, in units of 1/1,024 record; under add-remove the table may have other records than n0."""
    if relation is REPLACE and rows != 2:
        return
    counts, public = np.array([0, 1, 2, 1], dtype=np.int64), np.array([0, 2_000, 700, 1_025], dtype=np.int64)
    units = once_or_twice(1_024, relation)
    distribution = QuerySelection(
        np.arange(4), counts, queries=4, rows=rows, size=2, records=1_024, range_=Decimal("1.7"), units=units
    )
    points = Points()
    with mock.patch("dpopt.private.selections.query_selection.uniform_below", points.uniform_below):

        def drawn(point: int) -> int:
            points.next = point
            return distribution.draw_against(public, SeededWords(1))

        found = points.distribution(drawn, 8)
    scores = []
    for count, answer in zip(counts.tolist(), public.tolist(), strict=True):
        scores += [1_024 * count - answer, 1_024 * (rows - count) - (1_024 * 2 - answer)]
    weights = integer_weights(scores, Decimal("1.7"), units)
    assert found == [Fraction(weight, sum(weights)) for weight in weights]


@pytest.mark.parametrize("score", ["l1", "max"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_marginal_is_selected_with_its_probability(relation: NeighbouringRelation, score: str) -> None:
    queries = marginals([0], [1], [0, 1])
    plan = tiny_plan(relation, select=MARGINALS, size=3)
    public = public_answers(queries.number_of_cells, 3)
    found = TinyRound(TABLE, plan, queries).distribution_of_marginals(public, score, [0, 1, -1])
    counts = np.array([2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1])
    scores = []
    for number, penalty in enumerate([0, 1, -1]):
        part = slice(int(queries.starts[number]), int(queries.starts[number + 1]))
        distances = np.abs(1_024 * counts[part] - public[part])
        scores.append(int(distances.sum() if score == "l1" else distances.max()) - 1_024 * penalty)
    spread = 1_024 * (4 if score == "l1" and relation is REPLACE else 2)
    weights = [exp_minus(Fraction("1.5") * (max(scores) - one) / spread) for one in scores]
    for share, weight in zip(found, weights, strict=True):
        assert abs(share / (weight / sum(weights)) - 1) < Fraction(1, 2**50)


def test_public_answers_that_do_not_fit_are_refused_before_anything_is_spent() -> None:
    one = TinyRound(((0, 1), (1, 1)), tiny_plan(REPLACE), CLAUSES)
    for public in (np.zeros(2, dtype=np.int64), np.array([0, -1, 0]), np.array([0, 0, 2_049])):
        with pytest.raises(PlanError, match="public answers"):
            one.curator.select_query(public, round=1)
    with pytest.raises(PlanError, match="there are 3"):
        one.curator.measure(3, round=1)
    with pytest.raises(PlanError, match="selects queries"):
        one.curator.select_marginal(public_answers(3), score="l1", penalties=np.zeros(3, dtype=np.int64), round=1)
    assert one.events == []
    assert one.ledger.entries == ()


def test_a_curator_that_selects_marginals_refuses_other_scores() -> None:
    queries = marginals([0], [1])
    one = TinyRound(((0, 1), (1, 1)), tiny_plan(REPLACE, select=MARGINALS), queries)
    public = public_answers(queries.number_of_cells)
    with pytest.raises(PlanError, match="unknown score"):
        one.curator.select_marginal(public, score="l2", penalties=np.zeros(2, dtype=np.int64), round=1)
    with pytest.raises(PlanError, match="unknown score"):
        one.curator.select_marginal(public, score="l1", penalties=np.zeros(3, dtype=np.int64), round=1)
    with pytest.raises(PlanError, match="selects marginals"):
        one.curator.select_query(public, round=1)
    with pytest.raises(PlanError, match="no marginals to select among"):
        TinyRound(((0, 1), (1, 1)), tiny_plan(REPLACE, select=MARGINALS), CLAUSES)
    assert one.events == []


def test_a_round_that_was_not_planned_is_refused() -> None:
    one = TinyRound(((0, 1), (1, 1)), tiny_plan(REPLACE), CLAUSES)
    with pytest.raises(BudgetError):
        one.curator.select_query(public_answers(3), round=2)
    with pytest.raises(BudgetError):
        one.curator.measure(0, round=2)
    assert one.events == []


def test_under_replace_one_the_table_has_the_public_size() -> None:
    with pytest.raises(PrivateDataError, match="n = 2"):
        TinyRound(TABLE, tiny_plan(REPLACE), CLAUSES)
    TinyRound(TABLE, tiny_plan(ADD_REMOVE), CLAUSES)


@pytest.mark.parametrize(
    ("whole_marginals", "size", "range_", "message"),
    [(True, 2**41, 1, "64-bit"), (True, 2, 10**6, "smaller range"), (False, 2, 10**6, "smaller step")],
)
def test_sizes_beyond_64_bits_and_ranges_beyond_the_tables_are_refused(
    whole_marginals: bool, size: int, range_: int, message: str
) -> None:
    how = {"range_": Decimal(range_), "scale": 1.0, "gaussian": True, "whole_marginals": whole_marginals, "size": size}
    ledger = Ledger(Budget(None, 1e-9, 1.0, Accountant.ZCDP), ADD_REMOVE)
    with pytest.raises(PlanError, match=message):
        MultiplicativeCurator(dataset_of(SCHEMA, TABLE), marginals([0]), ledger, EventJournal([]), **how)  # type: ignore[arg-type]


def test_a_measured_query_gets_noise_on_its_own_count() -> None:
    game = RoundGame(tiny_plan(ADD_REMOVE), marginals([0], [1]))
    assert [one.tolist() for one in game.measured(TABLE)][::2] == [[2], [1], [1], [1], [1]]
    assert dataset_of(SCHEMA, TABLE)._rows == 3
