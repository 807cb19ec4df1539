from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import SchemaError, WorkloadError
from dpopt.queries import Clauses
from dpopt.queries.counting import binary_columns, kernels
from dpopt.queries.counting.answers import RecordAnswers, UniformAnswers, shares_of_cells
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.queries.counting.kernels import shares_on_records, weigh_on_records
from dpopt.queries.counting.marginal_kernels import cells_of_records
from dpopt.queries.marginal_set import MarginalSet
from tests.marginals import added_in_order, marginal_sets, marginals_of
from tests.strategies import clause_lists, clauses_of, naive_truth, tables

SIZES = (3, 2, 5, 2, 4, 1, 7, 2)
BOUNDS = np.array(SIZES)


@given(clause_lists(SIZES, widest=8), tables(SIZES), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_weights_of_clauses_are_added_record_by_record(
    clauses: Clauses, records: NDArray[np.int32], seed: int, threads: int
) -> None:
    """All masks and widths, both signs, bit by bit; blocks that end within and at the end of a word."""
    weights = np.random.default_rng(seed).normal(size=len(records))
    expected = added_in_order(weights, naive_truth(clauses, records))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kernels, "CHUNK", 5)
        for block in (1 << 16, 128, 37):
            patched.setattr(kernels, "BLOCK", block)
            found = weigh_on_records(clauses, records, BOUNDS, weights, threads=threads)
            assert found.tolist() == expected


@pytest.mark.parametrize("width", [1, 5, 31])
def test_the_widest_clauses_are_weighed(width: int) -> None:
    generator = np.random.default_rng(width)
    records = generator.integers(0, 2, size=(300, 31)).astype(np.int32)
    weights = generator.random(300)
    literals = [(a, int(generator.integers(2)), bool(generator.integers(2))) for a in range(width)]
    full = (2 << width) - 1
    masks = [1 << width, 1, full, 0, full & 0xAAAAAAAA, *(generator.integers(0, 1 << 32, 9) & full).tolist()]
    clauses = clauses_of([(literals, int(mask)) for mask in masks])
    expected = naive_truth(clauses, records) @ weights
    assert weigh_on_records(clauses, records, np.full(31, 2), weights) == pytest.approx(expected, rel=1e-12)


@given(st.one_of(marginal_sets(SIZES), clause_lists(SIZES)), tables(SIZES), st.integers(0, 2**32 - 1))
def test_answers_are_shares_of_records_or_of_their_weight(
    queries: MarginalSet | Clauses, records: NDArray[np.int32], seed: int
) -> None:
    clauses = queries.clauses() if isinstance(queries, MarginalSet) else queries
    records = np.concatenate([records, np.zeros((1, len(SIZES)), dtype=np.int32)])
    weights = np.random.default_rng(seed).random(len(records)) + 1e-3
    truth = naive_truth(clauses, records)
    assert np.array_equal(shares_on_records(queries, records, BOUNDS), truth.sum(axis=1) / len(records))
    found = shares_on_records(queries, records, BOUNDS, weights)
    assert found == pytest.approx(truth @ weights / weights.sum(), abs=1e-12)
    assert (found <= 1).all()


def test_records_and_weights_that_have_no_answers_are_refused() -> None:
    clauses, good = clauses_of([([(0, 1, True)], 2)]), np.zeros((2, 8), dtype=np.int32)
    for queries in (clauses, marginals_of([range(size) for size in SIZES], [[0]])):
        with pytest.raises(SchemaError, match=r"records of shape \(0, 8\) have no answers"):
            shares_on_records(queries, good[:0], BOUNDS)
        with pytest.raises(SchemaError, match=r"records of shape \(2, 7\) have no answers"):
            shares_on_records(queries, good[:, 1:], BOUNDS)
        for wrong in (3, -1):
            with pytest.raises(SchemaError, match=r"has a code that its attribute does not have"):
                shares_on_records(queries, np.where(np.arange(8) == 0, wrong, good), BOUNDS)
        for weights in ([1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.inf], [1.0, np.nan]):
            with pytest.raises(SchemaError, match="need as many nonnegative weights"):
                shares_on_records(queries, good, BOUNDS, np.array(weights))
    with pytest.raises(SchemaError, match="one weight for each record"):
        weigh_on_records(clauses, good, BOUNDS, np.ones(3))
    with pytest.raises(WorkloadError, match="clause 0 asks for code 3"):
        weigh_on_records(clauses_of([([(0, 3, True)], 2)]), good, BOUNDS, np.ones(2))


