"""SD-1 to SD-7: the nearest small database by enumeration, and bounds on boxes that hold for any multipliers."""

from __future__ import annotations

import csv
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.records.small_database import database_of, largest_difference, small_database
from dpopt.private.mechanisms.net.net_kernels import Net, certified_bound, improve, interval_bound
from dpopt.solvers.registry import get_solver
from tests.models.catalogue import MODELS
from tests.tiny_nets import all_multisets, cells, distance_of, prefixes

PAGE = MODELS / "small_database"
OPTIMA = list(csv.DictReader((PAGE / "known_optima.csv").read_text(encoding="utf-8").splitlines()))


def instance(row: dict[str, str]) -> tuple[NDArray[np.int8], list[Fraction], int, Fraction]:
    answers = np.array([[int(says) for says in line] for line in row["answers"].split()], dtype=np.int8)
    targets = [Fraction(target) for target in row["targets"].split()]
    return answers, targets, int(row["records"]), Fraction(row["objective"])


def bound_by_multipliers(
    answers: NDArray[np.int8],
    targets: list[Fraction],
    records: int,
    multipliers: list[Fraction],
    *,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> Fraction:
    """Return the bound SD-6 of multipliers (k,) on the box SD-4, in fractions; 0 where all are 0."""
    norm = sum(map(abs, multipliers), start=Fraction(0))
    if norm == 0:
        return Fraction(0)
    rewards = [
        sum((y for y, says in zip(multipliers, column, strict=True) if says), start=Fraction(0))
        for column in answers.T.tolist()
    ]
    best = sum((reward * int(count) for reward, count in zip(rewards, low, strict=True)), start=Fraction(0))
    left = records - int(low.sum())
    for element in sorted(range(len(rewards)), key=lambda x: -rewards[x]):
        taken = min(left, int(high[element] - low[element]))
        best += rewards[element] * taken
        left -= taken
    value = sum((y * records * t for y, t in zip(multipliers, targets, strict=True)), start=Fraction(0))
    return (value - best) / norm


@pytest.mark.parametrize("place", range(len(OPTIMA)))
def test_known_optima_are_those_of_all_databases(place: int) -> None:
    """SD-1 to SD-4, by listing."""
    answers, targets, records, objective = instance(OPTIMA[place])
    best = min(
        max(
            abs(sum(c for c, says in zip(counts, row, strict=True) if says) - records * target)
            for row, target in zip(answers.tolist(), targets, strict=True)
        )
        for counts in all_multisets(answers.shape[1], records)
    )
    assert best == objective


@pytest.mark.parametrize("place", range(0, len(OPTIMA), 3))
def test_a_solver_finds_the_known_optimum(place: int) -> None:
    answers, targets, records, objective = instance(OPTIMA[place])
    shares = np.array([float(target) for target in targets])
    program = small_database(answers, shares, records).linear
    counts = database_of(np.asarray(get_solver("cbc").solve(program).require_solution()))
    assert counts.sum() == records
    assert largest_difference(answers, shares, counts) == pytest.approx(float(objective), abs=1e-9)


def test_the_relaxation_of_the_worked_example_is_the_best_bound_by_multipliers() -> None:
    """SD-6 and SD-7: 1/12 by y = 1, 0, 1, -1, and by the linear relaxation."""
    answers, targets, records, objective = instance(OPTIMA[0])
    low, high = np.zeros(4, dtype=np.int64), np.full(4, records, dtype=np.int64)
    best = bound_by_multipliers(
        answers, targets, records, [Fraction(1), Fraction(0), Fraction(1), Fraction(-1)], low=low, high=high
    )
    relaxed = small_database(answers, np.array([float(t) for t in targets]), records, whole=False).linear
    value = np.asarray(get_solver("highs").solve(relaxed).require_solution())[-1]
    assert best == Fraction(1, 12) < objective
    assert value == pytest.approx(1 / 12, abs=1e-7)


NETS = [(prefixes(4), 4), (cells(2, 1), 3), (cells(2, 2), 4), (prefixes(5), 3)]
SIZE = 17


@settings(max_examples=60, deadline=None)
@given(net=st.sampled_from(range(len(NETS))), seed=st.integers(0, 10**6), scale=st.sampled_from([1.0, 64.0, 2.0**20]))
def test_bounds_of_boxes_hold_for_any_multipliers_and_are_those_of_the_page(net: int, seed: int, scale: float) -> None:
    """SD-5 and SD-6 in whole numbers: below every distance in the box; SD-6 is the bound in fractions, rounded up."""
    answers, records = NETS[net]
    generator = np.random.default_rng(seed)
    table = generator.multinomial(SIZE, generator.dirichlet(np.ones(answers.shape[1])))
    targets = records * (answers.astype(np.int64) @ table)
    inside = np.array(
        all_multisets(answers.shape[1], records)[
            int(generator.integers(10**6)) % len(all_multisets(answers.shape[1], records))
        ]
    )
    low = inside - np.minimum(inside, generator.integers(0, 3, len(inside)))
    high = inside + generator.integers(0, 3, len(inside))
    members = [
        counts
        for counts in all_multisets(answers.shape[1], records)
        if np.all(low <= counts) and np.all(counts <= high)
    ]
    nearest = min(distance_of(answers, targets.tolist(), SIZE, counts) for counts in members)
    box = (low, high, Net(answers, targets, SIZE, records))
    assert 0 <= int(interval_bound(*box)) <= nearest
    multipliers = generator.normal(size=len(answers)) * generator.integers(0, 2, len(answers))
    for _ in range(2):
        found = int(certified_bound(*box, multipliers, scale))
        whole = [Fraction(int(np.rint(y * scale))) for y in multipliers]
        shares = [Fraction(int(t), records * SIZE) for t in targets]
        exact = bound_by_multipliers(answers, shares, records, whole, low=low, high=high) * SIZE
        assert found == max(0, -((-exact.numerator) // exact.denominator))
        assert found <= nearest
        improve(*box, multipliers, 8)


def test_subgradient_steps_come_near_to_the_relaxation() -> None:
    """SD-7: with many steps, the bound reaches the optimum of the linear program to a fifth."""
    answers, records, size = cells(3, 2), 6, 1_000
    targets = np.zeros(len(answers), dtype=np.int64)
    targets[:4] = (6_000, 0, 0, 0)
    targets[4:8] = (0, 0, 0, 6_000)  # contradicts the cells before
    low, high = np.zeros(8, dtype=np.int64), np.full(8, records, dtype=np.int64)
    multipliers = np.zeros(len(answers))
    box = (low, high, Net(answers, targets, size, records))
    improve(*box, multipliers, 400)
    relaxed = small_database(answers, targets / (records * size), records, whole=False).linear
    value = size * np.asarray(get_solver("highs").solve(relaxed).require_solution())[-1]
    assert 0.8 * value < int(certified_bound(*box, multipliers, 2.0**20)) <= value + 1


@pytest.mark.parametrize(
    ("answers", "targets", "records"),
    [
        (np.ones((2, 0), dtype=np.int8), np.ones(2), 1),
        (np.ones((2, 3), dtype=np.int8), np.ones(3), 1),
        (np.full((2, 3), 2, dtype=np.int8), np.ones(2), 1),
        (np.ones((2, 3), dtype=np.int8), np.array([0.5, np.nan]), 1),
        (np.ones((2, 3), dtype=np.int8), np.ones(2), 0),
    ],
)
def test_what_is_no_instance_is_refused(answers: NDArray[np.int8], targets: NDArray[np.float64], records: int) -> None:
    with pytest.raises(ProgramError):
        small_database(answers, targets, records)
