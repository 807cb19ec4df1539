"""CR-1 to CR-5: optima as enumerated and as of other solvers, and ends that hold whatever multipliers are given."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import comb, inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from dpopt.errors import ProgramError
from dpopt.models.records.consistent_records import (
    LARGEST_PATTERN,
    consistent_records,
    pattern_rows,
    proven_end,
    reversed_sense,
)
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.solvers.registry import get_solver
from tests.models.catalogue import MODELS, worked

SHAPES = [(1, 0), (2, 0), (3, 0), (0, 2), (2, 1), (1, 3)]


def patterns(counted: int, negated: int) -> list[tuple[int, ...]]:
    return list(product((0, 1), repeat=counted + negated))


def matched(counted: int, negated: int, sizes: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the rows in records and the patterns' numbers."""
    rows = pattern_rows(counted, negated, sizes)
    return rows.matrix * rows.units[:, None], rows.held


@pytest.mark.parametrize(("counted", "negated"), SHAPES)
def test_rows_count_what_each_pattern_has(counted: int, negated: int) -> None:
    """CR-3 and CR-4 column by column, against enumeration; entries are at most 1 after the division by powers of two."""
    total = counted + negated
    sizes = tuple(range(1, total + 1))
    rows = pattern_rows(counted, negated, sizes)
    assert rows.matrix.max() <= 1
    assert np.log2(rows.units).tolist() == np.rint(np.log2(rows.units)).tolist()
    full = rows.matrix * rows.units[:, None]
    columns = {}
    for z in patterns(counted, negated):
        s, u = sum(z[:counted]), sum(z[counted:])
        single = [float(all(z[at] for at in one)) for one in rows.sets]
        columns[z] = [*single, *(float(comb(s, i) * comb(u, j)) for i, j in rows.pairs)]
    assert sorted(columns.values()) == sorted(full.T.tolist())
    assert len(rows.sets) == 2**total - 1
    for size in sizes:  # a sum is the sum of its sets
        sums = sum(full[len(rows.sets) + at] for at, pair in enumerate(rows.pairs) if sum(pair) == size)
        assert sums.tolist() == sum(full[at] for at, one in enumerate(rows.sets) if len(one) == size).tolist()


def test_sets_that_always_hold_leave_few_patterns() -> None:
    rows = pattern_rows(3, 1, (1, 2), always=2)
    assert sorted(rows.held.tolist()) == [[0, 0], [2, 0], [2, 1], [3, 0], [3, 1]]
    with pytest.raises(ProgramError, match="always"):
        pattern_rows(3, 1, (1,), always=4)


def test_of_many_conditions_only_numbers_are_distinguished() -> None:
    rows = pattern_rows(LARGEST_PATTERN - 1, 2, (1, 3))
    assert rows.sets == ()
    assert rows.pairs == ((0, 1), (1, 0), (1, 2), (2, 1), (3, 0))
    assert len(rows.held) == LARGEST_PATTERN * 3


@st.composite
def problems(draw: st.DrawFn) -> tuple[MixedIntegerProgram, NDArray[np.float64]]:
    """Draw bands around the counts of some records, and these records' numbers."""
    counted, negated = draw(st.sampled_from(SHAPES))
    sizes = tuple(sorted(draw(st.sets(st.integers(1, counted + negated), min_size=1))))
    rows = pattern_rows(counted, negated, sizes)
    number = len(rows.held)
    numbers = np.array(draw(st.lists(st.integers(0, 40), min_size=number, max_size=number)), dtype=np.float64)
    numbers[0] += 1
    exact = rows.matrix @ numbers
    width = np.array(draw(st.lists(st.floats(0, 30), min_size=exact.size, max_size=exact.size))) / rows.units
    answers = np.array(draw(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=number, max_size=number)))
    program = consistent_records(
        rows.matrix, answers, exact - width, exact + width, numbers.sum(), maximize=draw(st.booleans())
    ).linear
    return program, numbers


def optimum(program: MixedIntegerProgram) -> float:
    """Return the optimum by SciPy, with a dense matrix of its own."""
    matrix = np.zeros((program.number_of_rows, program.number_of_variables))
    matrix[program.row_of_entry(), program.columns] = program.coefficients
    sign = -1.0 if program.maximize else 1.0
    found = linprog(
        sign * program.objective,
        A_ub=np.vstack((matrix[:-1], -matrix[:-1])),
        b_ub=np.concatenate((program.row_upper[:-1], -program.row_lower[:-1])),
        A_eq=matrix[-1:],
        b_eq=program.row_upper[-1:],
    )
    assert found.fun is not None
    return sign * float(found.fun)


