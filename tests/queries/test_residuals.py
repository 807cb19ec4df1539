"""Residuals of marginals: the integer map, how far one record moves it, and marginals from residuals."""

from __future__ import annotations

from functools import reduce
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import Residuals, cell_variances, centred, marginals_from_residuals, residuals_of
from dpopt.schema.domains import Domains

Sizes = tuple[int, ...]


def domains_of(sizes: Sizes) -> Domains:
    counts = np.array(sizes)
    return Domains(counts, np.cumsum(counts) - counts, np.concatenate([np.arange(n) for n in sizes]))


def sets_of(sizes: Sizes, *sets: tuple[int, ...]) -> MarginalSet:
    width = max(map(len, sets))
    return MarginalSet(domains_of(sizes), np.array([[*one, *[-1] * (width - len(one))] for one in sets]))


def below(*sets: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return all non-empty subsets of sets of attributes."""
    return sorted({subset for one in sets for width in range(1, len(one) + 1) for subset in combinations(one, width)})


def matrix(sizes: Sizes, attributes: tuple[int, ...]) -> NDArray[np.int64]:
    """Return R_A as it is defined."""
    return reduce(np.kron, [sizes[a] * np.eye(sizes[a], dtype=np.int64) - 1 for a in attributes])


def counts_of(marginals: MarginalSet, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cells of marginals of a table that is given as an array over all attributes."""
    parts = []
    for number in range(len(marginals)):
        attributes = marginals.attributes_of(number)
        others = tuple(axis for axis in range(table.ndim) if axis not in attributes)
        kept = sorted(attributes)
        parts.append(table.sum(axis=others).transpose([kept.index(a) for a in attributes]).ravel())
    return np.concatenate(parts)


def columns(residuals: Residuals, sizes: Sizes, *, outside: bool) -> NDArray[np.int64]:
    """Return what each record adds, one row each; with `outside` also records with a code that no cell names."""
    rows = []
    for codes in product(*(range(n + outside) for n in sizes)):
        parts = []
        for number, factor in enumerate(residuals.factors.tolist()):
            attributes = residuals.marginals.attributes_of(number)
            shape = [sizes[a] for a in attributes]
            cells = np.zeros(shape, dtype=np.int64)
            if all(codes[a] < sizes[a] for a in attributes):
                cells[tuple(codes[a] for a in attributes)] = 1
            parts.append(factor * matrix(sizes, attributes) @ cells.ravel())
        rows.append(np.concatenate(parts))
    return np.array(rows)


TINY = [
    ((2,), [(0,)]),
    ((3, 2), [(0,), (1,), (0, 1)]),
    ((2, 2, 2), [(0, 1), (0, 2), (1, 2)]),
    ((3, 2, 4), below((0, 1, 2))),
    ((3, 3, 3), [(0, 1, 2)]),
    ((2, 1, 3), below((0, 1), (1, 2))),
    ((2, 2, 3, 2), [(0,), (1, 2), (0, 1, 3)]),
]


@pytest.mark.parametrize(("sizes", "sets"), TINY)
@given(data=st.data())
@settings(max_examples=8)
def test_no_records_move_residuals_farther_than_stated_and_some_as_far(
    sizes: Sizes, sets: list[tuple[int, ...]], data: st.DataObject
) -> None:
    factors = data.draw(st.lists(st.integers(1, 9), min_size=len(sets), max_size=len(sets)))
    residuals = Residuals(sets_of(sizes, *sets), np.array(factors))
    inside, every = (columns(residuals, sizes, outside=outside) for outside in (False, True))
    for power, squared in ((1, False), (2, True)):
        added = (np.abs(every) ** power).sum(axis=1).max()
        assert residuals.sensitivity(replaced=False, squared=squared) == added
        moves = [(np.abs(a - b) ** power).sum() for a, b in combinations(every, 2)]
        stated = residuals.sensitivity(replaced=True, squared=squared)
        assert max(moves) <= stated
        if squared:
            assert max((np.abs(a - b) ** 2).sum() for a, b in combinations(inside, 2)) == stated


PARTS = [
    ((5, 3), [0, 0, 1, 2, 1, 0, 1, 1], [(0, 1)]),
    ((5, 3, 4), [0, 1, 1, 1, 0, 0, 1, 2, 1, 0, 0, 0], [(0, 1), (1, 2), (0, 2)]),
    ((6, 2, 5), [3, 3, 0, 1, 2, 0, 0, 1, 0, 0, 1, 1, 2], [(0, 1), (0, 1, 2), (2,)]),
]


@pytest.mark.parametrize(("sizes", "parts", "sets"), PARTS)
@pytest.mark.parametrize("factor", [1, 5])
def test_coarse_tables_are_tables_of_parts_and_cost_as_much(
    sizes: Sizes, parts: list[int], sets: list[tuple[int, ...]], factor: int
) -> None:
    """Each record, with codes that no cell names, too, and each pair of records: the numbers of a table of parts."""
    starts = np.cumsum(sizes) - sizes
    own = [parts[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    few = tuple(max(each) + 1 for each in own)
    factors = factor + np.arange(len(sets))
    fine, coarse = Residuals(sets_of(sizes, *sets), factors, np.array(parts)), Residuals(sets_of(few, *sets), factors)
    rows, expected = [], []
    for codes in product(*(range(size + 1) for size in sizes)):
        of_codes, of_parts = [], []
        for attributes in sets:
            tables = [np.zeros([shape[a] for a in attributes], dtype=np.int64) for shape in (sizes, few)]
            if all(codes[a] < sizes[a] for a in attributes):
                tables[0][tuple(codes[a] for a in attributes)] = 1
                tables[1][tuple(own[a][codes[a]] for a in attributes)] = 1
            of_codes.append(tables[0].ravel())
            of_parts.append(tables[1].ravel())
        rows.append(fine.of(np.concatenate(of_codes)))
        expected.append(coarse.of(np.concatenate(of_parts)))
    found = np.array(rows)
    np.testing.assert_array_equal(found, np.array(expected))
    assert len(fine) == found.shape[1]
    assert fine.sensitivity(replaced=False, squared=True) == (found**2).sum(axis=1).max()
    moved = max(((found - row) ** 2).sum(axis=1).max() for row in found)
    assert fine.sensitivity(replaced=True, squared=True) == moved
    assert fine.sensitivity(replaced=False, squared=False) == np.abs(found).sum(axis=1).max()


@pytest.mark.parametrize("parts", [[0, 1, 0, 1], [0, 1, 0, 1, 3], [0, -1, 0, 1, 2], [0, 1, 2, 2, 0], [0, 0, 0, 1, 2]])
def test_parts_that_cannot_be_are_refused(parts: list[int]) -> None:
    with pytest.raises(WorkloadError, match="expected one for each, from 0 without gaps, and at least two parts"):
        Residuals(sets_of((2, 3), (0, 1)), np.array([1]), np.array(parts))


@pytest.mark.parametrize("sizes", [(2,), (5,), (2, 3), (4, 3), (2, 2, 2), (3, 4, 3)])
def test_the_formulas_of_one_set(sizes: Sizes) -> None:
    one = Residuals(sets_of(sizes, tuple(range(len(sizes)))), np.array([3]))
    squared = 9 * int(np.prod([n * (n - 1) for n in sizes]))
    assert one.sensitivity(replaced=False, squared=True) == squared
    assert one.sensitivity(replaced=True, squared=True) * (min(sizes) - 1) == 2 * squared * min(sizes)
    assert one.sensitivity(replaced=False, squared=False) == 3 * int(np.prod([2 * (n - 1) for n in sizes]))


def test_many_attributes_get_the_sum_of_what_each_set_moves_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = tuple(2 + place % 3 for place in range(9))
    pairs = list(combinations(range(9), 2))
    residuals = Residuals(sets_of(sizes, *pairs), np.arange(1, len(pairs) + 1))
    exact = residuals.sensitivity(replaced=True, squared=True)
    monkeypatch.setattr("dpopt.queries.residuals.MOST_ENUMERATED", 8)
    bound = residuals.sensitivity(replaced=True, squared=True)
    alone = [Residuals(residuals.marginals.take([number]), residuals.factors[[number]]) for number in range(len(pairs))]
    assert exact < bound == sum(one.sensitivity(replaced=True, squared=True) for one in alone)


def test_a_random_pair_of_records_moves_residuals_twice_as_far_as_one_record() -> None:
    """On average over two independent records, squared; so replace-one costs at least twice what add-remove does."""
    sizes: Sizes = (3, 2, 4)
    residuals = Residuals(sets_of(sizes, *below((0, 1, 2))), np.arange(1, 8))
    rows = columns(residuals, sizes, outside=False)
    mean = np.mean([((a - b) ** 2).sum() for a, b in product(rows, rows)])
    assert mean == 2 * residuals.sensitivity(replaced=False, squared=True)
    assert residuals.sensitivity(replaced=True, squared=True) > mean


@pytest.mark.parametrize(("sizes", "sets"), TINY)
def test_centring_is_the_product_of_matrices(sizes: Sizes, sets: list[tuple[int, ...]]) -> None:
    marginals = sets_of(sizes, *sets)
    counts = np.random.default_rng(1).integers(0, 99, marginals.number_of_cells)
    parts = np.split(counts, marginals.starts[1:-1])
    expected = [matrix(sizes, one) @ part for one, part in zip(sets, parts, strict=True)]
    assert centred(marginals, counts).tolist() == np.concatenate(expected).tolist()
    residuals = Residuals(marginals, np.full(len(sets), 7))
    assert residuals.of(counts).tolist() == (7 * np.concatenate(expected)).tolist()
    np.testing.assert_allclose(
        residuals.estimates(residuals.of(counts)), residuals_of(marginals, counts.astype(np.float64))
    )


def test_the_largest_numbers_fit_into_64_bits() -> None:
    """2^40 records in one cell, with the largest factor that is taken."""
    marginals = sets_of((64, 64, 61), (0, 1, 2))
    cells = marginals.number_of_cells
    residuals = Residuals(marginals, np.array([2**21 // cells]))
    counts = np.zeros(cells, dtype=np.int64)
    counts[0] = 2**40
    exact = 2**40 * int(residuals.factors[0])
    assert residuals.of(counts)[[0, -1]].tolist() == [exact * 63 * 63 * 60, -exact]


WORKLOADS = [[(0, 1, 2)], [(2, 0), (1,), (1, 3, 0), (3, 2, 1)], [(0,), (1,)], [(0, 1, 2, 3), (3, 0)]]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_marginals_are_the_sums_of_their_residuals(workload: list[tuple[int, ...]]) -> None:
    sizes: Sizes = (3, 2, 4, 2)
    table = np.random.default_rng(2).uniform(0, 9, sizes)
    wanted = sets_of(sizes, *workload)
    residuals = sets_of(sizes, *below(*(tuple(sorted(one)) for one in workload)))
    values = residuals_of(residuals, counts_of(residuals, table))
    found = marginals_from_residuals(residuals, values, wanted, float(table.sum()))
    np.testing.assert_allclose(found, counts_of(wanted, table), rtol=1e-12)


def test_residuals_that_were_not_measured_count_as_zero() -> None:
    """One-way residuals alone give the table whose cells are sums of an effect for each attribute."""
    sizes: Sizes = (3, 2)
    one_way, both = sets_of(sizes, (0,), (1,)), sets_of(sizes, (0, 1))
    a, b = np.array([5.0, -2.0, -3.0]), np.array([1.5, -1.5])
    found = marginals_from_residuals(one_way, np.concatenate((a, b)), both, 60)
    expected = 10 + a[:, None] / 2 + b / 3
    np.testing.assert_allclose(found, expected.ravel())


def least_squares(
    sizes: Sizes, sets: list[tuple[int, ...]], factors: list[int], workload: list[tuple[int, ...]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the linear map from noisy residuals to the workload's cells, and that of the records, by dense matrices.

    The total is measured, too, with next to no noise.
    """
    every = np.eye(int(np.prod(sizes))).reshape(-1, *sizes)
    residuals = Residuals(sets_of(sizes, *sets), np.array(factors))
    design = np.array([residuals.of(counts_of(residuals.marginals, one).astype(int)) for one in every]).T
    design = np.vstack((design, np.full((1, len(every)), 1e6)))
    asked = np.array([counts_of(sets_of(sizes, *workload), one) for one in every]).T
    return asked @ np.linalg.pinv(design), design


@pytest.mark.parametrize("workload", [[(0, 1, 2)], [(2, 0), (1,)], [(0, 1), (1, 2)]])
def test_estimates_are_those_of_least_squares_and_have_the_stated_variance(workload: list[tuple[int, ...]]) -> None:
    sizes: Sizes = (3, 2, 2)
    sets = below(*(tuple(sorted(one)) for one in workload))
    factors = list(range(2, 2 + len(sets)))
    solution, design = least_squares(sizes, sets, factors, workload)
    residuals, wanted = Residuals(sets_of(sizes, *sets), np.array(factors)), sets_of(sizes, *workload)
    noisy = (design @ np.arange(12.0))[:-1] + np.random.default_rng(3).integers(-50, 50, len(design) - 1)
    expected = solution @ np.append(noisy, 1e6 * 66)
    values = residuals.estimates(noisy.astype(np.int64))
    found = marginals_from_residuals(residuals.marginals, values, wanted, 66)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    variances = np.repeat(cell_variances(residuals.marginals, residuals.variances(49.0), wanted), wanted.cells())
    np.testing.assert_allclose(variances, 49 * (solution[:, :-1] ** 2).sum(axis=1), rtol=1e-9)


def test_variances_of_sets_that_are_missing_are_zero() -> None:
    sizes: Sizes = (3, 2)
    found = cell_variances(sets_of(sizes, (0,)), np.array([4.5]), sets_of(sizes, (0, 1), (1,), (0,)))
    np.testing.assert_allclose(found, [4.5 * 2 / 3 / 4, 0, 3])


@pytest.mark.parametrize(
    ("sets", "factors", "message"),
    [
        ([(1, 0)], [1], "do not increase"),
        ([(0, 1), (0, 1)], [1, 1], "found a set of attributes twice"),
        ([(0, 1)], [0], "from 1 to 2,097,152 over its cells"),
        ([(0, 1)], [2**21 // 6 + 1], "take smaller factors"),
        ([(0, 1)], [1, 1], "found 2 factors for 1 sets of up to 6 cells"),
    ],
)
def test_what_is_no_set_of_residuals_is_refused(sets: list[tuple[int, ...]], factors: list[int], message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        Residuals(sets_of((2, 3), *sets), np.array(factors))


def test_residuals_of_other_domains_are_refused() -> None:
    with pytest.raises(WorkloadError, match="over other attributes or codes"):
        marginals_from_residuals(sets_of((2, 3), (0,)), np.zeros(2), sets_of((2, 4), (0,)), 5)
