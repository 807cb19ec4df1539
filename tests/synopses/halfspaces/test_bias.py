"""What is said of the bias of projections: exact probabilities, moments, and the parameters of the theorem."""

from __future__ import annotations

from math import acos, pi

import numpy as np
import pytest
from scipy.special import betainc

from dpopt.errors import PlanError, ProgramError
from dpopt.inference.halfspace_regression import SideRegression, ramp_products
from dpopt.queries.halfspaces.halfspaces import Projections
from dpopt.synopses.halfspaces.bias_sample import bias_of, moment_bound, public_points
from dpopt.synopses.halfspaces.estimators import theorem_parameters


def test_the_printed_parameters_are_those_of_the_paper() -> None:
    """gamma = .5, alpha = .1, d = 10: T = 5,609, m = 1e5, |U| = 10^15,579; gamma = .9, alpha = .5: T = 1,096."""
    found = theorem_parameters(10, 0.5, 0.1, 1.0, corrected=False)
    assert (found.dimension, round(found.log10_directions)) == (5609, 15579)
    assert found.projections == pytest.approx(1e5, rel=0.01)
    found = theorem_parameters(10, 0.9, 0.5, 1.0, corrected=False)
    assert (found.dimension, round(found.log10_directions)) == (1096, 2376)
    better = theorem_parameters(10, 0.9, 0.5, 1.0, corrected=True)
    assert better.dimension < found.dimension
    assert better.log10_directions < found.log10_directions
    assert better.log10_records > better.log10_directions


@pytest.mark.parametrize("wrong", [(1, 0.5, 0.1, 1.0), (5, 0.0, 0.1, 1.0), (5, 0.5, 1.0, 1.0), (5, 0.5, 0.1, 0.0)])
def test_parameters_out_of_range_are_refused(wrong: tuple[int, float, float, float]) -> None:
    with pytest.raises(PlanError):
        theorem_parameters(*wrong, corrected=False)


def wrong_side_probability(dimension: int, cosines: np.ndarray) -> np.ndarray:
    """Return P(<A x, A y> <= 0) for unit vectors with <x, y> = t > 0 and a T x d matrix of independent normal numbers.

    The T pairs of coordinates have correlation t; with a b = ((a + b)^2 - (a - b)^2) / 4 the product is a positive multiple of
    (1 + t) chi - (1 - t) chi', two independent chi-squared numbers of T degrees of freedom. So it is the probability that a
    Beta(T/2, T/2) number is below (1 - t) / 2.
    """
    return np.asarray(betainc(dimension / 2.0, dimension / 2.0, (1.0 - cosines) / 2.0))


def test_the_probability_of_the_wrong_side_has_its_closed_forms() -> None:
    t = np.array([0.1, 0.5, 0.9])
    assert wrong_side_probability(1, t) == pytest.approx([acos(one) / pi for one in t])
    assert wrong_side_probability(2, t) == pytest.approx((1 - t) / 2)
    x = (1 - t) / 2
    assert wrong_side_probability(4, t) == pytest.approx(3 * x**2 - 2 * x**3)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_sums_of_signs_are_wrong_as_often_as_normal_matrices(dimension: int) -> None:
    """20,000 projections: a share is off by .02 with probability below 1e-6 (Hoeffding 3e-7); also for unit vectors."""
    found = Projections.of(6, dimension, 20_000, 1, seed=dimension).matrices.astype(np.float64)
    cosine = 0.5
    axes = np.eye(6)[:2]
    full = np.array([[1.0, 1, 1, 1, 1, 1], [1, -1, 1, -1, 1, -1]]) / np.sqrt(6)
    for x, across in (axes, full):
        y = cosine * x + np.sqrt(1 - cosine**2) * across
        wrong = (np.einsum("mtd,d,mte,e->m", found, x, found, y) <= 0).mean()
        assert wrong == pytest.approx(float(wrong_side_probability(dimension, np.array([cosine]))[0]), abs=0.02)


def test_single_signs_are_wrong_more_often_on_sparse_vectors() -> None:
    """Why entries add up 63 signs: with single ones the products of a unit vector are often 0."""
    x = np.eye(6)[0]
    y = (np.eye(6)[0] + np.eye(6)[1]) / np.sqrt(2)
    shares = {}
    for copies in (1, 63):
        found = Projections.of(6, 2, 20_000, 1, seed=5, copies=copies).matrices.astype(np.float64)
        shares[copies] = (np.einsum("mtd,d,mte,e->m", found, x, found, y) <= 0).mean()
    expected = float(wrong_side_probability(2, np.array([2**-0.5]))[0])
    assert shares[63] == pytest.approx(expected, abs=0.02)
    assert shares[1] == pytest.approx(0.25, abs=0.02)
    assert expected < 0.15


