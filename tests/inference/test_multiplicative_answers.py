"""Answers of a distribution over a universe: summed, transformed and clause by clause, beside plain sums; and its records."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.distribution import answers as multiplicative_answers
from dpopt.inference.distribution.answers import AnswerSheet
from dpopt.inference.distribution.fit import UNITS, Distribution, Measured, partition_of, pulled_moves, weighted_cells
from dpopt.inference.distribution.kernels import walsh_hadamard
from dpopt.inference.distribution.universe import ProductUniverse
from dpopt.queries.workloads.workload import parse_workload, workload_from_json
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Attribute, AttributeKind, Schema


def schema_of(*sizes: int) -> Schema:
    return Schema(
        tuple(
            Attribute(
                f"a{place}", AttributeKind.CATEGORICAL, values=tuple(range(size)), occurring=tuple(range(size))[::2]
            )
            for place, size in enumerate(sizes)
        )
    )


MIXED, BITS = schema_of(3, 2, 7, 2, 5), schema_of(2, 2, 2, 2, 2, 2, 2, 2)
CASES = [
    (MIXED, "marginals:3"), (MIXED, "marginals:1"), (MIXED, "marginals:5"), (MIXED, "marginals:2,occurring"),
    (MIXED, "conjunctions:3,count=60,seed=4"), (MIXED, "threshold:2of4,count=60,seed=4"),
    (MIXED, "parity:3,count=60,seed=4"), (BITS, "parity:3"), (BITS, "parity:2,count=20,seed=1"),
    (BITS, "threshold:1of3,count=30,seed=2"), (BITS, "conjunctions:1,count=12,seed=2"),
]  # fmt: skip


def probabilities(cells: int, seed: int = 0) -> NDArray[np.float64]:
    p = np.random.default_rng(seed).random(cells) ** 4
    return np.asarray(p / p.sum())


@pytest.mark.parametrize(("schema", "text"), CASES)
def test_answers_are_those_of_all_records_with_their_masses(schema: Schema, text: str) -> None:
    workload = parse_workload(text, schema)
    domains = workload.marginals.domains if workload.marginals else Domains.of(schema, occurring=False)
    universe = ProductUniverse(domains, np.arange(len(schema)))
    p = probabilities(universe.cells)
    records = universe.records(np.arange(universe.cells), np.zeros(len(schema), dtype=np.int32))
    assert len(np.unique(records, axis=0)) == universe.cells
    sheet = AnswerSheet(universe, workload.queries)
    np.testing.assert_allclose(sheet.of(p), workload.answers_on(records, p), atol=1e-12)
    np.testing.assert_allclose(
        sheet.of(probabilities(universe.cells, 1)),
        workload.answers_on(records, probabilities(universe.cells, 1)),
        atol=1e-12,
    )


@pytest.mark.parametrize(("schema", "text"), CASES)
def test_parts_of_measurements_are_their_answers(schema: Schema, text: str) -> None:
    """A query's part 1 has its answer; a marginal's parts have those of its cells; factors multiply what they should."""
    workload = parse_workload(text, schema)
    domains = workload.marginals.domains if workload.marginals else Domains.of(schema, occurring=False)
    universe = ProductUniverse(domains, np.arange(len(schema)))
    distribution = Distribution(universe, probabilities(universe.cells))
    answers = AnswerSheet(universe, workload.queries).of(distribution.p)
    wholes = workload.marginals
    for number in range(min(6, len(wholes) if wholes is not None else len(workload))):
        query = wholes.take([number]) if wholes is not None else workload.clauses.take([number])
        high, low, labels, run = partition_of(universe, query)
        count = int(labels.max()) + 1
        one = Measured(high, low, labels, run, np.zeros(max(count, 2)), 0.0, 1.0)
        parts = distribution.parts(one)
        expected = (
            answers[wholes.starts[number] : wholes.starts[number + 1]] if wholes is not None else [answers[number]]
        )
        np.testing.assert_allclose(parts[:count] if wholes is not None else parts[1:], expected, atol=1e-12)
        changed = Distribution(universe, distribution.p)
        factors = np.arange(1.0, len(one.values) + 1)
        changed.multiply(one, factors)
        np.testing.assert_allclose(changed.parts(one), parts * factors, atol=1e-12)


def test_a_query_that_repeats_one_is_held_once_more() -> None:
    listed = [[["a0", "=", 1]], [["a0", "=", 1]], {"literals": [["a1", "=", 0], ["a2", "!=", 3]], "accepted": [0, 2]}]
    workload = workload_from_json({"dpopt_workload": 1, "queries": listed}, MIXED)
    universe = ProductUniverse(Domains.of(MIXED, occurring=False), np.array([0, 1, 2]))
    p = probabilities(universe.cells)
    records = universe.records(np.arange(universe.cells), np.zeros(5, dtype=np.int32))
    np.testing.assert_allclose(
        AnswerSheet(universe, workload.queries).of(p), workload.answers_on(records, p), atol=1e-12
    )


def test_the_transform_is_its_own_inverse() -> None:
    values = probabilities(64)
    twice = values.copy()
    walsh_hadamard(twice)
    assert twice[0] == pytest.approx(1)
    walsh_hadamard(twice)
    np.testing.assert_allclose(twice / 64, values, atol=1e-15)


def test_a_sweep_is_the_same_as_single_steps() -> None:
    """Whole passes that multiply for one measurement and add for the next, over two halves of a universe in two threads."""
    schema = schema_of(*[2] * 18)
    workload = parse_workload("marginals:2,count=4,seed=3", schema)
    wholes = workload.marginals
    assert wholes is not None
    universe = ProductUniverse(wholes.domains, np.arange(18))
    members = []
    for number in range(4):
        high, low, labels, run = partition_of(universe, wholes.take([number]))
        members.append(Measured(high, low, labels, run, np.array([0.4, 0.3, 0.2, 0.1]), 0.01, 40.0))
    together, alone = Distribution(universe), Distribution(universe)
    together.ascend(members)
    for one in members:
        one.multipliers = np.zeros(4)
    for one in members:
        alone.ascend([one])
    np.testing.assert_allclose(together.p, alone.p, rtol=1e-9)


def test_the_move_of_a_query_is_predicted() -> None:
    universe = ProductUniverse(Domains.of(BITS, occurring=False), np.arange(8))
    workload = parse_workload("parity:2,count=5,seed=1", BITS)
    members = []
    for number in range(5):
        high, low, labels, run = partition_of(universe, workload.clauses.take([number]))
        members.append(Measured(high, low, labels, run, np.array([0.2, 0.8]), 0.05, 30.0))
    distribution = Distribution(universe, probabilities(256))
    distribution.ascend(members[:2])
    shares = AnswerSheet(universe, workload.queries).of(distribution.p)
    moves = pulled_moves(members, shares)
    for number, one in enumerate(members):
        copy = Distribution(universe, distribution.p)
        kept = one.multipliers.copy()
        assert copy.ascend([one]) == pytest.approx(float(moves[number]), abs=1e-10)
        one.multipliers = kept


@pytest.mark.parametrize("seed", range(40))
def test_noise_beyond_all_probability_is_fitted_without_a_warning(seed: int) -> None:
    """Shares that are off by hundreds of noise scales: pulls underflow, and the distribution and its bracket stay numbers."""
    generator = np.random.default_rng(seed)
    workload = parse_workload("marginals:2", schema_of(2, 2, 3))
    marginals, weight = workload.marginals, 10.0 ** generator.integers(1, 6)
    assert marginals is not None
    universe = ProductUniverse(marginals.domains, np.arange(3))
    distribution, members = Distribution(universe), []
    for number in range(3):
        one = marginals.take([number])
        values = generator.normal(size=one.number_of_cells) * 10.0 ** generator.uniform(-1, 1.5)
        members.append(Measured(*partition_of(universe, one), values, 1 / weight, weight))
    with warnings.catch_warnings(action="error"), np.errstate(all="warn", under="ignore"):
        for _ in range(20):
            distribution.ascend(members)
        objective, bound = distribution.bracket(members)
    assert distribution.p.sum() == pytest.approx(1)
    assert -1e-9 * abs(objective) <= objective - bound < np.inf


def test_a_universe_beyond_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = schema_of(*[2] * 27)
    with pytest.raises(ProgramError, match="134,217,728 cells"):
        ProductUniverse(Domains.of(schema, occurring=False), np.arange(27))
    universe = ProductUniverse(Domains.of(MIXED, occurring=False), np.arange(5))
    monkeypatch.setattr(multiplicative_answers, "MOST_TABLE_CELLS", 100)
    with pytest.raises(ProgramError, match="held"):
        AnswerSheet(universe, parse_workload("marginals:3", MIXED).queries)


@pytest.mark.parametrize("most", [1, 7, 40, 10_000])
def test_weighted_cells_stand_for_the_distribution(most: int) -> None:
    """Sums over runs of cells are right to the threshold; large cells keep their mass; all of it where there is room."""
    p = probabilities(1_000, 3)
    p[::3] = 0
    p /= p.sum()
    cells, weights = weighted_cells(p, most)
    assert len(cells) <= most + 1
    assert np.all(np.diff(cells) > 0)
    assert np.all(p[cells] > 0)
    shares = np.zeros(1_000)
    shares[cells] = weights / UNITS
    kept = most >= np.count_nonzero(p)
    threshold = 1e-6 if kept else 2 / most
    assert np.abs(np.cumsum(shares) - np.cumsum(p)).max() <= threshold
    if most == 40:
        large = p > 0.05
        np.testing.assert_allclose(shares[large], p[large], atol=1e-9)
