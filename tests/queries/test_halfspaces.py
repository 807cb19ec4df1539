"""Public projections and canonical directions: exact, the same for ever, and refused where sums could round."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from dpopt.errors import PlanError, WorkloadError
from dpopt.files.codec import decode, encode
from dpopt.queries.halfspaces.halfspaces import (
    COPIES,
    DIRECTION_UNIT,
    MOST_COORDINATES,
    UNIT,
    PointColumns,
    Projections,
    Scaling,
    canonical_directions,
    unit_queries,
    unit_query,
)
from dpopt.queries.halfspaces.kernels import weighted_sides


def test_projections_are_the_same_for_ever() -> None:
    found = Projections.of(7, 2, 5, 4, seed=11)
    digest = hashlib.sha256(found.matrices.astype("<i8").tobytes()).hexdigest()
    assert digest[:16] == DIGEST


DIGEST = "20596b23b96d1893"


def test_one_copy_gives_signs_and_more_give_sums_of_signs() -> None:
    signs = Projections.of(10, 3, 40, 5, seed=1, copies=1).matrices
    assert set(np.unique(signs).tolist()) == {-1, 1}
    assert abs(signs.mean()) < 0.15
    sums = Projections.of(10, 3, 400, 5, seed=1).matrices
    assert set(np.unique(sums % 2).tolist()) == {1}
    # 12,000 numbers of variance 63: their mean square is off by 3 % with probability below 1e-5.
    assert (sums**2).mean() == pytest.approx(COPIES, rel=0.06)


def test_no_sum_of_products_can_leave_the_whole_numbers_of_a_double() -> None:
    """The length of a point, a projection and a direction at most, times each other (Cauchy and Schwarz)."""
    point = UNIT * 1.001
    for d in (2, 100, MOST_COORDINATES // 16):
        normal = COPIES * np.sqrt(MOST_COORDINATES) * DIRECTION_UNIT * 1.001
        assert point * normal < 2**53, d


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 8])
def test_canonical_directions_are_spread_and_never_parallel(dimension: int) -> None:
    number = 1 if dimension == 1 else 12
    found = canonical_directions(dimension, number).astype(np.float64)
    lengths = np.linalg.norm(found, axis=1)
    assert lengths == pytest.approx(DIRECTION_UNIT, rel=1e-3)
    products = np.abs(found @ found.T / np.outer(lengths, lengths)) - np.eye(number)
    assert products.max(initial=0.0) < (np.cos(np.pi / 12) + 1e-3 if dimension == 2 else 0.9)


def test_directions_of_the_plane_stand_by_angle_within_a_half_circle() -> None:
    for number in (1, 2, 7, 64, 512):
        found = canonical_directions(2, number).astype(np.float64)
        angles = np.arctan2(found[:, 1], found[:, 0])
        assert angles[0] > 0
        assert angles[-1] < np.pi
        assert (np.diff(angles) > 0).all()


def test_normals_are_projections_backwards() -> None:
    found = Projections.of(6, 3, 4, 5, seed=2)
    x = np.arange(-3, 3)
    sides = np.einsum("hT,mTd,d->mh", found.directions, found.matrices, x).ravel()
    assert np.array_equal(found.normals @ x, sides)
    assert np.linalg.norm(found.unit_normals, axis=1) == pytest.approx(1.0)


def test_weighted_sides_add_up() -> None:
    generator = np.random.default_rng(0)
    points, normals, weights = (generator.normal(size=shape) for shape in ((9, 4), (7, 4), (2, 7)))
    sums = np.empty((9, 2))
    weighted_sides(points, np.ascontiguousarray(normals.T), weights, sums)
    assert sums == pytest.approx(np.where(points @ normals.T > 0, 1.0, -1.0) @ weights.T)


@pytest.mark.parametrize(
    ("columns", "dimension", "number", "directions", "seed", "copies"),
    [
        (1, 1, 3, 1, 0, 63), (5, 0, 3, 1, 0, 63), (5, 17, 3, 1, 0, 63), (MOST_COORDINATES, 2, 3, 1, 0, 63),
        (5, 2, 0, 1, 0, 63), (5, 2, 3, 0, 0, 63), (5, 2, 20_000, 2, 0, 63), (5, 1, 3, 2, 0, 63),
        (5, 2, 3, 4, -1, 63), (5, 2, 3, 4, 0, 0), (5, 2, 3, 4, 0, 64),
    ],
)  # fmt: skip
def test_projections_out_of_range_are_refused(
    columns: int, dimension: int, number: int, directions: int, seed: int, copies: int
) -> None:
    with pytest.raises(PlanError):
        Projections.of(columns, dimension, number, directions, seed=seed, copies=copies)


def test_projections_by_hand_are_checked() -> None:
    good = Projections.of(3, 2, 2, 2, seed=0)
    for matrices, directions in (
        (good.matrices * 1000, good.directions),
        (good.matrices, good.directions * 2),
        (good.matrices, good.directions * 0),
        (good.matrices, np.ones((2, 3), dtype=np.int64)),
        (good.matrices[0], good.directions),
    ):
        with pytest.raises(PlanError):
            Projections(matrices, directions)


@pytest.mark.parametrize(
    ("names", "scaling", "bounds"),
    [
        (("a",), Scaling.UNIT, ()),
        (("a", "a"), Scaling.UNIT, ()),
        (("a", "b"), Scaling.BOUNDS, ((0.0, 1.0),)),
        (("a", "b"), Scaling.UNIT, ((0.0, 1.0), (0.0, 1.0))),
        (("a", "b"), Scaling.BOUNDS, ((0.0, 1.0), (1.0, 1.0))),
        (("a", "b"), Scaling.BOUNDS, ((0.0, 1.0), (0.0, float("inf")))),
    ],
)
def test_columns_that_make_no_sense_are_refused(
    names: tuple[str, ...], scaling: Scaling, bounds: tuple[tuple[float, float], ...]
) -> None:
    with pytest.raises(PlanError):
        PointColumns(names, scaling, bounds)


def test_columns_are_read_back() -> None:
    columns = PointColumns(("a", "b"), Scaling.BOUNDS, ((0.0, 1.0), (-2.0, 2.5)))
    assert decode(PointColumns, encode(columns), "columns") == columns


def test_queries_are_directions() -> None:
    assert unit_query("3, 4", 2) == pytest.approx([0.6, 0.8])
    for text in ("1", "1,2,3", "a,b", "0,0", "nan,1", "inf,1"):
        with pytest.raises(WorkloadError):
            unit_query(text, 2)
    with pytest.raises(WorkloadError):
        unit_queries(np.zeros((0, 2)), 2)
