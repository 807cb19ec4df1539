"""Weighted sums over all bins: whole weights near the strategy's, charges of the farthest neighbours, estimates from them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.measurements.wave_sums import LARGEST_UNIT, WaveSums, column_norms
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.waves import waves_of

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
