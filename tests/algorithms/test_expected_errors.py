"""Expected errors of residuals: the formula, populations, and a played run on records that are drawn from one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpopt.algorithms import registry
from dpopt.algorithms.measured import expected as module
from dpopt.algorithms.measured.algorithm import MeasuredAlgorithm
from dpopt.algorithms.measured.expected import (
    FOUND,
    LEVELS,
    PREDICTED,
    MarginalParts,
    Population,
    likely_largest,
    predict_residuals,
)
from dpopt.algorithms.measured.known import Known
from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.algorithms.measured.stages import sets_of
from dpopt.algorithms.options import PlanRequest, Projection
from dpopt.algorithms.run_release import run_release
from dpopt.inference.interactions import PUBLIC_DISTANCES
from dpopt.queries.counting.kernels import shares_on_records
from dpopt.queries.residuals import independent_shares
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.job import Job
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.small_runs import ADD_REMOVE, REPLACE
from tests.algorithms.test_residuals import request
from tests.tiny_runs import dataset_of

SIZES = (4, 3, 5, 2, 6)
ROWS = 20_000
SCHEMA = Schema(
    tuple(
        Attribute(name, AttributeKind.CATEGORICAL, values=tuple(map(str, range(size))))
        for name, size in zip("abcde", SIZES, strict=True)
    )
)


def plan_for(rho: float, asked: Workload, size: int = ROWS, relation: Any = ADD_REMOVE) -> MeasuredPlan:
    budget = request(rho).budget
    return MeasuredAlgorithm[Any]().plan(PlanRequest(size, relation, budget, Projection()), asked)


def expected_once(asked: MarginalParts, population: Population, scales: np.ndarray, x: np.ndarray) -> Any:
    counts = ROWS * independent_shares(asked.sets, population.shares)
    return asked.expected(counts, scales, x, ROWS)


def drawn(population: Population, seed: int) -> np.ndarray:
    """Return records whose columns are independent, with the shares of a population."""
    generator, ends = np.random.default_rng(seed), np.cumsum(SIZES)
    columns = [
        generator.choice(size, ROWS, p=population.shares[end - size : end])
        for size, end in zip(SIZES, ends.tolist(), strict=True)
    ]
    return np.stack(columns, axis=1).astype(np.int32)


@pytest.mark.parametrize("rho", [0.003, 0.1])
def test_the_formula_agrees_with_a_played_run(rho: float, tmp_path: Path) -> None:
    # On columns that are independent, scales are those of the draw: counts vary by their own size, t = 1 / n. In 40 runs each
    # the measured error was .70 to .99 times the formula (medians .84 and .91, standard deviation of its logarithm at most
    # .08) and .95 to 1.54 times what was found (1.20 and 1.12; .12): the false-alarm rate is below 1e-3, and noise of twice
    # or half the scale is refused nearly always.
    asked = parse_workload("marginals:3", SCHEMA)
    assert asked.marginals is not None
    plan, sets = plan_for(rho, asked), sets_of(asked)[1]
    population = Population.public(sets, 3)
    records = drawn(population, 1)
    made = run_release(dataset_of(SCHEMA, records.tolist()), Job(plan, SCHEMA, asked, {}, {}), tmp_path / "release")
    assert made.records is not None
    sizes = np.array(SIZES)
    apart = shares_on_records(asked.marginals, made.records.distinct, sizes, made.records.weights) - shares_on_records(
        asked.marginals, records, sizes
    )
    scales = np.where(sets.widths() == 1, 1e6, 1 / ROWS)
    spent = sum(stage.rho for stage in plan.stages if not stage.distances)
    x = module._precisions_of(asked.marginals, sets, scales, ROWS, spent, (3, 0.0))
    formula = expected_once(MarginalParts.of(asked.marginals), population, scales, x)
    measured = float(np.abs(apart).mean())
    assert 0.6 * formula.mean_error < measured < 1.15 * formula.mean_error
    found = made.statement["accuracy"]["expected"]
    assert found["low"] < found["mean_error"] < found["high"]
    assert 0.7 * found["mean_error"] < measured < 1.9 * found["mean_error"]
    assert found["distance"] == pytest.approx(found["mean_error"] * len(asked) / len(asked.marginals) / 2, rel=1e-4)
    assert found["low"] / FOUND[0] == pytest.approx(found["high"] / FOUND[2], rel=1e-4)


def test_unmeasured_sets_are_off_by_expected_distances_and_the_largest_error_lies_between() -> None:
    """Single columns alone are measured; of even cells a distance of d is a scale of 2 pi d^2 / cells (EE-3)."""
    asked = parse_workload("marginals:3", SCHEMA)
    plan = plan_for(0.01, asked)
    known = Known(Job(plan, SCHEMA, asked, {}, {}), plan)
    cells, single = known.sets.cells(), known.sets.widths() == 1
    known.counts, known.precision[single] = np.repeat(ROWS / cells, cells), 30.0**-2
    known.likely_scales[single], known.expected_distances[~single] = 1e6, 0.05
    parts, scales = MarginalParts.of(known.marginals), np.where(single, 1e6, 2 * np.pi * 0.05**2 / cells)
    every, measured = (
        parts.expected(known.counts, one, known.precision, ROWS) for one in (scales, known.likely_scales)
    )
    found = module.expected_errors(known)
    assert found["mean_error"] == pytest.approx(FOUND[1] * every.mean_error, rel=1e-4)
    assert found["max_error"] == pytest.approx(FOUND[1] * np.sqrt(every.max_error * measured.max_error), rel=1e-4)
    assert every.max_error > 2 * measured.max_error


def test_deviations_are_those_of_the_posterior_set_by_set() -> None:
    asked = parse_workload("marginals:2", SCHEMA)
    assert asked.marginals is not None
    some = MarginalParts.of(asked.marginals.take(np.array([0])))  # a and b
    counts = np.array([40, 30, 20, 10, 50, 30, 20, 20, 12, 8, 15, 9, 6, 10, 6, 4, 5, 3, 2], dtype=np.float64)
    scales, x, size = np.array([1e6, 1e6, 1e-3]), np.array([2.0, 0.5, 0.1]), 100.0
    found = some.deviations(counts, scales, x, size).reshape(4, 3)
    a, b, pair = counts[:4, None], counts[None, 4:7], counts[7:].reshape(4, 3)
    price = np.array([3 / 4, 2 / 3, 1 / 2])
    errors = [
        1 / (x[0] / price[0] + 1 / (size * scales[0] * a)) / a**2,
        1 / (x[1] / price[1] + 1 / (size * scales[1] * b)) / b**2,
        1 / (x[2] / price[2] + 1 / (size * scales[2] * pair)) / pair**2,
    ]
    np.testing.assert_allclose(found, pair * np.sqrt(errors[0] + errors[1] + errors[2]))


def test_the_largest_of_normal_numbers_is_above_what_is_said_half_of_the_time() -> None:
    deviations = np.concatenate((np.full(300, 1.0), np.full(50, 2.0), [0.0]))
    draws = np.abs(np.random.default_rng(1).normal(size=(4000, deviations.size)) * deviations).max(axis=1)
    assert 0.46 < (draws > likely_largest(deviations)).mean() < 0.54  # five standard deviations
    assert likely_largest(np.zeros(3)) == 0.0
    many = np.arange(1.0, 20_001.0)
    assert likely_largest(many) == pytest.approx(likely_largest(many[10_000:]), rel=1e-6)  # small ones hardly count


@pytest.mark.parametrize(("spread", "deviation"), [(1.0, 1.0), (50.0, 6.0)])
def test_no_cell_is_expected_to_be_off_by_more_than_twice_what_it_holds(spread: float, deviation: float) -> None:
    """Two cells of three records: the larger of two normal errors has the median sd * isf(log 2 / 4), sd at most 6."""
    column = parse_workload("marginals:1", Schema(SCHEMA.attributes[3:4])).marginals
    assert column is not None
    found = MarginalParts.of(column).errors(np.full(2, 3.0), np.full(2, spread), 6.0)
    assert found.max_error == pytest.approx(min(1.0, deviation * norm.isf(np.log(2) / 4) / 6), rel=1e-6)
    assert found.mean_error == pytest.approx(min(np.sqrt(2 / np.pi) * spread, 6.0) / 6)


def test_populations_have_the_distances_and_columns_that_they_say() -> None:
    asked = parse_workload("marginals:3", SCHEMA)
    sets = sets_of(asked)[1]
    population = Population.public(sets, 1)
    np.testing.assert_allclose(np.add.reduceat(population.shares, sets.domains.starts), 1.0)
    widths, level = sets.widths(), LEVELS[1]
    pairs = np.sort(population.distances[widths == 2])
    assert PUBLIC_DISTANCES[0, 0] <= pairs[0] < pairs[-1] <= PUBLIC_DISTANCES[0, -1]
    np.testing.assert_allclose(np.median(pairs), PUBLIC_DISTANCES[0, 2], rtol=0.5)
    shares, scales = independent_shares(sets, population.shares), population.scales(sets, level)
    roots = np.add.reduceat(np.sqrt(shares), sets.starts[:-1])
    np.testing.assert_allclose(
        (np.sqrt(2 * scales / np.pi) * roots)[widths > 1], 2 * level * population.distances[widths > 1]
    )
    assert (population.shares != Population.public(sets, 2).shares).any()


def test_shares_of_ones_are_those_that_were_declared() -> None:
    binary = Schema(tuple(Attribute(name, AttributeKind.BOOLEAN) for name in "abcdefgh"))
    asked = parse_workload("marginals:2", binary)
    ones = Population.public(sets_of(asked)[1], 1, density=0.05).shares[1::2]
    assert ones.mean() == pytest.approx(0.05)
    dense = predict_residuals(plan_for(0.1, asked), asked)
    sparse = predict_residuals(plan_for(0.1, asked), asked, density=0.001)
    assert sparse.mean_error < dense.mean_error


def test_a_prediction_is_an_interval_that_falls_with_the_budget() -> None:
    asked = parse_workload("marginals:3", SCHEMA)
    found = [registry.predict(plan_for(rho, asked), asked) for rho in (1e-4, 1e-2, 1.0)]
    for one in found:
        assert one.low is not None
        assert one.high is not None
        assert one.distance is not None
        assert 0 < one.low < one.mean_error < one.high <= 1
        assert one.high / one.low >= PREDICTED[2] / PREDICTED[0]
        assert one.distance == pytest.approx(one.mean_error * len(asked) / len(asked.marginals or ()) / 2)
        assert one.mean_error < one.max_error
    assert found[0].mean_error > 3 * found[1].mean_error > 9 * found[2].mean_error
    assert registry.predict(plan_for(0.01, asked), asked, runs=2).runs == 2


def test_replaced_records_are_expected_to_have_larger_errors() -> None:
    asked = parse_workload("marginals:3", SCHEMA)
    added, replaced = (predict_residuals(plan_for(0.01, asked, relation=one), asked) for one in (ADD_REMOVE, REPLACE))
    assert 1.1 < replaced.mean_error / added.mean_error < 2.0


def test_independent_columns_stand_beside_a_prediction_and_win_where_nothing_else_can_be_measured() -> None:
    asked = parse_workload("marginals:3", SCHEMA)
    poor, rich = (predict_residuals(plan_for(rho, asked), asked) for rho in (1e-7, 1.0))
    for one in (poor, rich):
        assert one.baselines is not None
        assert set(one.baselines) == {"zeros", "uniform", "independence"}
    assert poor.baselines is not None
    assert rich.baselines is not None
    assert poor.baselines["independence"]["mean_error"] < 1.05 * poor.mean_error
    assert rich.baselines["independence"]["mean_error"] > 3 * rich.mean_error
    assert rich.baselines["uniform"]["mean_error"] > rich.baselines["independence"]["mean_error"]


def test_of_very_many_cells_a_part_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = parse_workload("marginals:3", SCHEMA)
    whole = predict_residuals(plan_for(0.01, asked), asked)
    monkeypatch.setattr(module, "MOST_CELLS", 200)
    part = predict_residuals(plan_for(0.01, asked), asked)
    assert part.simulated_queries < whole.simulated_queries == len(asked)
    assert part.mean_error == pytest.approx(whole.mean_error, rel=0.9)


def test_columns_of_one_value_and_marginals_asked_twice_count() -> None:
    constant = Schema((*SCHEMA.attributes[:2], Attribute("k", AttributeKind.CATEGORICAL, values=("x",))))
    asked = parse_workload("marginals:3", constant)
    pair = parse_workload("marginals:2", Schema(SCHEMA.attributes[:2]))
    a, b = (predict_residuals(plan_for(0.01, one), one) for one in (asked, pair))
    assert a.mean_error == pytest.approx(b.mean_error, rel=0.5)
    assert pair.marginals is not None
    twice = MarginalParts.of(pair.marginals.take(np.array([0, 0])))
    assert (len(twice.wholes), twice.times.tolist(), twice.cells) == (1, [2], 24)
