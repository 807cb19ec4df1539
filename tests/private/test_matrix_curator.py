"""One count drawn from a matrix: the exact law, what is charged, and in which order."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError, BudgetError
from dpopt.synopses.optimal_count import release_count
from tests.tiny_matrices import SCHEMA, WHERE, curator_of, distribution, expected, plan_of
from tests.tiny_runs import ADD_REMOVE, REPLACE, Table, dataset_of

TABLES: list[Table] = [(), ((0, 0),), ((1, 0),), ((1, 1), (0, 1)), ((1, 0),) * 3, ((1, 0),) * 5]


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("table", TABLES, ids=len)
def test_each_output_is_drawn_on_exactly_its_own_points(table: Table, delta: float) -> None:
    """Of 2^60, by bisection; counts above the largest are taken as it."""
    plan = plan_of(ADD_REMOVE, delta)
    assert distribution(plan, table) == expected(plan, table)


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_charged_then_drawn_then_on_file_once(relation: NeighbouringRelation, delta: float) -> None:
    plan = plan_of(relation, delta)
    curator, ledger, journal = curator_of(plan, ((1, 0),), (0, 5, 0, 5))
    curator.draw(WHERE, plan.weights, epsilon=plan.epsilon)
    assert journal.events == ["journal charge"] * (1 + (delta > 0)) + ["journal candidate"]
    assert {one.kind for one in ledger.entries} == {ChargeKind.PURE} | ({ChargeKind.DELTA} if delta else set())
    assert sorted(map(repr, ledger.entries)) == sorted(map(repr, plan.charges()))
    assert ledger.spent().epsilon <= 1.0
    assert ledger.spent().delta <= delta
    with pytest.raises(BudgetError, match="drawn before"):
        curator.draw(WHERE, plan.weights, epsilon=plan.epsilon)


def test_another_matrix_than_that_of_the_plan_is_not_drawn_from() -> None:
    """Its charge is computed from it, and is not reserved; what is no matrix is refused."""
    plan = plan_of(ADD_REMOVE)
    steep = np.full_like(plan.weights, 1)
    steep[np.diag_indices(4)] += int(plan.weights[0].sum()) - 4
    for weights, error in ((steep, BudgetError), (plan.weights[:, :2], AccountingError)):
        curator, ledger, journal = curator_of(plan, ((1, 0),))
        with pytest.raises(error):
            curator.draw(WHERE, weights, epsilon=plan.epsilon)
        assert journal.events == []
        assert ledger.entries == ()


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_two_tables_give_the_same_file_once_the_draw_is_given(relation: NeighbouringRelation, tmp_path: Path) -> None:
    plan = plan_of(relation)
    object.__setattr__(plan, "size", 3 if relation is REPLACE else None)
    files = []
    for place, table in enumerate([((0, 0),) * 3, ((1, 1), (1, 0), (0, 1))]):
        with mock.patch("dpopt.private.curators.net_curator.draw_candidate", return_value=2):
            release_count(dataset_of(SCHEMA, table), plan, condition=WHERE).write(tmp_path / f"{place}.npz")
        files.append((tmp_path / f"{place}.npz").read_bytes())
    assert files[0] == files[1]
