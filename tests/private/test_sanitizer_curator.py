"""Sums of coefficients: what they are, what they cost over all neighbours of tiny tables, and what of functions is trusted."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.measurements.sanitizer_sums import (
    CoefficientSums,
    CoefficientTable,
    coefficient_sums,
    sensitivity_and_scale,
)
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.queries.conjunctions.monomials import POWERS, SETS, Monomials
from dpopt.queries.polynomial_families import FunctionFamily, PolynomialFamily, TableFamily
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.exact_sanitizer_loss import (
    FAMILIES,
    THREE,
    UNIT,
    farthest,
    function_family,
    modest,
    random_table,
    sums_of,
    symmetric,
)
from tests.exact_summary_loss import MIXED, UNIVERSES
from tests.private.test_counting_curator import curator
from tests.tiny_runs import ADD_REMOVE, REPLACE, Table, bits_schema, dataset_of

TABLE: Table = ((0, 2), (1, 1), (1, 1))
FAMILY = random_table()


def what(*, scale: float = 2.0, gaussian: bool = False, unit: float = UNIT) -> CoefficientSums:
    return CoefficientSums("the coefficients", unit, scale, gaussian)


def held(family: PolynomialFamily, table: Table = TABLE) -> CoefficientTable:
    return CoefficientTable.of(dataset_of(family.schema, table), family)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_a_charge_is_of_the_farthest_neighbours(relation: NeighbouringRelation, kind: str, gaussian: bool) -> None:
    """rho = L2^2 / (2 sigma^2) and epsilon = L1 / b; exactly for predicates and tables, at least that for functions."""
    family = FAMILIES[kind]
    charge = what(gaussian=gaussian).charge(family, relation)
    apart = farthest(family, relation, squared=gaussian)
    cost = Fraction(apart, 2 * 4) if gaussian else Fraction(apart, 2)
    assert charge.relation is relation
    assert charge.parameter >= cost
    if not isinstance(family, FunctionFamily):
        # Squares of tables are floating-point sums, stated as the next whole number.
        assert charge.parameter == pytest.approx(float(cost), rel=1e-12, abs=1 / 8 + 1e-9 if kind == "table" else 0)


@pytest.mark.parametrize(("degree", "number"), [(1, 8), (2, 8 + 28), (3, 8 + 28 + 56)])
def test_charges_of_bits_are_binomial_coefficients(degree: int, number: int) -> None:
    family = symmetric(ChosenLiterals.of(bits_schema(8), None, "positive"), SETS, (1.0,) * degree)
    assert number == sum(comb(8, j) for j in range(1, degree + 1))
    for relation in (ADD_REMOVE, REPLACE):
        assert what(unit=1.0).charge(family, relation).parameter == pytest.approx(number / 2)
    paper = symmetric(ChosenLiterals.of(bits_schema(8), None, "positive"), POWERS, (1.0,) * degree)
    assert what(unit=1.0).charge(paper, REPLACE).parameter == pytest.approx(sum(8**i for i in range(1, degree + 1)) / 2)


@pytest.mark.parametrize("unit", [UNIT, 2.0**-30])
@pytest.mark.parametrize("kind", FAMILIES)
def test_sums_are_those_over_all_records(kind: str, unit: float) -> None:
    family = FAMILIES[kind]
    records = np.random.default_rng(3).integers(0, family.schema.sizes, (70, len(family.schema)))
    table = tuple(map(tuple, records.tolist()))
    found = what(unit=unit, scale=1 / unit).exact(held(family, table), ADD_REMOVE)
    assert found.tolist() == sums_of(family, table, unit).tolist()


@pytest.mark.parametrize("which", ["all", "positive"])
@pytest.mark.parametrize("basis", [SETS, POWERS])
def test_polynomials_of_a_high_degree_are_those_of_their_records(which: str, basis: str) -> None:
    schema = Schema((*bits_schema(2).attributes, Attribute("c", AttributeKind.CATEGORICAL, ("x", "y", "z"))))
    family = symmetric(ChosenLiterals.of(schema, None, which), basis, (0.5, -0.25, 1.0, 0.75, -2.0))
    table = tuple(map(tuple, np.random.default_rng(4).integers(0, schema.sizes, (40, 3)).tolist()))
    found = coefficient_sums(dataset_of(schema, table), family, UNIT)
    assert found.tolist() == sums_of(family, table).tolist()


def test_sums_beyond_64_bits_are_cut_and_never_wrap_around() -> None:
    """A record more never moves a sum by more than its own coefficient."""
    bit = Schema((Attribute("a", AttributeKind.BOOLEAN),))
    top = float(2**39)
    family = TableFamily("large", bit, Monomials.of(1, [(0,), ()]), np.array([[0.0, 0.0], [top, 0.0]]))
    other = TableFamily("low", bit, Monomials.of(1, [(0,), ()]), np.array([[0.0, 0.0], [-top, 0.0]]))
    for rows in (2**22 - 1, 2**22, 2**22 + 1):
        dataset = PrivateDataset.from_codes(bit, [np.ones(rows, dtype=np.uint8)])
        assert coefficient_sums(dataset, family, 1.0).tolist() == [min(rows * 2**39, 2**61), 0]
        assert coefficient_sums(dataset, other, 1.0).tolist() == [max(-rows * 2**39, -(2**61)), 0]


def test_a_table_with_other_attributes_is_refused() -> None:
    dataset = dataset_of(bits_schema(2), ((0, 1), (1, 1)))
    with pytest.raises(PrivateDataError, match="other attributes than those of the family"):
        CoefficientTable.of(dataset, FAMILY)


def fails_for_some(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    if codes[0].tolist() == [1, 1]:
        raise ValueError("found a record that I do not like")
    return modest(codes)


def longer_for_some(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.zeros((1, 3 + int(codes[0, 0])))


@pytest.mark.parametrize("function", [fails_for_some, longer_for_some])
def test_a_function_that_fails_costs_nothing_and_leaves_nothing(function: object) -> None:
    """Before anything is charged, on file or drawn; the same curator can be asked again."""
    events: list[str] = []
    family = function_family(function)  # type: ignore[arg-type]
    made, ledger = curator(held(family), what(), events=events)
    for _ in range(2):
        with pytest.raises(PrivateDataError, match=r"function of the family .*; nothing was spent"):
            made.measure(what())
    assert (ledger.entries, events) == ((), [])


def test_a_function_sees_one_record_at_a_time_and_each_once() -> None:
    """So that the order and the number of equal records say nothing to it."""
    seen: list[list[list[int]]] = [[], []]
    for place, table in enumerate((((1, 2), (0, 1), (1, 2), (0, 1)), ((0, 1), (1, 2)))):

        def noting(codes: NDArray[np.int64], place: int = place) -> NDArray[np.float64]:
            assert codes.shape == (1, 2)
            seen[place].append(codes[0].tolist())
            return modest(codes)

        coefficient_sums(dataset_of(MIXED, table), function_family(noting), UNIT)
    assert seen[0] == seen[1] == [[0, 1], [1, 2]]


def test_a_function_that_remembers_is_what_remains_trusted_and_a_table_of_it_is_not() -> None:
    """Its values by the number of the call depend on the other records; asked without data they do not."""

    def counting() -> FunctionFamily:
        calls = []

        def function(codes: NDArray[np.int64]) -> NDArray[np.float64]:
            calls.append(1)
            return np.full((1, 3), 0.25 * (len(calls) % 2))

        return function_family(function)

    one, two = ((0, 1), (1, 2)), ((0, 0), (0, 1), (1, 2))
    sums = [coefficient_sums(dataset_of(MIXED, table), counting(), UNIT) for table in (one, two)]
    assert np.abs(sums[0] - sums[1]).sum() <= counting().moves(UNIT).added  # here it does no harm, but could
    table = counting().tabulated()
    first, second = (coefficient_sums(dataset_of(MIXED, each), table, UNIT) for each in (one, two))
    assert (second - first).tolist() == table.units(UNIT)[0].tolist()


class Sly(TableFamily):
    """Says that nobody moves anything."""

    def moves(self, unit: float) -> object:  # type: ignore[override]
        return type(super().moves(unit))(0, 0, 0, 0)


def test_families_with_bounds_of_their_own_are_refused() -> None:
    sly = Sly("a", MIXED, THREE, np.zeros((6, 3)))
    with pytest.raises(PlanError, match="found a family of type Sly"):
        held(sly)
    with pytest.raises(PrivateDataError, match="found a Sly"):
        coefficient_sums(dataset_of(MIXED, TABLE), sly, UNIT)


@pytest.mark.parametrize("unit", [0.0, -1.0, 0.3, float("nan"), float("inf")])
def test_units_that_are_no_powers_of_two_are_refused(unit: float) -> None:
    with pytest.raises(PlanError, match="a power of two"):
        what(unit=unit)


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("bits", [2, 25, 30, 38])
def test_large_squares_are_charged_upward_and_by_almost_nothing_more(bits: int, replaced: bool) -> None:
    """Squares of 2^80 units and scales of as many bits: stated in larger units, rounded up."""
    family, scale = symmetric(UNIVERSES["mixed"], SETS, (0.7, -0.3)), 2.0 ** (bits + 3)
    moves = family.moves(2.0**-bits)
    square = moves.replaced_squared if replaced else moves.added_squared
    sensitivity, stated = sensitivity_and_scale(family, 2.0**-bits, scale, gaussian=True, replaced=replaced)
    assert sensitivity <= 2**53
    exact = Fraction(square) / Fraction(scale) ** 2
    charged = Fraction(sensitivity) / Fraction(stated) ** 2
    assert exact <= charged <= exact * (1 + Fraction(1, 2**40))
    assert (sensitivity, stated) == (square, scale) or square > 2**53
