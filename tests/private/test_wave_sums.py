"""Weighted sums over all bins: whole weights near the strategy's, charges of the farthest neighbours, estimates from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PlanError, PrivateDataError
from dpopt.private.curators.prefix_curator import PrefixCurator, PrefixRows
from dpopt.private.measurements.wave_sums import LARGEST_UNIT, WaveSums, column_norms
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.waves import waves_of
from tests.exact_counts_loss import AMPLE, CountingGame, Watching, bin_counts, check_game, record_neighbours
from tests.noises import NoNoise
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal

BOTH = pytest.mark.parametrize("prefixes", [False, True], ids=["ranges", "prefixes"])


def matrix(bins: int, prefixes: bool, unit: int) -> NDArray[np.int64]:
    """Return the whole weights of all bins (columns), as the sums of tables of one record."""
    sums = WaveSums("waves", 9.0, True, bins, prefixes, unit)
    rows = [sums.exact(BinCounts.from_counts(one)) for one in np.eye(bins)]
    return np.array(rows).T


@BOTH
@pytest.mark.parametrize("bins", [1, 2, 7, 40])
def test_weights_are_those_of_the_strategy_rounded(bins: int, prefixes: bool) -> None:
    waves = waves_of(bins, prefixes=prefixes)
    heights, norms = waves.weights()
    real = heights[:, None] * waves.table[np.outer(waves.rows, waves.columns) % waves.table.size] * norms
    np.testing.assert_allclose((real**2).sum(axis=0), 1.0)
    for unit in (4, LARGEST_UNIT):
        assert np.abs(matrix(bins, prefixes, unit) - unit * real).max() <= 0.5 + 1e-6
    np.testing.assert_allclose(waves.bins_of(real @ np.arange(bins)), np.arange(bins), atol=1e-9)


@BOTH
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_a_charge_is_of_the_farthest_neighbours(relation: NeighbouringRelation, gaussian: bool, prefixes: bool) -> None:
    columns = matrix(6, prefixes, 5).T
    power = 2 if gaussian else 1
    if relation is NeighbouringRelation.ADD_REMOVE:
        farthest = max(int((np.abs(one) ** power).sum()) for one in columns)
    else:
        farthest = max(int((np.abs(a - b) ** power).sum()) for a in columns for b in columns)
    sums = WaveSums("waves", 9.0, gaussian, 6, prefixes, 5)
    stated = sums.sensitivity(relation)
    assert stated == farthest if relation is NeighbouringRelation.ADD_REMOVE else stated >= farthest
    charge = sums.charge(1, relation)
    expected = stated / (2 * 9.0**2) if gaussian else stated / 9.0
    assert charge.parameter == pytest.approx(expected)
    assert charge.relation is relation


@BOTH
def test_the_norms_of_many_bins_are_one_unit_but_for_rounding(prefixes: bool) -> None:
    _, square = column_norms(2_000, prefixes, LARGEST_UNIT)
    assert square * (1 + 1e-6) >= LARGEST_UNIT**2
    assert square <= LARGEST_UNIT**2 * (1 + 1e-6) < 2**51


def test_what_is_no_measurement_of_waves_is_refused() -> None:
    sums = WaveSums("waves", 9.0, True, 6, False, 5)
    with pytest.raises(PlanError, match="edge"):
        sums.charge(2, NeighbouringRelation.ADD_REMOVE)
    with pytest.raises(PrivateDataError, match="6 bins, and 5"):
        sums.exact(BinCounts.from_counts(np.ones(5)))
    with pytest.raises(PrivateDataError, match="records"):
        sums.exact(BinCounts.from_counts([2**36, 0, 0, 0, 0, 1]))
    for bins, unit in ((0, 5), (2**16 + 1, 5), (6, 0), (6, 2**26)):
        with pytest.raises(PlanError, match="of waves must be"):
            WaveSums("waves", 9.0, True, bins, False, unit)


# Rows of prefixes: what all of them cost, over all neighbours of tiny tables; each drawn once, and none before it is
# paid.

WEIGHTS = np.array([4, 2, 2, 1, 1], dtype=np.int64)
ROWS = PrefixRows("rows", 7.5, WEIGHTS)
COUNTS = (1, 0, 2, 0, 3)
TRIANGLE = np.array([[WEIGHTS[t - s] if s <= t else 0 for s in range(5)] for t in range(5)])


def curator(
    counts: Sequence[int] = COUNTS, *, reserved: bool = True, events: list[str] | None = None
) -> tuple[PrefixCurator, Ledger, NoNoise]:
    ledger, noise = Ledger(AMPLE[True], ADD_REMOVE), NoNoise([] if events is None else events)
    if reserved:
        ledger.reserve([ROWS.charge(1, ADD_REMOVE)])
    journal = EventJournal([] if events is None else events)
    return PrefixCurator(BinCounts.from_counts(counts), ledger, journal, size=0, noise=noise), ledger, noise


def paid(ledger: Ledger) -> list[Charge]:
    """Return what was spent, but for the mark that this noise is not private."""
    return [one for one in ledger.entries if one.kind is not ChargeKind.NOT_PRIVATE]


def test_a_record_moves_all_rows_together_by_the_charged_distance_and_some_do() -> None:
    """Over all neighbours of up to three records in five bins, for one beginning of the horizon after the other."""
    squared = int((WEIGHTS**2).sum())
    assert ROWS.charge(1, ADD_REMOVE).parameter == pytest.approx(squared / (2 * 7.5**2), rel=1e-12)
    for last in range(1, 6):
        moves = [
            ROWS.exact(bin_counts(one, graph=False), 0, last) - ROWS.exact(bin_counts(two, graph=False), 0, last)
            for one, two in record_neighbours(ADD_REMOVE)
        ]
        assert max(int((move**2).sum()) for move in moves) == int((WEIGHTS[:last] ** 2).sum()) <= squared


def play(counts: Any, noise: Watching) -> Sequence[Charge]:
    ledger = Ledger(AMPLE[True], ADD_REMOVE)
    ledger.reserve([ROWS.charge(1, ADD_REMOVE)])
    held = bin_counts(counts, graph=False)
    PrefixCurator(held, ledger, EventJournal([]), size=0, noise=noise).measure_to(ROWS, 5)
    return ledger.entries


def test_no_more_is_lost_than_is_charged_and_not_much_less() -> None:
    assert 0.99 < check_game(CountingGame(record_neighbours(ADD_REMOVE), play)) <= 1


@pytest.mark.parametrize("charged", [int((WEIGHTS**2).sum()) - 2, int((WEIGHTS**2).max()), int(WEIGHTS.sum())])
def test_charging_less_than_a_column_is_seen(charged: int) -> None:
    def charge(self: PrefixRows, bins: int, relation: Any) -> Charge:
        return measurement_charge(self.name, charged, self.scale, gaussian=True, relation=relation)

    with mock.patch.object(PrefixRows, "charge", charge), pytest.raises(AssertionError):
        check_game(CountingGame(record_neighbours(ADD_REMOVE), play))


def test_rows_are_charged_once_before_the_first_of_them_and_drawn_in_order() -> None:
    events: list[str] = []
    made, ledger, noise = curator(events=events)
    values = np.concatenate([made.measure_to(ROWS, last).values for last in (2, 3, 5)])
    assert values.tolist() == (TRIANGLE @ COUNTS).tolist()
    assert paid(ledger) == [ROWS.charge(1, ADD_REMOVE)]
    assert [len(one) for one in noise.counts] == [2, 1, 2]
    assert set(noise.scales) == {7.5}
    assert events == ["journal charge", *["gaussian", "journal measurement"] * 3]


def test_no_row_is_drawn_twice_and_none_unpaid() -> None:
    made, _, noise = curator()
    made.measure_to(ROWS, 3)
    for last in (0, 2, 3, 6):
        with pytest.raises(BudgetError, match="none is measured again"):
            made.measure_to(ROWS, last)
    with pytest.raises(BudgetError, match="charge on file is not that"):
        made.measure_to(PrefixRows("rows", 3.5, WEIGHTS), 4)
    unpaid, spent, silent = curator(reserved=False)
    with pytest.raises(BudgetError):
        unpaid.measure_to(ROWS, 1)
    assert (len(noise.counts), silent.counts, paid(spent)) == (1, [], [])


def test_what_is_on_file_is_not_drawn_or_charged_again() -> None:
    made, ledger, _ = curator()
    made.recall_rows(ROWS.charge(1, ADD_REMOVE), 3)
    with pytest.raises(BudgetError, match="3 of 5 steps"):
        made.measure_to(ROWS, 3)
    assert made.measure_to(ROWS, 5).values.tolist() == (TRIANGLE @ COUNTS)[3:].tolist()
    assert paid(ledger) == [ROWS.charge(1, ADD_REMOVE)]


def test_later_records_change_nothing_that_leaves() -> None:
    first, second = curator((1, 0, 2, 0, 3)), curator((1, 0, 2, 7, 0))
    for made, _, _ in (first, second):
        made.measure_to(ROWS, 2)
        made.measure_to(ROWS, 3)
    assert [one.tolist() for one in first[2].counts] == [one.tolist() for one in second[2].counts]


def test_what_the_charge_does_not_cover_is_refused() -> None:
    for bins, relation in ((2, ADD_REMOVE), (1, REPLACE)):
        with pytest.raises(PlanError, match="neighbours are add-remove, and no graphs"):
            ROWS.charge(bins, relation)
    for weights in ([], [-1], [2**16 + 1], [1] * (2**14 + 1)):
        with pytest.raises(PlanError, match="weights from 0"):
            PrefixRows("rows", 1.0, np.array(weights, dtype=np.int64))
    made, _, noise = curator((1, 2, 3))
    with pytest.raises(PrivateDataError, match="5 bins"):
        made.measure_to(ROWS, 2)
    many, _, _ = curator((2**40,) * 5)
    with mock.patch("dpopt.private.curators.prefix_curator.MOST_RECORDS", 2**41), pytest.raises(PrivateDataError):
        many.measure_to(ROWS, 2)
    assert noise.counts == []
