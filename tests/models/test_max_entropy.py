"""Maximum entropy: dual ascent over millions of cells, on small universes, beside CVXPY and by hand (ME-1 to ME-7)."""

from __future__ import annotations

from itertools import pairwise
from math import log

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.inference.distribution.fit import Distribution, Measured, partition_of
from dpopt.inference.distribution.universe import ProductUniverse
from dpopt.models.records.max_entropy import EntropyTerm, entropy_bracket
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.lying_solvers import POINTS, Lying
from tests.models.catalogue import worked
from tests.tiny_runs import sized_schema

SCHEMA = sized_schema(a=2, b=3, c=2)
UNIVERSE = ProductUniverse(Domains.of(SCHEMA, occurring=False), np.arange(3))
PAIRS = parse_workload("marginals:2", SCHEMA).marginals
CLAUSES = parse_workload("threshold:1of2,count=4,seed=2", SCHEMA).clauses


def measured(query: MarginalSet | Clauses, values: NDArray[np.float64], slack: float, weight: float) -> Measured:
    high, low, labels, run = partition_of(UNIVERSE, query)
    return Measured(high, low, labels, run, values, slack, weight)


def parts_of(one: Measured) -> list[list[int]]:
    """Return the cells of each part, found by the places of all cells on the small table."""
    labels = one.labels[(one.high[:, None] + one.low[None, :]).reshape(-1)]
    return [np.flatnonzero(labels == part).tolist() for part in range(len(one.values))]


def noisy_problem(seed: int) -> tuple[NDArray[np.float64], list[Measured]]:
    """Return a first distribution, with cells ruled out, and contradictory measurements of marginals and clauses."""
    generator = np.random.default_rng(seed)
    start = generator.random(UNIVERSE.cells) * (generator.random(UNIVERSE.cells) < 0.9)
    start /= start.sum()
    assert PAIRS is not None
    members = []
    for number in range(len(PAIRS)):
        cells = int(PAIRS.cells()[number])
        values = generator.dirichlet(np.ones(cells)) + 0.03 * generator.standard_normal(cells)
        members.append(measured(PAIRS.take([number]), values, *((0.0, 8.0), (0.02, 60.0), (0.1, 5.0))[number % 3]))
    for number in range(len(CLAUSES)):
        yes = float(generator.random())
        members.append(measured(CLAUSES.take([number]), np.array([1 - yes, yes]), 0.05, 20.0))
    return start, members


@pytest.mark.parametrize("seed", range(4))
def test_dual_ascent_proves_its_distribution(seed: int) -> None:
    """ME-1 to ME-6: a gap of zero; the textbooks' test compares the distribution with CVXPY's."""
    start, members = noisy_problem(seed)
    distribution = Distribution(UNIVERSE, start)
    for _ in range(5_000):
        if distribution.ascend(members) < 1e-12:
            break
    objective, bound = distribution.bracket(members)
    assert bound <= objective + 1e-9
    assert objective - bound < 1e-7
    assert distribution.p.sum() == pytest.approx(1, abs=1e-9)
    assert np.all(distribution.p[start == 0] == 0)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.solver("clarabel")
def test_a_solver_finds_the_distribution_of_dual_ascent(seed: int) -> None:
    (start, members), (_, others) = noisy_problem(seed), noisy_problem(seed)
    begun, exact = Distribution(UNIVERSE, start), Distribution(UNIVERSE, start)
    begun.ascend(members)
    for _ in range(5_000):
        if exact.ascend(others) < 1e-12:
            break
    before = begun.bracket(members)
    objective, bound, who = begun.solve(members, "clarabel")
    assert who.startswith("clarabel")
    assert who.endswith(": optimal")
    assert before[1] - 1e-12 <= bound <= objective < before[0]
    assert objective - bound < 1e-6
    assert objective == pytest.approx(exact.bracket(others)[0], abs=1e-6)
    assert np.abs(begun.p - exact.p).max() < 1e-3
    assert np.all(begun.p[start == 0] == 0)


@pytest.mark.parametrize("lie", POINTS)
def test_a_solver_that_lies_changes_no_distribution(lie: str) -> None:
    start, members = noisy_problem(0)
    distribution = Distribution(UNIVERSE, start)
    distribution.ascend(members)
    before, bracket = distribution.p.copy(), distribution.bracket(members)
    objective, bound, who = distribution.solve(members, Lying(POINTS[lie]))
    assert "found no" in who
    assert np.array_equal(distribution.p, before)
    assert objective == bracket[0]
    assert bracket[1] <= bound <= objective


def test_the_dual_value_rises_and_stays_below_every_objective() -> None:
    """ME-5, at every step: also where multipliers are far from best."""
    start, members = noisy_problem(9)
    distribution = Distribution(UNIVERSE, start)
    bounds, objectives = [], []
    for _ in range(10):
        for one in members:
            distribution.ascend([one])
            objective, bound = distribution.bracket(members)
            bounds.append(bound)
            objectives.append(objective)
    assert all(after >= before - 1e-12 for before, after in pairwise(bounds))
    assert max(bounds) <= min(objectives) + 1e-12


def test_the_relative_entropy_is_known_without_a_pass_over_the_cells() -> None:
    """ME-4: L + sum theta s is KL(p || p0)."""
    start, members = noisy_problem(3)
    distribution = Distribution(UNIVERSE, start)
    for _ in range(3):
        distribution.ascend(members)
    p, held = distribution.p, start > 0
    entropy = float(np.sum(p[held] * np.log(p[held] / start[held])))
    terms = [
        EntropyTerm(distribution.parts(one), distribution.parts(one), one.multipliers, 0.0, 1.0) for one in members
    ]
    assert entropy_bracket(distribution.normalizer, terms)[0] == pytest.approx(entropy, abs=1e-10)


def test_a_round_raises_the_dual_value_by_what_the_theorem_says() -> None:
    """ME-7: by 2 w g^2 / (4 + w) at least, g the distance to the slack, from any state of the others."""
    start, members = noisy_problem(5)
    distribution = Distribution(UNIVERSE, np.full(UNIVERSE.cells, 1 / UNIVERSE.cells))
    known: list[Measured] = []
    for one in members[3:]:
        share = float(distribution.parts(one)[1])
        gap = abs(float(one.values[1]) - share) - one.slack
        before = distribution.bracket(known)[1]
        known.append(one)
        distribution.ascend([one])
        raised = distribution.bracket(known)[1] - before
        if gap > 0:
            assert raised >= 2 * one.weight * gap**2 / (4 + one.weight) - 1e-12
        distribution.ascend(known)
    assert start.sum() == pytest.approx(1)


def test_the_worked_example_of_the_page() -> None:
    bit = Schema((Attribute("a", AttributeKind.CATEGORICAL, values=(0, 1)),))
    universe = ProductUniverse(Domains.of(bit, occurring=False), np.arange(1))
    marginal = parse_workload("marginals:1", bit).marginals
    assert marginal is not None
    distribution = Distribution(universe)
    high, low, labels, run = partition_of(universe, marginal)
    one = Measured(high, low, labels, run, np.array([0.1, 0.9]), 0.1, 10 * log(3))
    distribution.ascend([one])
    np.testing.assert_allclose(distribution.p, [0.25, 0.75], atol=1e-12)
    np.testing.assert_allclose(one.multipliers, [-log(3) / 2, log(3) / 2], atol=1e-12)
    assert distribution.bracket([one]) == pytest.approx((0.1583, 0.1583), abs=5e-5)
    assert "0.1583" in worked("max_entropy")