@pytest.mark.parametrize("dimension", [2, 3, 4, 10])
@pytest.mark.parametrize("ramp", [0.3, 0.7, 3.0])
def test_products_of_a_ramp_and_a_side_are_their_means(dimension: int, ramp: float) -> None:
    """400,000 points of the sphere: a mean is off by .008 with probability below 1e-10."""
    generator = np.random.default_rng(1)
    points = generator.normal(size=(400_000, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    cosines, products = ramp_products(dimension, ramp)
    for angle in (0.0, 0.4, 1.2, pi / 2, 2.5):
        sides = np.sign(points[:, 0] * np.cos(angle) + points[:, 1] * np.sin(angle))
        mean = (np.clip(points[:, 0] / ramp, -1, 1) * sides).mean()
        assert np.interp(np.cos(angle), cosines, products) == pytest.approx(mean, abs=0.008)


def test_the_regression_is_the_least_squares_fit() -> None:
    """Against ordinary ridge regression on 200,000 points."""
    generator = np.random.default_rng(2)
    normals = generator.normal(size=(12, 4))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    points = generator.normal(size=(200_000, 4))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    variance = 0.05
    query = np.array([0.5, -0.5, 0.5, 0.5])
    sides = np.sign(points @ normals.T)
    target = np.clip(points @ query / 0.6, -1, 1)
    gram = sides.T @ sides / len(points) + (variance + 0.2) * np.eye(12)
    expected = np.linalg.solve(gram, sides.T @ target / len(points))
    found = SideRegression(normals, variance, (0.6, 2.0)).weights(query[None, :])
    assert found.shape == (1, 2, 12)
    assert found[0, 0] == pytest.approx(expected, abs=0.01)


def test_a_normal_that_is_zero_gets_no_weight() -> None:
    normals = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    found = SideRegression(normals, 0.0, (0.5,)).weights(np.array([[1.0, 0.0]]))[0, 0]
    assert found[1] == 0
    assert found[0] > 0.5


@pytest.mark.parametrize(
    ("variance", "ramps"), [(-1.0, (0.5,)), (float("nan"), (0.5,)), (float("inf"), (0.5,)), (1.0, (0.0,))]
)
def test_a_regression_that_makes_no_sense_is_refused(variance: float, ramps: tuple[float, ...]) -> None:
    with pytest.raises(ProgramError):
        SideRegression(np.eye(6), variance, ramps)


def test_public_points_have_their_margins() -> None:
    query = np.array([0.6, 0.0, 0.8, 0.0])
    found = public_points(query, np.array([0.3, 1.0]), 50, seed=4)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1.0)
    assert found[:50] @ query == pytest.approx(0.3)
    assert found[50:] @ query == pytest.approx(1.0)
    assert np.abs(found[:50].mean(axis=0) - 0.3 * query).max() < 0.4


def test_a_moment_bound_holds_for_any_distribution() -> None:
    """Markov's inequality: of |e| with these moments at most a share beta lies above it."""
    errors = np.abs(np.random.default_rng(0).normal(size=100_000)) * 0.05
    moments = tuple(float((errors**power).mean()) for power in range(2, 13, 2))
    for beta in (0.05, 1e-3):
        bound = moment_bound(moments, beta)
        assert (errors > bound).mean() <= beta
        assert bound < 0.3


def test_records_that_do_not_know_the_projections_are_within_the_bound() -> None:
    """60 tables of a single cluster at the worst place they can be, one seed of projections each: 5 % may be outside."""
    outside = 0
    generator = np.random.default_rng(3)
    for seed in range(60):
        found = Projections.of(5, 2, 60, 4, seed=seed)
        normals = found.unit_normals
        query = generator.normal(size=5)
        query /= np.linalg.norm(query)
        regression = SideRegression(normals, 0.0, (0.3, 0.5, 0.8))
        bias = bias_of(query, regression.weights(query[None, :])[0], normals, 0.5, seed=1, turns=64)
        across = generator.normal(size=5)
        across -= (across @ query) * query
        x = 0.5 * query + np.sqrt(0.75) * across / np.linalg.norm(across)
        counted = float(np.where(normals @ x > 0, 1.0, -1.0) @ bias.weights)
        outside += abs(counted - 1.0) / 2.0 > bias.bound(0.05)
    # 60 trials of probability .05 at most: 15 or more of them with probability below 1e-6.
    assert outside < 15
