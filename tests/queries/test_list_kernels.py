"""Rows of decision lists: counting, adding up at points, and what one row moves, against the definitions one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpopt.errors import WorkloadError
from dpopt.files.codec import decode, encode
from dpopt.queries.decision_lists.coefficients import ListCoefficients
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


@pytest.mark.parametrize(("variables", "length", "size"), [(2, 2, 2), (3, 3, 2), (4, 3, 3), (3, 2, 0), (2, 1, 1)])
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
def test_conjunctions_true_at_a_point_add_up_to_the_value_there(variables: int, length: int, size: int) -> None:
    """The counts of a row, added up where the conjunction is true: b_1 + sum_i d_i q_i(s)."""
    family = family_of(variables, length)
    coefficients = random_coefficients(family, size, 9)
    points = points_of(family)
    for row in rows_of(family)[::7]:
        counts = count_in_lists(*arrays_of(family, [row])[:3], coefficients.values, 2**coefficients.bits, variables)
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


FAMILIES = {
    "lists": family_of(2, 2),
    "lists of one change": family_of(3, 2, "lists", 1),
    "wide lists": family_of(4, 2),
    "disjunctions": family_of(2, 2, "disjunctions"),
    "wide disjunctions": family_of(4, 2, "disjunctions"),
    "disjunctions of three": family_of(4, 3, "disjunctions"),
    "conjunctions": family_of(3, 2, "conjunctions"),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", FAMILIES)
def test_the_sensitivity_to_a_row_is_the_largest_distance_of_neighbours(kind: str, seed: int) -> None:
    """L1 and L2, added rows and pairs of rows, each size; equal but where too few variables keep rows from being apart."""
    family = FAMILIES[kind]
    coefficients = random_coefficients(family, min(2, family.length), seed)
    rows = rows_of(family)
    for size in range(coefficients.largest_size + 1):
        vectors = np.array([counted(coefficients, row, size) for row in rows], dtype=np.int64)
        apart = vectors[:, None] - vectors[None, :]
        for squared in (False, True):
            added = (vectors**2 if squared else np.abs(vectors)).sum(axis=1).max()
            replaced = (apart**2 if squared else np.abs(apart)).sum(axis=2).max()
            assert coefficients.sensitivity(size, replaced=False, squared=squared) == max(1, added)
            bound = coefficients.sensitivity(size, replaced=True, squared=squared)
            if squared or len(family.variables) >= 2 * family.length or kind.startswith("lists"):
                assert bound == max(1, replaced), (size, squared)
            else:
                assert bound >= replaced


def test_three_changes_are_looked_at_in_all_ways() -> None:
    family = family_of(3, 3)
    coefficients = random_coefficients(family, 3, 11)
    rows = [row for row in rows_of(family) if len(row[0]) == 3][::1]
    for size in range(1, 4):
        vectors = np.array([counted(coefficients, row, size) for row in rows[:128]], dtype=np.int64)
        for squared in (False, True):
            norm = int((vectors**2 if squared else np.abs(vectors)).sum(axis=1).max())
            assert coefficients.sensitivity(size, replaced=False, squared=squared) == norm
            assert coefficients.sensitivity(size, replaced=True, squared=squared) == norm * (4 if squared else 2)


def test_coefficients_are_read_back_as_they_were() -> None:
    coefficients = random_coefficients(family_of(5, 3), 2, 0)
    again = decode(ListCoefficients, encode(coefficients), "coefficients")
    assert again.values.tolist() == coefficients.values.tolist()
    assert not again.values.flags.writeable
    assert [coefficients.conjunctions(size) for size in range(3)] == [1, 10, 40]


def test_sizes_without_coefficients_are_not_used() -> None:
    values = np.zeros((3, 3, 3), dtype=np.int64)
    values[2, 0, 1] = 3
    coefficients = ListCoefficients(family_of(2, 2), values, 2)
    assert [coefficients.used(size) for size in range(3)] == [False, True, False]
    assert coefficients.up_to(1).values.tolist() == values[:, :2, :2].tolist()


def test_a_sensitivity_of_zero_is_charged_as_one_unit() -> None:
    empty = ListCoefficients(family_of(2, 2, "disjunctions"), np.zeros((3, 1, 1), dtype=np.int64), 0)
    assert empty.sensitivity(0, replaced=True, squared=True) == 1


@pytest.mark.parametrize(
    ("place", "message"), [((0, 0, 0), "more literals"), ((1, 1, 1), "more literals"), ((1, 0, 2), "more literals")]
)
def test_coefficients_where_none_can_stand_are_refused(place: tuple[int, ...], message: str) -> None:
    values = np.zeros((3, 3, 3), dtype=np.int64)
    values[place] = 1
    with pytest.raises(WorkloadError, match=message):
        ListCoefficients(family_of(2, 2), values, 0)


def test_other_shapes_units_and_sizes_are_refused() -> None:
    family = family_of(2, 2)
    with pytest.raises(WorkloadError, match="shape"):
        ListCoefficients(family, np.zeros((2, 2, 2), dtype=np.int64), 0)
    with pytest.raises(WorkloadError, match="units"):
        ListCoefficients(family, np.zeros((3, 2, 2), dtype=np.int64), 21)
    with pytest.raises(WorkloadError, match="large"):
        ListCoefficients(family, np.array([[[0]], [[2**31]], [[0]]]), 0)
    with pytest.raises(WorkloadError, match="expected 0 to 1"):
        random_coefficients(family, 1, 0).sensitivity(2, replaced=False, squared=False)
    with pytest.raises(WorkloadError, match="shape"):
        ListCoefficients(family, np.zeros((3, 4, 4), dtype=np.int64), 0)
