"""Numbers within bins from noisy counts of halves: consistent, within their bins, near the truth."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.releases.column_values import ColumnBlocks
from dpopt.schema import Attribute, AttributeKind, Schema
from dpopt.schema.finer import HALVINGS, MOST_CELLS, dividable, fine_limits, finer, limits


def numeric(*edges: float, integer: bool = True, missing: str | None = None) -> Attribute:
    return Attribute("x", AttributeKind.NUMERIC, edges=edges, integer=integer, missing=missing)


def in_rounds(
    attribute: Attribute, numbers: NDArray[np.float64], scale: float, seed: int = 0
) -> tuple[ColumnBlocks, NDArray[np.int32]]:
    """Halve in eight rounds with Gaussian noise of one scale; return the blocks, and the codes."""
    generator = np.random.default_rng(seed)
    codes = np.clip(np.searchsorted(attribute.edges[1:-1], numbers, side="right"), 0, None).astype(np.int32)
    blocks = ColumnBlocks.of(attribute, np.bincount(codes, minlength=len(attribute.edges) - 1).astype(float))
    ordered = np.sort(numbers)
    for _ in range(HALVINGS):
        chosen, cells = blocks.halves(scale)
        ends = np.stack((blocks.low[chosen], blocks.limits[cells], blocks.high[chosen]))
        counts = np.diff(np.searchsorted(ordered, ends), axis=0)
        blocks = blocks.halved(chosen, cells, counts + generator.normal(0, scale, counts.shape), scale**2)
    return blocks, codes


edge_lists = st.lists(st.integers(-2_000, 10**6), min_size=2, max_size=9, unique=True).map(sorted)


@given(edges=edge_lists, integer=st.booleans(), data=st.data())
def test_finer_bins_divide_bins_and_numbers_stay_in_theirs(
    edges: list[int], integer: bool, data: st.DataObject
) -> None:
    attribute = replace(numeric(*edges, integer=integer, missing="?"), decimals=1)
    fine = fine_limits(attribute)
    assert (np.diff(fine) > 0).all()
    assert np.isin(limits(attribute), fine).all()
    refined = finer(attribute)
    assert set(attribute.edges) <= set(refined.edges)
    assert refined.size == fine.size
    codes = np.array(data.draw(st.lists(st.integers(0, attribute.size - 1), min_size=1, max_size=40)), dtype=np.int32)
    counts = data.draw(st.lists(st.floats(-1, 1e4), min_size=len(edges) - 1, max_size=len(edges) - 1))
    blocks = ColumnBlocks.of(attribute, np.array(counts))
    for _ in range(3):
        chosen, cells = blocks.halves(1.0)
        noisy = np.array(data.draw(st.lists(st.integers(-9, 9_999), min_size=1, max_size=9)))
        blocks = blocks.halved(chosen, cells, np.resize(noisy, (2, chosen.size)).astype(float), 1.0)
    assert blocks.counts.min() >= 0
    assert blocks.counts.sum() == pytest.approx(np.maximum(counts, 0).sum())
    weights = np.arange(1, codes.size + 1, dtype=np.float64)
    numbers = blocks.drawing(3, codes.size)(codes, weights)
    missing = codes == attribute.missing_code
    assert np.array_equal(np.isnan(numbers), missing)
    known = numbers[~missing]
    assert np.array_equal(np.searchsorted(edges[1:-1], known, side="right"), codes[~missing])
    assert ((known >= edges[0]) & (known <= edges[-1])).all()
    assert not integer or np.array_equal(known, np.floor(known))
    assert known.tolist() == pytest.approx(np.round(known, 1).tolist(), rel=0, abs=1e-9)
    assert np.array_equal(numbers, blocks.drawing(3, codes.size)(codes, weights), equal_nan=True)


@pytest.mark.parametrize("noise", [1.0, 60.0])
@pytest.mark.parametrize("shape", ["zeros and a tail", "even", "round numbers", "negative too"])
def test_mean_and_quartiles_follow_the_numbers(shape: str, noise: float) -> None:
    """20,000 numbers; the seeds are fixed, so nothing is left to chance. A bin's middle is off by 20 % to 300 %."""
    generator = np.random.default_rng(5)
    numbers, edges = {
        "zeros and a tail": (
            np.floor(np.exp(generator.normal(6, 1.5, 20_000))) * (generator.random(20_000) < 0.6),
            (0, 1_000, 100_000),
        ),
        "even": (generator.integers(17, 91, 20_000), (0, 50, 100)),
        "round numbers": (10_000 * generator.geometric(0.06, 20_000), (0, 100_000, 2_000_000)),
        "negative too": (np.floor(generator.laplace(-50, 400, 20_000)), (-9_000, 0, 1_000, 9_000)),
    }[shape]
    numbers = np.clip(numbers, edges[0], edges[-1]).astype(np.float64)
    blocks, codes = in_rounds(numeric(*edges), numbers, noise)
    found = blocks.drawing(1, codes.size)(codes, np.ones(codes.size))
    width = np.diff(edges)[codes]
    allowed = 0.03 * max(abs(numbers.mean()), width.min())
    assert abs(found.mean() - numbers.mean()) < allowed
    middles = np.array(numeric(*edges).representatives)[codes]
    assert shape == "even" or abs(middles.mean() - numbers.mean()) > 4 * abs(found.mean() - numbers.mean())
    for part in (0.25, 0.5, 0.75):
        one, two = (np.quantile(held, part, method="inverted_cdf") for held in (numbers, found))
        assert abs(one - two) <= 0.03 * max(abs(numbers.mean()), width[np.searchsorted(np.sort(numbers), one)])


