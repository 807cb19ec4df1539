"""Weights as rows: floor or ceil, sums, the best roundings against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import ProgramError
from dpopt.inference import FitSettings, fit
from dpopt.inference.records.rounding import (
    best_multiplicities,
    exact_multiplicities,
    systematic_multiplicities,
)
from dpopt.solvers.registry import get_solver
from tests.inference.fits import mixed_problem, objective


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=30), st.integers(1, 10_000))
def test_every_record_gets_floor_or_ceil_of_its_share(masses: list[float], number: int) -> None:
    weights = np.array(masses) / sum(masses)
    rows = systematic_multiplicities(weights, number)
    assert rows.sum() == number
    exact = weights * number
    assert (rows >= np.floor(exact - 1e-6)).all()
    assert (rows <= np.ceil(exact + 1e-6)).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.solver("cp-sat")
def test_the_best_roundings_are_the_best(seed: int) -> None:
    problem = mixed_problem(seed, noise=0.05)
    fitted = fit(problem, FitSettings(records=10, rounds=50, seed=seed))
    heaviest = np.argsort(-fitted.weights)[:8]
    records, weights = fitted.records[heaviest], fitted.weights[heaviest] / fitted.weights[heaviest].sum()
    number = 13
    exact = exact_multiplicities(problem, records, weights, number, get_solver("cp-sat"))
    floors = np.floor(weights * number).astype(np.int64)
    rest = number - int(floors.sum())

    def value(multiplicities: np.ndarray) -> float:
        kept = multiplicities > 0
        return objective(problem, records[kept], multiplicities[kept] / number)

    best = np.inf
    for chosen in itertools.combinations(range(len(floors)), rest):
        rounded = floors.copy()
        rounded[list(chosen)] += 1
        best = min(best, value(rounded))
    assert value(exact) == pytest.approx(best, rel=1e-9)
    moved = best_multiplicities(problem, records, weights, number)
    systematic = systematic_multiplicities(weights, number)
    assert moved.sum() == exact.sum() == number
    assert value(moved) <= value(systematic) * (1 + 1e-12)
    assert value(moved) <= best * 1.1
    assert fitted.objective <= min(value(moved), value(exact)) * (1 + 1e-12)
    for one, other in itertools.permutations(range(len(moved)), 2):
        if moved[one]:
            step = moved.copy()
            step[one] -= 1
            step[other] += 1
            assert value(step) >= value(moved) * (1 - 1e-9)


def test_what_cannot_be_rounded_is_refused() -> None:
    problem = mixed_problem(0)
    with pytest.raises(ProgramError, match="at least 1"):
        systematic_multiplicities(np.ones(1), 0)
    with pytest.raises(ProgramError, match="sum to 1"):
        systematic_multiplicities(np.array([0.5, 0.2]), 3)
    with pytest.raises(ProgramError, match="nothing to decide"):
        exact_multiplicities(
            problem, np.zeros((1, 4), dtype=np.int32), np.ones(1), 5, get_solver("local-search")
        )
    many = np.zeros((3001, 4), dtype=np.int32)
    with pytest.raises(ProgramError, match="up to 3,000"):
        best_multiplicities(problem, many, np.full(3001, 1 / 3001), 5)
