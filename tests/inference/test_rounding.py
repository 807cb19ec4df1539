"""Weighted records as rows: whole copies, systematic resampling, searched rows between bound and start, the best roundings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.problem import FitProblem
from dpopt.inference.records.rounding import (
    codes_of,
    least_distance,
    rows_problem,
    searched_rows,
    systematic_multiplicities,
    whole_copies,
)
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from tests.inference.fits import RULED, answers, feasible_records, mixed_problem, objective

MASSES = st.lists(st.integers(0, 10**9), min_size=1, max_size=30).filter(any)


@given(MASSES, st.integers(1, 10_000))
def test_every_record_gets_floor_or_ceil_of_its_share(masses: list[int], number: int) -> None:
    given_masses, total = np.array(masses), sum(masses)
    rows = systematic_multiplicities(given_masses, number)
    assert rows.sum() == number
    points = [(2 * j + 1) * total // (2 * number) for j in range(number)]
    by_hand = np.bincount(np.searchsorted(np.cumsum(given_masses), points, side="right"), minlength=len(masses))
    assert np.array_equal(rows, by_hand)
    copies, rest = whole_copies(given_masses, number)
    assert np.array_equal(copies * total + rest, number * given_masses)
    assert ((copies <= rows) & (rows <= copies + (rest > 0))).all()
    assert number - copies.sum() <= np.count_nonzero(rest)  # fewer rows are searched than there are records


@pytest.mark.parametrize("clauses", [False, True])
@RULED
@pytest.mark.parametrize("seed", range(4))
def test_rows_come_nearer_than_resampled_ones_and_no_nearer_than_the_bound(
    seed: int, rules: ThresholdCircuit, clauses: bool
) -> None:
    """PJ-7 and PJ-8, against all tables of two rows."""
    problem = mixed_problem(seed, rules=rules)
    queries = problem.terms[clauses].queries
    assert isinstance(queries, Clauses if clauses else MarginalSet)
    every, random, number = feasible_records(problem), np.random.default_rng(seed), 2
    records = every[np.sort(random.choice(len(every), 8, replace=False))]
    masses = random.integers(1, 100, len(records))
    wanted = rows_problem(queries, records, masses, problem.sizes, rules, number)
    true = answers(queries, every)

    def distance(places: NDArray[np.int64]) -> float:
        return float(np.sum((true[:, places].sum(axis=1) - number * wanted.terms[0].values) ** 2))

    held = codes_of(records, problem.sizes)
    usable = np.flatnonzero(~FitProblem(problem.sizes, (), rules, held).infeasible(every))
    best = min(distance(np.array(places)) for places in itertools.combinations_with_replacement(usable, number))
    start = np.repeat(records, systematic_multiplicities(masses, number), axis=0)
    found = searched_rows(wanted, start, seed)
    assert found.shape == start.shape
    assert not wanted.infeasible(found).any()
    value, before = (2 * objective(wanted, one, np.full(number, 1 / number)) for one in (found, start))
    assert least_distance(queries, wanted.terms[0].values, number) <= best + 1e-9
    assert best <= value + 1e-9
    assert value <= before + 1e-9


def test_the_bound_rounds_each_marginal_to_whole_rows() -> None:
    """PJ-8: shares .5, .3, .2 of 3 rows are 1.5, .9 and .6: 1 and 1 and 1 is nearest, and rounding each cell would give 4."""
    problem = mixed_problem(0)
    marginals = problem.terms[0].queries
    assert isinstance(marginals, MarginalSet)
    one = MarginalSet(marginals.domains, np.array([[int(np.argmax(marginals.domains.counts))]], dtype=np.int32))
    shares = np.zeros(one.number_of_cells)
    shares[:3] = 0.5, 0.3, 0.2
    assert least_distance(one, shares, 3) == pytest.approx(0.5**2 + 0.1**2 + 0.4**2)
    assert least_distance(one, shares, 10) == pytest.approx(0.0, abs=1e-12)


def test_what_cannot_be_rounded_is_refused() -> None:
    with pytest.raises(ProgramError, match="at least 1, found 0"):
        systematic_multiplicities(np.ones(1, dtype=np.int64), 0)
    with pytest.raises(ProgramError, match="not all of them 0"):
        systematic_multiplicities(np.zeros(2, dtype=np.int64), 3)