@settings(max_examples=60)
@given(problem=problems(), wild=st.floats(0.01, 1e13), seed=st.integers(0, 10**6))
def test_no_multipliers_prove_what_is_false(
    problem: tuple[MixedIntegerProgram, NDArray[np.float64]], wild: float, seed: int
) -> None:
    """CR-5, for random multipliers of all sizes: the records that the bands were made around are never beyond."""
    program, numbers = problem
    duals = wild * np.random.default_rng(seed).normal(size=program.number_of_rows)
    exact = sum(Fraction(a) * Fraction(x) for a, x in zip(program.objective.tolist(), numbers.tolist(), strict=True))
    for multipliers in (duals, np.zeros(duals.size)):
        end = proven_end(program, multipliers)
        if end is not None:
            assert (exact <= Fraction(end)) if program.maximize else (exact >= Fraction(end))
    assert proven_end(program, duals[:-1]) is None
    assert proven_end(program, np.full(duals.size, np.nan)) is None
    assert proven_end(program, np.full(duals.size, inf)) is None


@settings(max_examples=40)
@given(problem=problems())
def test_a_solvers_multipliers_prove_the_optimum(problem: tuple[MixedIntegerProgram, NDArray[np.float64]]) -> None:
    """CR-1 to CR-5: within 1e-5 of the records of what SciPy finds for the dense matrix, and never on its wrong side."""
    program, _ = problem
    for one in (program, reversed_sense(program)):
        duals = get_solver("highs").solve(one).duals
        assert duals is not None
        end = proven_end(one, duals)
        assert end is not None
        records = float(one.row_upper[-1])
        assert end == pytest.approx(optimum(one), abs=1e-5 * records + 1e-6)


def test_without_bands_everything_is_possible() -> None:
    rows = pattern_rows(2, 0, ())
    program = consistent_records(
        rows.matrix, np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(0), np.zeros(0), 7.0, maximize=True
    ).linear
    assert proven_end(program, np.zeros(1)) == pytest.approx(7.0)
    assert proven_end(reversed_sense(program), np.zeros(1)) == pytest.approx(0.0, abs=1e-300)


def ends(problem: dict[str, Any]) -> tuple[float, float]:
    """Return both ends of an instance, proven from HiGHS's multipliers."""
    kinds = problem["kinds"]
    assert kinds == sorted(kinds)
    counted, negated = kinds.count(0), kinds.count(1)
    bands = {tuple(one["set"]): one["band"] for one in problem["sets"]}
    sums = {tuple(one["pair"]): one["band"] for one in problem["sums"]}
    rows = pattern_rows(counted, negated, tuple(range(1, len(kinds) + 1)))
    given_bands = np.array([[*bands.get(one, (-np.inf, np.inf))] for one in rows.sets]
                           + [[*sums.get(one, (-np.inf, np.inf))] for one in rows.pairs])  # fmt: skip
    used = np.isfinite(given_bands[:, 0])
    values = [problem["answers"][s][u] for s, u in rows.held.tolist()]
    occurring = np.array([value is not None for value in values])
    program = consistent_records(
        rows.matrix[used][:, occurring],
        np.array([value for value in values if value is not None], dtype=np.float64),
        (given_bands[:, 0] / rows.units)[used],
        (given_bands[:, 1] / rows.units)[used],
        problem["records"],
        maximize=False,
    ).linear
    found = []
    for one in (program, reversed_sense(program)):
        duals = get_solver("highs").solve(one).duals
        assert duals is not None
        end = proven_end(one, duals)
        assert end is not None
        found.append(end)
    return found[0], found[1]


INSTANCES = json.loads((MODELS / "consistent_records" / "known_optima.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", INSTANCES)
def test_instances_have_their_known_optima(name: str) -> None:
    """CR-1 to CR-4, both senses."""
    low, high = ends(INSTANCES[name])
    assert low == pytest.approx(float(Fraction(INSTANCES[name]["least"])), abs=1e-3)
    assert high == pytest.approx(float(Fraction(INSTANCES[name]["most"])), abs=1e-3)


def test_the_worked_example_is_that_of_the_page() -> None:
    text = worked("consistent_records")
    assert "The answer lies between 20 and 64." in text
    example = INSTANCES["worked example"]
    assert ends(example) == pytest.approx((20.0, 64.0), abs=1e-3)
    apart = {**example, "sums": []}
    assert ends(apart) == pytest.approx((15.0, 65.0), abs=1e-3)
