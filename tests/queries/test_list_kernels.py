"""Counting in lists and adding up at points, against the definitions one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpopt.queries.decision_lists.kernels import count_in_lists, normalised, polynomial_in_bits, values_at
from tests.tiny_lists import (
    Row,
    arrays_of,
    conjunctions_of,
    counted,
    family_of,
    output_at,
    points_of,
    random_coefficients,
    rows_of,
    value_of,
)


@pytest.mark.parametrize(
    ("variables", "length", "size"), [(2, 2, 2), (3, 3, 2), (4, 3, 3), (3, 2, 0), (2, 1, 1)]
)
def test_rows_count_what_the_definition_says(variables: int, length: int, size: int) -> None:
    family = family_of(variables, length)
    coefficients = random_coefficients(family, size, 5)
    every = rows_of(family)
    rows = [every[number] for number in np.random.default_rng(1).integers(0, len(every), 60)]
    arrays = arrays_of(family, rows)[:3]
    found = count_in_lists(*arrays, coefficients.values, 2**coefficients.bits, variables)
    assert len(found) == size + 1
    for j, counts in enumerate(found):
        expected = np.sum([counted(coefficients, row, j) for row in rows], axis=0)
        assert counts.tolist() == expected.tolist()


@pytest.mark.parametrize(("variables", "length", "size"), [(3, 3, 2), (4, 2, 2), (3, 2, 0)])
def test_conjunctions_true_at_a_point_add_up_to_the_value_there(
    variables: int, length: int, size: int
) -> None:
    """The counts of a row, added up where the conjunction is true: b_1 + sum_i d_i q_i(s)."""
    family = family_of(variables, length)
    coefficients = random_coefficients(family, size, 9)
    points = points_of(family)
    for row in rows_of(family)[::7]:
        counts = count_in_lists(
            *arrays_of(family, [row])[:3], coefficients.values, 2**coefficients.bits, variables
        )
        found = values_at(polynomial_in_bits(counts, variables), np.array(points, dtype=np.uint8))
        assert found.tolist() == [value_of(coefficients, row, point) for point in points]


@pytest.mark.parametrize("left_out", [None, 1])
def test_any_counts_are_added_up_where_their_conjunctions_are_true(left_out: int | None) -> None:
    """Noise and all; sizes that were not counted add nothing."""
    family = family_of(5, 3)
    generator = np.random.default_rng(4)
    counts = [generator.integers(-50, 50, len(conjunctions_of(family, j))) for j in range(4)]
    if left_out is not None:
        counts[left_out] = np.zeros(0, dtype=np.int64)
    points = points_of(family)
    expected = [
        sum(
            int(count)
            for j in range(4)
            for count, conjunction in zip(counts[j], conjunctions_of(family, j), strict=False)
            if all((point[variable] == 1) == itself for variable, itself in conjunction)
        )
        for point in points
    ]
    found = values_at(polynomial_in_bits(counts, 5), np.array(points, dtype=np.uint8))
    assert found.tolist() == expected


def test_rows_with_variables_twice_become_rows_without_and_give_the_same() -> None:
    """All lists of up to three literals on two variables, repetitions and opposites among them."""
    family = family_of(3, 3)
    literals = [(variable, itself) for variable in range(2) for itself in (False, True)]
    rows: list[Row] = [
        (chosen, bits)
        for length in range(4)
        for chosen in product(literals, repeat=length)
        for bits in product((0, 1), repeat=length + 1)
    ]
    variables, positive, bits, lengths = arrays_of(family, rows)
    found = normalised(variables, positive, bits, lengths)
    assert found.max() == 2
    for number, row in enumerate(rows):
        length = int(found[number])
        kept = variables[number, :length].tolist()
        assert len(set(kept)) == length
        again: Row = (
            tuple(zip(kept, positive[number, :length].tolist(), strict=True)),
            tuple(bits[number, : length + 1].tolist()),
        )
        assert set(bits[number, length:].tolist()) == {again[1][-1]}
        for point in points_of(family):
            assert output_at(again, point) == output_at(row, point)
