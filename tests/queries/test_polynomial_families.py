"""Families of polynomials: how far neighbours are apart over all pairs, and bounds that hold whatever a function says."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import WorkloadError
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.queries.conjunctions.monomials import POWERS, SETS, Monomials
from dpopt.queries.polynomial_families import FunctionFamily, Moves, PolynomialFamily, SymmetricFamily, TableFamily
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.exact_sanitizer_loss import (
    FAMILIES,
    THREE,
    UNIT,
    coefficients_of,
    farthest,
    function_family,
    huge,
    modest,
    not_a_number,
    random_table,
    symmetric,
    units_of,
)
from tests.exact_summary_loss import MIXED
from tests.tiny_runs import ADD_REMOVE, REPLACE, bits_schema, universe

LONG = Schema(
    (*bits_schema(2).attributes, *(Attribute(f"c{n}", AttributeKind.CATEGORICAL, ("x", "y", "z")) for n in range(2)))
)
SYMMETRIC = {
    f"{name}, {basis}, {which}, {weights}": symmetric(ChosenLiterals.of(schema, None, which), basis, weights)
    for name, schema in {"4 bits": bits_schema(4), "6 bits": bits_schema(6), "long": LONG}.items()
    for basis in (SETS, POWERS)
    for which in ("all", "positive")
    for weights in ((1.0,), (0.5, -0.25), (-0.75, 1.25, 0.5))
    if not (name == "6 bits" and (basis, which) == (POWERS, "all"))
}  # fmt: skip


MANY = Schema(tuple(Attribute(f"b{n}", AttributeKind.BOOLEAN) for n in range(17)))


def stated(family: PolynomialFamily, relation: NeighbouringRelation) -> tuple[int, int]:
    moves = family.moves(UNIT)
    if relation is ADD_REMOVE:
        return moves.added, moves.added_squared
    return moves.replaced, moves.replaced_squared


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("kind", SYMMETRIC)
def test_symmetric_families_move_as_far_as_some_neighbours_are_apart(kind: str, relation: NeighbouringRelation) -> None:
    family = SYMMETRIC[kind]
    for squared in (False, True):
        assert stated(family, relation)[squared] == farthest(family, relation, squared=squared)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_a_table_moves_exactly_as_far_as_some_neighbours_are_apart(relation: NeighbouringRelation) -> None:
    family = random_table()
    assert stated(family, relation)[0] == farthest(family, relation, squared=False)
    square = farthest(family, relation, squared=True)
    assert square <= stated(family, relation)[1] <= square + 1


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("kind", FAMILIES)
def test_no_neighbours_are_farther_apart_than_a_family_says(kind: str, relation: NeighbouringRelation) -> None:
    for squared in (False, True):
        assert farthest(FAMILIES[kind], relation, squared=squared) <= stated(FAMILIES[kind], relation)[squared]


def test_a_large_table_is_bounded_by_its_norms(monkeypatch: pytest.MonkeyPatch) -> None:
    family = random_table()
    exact = family.moves(UNIT)
    monkeypatch.setattr("dpopt.queries.polynomial_families._MOST_COMPARED", 1)
    bound = family.moves(UNIT)
    assert bound == Moves(exact.added, 2 * exact.added, exact.added_squared, 4 * exact.added_squared)
    assert exact.replaced <= bound.replaced
    assert exact.replaced_squared <= bound.replaced_squared


Numbers = st.one_of(st.floats(), st.floats(-3, 3), st.sampled_from([0.0, 1e308, -1e308, 5e-324, 1.0, 0.999999]))


@given(
    rows=st.lists(st.lists(Numbers, min_size=3, max_size=3), min_size=1, max_size=6),
    bounds=st.tuples(*[st.floats(0, 2) for _ in range(6)]),
    norm=st.floats(1e-3, 5),
    root=st.one_of(st.just(float("inf")), st.floats(1e-3, 5)),
    bits=st.integers(0, 34),
)  # fmt: skip
def test_whatever_a_function_returns_its_bounds_hold(
    rows: list[list[float]], bounds: tuple[float, ...], norm: float, root: float, bits: int
) -> None:
    """Exactly, in whole numbers: single vectors, and any two of them."""
    low, high = -np.array(bounds[:3]), np.array(bounds[3:])
    family = function_family(modest, norm=norm, root_norm=root, low=low, high=high)
    unit = 2.0**-bits
    moves = family.moves(unit)
    found = [tuple(map(int, row)) for row in family.within(np.array(rows), unit).tolist()]
    assert max(sum(map(abs, row)) for row in found) <= min(moves.added, norm / unit)
    assert max(sum(one**2 for one in row) for row in found) <= moves.added_squared
    for row, other in combinations(found, 2):
        apart = [a - b for a, b in zip(row, other, strict=True)]
        assert sum(map(abs, apart)) <= moves.replaced
        assert sum(one**2 for one in apart) <= moves.replaced_squared
    for row in found:
        assert all(a <= one * unit <= b for a, one, b in zip(low, row, high, strict=True))


def test_vectors_within_their_bounds_lose_less_than_a_unit() -> None:
    family = function_family(modest, norm=2.0, root_norm=1.5)
    given = np.random.default_rng(1).uniform(-0.66, 0.66, (1000, 3))
    unit = 2.0**-20
    kept = family.within(given, unit) * unit
    assert np.abs(kept).max() > 0.6
    assert np.all(np.abs(kept - given) < unit)
    assert np.all(np.abs(kept) <= np.abs(given))


def test_vectors_beyond_their_bounds_keep_their_direction() -> None:
    family = function_family(modest, norm=1.0)
    kept = family.within(np.array([[3.0, -1.0, 0.0]]), 2.0**-30) * 2.0**-30
    assert kept[0] == pytest.approx([0.5, -0.5, 0.0], abs=1e-6)  # each to its own bound of 1 first: (1, -1, 0)
    round_ = function_family(modest, norm=1.0, root_norm=0.5)
    kept = round_.within(np.array([[0.8, 0.2, 0.0]]), 2.0**-30) * 2.0**-30
    assert kept[0] == pytest.approx(np.array([0.8, 0.2, 0.0]) * 0.5 / np.hypot(0.8, 0.2), abs=1e-6)


def test_what_is_not_finite_counts_as_zero() -> None:
    family = function_family(not_a_number)
    for record in universe(MIXED):
        found = units_of(family, record)
        assert found.tolist() == ([0, 0, 0] if record[1] else units_of(function_family(modest), record).tolist())


@pytest.mark.parametrize("name", ["modest", "huge", "not a number", "writing"])
def test_a_table_of_all_records_says_what_the_function_does(name: str) -> None:
    family = FAMILIES[f"function, {name}"]
    assert isinstance(family, FunctionFamily)
    table = family.tabulated()
    assert isinstance(table, TableFamily)
    for record in universe(MIXED):
        apart = units_of(table, record) - units_of(family, record)
        assert np.abs(apart).max() <= 1
    assert table.moves(UNIT).replaced <= family.moves(UNIT).replaced


def test_a_function_is_asked_for_every_record_once_and_without_data() -> None:
    asked = []

    def noting(codes: np.ndarray) -> np.ndarray:
        asked.append(tuple(codes[0].tolist()))
        assert codes.shape == (1, 2)
        return modest(codes)

    function_family(noting).tabulated()
    assert asked == universe(MIXED)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda codes: 1 / 0, "ZeroDivisionError"),
        (lambda codes: np.zeros(3), r"shape \(3,\) for one record; expected \(1, 3\)"),
        (lambda codes: np.zeros((1, 4)), r"shape \(1, 4\)"),
        (lambda codes: np.zeros((2, 3)), r"shape \(2, 3\)"),
        (lambda codes: None, "failed|shape"),
        (lambda codes: "no numbers", "failed"),
    ],
)
def test_a_function_that_fails_is_refused(function: object, message: str) -> None:
    family = function_family(function)  # type: ignore[arg-type]
    with pytest.raises(WorkloadError, match=message):
        family.coefficients(np.array([[0, 0]]))
    with pytest.raises(WorkloadError, match=message):
        family.tabulated()


def test_many_records_are_not_tabulated() -> None:
    family = FunctionFamily("many", MANY, THREE, modest, 1.0)
    assert not family.can_be_tabulated
    with pytest.raises(WorkloadError, match="records"):
        family.tabulated()


@pytest.mark.parametrize("kind", ["bits, sets", "bits, powers", "mixed, sets", "table", "function, huge"])
def test_units_that_are_too_small_are_refused(kind: str) -> None:
    family = FAMILIES[kind]
    family.moves(2.0**-36)
    for unit in (2.0**-42, 0.0, float("nan")):
        with pytest.raises(WorkloadError, match="2\\^40 units"):
            family.moves(unit)


@pytest.mark.parametrize("kind", SYMMETRIC)
def test_norm_and_largest_coefficient_are_those_of_some_record(kind: str) -> None:
    family = SYMMETRIC[kind]
    every = [np.abs(coefficients_of(family, record)) for record in universe(family.schema)]
    assert family.norm == pytest.approx(max(one.sum() for one in every))
    largest = max(one.max() for one in every)
    # In the paper the constant is one of the coefficients; a monomial may have literals that no record has together.
    assert family.largest >= largest
    if "all" not in kind and "long" not in kind:
        assert family.largest == max(largest, 0.75 if family.monomials.kind == POWERS else 0.0)


BITS = ChosenLiterals.of(bits_schema(3), None, "positive")
SETS_OF_3 = Monomials.all_sets(3, 2)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: SymmetricFamily("a", BITS, Monomials.all_sets(4, 2), (1.0, 1.0), 0, 2, 0), "monomials in 3 variables"),
        (lambda: SymmetricFamily("a", BITS, Monomials.of(3, [(0,)]), (1.0,), 0, 2, 0), "monomials in 3 variables"),
        (lambda: SymmetricFamily("a", BITS, SETS_OF_3, (1.0,), 0, 2, 0), "expected 2 finite weights"),
        (lambda: SymmetricFamily("a", BITS, SETS_OF_3, (1.0, float("nan")), 0, 2, 0), "expected 2 finite weights"),
        (lambda: SymmetricFamily("a", BITS, SETS_OF_3, (1.0, 1.0), 0, 4, 0), "found k = 4; expected 1 to 3"),
        (lambda: SymmetricFamily("a", BITS, SETS_OF_3, (1.0, 1.0), 0, 2, -1), "error of polynomials must be"),
        (lambda: TableFamily("a", MIXED, THREE, np.zeros((5, 3))), r"expected \(6, 3\)"),
        (lambda: TableFamily("a", MIXED, THREE, np.full((6, 3), np.nan)), "must be finite"),
        (lambda: TableFamily("a", MIXED, THREE, np.zeros((6, 3)), width=3), "found k = 3"),
        (lambda: TableFamily("a", MANY, THREE, np.zeros((2**17, 3))), "65,536 records"),
        (lambda: function_family(modest, norm=0.0), "L1 norm must be a finite number above 0"),
        (lambda: function_family(modest, norm=float("inf")), "a finite number above 0"),
        (lambda: function_family(modest, norm=float("nan")), "a finite number above 0"),
        (lambda: function_family(modest, root_norm=-1.0), "a number above 0"),
        (lambda: function_family(modest, low=[0.5, 0, 0]), "low <= 0 <= high"),
        (lambda: function_family(modest, high=[1.0, float("nan"), 0]), "low <= 0 <= high"),
        (lambda: function_family(modest, high=[1.0, 1.0]), r"found shape \(2,\)"),
        (lambda: function_family(huge, approximation=float("inf")), "error of polynomials must be"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(made: object, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        made()  # type: ignore[operator]