@given(marginal_sets(SIZES), tables(SIZES), st.booleans(), st.integers(0, 2**32 - 1))
def test_answers_in_few_cells_are_those_in_all_cells(
    marginals: MarginalSet, records: NDArray[np.int32], weighted: bool, seed: int
) -> None:
    records = np.concatenate([records, np.zeros((1, len(SIZES)), dtype=np.int32)])
    weights = np.random.default_rng(seed).random(len(records)) + 1e-3 if weighted else None
    one = marginals.take([0])
    everywhere = np.arange(one.number_of_cells)
    for source in (RecordAnswers(records, weights), UniformAnswers()):
        whole = source.on(one, BOUNDS)
        assert source.sparsely_on(one, BOUNDS).at(everywhere).tolist() == whole.tolist()
    direct = shares_of_cells(cells_of_records(one, records)[:, 0], weights)
    assert (np.diff(direct.cells) > 0).all()
    assert direct.at(everywhere).tolist() == RecordAnswers(records, weights).on(one, BOUNDS).tolist()


@given(marginal_sets((3, 1, 2, 4, 2)))
def test_uniform_answers_on_cells_are_those_of_the_whole_universe(marginals: MarginalSet) -> None:
    """Codes that the domains leave out are part of the universe."""
    sizes = np.array([3, 1, 2, 4, 2])
    universe = np.array(list(product(*map(range, sizes.tolist()))), dtype=np.int32)
    expected = shares_on_records(marginals, universe, sizes)
    assert UniformAnswers().on(marginals, sizes) == pytest.approx(expected, abs=1e-15)


TWO = (2,) * 6


@given(clause_lists(TWO), tables(TWO), st.integers(0, 2**32 - 1), st.sampled_from([1, 1 << 20]))
def test_bits_have_the_answers_of_their_codes(
    clauses: Clauses, records: NDArray[np.int32], seed: int, wide: int
) -> None:
    """Whether they are given as bits, or turned into bits because there are many attributes; to the last digit."""
    sizes = np.full(6, 2, dtype=np.int32)
    records = np.concatenate([records, np.zeros((1, 6), dtype=np.int32)])
    weights, held = np.random.default_rng(seed).random(len(records)) + 1e-3, BitRecords.of(records)
    truth = naive_truth(clauses, records)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(binary_columns, "WIDE", wide)
        for table in (records, held):
            assert np.array_equal(shares_on_records(clauses, table, sizes), truth.sum(axis=1) / len(records))
            found = shares_on_records(clauses, table, sizes, weights)
            expected = np.array(added_in_order(weights, truth)) / float(weights.sum())
            assert np.array_equal(found, np.minimum(expected, 1.0))
            assert weigh_on_records(clauses, held, sizes, weights).tolist() == added_in_order(weights, truth)


def test_cells_of_records_as_bits_are_those_of_their_codes() -> None:
    records = np.random.default_rng(5).integers(0, 2, (90, 6)).astype(np.int32)
    sizes, weights = np.full(6, 2), np.arange(90.0) + 1
    marginals = marginals_of([range(2)] * 6, [[0, 3], [1, 2, 5], [4]])
    for given_weights in (None, weights):
        expected = shares_on_records(marginals, records, sizes, given_weights)
        found = shares_on_records(marginals, BitRecords.of(records), sizes, given_weights)
        assert np.array_equal(found, expected)
        answers = RecordAnswers(BitRecords.of(records), given_weights)
        assert np.array_equal(answers.on(marginals, sizes), expected)
        sparse = answers.sparsely_on(marginals.take([1]), sizes)
        assert np.array_equal(sparse.at(np.arange(8)), expected[4:12])


def test_records_as_bits_that_do_not_fit_are_refused() -> None:
    clauses, held = clauses_of([([(0, 1, True)], 2)]), BitRecords.of(np.ones((2, 6), dtype=np.int32))
    with pytest.raises(SchemaError, match=r"records of shape \(2, 6\) have no answers"):
        shares_on_records(clauses, held, np.full(7, 2))
    with pytest.raises(SchemaError, match="has a code that its attribute does not have"):
        shares_on_records(clauses, held, np.array([2, 1, 2, 2, 2, 2]))
    assert shares_on_records(clauses, held, np.array([2, 3, 2, 2, 2, 2])).tolist() == [1.0]
    with pytest.raises(SchemaError, match="need attributes of two codes"):
        weigh_on_records(clauses, held, np.array([2, 3, 2, 2, 2, 2]), np.ones(2))
    with pytest.raises(SchemaError, match="one weight for each record"):
        weigh_on_records(clauses, held, np.full(6, 2), np.ones(3))
    with pytest.raises(WorkloadError, match="clause 0 asks for code 2"):
        weigh_on_records(clauses_of([([(0, 2, True)], 2)]), held, np.full(6, 2), np.ones(2))