def test_few_weighted_records_have_the_mean_of_what_was_measured() -> None:
    numbers = np.floor(np.exp(np.random.default_rng(1).normal(6, 1.2, 20_000)))
    blocks, _ = in_rounds(numeric(0, 1_000, 100_000), numbers, 5.0)
    share = float((numbers >= 1_000).mean())
    codes, weights = np.array([0, 0, 1], dtype=np.int32), np.array([0.3, 0.7 - share, share])
    found = blocks.drawing(1, codes.size)(codes, weights)
    assert abs(found @ weights - numbers.mean()) < 0.03 * numbers.mean()


def test_a_bin_of_one_number_is_not_divided_and_very_many_bins_are_not_refused() -> None:
    assert dividable(Schema((numeric(0, 1, 2),))) == []
    assert dividable(Schema((numeric(0, 1, 3),))) == [0]
    assert dividable(Schema((numeric(0, 1, 2, integer=False),))) == [0]
    assert fine_limits(numeric(*range(0, 80_000, 2))).size <= MOST_CELLS + 1
    assert dividable(Schema.binary(5)) == []


@pytest.mark.parametrize(
    "edges", [(-1.7e308, 0, 1.7e308), (0, 1e-300, 1e300), (-1e-320, 0, 1e-320), (1e15, 1e15 + 50, 1e15 + 100)]
)
def test_ranges_near_the_ends_of_what_floats_hold_give_numbers_and_no_warning(edges: tuple[float, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        blocks = ColumnBlocks.of(Attribute("x", AttributeKind.NUMERIC, edges=edges), np.full(len(edges) - 1, 1000.0))
        for _ in range(4):
            chosen, cells = blocks.halves(3.0)
            blocks = blocks.halved(chosen, cells, np.full((2, chosen.size), 500.0), 9.0) if chosen.size else blocks
        codes = np.repeat(np.array([0, len(edges) - 2], dtype=np.int32), 30)
        drawn = blocks.drawing(1, 60)(codes, np.ones(60))
    assert (drawn >= edges[0]).all()
    assert (drawn <= edges[-1]).all()


def test_later_blocks_go_on_where_a_bin_has_one_record_in_each() -> None:
    """Seven blocks stand at the seven eighths of the bin, and a bin of many records has its mean in each block."""
    blocks = ColumnBlocks.of(numeric(1000, 1800, 2600, integer=False), np.array([7.0, 7.0]))
    draw = blocks.drawing(1, 10**7)
    drawn = [draw(np.repeat(np.array([0, 1], dtype=np.int32), (1, 1000)), np.ones(1001)) for _ in range(7)]
    assert sorted(one[0] for one in drawn) == list(range(1100, 1800, 100))
    assert np.array([one[1:].mean() for one in drawn]) == pytest.approx(np.full(7, 2200), abs=0.5)
    assert all(np.unique(one[1:]).size == 1000 and (np.diff(one[1:]) < 0).mean() > 0.4 for one in drawn)
