from __future__ import annotations

import math
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.dualquery import SAMPLER_SLACK
from dpopt.accounting.relations import NeighbouringRelation, once_or_twice
from dpopt.accounting.selections import MOST_SELECTIONS, fem_charges, score_range, selection_charge, selection_range
from dpopt.errors import AccountingError

ADD_REMOVE, REPLACE_ONE = NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.REPLACE_ONE


@given(st.decimals(Decimal("1e-12"), Decimal("1e6"), allow_nan=False))
def test_the_charge_is_the_range_and_the_samplers_slack_rounded_up(range_: Decimal) -> None:
    parameter = Decimal(selection_charge(3, range_, ADD_REMOVE).parameter)
    exact = range_ + Decimal(SAMPLER_SLACK)
    assert exact <= parameter <= exact * (1 + Decimal("1e-14"))


def test_a_charge_says_its_round() -> None:
    charge = selection_charge(3, 0.5, REPLACE_ONE)
    assert (charge.kind, charge.count, charge.relation) == (ChargeKind.BOUNDED_RANGE, 1, REPLACE_ONE)
    assert charge.label == "selection of round 3"
    assert charge != selection_charge(4, 0.5, REPLACE_ONE)


def scores(tables: NDArray[np.int64], score: str, public: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score of each candidate; tables and public (candidates, cells)."""
    distances = np.abs(tables - public)
    return np.asarray(distances.sum(axis=1) if score == "l1" else distances.max(axis=1))


CELLS = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (-1, 0), (2, -1)]  # of two candidates; -1: the record is in none


def counts(records: tuple[tuple[int, int], ...]) -> NDArray[np.int64]:
    table = np.zeros((2, 3), dtype=np.int64)
    for record in records:
        for candidate, cell in enumerate(record):
            table[candidate, cell] += cell >= 0
    return table


@pytest.mark.parametrize("score", ["l1", "max"])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_the_range_of_scores_is_the_largest_there_is(relation: NeighbouringRelation, score: str) -> None:
    rows = [np.zeros(3), np.full(3, 5.0), np.array([5.0, 0.0, 0.0]), np.array([0.0, 0.0, 5.0])]
    publics = [np.array(two) for two in product(rows, repeat=2)]
    if relation is ADD_REMOVE:
        pairs = [(counts((one,)), counts(())) for one in CELLS]
    else:
        pairs = [(counts((one, CELLS[0])), counts((two, CELLS[0]))) for one, two in product(CELLS, repeat=2)]
    found = 0.0
    for (one, two), public in product(pairs, publics):
        change = scores(one, score, public) - scores(two, score, public)
        found = max(found, float(np.ptp(change)))
    assert found == score_range(score, relation)


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("range_", [0.05, 1.0, 4.0])
def test_the_exact_distribution_of_a_selection_keeps_the_charge(relation: NeighbouringRelation, range_: float) -> None:
    """Selection by the distances in L1: log likelihood ratios within the range, Renyi divergence within range^2 / 8."""
    charge = selection_charge(1, range_, relation)
    factor = range_ / score_range("l1", relation)
    public = np.array([[0.0, 0.0, 0.0], [5.0, 5.0, 5.0]])
    if relation is ADD_REMOVE:
        one, two = counts((CELLS[0],)), counts(())
    else:
        one, two = counts(((-1, 0), (0, -1))), counts(((0, -1), (0, -1)))
    distributions = []
    for table in (one, two):
        weights = np.exp(factor * scores(table, "l1", public))
        distributions.append(weights / weights.sum())
    ratios = np.log(distributions[0] / distributions[1])
    assert float(np.ptp(ratios)) <= charge.parameter * (1 + 1e-9)
    for order in (1.1, 2.0, 10.0):
        divergence = math.log(float((distributions[0] ** order * distributions[1] ** (1 - order)).sum())) / (order - 1)
        assert divergence <= order * columns_of([charge]).rho()


@given(st.floats(1e-8, 1e3), st.booleans())
def test_a_range_is_paid_for_by_its_amount_and_not_much_smaller(amount: float, concentrated: bool) -> None:
    range_ = selection_range(amount, concentrated=concentrated)
    for larger, allowed in ((range_, True), (range_ * (1 + 1e-6), False)):
        charge = selection_charge(1, larger, ADD_REMOVE)
        assert ((columns_of([charge]).rho() if concentrated else charge.parameter) <= amount) is allowed


NO_RANGES: list[Any] = [0, -1.0, math.nan, math.inf, 1e10, True, "1", Decimal("NaN"), Decimal(0)]


@pytest.mark.parametrize(
    ("round_index", "range_", "message"),
    [(one, 0.5, "a whole number") for one in (0, -1, 1.5, True)] + [(1, one, "a number above 0") for one in NO_RANGES],
)
def test_rounds_and_ranges_that_are_none_are_refused(round_index: Any, range_: Any, message: str) -> None:
    with pytest.raises(AccountingError, match=f"expected {message}"):
        selection_charge(round_index, range_, ADD_REMOVE)


@pytest.mark.parametrize("amount", [0.0, -1.0, math.inf, math.nan, 1e-40])
def test_an_amount_that_buys_nothing_is_refused(amount: float) -> None:
    with pytest.raises(AccountingError, match="share of the budget of a selection"):
        selection_range(amount, concentrated=True)


def test_an_unknown_score_is_refused() -> None:
    with pytest.raises(AccountingError, match="'l1' or 'max'"):
        score_range("l2", ADD_REMOVE)


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_rounds_cost_a_quarter_of_what_the_published_code_charges(relation: NeighbouringRelation) -> None:
    charges = fem_charges(80, Decimal("0.02"), relation)
    assert columns_of(charges).rho() == pytest.approx(80 * 0.02**2 / 8, rel=1e-9)
    assert columns_of(charges).rho() >= 80 * 0.02**2 / 8
    assert columns_of(charges).epsilon(Accountant.PURE, 0.0) == pytest.approx(1.6, rel=1e-9)


def test_every_round_is_one_selection() -> None:
    charges = fem_charges(3, Decimal("0.5"), REPLACE_ONE)
    assert charges == tuple(selection_charge(t, Decimal("0.5"), REPLACE_ONE) for t in (1, 2, 3))
    assert {charge.kind for charge in charges} == {ChargeKind.BOUNDED_RANGE}
    assert {charge.count for charge in charges} == {1}


def test_a_count_moves_scores_by_as_many_units_as_there_are_records() -> None:
    assert once_or_twice(7, ADD_REMOVE) == 7
    assert once_or_twice(7, REPLACE_ONE) == 14


@pytest.mark.parametrize("rounds", [0, True, 1.5, MOST_SELECTIONS + 1])
def test_rounds_out_of_range_are_refused(rounds: int) -> None:
    with pytest.raises(AccountingError, match="rounds of FEM"):
        fem_charges(rounds, Decimal("0.5"), REPLACE_ONE)
