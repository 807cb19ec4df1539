"""Sides of projected points: what they are, what they cost over all neighbours, ties, and in which order."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.curators.counting_curator import Counted
from dpopt.private.measurements.halfspace_measurement import ProjectedPoints, Sides
from dpopt.private.measurements.kernels import count_positive_sides
from dpopt.private.measurements.measurement import NumberOfRecords
from dpopt.private.readers.read_numbers import HalfspacePoints, columns_of_array, read_points
from dpopt.queries.halfspaces.halfspaces import UNIT, PointColumns, Projections, Scaling
from tests.exact_halfspace_loss import COLUMNS, UNIVERSE, point_neighbours, points_of, projections, sides_of
from tests.private.test_counting_curator import curator
from tests.tiny_runs import ADD_REMOVE, REPLACE

RELATIONS = [ADD_REMOVE, REPLACE]
BOUNDS = PointColumns(("a", "b"), Scaling.BOUNDS, ((0.0, 10.0), (-1.0, 1.0)))
UNIT_COLUMNS = PointColumns(("a", "b"), Scaling.UNIT)


def held(table: tuple[tuple[int, int], ...] = ((1, 0), (0, 1), (2, -3)), kind: str = "plane") -> ProjectedPoints:
    return ProjectedPoints.of(points_of(table), projections(kind))


def counted(kind: str, table: tuple[tuple[int, int], ...], relation: NeighbouringRelation) -> list[int]:
    positive = [sum(column) for column in zip(*(sides_of(kind, point) for point in table), strict=True)]
    return positive if relation is REPLACE else [2 * one - len(table) for one in positive]


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("kind", ["plane", "line"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_charge_of_sides_bounds_all_neighbours(relation: NeighbouringRelation, kind: str, gaussian: bool) -> None:
    """rho = L2^2 / (2 sigma^2) and epsilon = L1 / b; reached under add-remove, and on lines also under replace-one."""
    farthest = 0
    for one, other in point_neighbours(relation):
        sensitivity = np.array(counted(kind, one, relation)) - np.array(counted(kind, other, relation))
        assert set(sensitivity.tolist()) <= {-1, 0, 1}
        farthest = max(farthest, int(np.abs(sensitivity).sum()))
    _, _, m, h = projections(kind).shape
    charge = Sides(2.0, gaussian).charge(projections(kind), relation)
    cost = Fraction(m * h, 2 * 4) if gaussian else Fraction(m * h, 2)
    assert charge.parameter == pytest.approx(float(cost), rel=1e-12)
    assert charge.parameter >= cost
    assert farthest == m * h


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_charge_of_the_number_of_records(relation: NeighbouringRelation) -> None:
    found = projections("plane")
    if relation is ADD_REMOVE:
        assert NumberOfRecords(4.0, False).charge(found, relation).parameter == pytest.approx(1 / 4)
    else:
        with pytest.raises(PlanError, match="number of records is public"):
            NumberOfRecords(4.0, False).charge(found, relation)


@pytest.mark.parametrize("kind", ["plane", "line"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_sides_are_those_counted_one_by_one(relation: NeighbouringRelation, kind: str) -> None:
    table = ((1, 0), (0, 1), (2, -3))
    assert Sides(2.0, False).exact(held(table, kind), relation).tolist() == counted(kind, table, relation)


def test_a_tie_is_not_on_the_positive_side() -> None:
    """(1, 0) lies across the direction (0, 1), (1, -1) in the kernel of the second projection."""
    assert sides_of("plane", (1, 0)) == [True, False, True, True]
    assert sides_of("plane", (1, -1)) == [True, False, False, False]
    points = points_of(((1, 0), (1, -1)))
    assert count_positive_sides(points._coordinates, projections("plane").normals).tolist() == [2, 0, 1, 1]


def test_a_direction_and_its_antipode_have_all_records_but_those_of_ties_together() -> None:
    """n less the count is the count of the antipode, ties on its side: so half of |U| says all."""
    found = projections("plane")
    for table in (UNIVERSE, ((1, 0), (2, -3))):
        coordinates = points_of(table)._coordinates
        here = count_positive_sides(coordinates, found.normals)
        there = count_positive_sides(coordinates, -found.normals)
        ties = [int((coordinates.astype(np.int64) @ v == 0).sum()) for v in found.normals]
        assert (here + there + ties).tolist() == [len(table)] * 4


def test_sides_do_not_depend_on_the_other_records_or_on_their_order() -> None:
    """Products are exact whole numbers, so that no block of a matrix product rounds a record to another side."""
    generator = np.random.default_rng(2)
    found = Projections.of(40, 3, 30, 10, seed=1)
    normals = found.normals
    values = generator.integers(-UNIT, UNIT, (2500, 40))
    # Ties: each record is turned across one normal, up to the rounding of its coordinates.
    for row, normal in zip(values, normals.tolist() * 9, strict=False):
        place = int(np.argmax(np.abs(normal)))
        rest = int(sum(v * int(x) for j, (v, x) in enumerate(zip(normal, row, strict=True)) if j != place))
        row[place] = -rest // normal[place]
    coordinates = np.clip(values, -UNIT, UNIT).astype(np.int32)
    whole = count_positive_sides(coordinates, normals)
    assert np.array_equal(whole, sum(count_positive_sides(one[None, :], normals) for one in coordinates[:700])
                          + count_positive_sides(coordinates[700:][::-1], normals))  # fmt: skip
    exact = [sum(int(v) * int(x) for v, x in zip(normals[7], row, strict=True)) > 0 for row in coordinates]
    assert whole[7] == sum(exact)


def test_what_is_measured_of_points_is_charged_one_by_one() -> None:
    what: list[Counted] = [NumberOfRecords(2.0, False), Sides(2.0, False)]
    made, ledger = curator(held(), *what)
    assert [made.measure(one).charge for one in what] == list(ledger.entries)


def test_coordinates_fit() -> None:
    points = HalfspacePoints.of(np.eye(3), PointColumns(("a", "b", "c"), Scaling.UNIT))
    with pytest.raises(PrivateDataError, match="points of 3 coordinates"):
        ProjectedPoints.of(points, projections("plane"))


def test_points_are_scaled_as_declared() -> None:
    found = HalfspacePoints.of(np.array([[10.0, 0.0], [5.0, -1.0], [0.0, 1.0]]), BOUNDS)
    expected = np.array([[1, 0], [0, -1], [-1, 1]]) / np.sqrt(2)
    assert np.array_equal(found._coordinates, np.rint(expected * UNIT))
    found = HalfspacePoints.of(np.array([[3.0, 4.0], [1e-200, 0.0], [1e300, -1e300]]), COLUMNS)
    assert found._coordinates[0] / UNIT == pytest.approx([0.6, 0.8], abs=1e-7)
    assert found._coordinates[1:].tolist() == [[UNIT, 0], [round(UNIT / 2**0.5), -round(UNIT / 2**0.5)]]


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        (np.zeros((0, 2)), COLUMNS, "no rows"),
        ([[1, 2], [np.nan, 1]], COLUMNS, "row 2: has a missing value"),
        ([[1, np.inf], [np.nan, 1]], COLUMNS, "row 1, and 1 more: has a missing value"),
        ([[1, 2], [0, 0]], COLUMNS, "row 2: is the zero vector"),
        ([[1, 0], [3, 4]], UNIT_COLUMNS, "row 2: is not of length 1; normalise the rows"),
        ([[0, 0]], UNIT_COLUMNS, "is the zero vector"),
        ([[1, 0], [10.5, 0]], BOUNDS, "row 2: has a value of 'a' outside its bounds 0 to 10"),
        ([[5, 0]], BOUNDS, "zero vector .or the centre of the bounds."),
        ([[1, 2, 3]], COLUMNS, "expected 2 numbers for each record"),
    ],
)
def test_points_that_do_not_fit_are_refused(rows: object, columns: PointColumns, message: str) -> None:
    with pytest.raises(PrivateDataError, match=message):
        HalfspacePoints.of(np.asarray(rows, dtype=np.float64), columns)


def test_points_are_read_alike_from_every_kind_of_file(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(50, 3))
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    frame.insert(1, "name", "somebody")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    np.save(tmp_path / "t.npy", values)
    columns = PointColumns(("a", "b", "c"), Scaling.NORMALISE)
    expected = HalfspacePoints.of(values, columns)._coordinates
    for table in (tmp_path / "t.csv", tmp_path / "t.csv.gz", tmp_path / "t.parquet", tmp_path / "t.npy", frame, values):
        assert np.array_equal(read_points(table, columns)._coordinates, expected)
    assert columns_of_array(tmp_path / "t.npy") == 3
    assert columns_of_array(tmp_path / "t.csv") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n,3\n", "row 2: has a missing value"),
        ("a,b\n1,2\nx,3\n", "column 'a' holds a value that is not a number"),
        ("a,b\n", "no rows"),
        ("a,c\n1,2\n", "lacks 1 column"),
        ("a,b\n1,2,3\n1,2\n", "malformed row"),
    ],
)
def test_tables_that_do_not_fit_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(PrivateDataError, match=message):
        read_points(tmp_path / "t.csv", PointColumns(("a", "b"), Scaling.NORMALISE))


def test_arrays_that_hold_no_points_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.ones(4))
    with pytest.raises(PrivateDataError, match="expected one row of numbers"):
        read_points(tmp_path / "t.npy", COLUMNS)
    (tmp_path / "t.npy").write_bytes(b"\x93NUMPY\x01\x00")
    with pytest.raises(PrivateDataError, match="is not a readable .npy file"):
        read_points(tmp_path / "t.npy", COLUMNS)
