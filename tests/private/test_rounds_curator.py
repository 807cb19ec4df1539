"""Sums of bins in rounds: what they cost over all neighbours of tiny tables, and what is refused."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PlanError
from dpopt.private.curators.prefix_curator import RoundsCurator
from dpopt.private.measurements.bin_measurement import SumsInRounds
from dpopt.private.tables.bin_counts import BinCounts
from tests.exact_counts_loss import AMPLE, Watching, rounds_share
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, trusted

ROUNDS = SumsInRounds("sums", (2.0, 3.0), False)
HALVES = np.array([0, 0, 1, 1])
NONE = np.zeros(2, dtype=np.bool_)
FIRST = np.array([True, False])


def curator_of(noise: Watching, reserved: SumsInRounds = ROUNDS) -> tuple[RoundsCurator, Ledger]:
    ledger = Ledger(AMPLE[False], ADD_REMOVE)
    ledger.reserve([reserved.charge(1, ADD_REMOVE)])
    counts = BinCounts.from_counts([5, 6, 0, 1])
    with mock.patch("dpopt.private.curators.door.is_trusted", trusted):
        return RoundsCurator(counts, ledger, EventJournal([]), size=4, noise=noise), ledger


@pytest.mark.parametrize(("relation", "least"), [(ADD_REMOVE, 0.99), (REPLACE, 0.65)])
@pytest.mark.parametrize("gaussian", [False, True])
def test_no_record_loses_more_than_rounds_cost(relation: NeighbouringRelation, least: float, gaussian: bool) -> None:
    """Under replace-one the first round, of all bins together, does not change."""
    assert least <= rounds_share(relation, gaussian=gaussian) <= 1


def test_a_group_of_a_last_time_gets_what_is_left_of_the_budget() -> None:
    noise = Watching()
    curator, ledger = curator_of(noise)
    np.testing.assert_array_equal(curator.measure_round(ROUNDS, HALVES, FIRST), [11, 1])
    np.testing.assert_array_equal(curator.measure_round(ROUNDS, np.array([-1, -1, 0, 1]), NONE), [0, 1])
    assert [(one.counts, round(one.scale, 6)) for one in noise.drawn] == [((1,), 2.0), ((11,), 1.2), ((0, 1), 3.0)]
    assert [charge.parameter for charge in ledger.entries] == pytest.approx([1 / 2 + 1 / 3])


@pytest.mark.parametrize(
    ("groups", "last", "error", "message"),
    [
        ([0, -1, 1, -1], NONE, BudgetError, "last time"),
        ([0, 0, 0], NONE, BudgetError, "last time"),
        ([-1, -1, 0, 2], NONE, PlanError, "numbered 0 to 1"),
    ],
)
def test_bad_rounds_are_refused_before_anything_is_drawn(groups: Any, last: Any, error: Any, message: str) -> None:
    noise = Watching()
    curator, _ = curator_of(noise)
    curator.measure_round(ROUNDS, HALVES, FIRST)
    drawn = len(noise.drawn)
    with pytest.raises(error, match=message):
        curator.measure_round(ROUNDS, np.array(groups), last)
    assert len(noise.drawn) == drawn


def test_neither_other_rounds_nor_more_of_them_nor_unreserved_ones_are_drawn() -> None:
    noise = Watching()
    curator, _ = curator_of(noise)
    curator.measure_round(ROUNDS, HALVES, NONE)
    with pytest.raises(BudgetError, match="1 of 1 rounds"):
        curator.measure_round(SumsInRounds("sums", (1.0,), False), HALVES, NONE)
    with pytest.raises(BudgetError, match="1 of 3 rounds"):
        curator.measure_round(SumsInRounds("sums", (9.0,) * 3, False), HALVES, NONE)
    curator.measure_round(ROUNDS, HALVES, NONE)
    with pytest.raises(BudgetError, match="2 of 2 rounds"):
        curator.measure_round(ROUNDS, HALVES, NONE)
    drawn = len(noise.drawn)
    other, _ = curator_of(noise, reserved=SumsInRounds("sums", (2.0, 4.0), False))
    with pytest.raises(BudgetError):
        other.measure_round(ROUNDS, HALVES, NONE)
    assert len(noise.drawn) == drawn
