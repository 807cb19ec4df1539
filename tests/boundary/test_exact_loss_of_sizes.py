"""The exact privacy loss of a measured number of records is what the ledger says at most, and charged before it is drawn."""

from __future__ import annotations

import pytest

from dpopt.accounting.budget import Budget
from dpopt.accounting.measurements import SizeMeasurement
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PlanError
from dpopt.releases.measured_size import PastSize, measure_size, size_of
from dpopt.transcript.journal import MemoryJournal
from tests.exact_counts_loss import Watching
from tests.exact_size_loss import BUDGETS, SCHEMA, check_size, measured, table
from tests.scripted import ScriptedNoise
from tests.tiny_runs import dataset_of

EACH = pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)


@EACH
def test_a_measured_number_of_records_costs_what_is_charged_and_not_less(budget: Budget) -> None:
    assert 0.99 < check_size(budget) <= 1 + 1e-9


@EACH
@pytest.mark.parametrize("torn", [False, True])
def test_a_draw_on_file_is_not_made_again_and_a_torn_one_is_paid_again(budget: Budget, torn: bool) -> None:
    first = SizeMeasurement.of(budget).charge()
    charge, entries = measured(budget, 3, Watching(), PastSize([first], torn=torn))
    assert (charge != first) is torn
    assert [entry["kind"] for entry in entries] == (["charge", "measurement"] if torn else ["measurement"])


def test_draws_that_the_budget_does_not_cover_are_refused() -> None:
    budget = BUDGETS["pure"]
    lost = [SizeMeasurement.of(budget, draw).charge() for draw in range(1, 102)]
    with pytest.raises(BudgetError, match="costs epsilon"):
        measured(budget, 3, Watching(), PastSize(lost, torn=True))


@pytest.mark.parametrize("value", [-40, 0, 8])
def test_a_number_that_is_lost_in_its_noise_is_refused_and_stays_charged(value: int) -> None:
    journal, dataset = MemoryJournal(), dataset_of(SCHEMA, table(5))
    budget = Budget(None, 1e-6, 1.0, BUDGETS["rho"].accountant)
    with pytest.raises(PlanError, match="n0="):
        measure_size(dataset, budget, journal, PastSize(), noise=ScriptedNoise([value]))
    assert [entry["kind"] for entry in journal.entries] == ["charge", "measurement"]


def test_nothing_is_measured_where_the_number_is_public_or_declared() -> None:
    budget, dataset = BUDGETS["rho"], dataset_of(SCHEMA, table(5))
    read_off = size_of(dataset, NeighbouringRelation.REPLACE_ONE, None, budget)
    declared = size_of(dataset, NeighbouringRelation.ADD_REMOVE, 9, budget)
    assert (read_off.number, read_off.budget, declared.number, declared.budget) == (5, budget, 9, budget)
    with pytest.raises(PlanError, match="n0"):
        size_of(dataset, NeighbouringRelation.REPLACE_ONE, 5, budget)
