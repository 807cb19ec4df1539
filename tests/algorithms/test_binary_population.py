"""Public populations of zeros and ones: as distributions, and as tables that are written out."""

from __future__ import annotations

import hashlib
from itertools import product
from math import prod

import numpy as np
import pytest

from dpopt.errors import PlanError
from dpopt.private.evaluation import non_private_errors
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.kernels import satisfied
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.public_population import population as distribution_module
from dpopt.releases.public_population.population import (
    ACTIVITY,
    BinaryPopulation,
    binary_population,
    has_binary_population,
    public_population,
    public_table,
    zipf_shares,
)
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.small_runs import SCHEMA, workload

RANKS = np.array([3, 0, 2], dtype=np.int64)


def digest(distribution: BinaryPopulation) -> str:
    """Return a digest of what a distribution says of 1 / 1000, which does not depend on the last digits of an exponential."""
    return hashlib.sha256(np.rint(1000 * distribution.ones).astype("<i4").tobytes()).hexdigest()


@pytest.mark.parametrize(
    ("seed", "density", "pinned"),
    [
        (1, None, "7006f0f6ab08b24b2d7b4504800331a29dcaf3309cc87b61fdedcbc9103eac6a"),
        (2, None, "5097cb45d3400b2c14c1caa820a48862cd3291ed14cf0ee393bf487b23dd2480"),
        (1, 0.02, "6fef358b25cfd8d0f3ea9af1d81b9443cffa2ffb49d6bd8d5818f515ba89abc0"),
    ],
)
def test_a_population_is_the_same_for_ever(seed: int, density: float | None, pinned: str) -> None:
    assert digest(binary_population(200, seed=seed, density=density, ranks=RANKS)) == pinned


def test_a_part_has_the_distribution_of_the_whole() -> None:
    named = np.array([7, 3, 90], dtype=np.int64)
    for density in (None, 0.05):
        whole = binary_population(100, seed=4, density=density, ranks=RANKS)
        part = binary_population(100, seed=4, density=density, ranks=RANKS, named=named)
        assert np.array_equal(part.ones, whole.ones[named])
        assert np.array_equal(part.shares, whole.shares)


def test_a_dense_population_has_every_share_of_ones_and_weak_dependences() -> None:
    distribution = binary_population(20_000, seed=1)
    shares = distribution.ones @ distribution.shares
    assert abs(distribution.density() - 0.5) < 0.01
    assert np.quantile(shares, [0.05, 0.25, 0.75, 0.95]) == pytest.approx([0.05, 0.25, 0.75, 0.95], abs=0.015)
    spread = np.sqrt(((distribution.ones - shares[:, None]) ** 2) @ distribution.shares)
    assert 0.005 < np.median(spread) < 0.03
    assert spread.max() > 0.1


@pytest.mark.parametrize("density", [0.0004, 0.012, 0.09, 0.6])
def test_a_sparse_population_is_filled_as_declared(density: float) -> None:
    distribution = binary_population(5000, seed=3, density=density)
    assert distribution.shares.sum() == pytest.approx(1)
    assert distribution.density() == pytest.approx(density, rel=2e-3)


def test_popular_items_come_first_and_the_others_in_any_order() -> None:
    distribution = binary_population(50, seed=1, density=0.05, ranks=RANKS)
    shares = distribution.ones @ distribution.shares
    order = np.argsort(-shares)
    assert order[:3].tolist() == RANKS.tolist()
    other = binary_population(50, seed=2, density=0.05, ranks=RANKS)
    assert np.argsort(-(other.ones @ other.shares)).tolist() != order.tolist()
    assert np.sort(shares)[::-1] == pytest.approx(zipf_shares(50, 0.05), rel=2e-3)


def test_shares_of_ranks_fall_as_declared_and_stop_at_half() -> None:
    plain, full = zipf_shares(10_000, 0.001), zipf_shares(100, 0.4)
    assert plain[0] / plain[999] == pytest.approx((1010 / 11) ** 0.65)
    assert plain.mean() == pytest.approx(0.001)
    assert full.max() == pytest.approx(0.7)
    assert (np.diff(full) <= 0).all()
    assert full.mean() == pytest.approx(0.4)


def test_records_differ_in_activity_and_items_attract_each_other() -> None:
    distribution = binary_population(2000, seed=1, density=0.01)
    means = distribution.ones.sum(axis=0)
    mean = float(means @ distribution.shares)
    variance = float((means - mean) ** 2 @ distribution.shares)
    degrees, shares = np.array(ACTIVITY).T
    assert float(degrees @ shares) == pytest.approx(1, abs=0.02)
    assert 0.8 < variance / mean**2 < 1.8
    pair = (distribution.ones[:, None, :200] * distribution.ones[None, :50]) @ distribution.shares
    apart = (distribution.ones @ distribution.shares)[:, None] * (distribution.ones[:50] @ distribution.shares)[None]
    assert float(pair.sum() / apart.sum()) > 1.5


@pytest.mark.parametrize("density", [None, 0.2])
@pytest.mark.parametrize(
    "text",
    [
        "conjunctions:3,count=40",
        "threshold:2of3,count=40",
        "parity:3,count=40",
        "conjunctions:1,count=9",
        "marginals:2",
    ],
)
def test_answers_are_those_of_the_distribution(text: str, density: float | None) -> None:
    """Every record of five bits, weighted by its probability."""
    distribution = binary_population(5, seed=6, density=density)
    clauses = parse_workload(text, Schema.binary(5)).clauses
    expected = np.zeros(len(clauses))
    for record in product((0, 1), repeat=5):
        ones = np.where(np.array(record)[:, None] == 1, distribution.ones, 1 - distribution.ones.astype(np.float64))
        expected += satisfied(clauses, np.array(record, dtype=np.int32)) * float(
            ones.prod(axis=0) @ distribution.shares
        )
    assert distribution.answers(clauses) == pytest.approx(expected, abs=1e-6)


def test_answers_on_clauses_of_different_widths() -> None:
    distribution = binary_population(4, seed=6)
    clauses = Clauses.conjunctions([[0, 2], [1, -1]], [[1, 0], [0, 0]], [[True, True], [False, False]])
    expected = [
        prod((distribution.ones[0], 1 - distribution.ones[2])) @ distribution.shares,
        distribution.ones[1] @ distribution.shares,
    ]
    assert distribution.answers(clauses) == pytest.approx(expected, abs=1e-6)


def test_records_follow_the_distribution() -> None:
    """20,000 records: each of the shares within six standard deviations."""
    distribution = binary_population(30, seed=2, density=0.3)
    records = distribution.records(20_000, seed=5)
    assert records.shape == (20_000, 30)
    shares = distribution.ones @ distribution.shares
    deviations = np.abs(records.mean(axis=0) - shares) / np.sqrt(shares * (1 - shares) / 20_000)
    assert deviations.max() < 6
    clauses = parse_workload("conjunctions:2,count=30,positive", Schema.binary(30)).clauses
    counted = np.mean([satisfied(clauses, record) for record in records[:4000]], axis=0)
    assert np.abs(counted - distribution.answers(clauses)).max() < 6 * 0.5 / 4000**0.5


def test_a_distribution_on_some_attributes_is_part_of_the_distribution_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many attributes are drawn at a time, and in whatever order they are named."""
    whole = binary_population(1_000, seed=4)
    for at_once in (7, 100, 1 << 17):
        monkeypatch.setattr(distribution_module, "_DRAWN", at_once)
        for named in ([0], [3, 99, 100, 999], [999, 3, 3], list(range(1_000))):
            some = binary_population(1_000, seed=4, named=np.array(named))
            assert np.array_equal(some.ones, whole.ones[named])


BOOLEAN = Schema(tuple(Attribute(name, AttributeKind.BOOLEAN) for name in "abc"))


def one_way(schema: Schema) -> Workload:
    return parse_workload("marginals:1", schema)


def test_a_population_of_zeros_and_ones_is_for_wide_tables_or_a_declared_density() -> None:
    assert has_binary_population(one_way(Schema.binary(3)), None)
    assert has_binary_population(one_way(Schema.binary(3)), 0.1)
    assert has_binary_population(one_way(BOOLEAN), 0.1)
    assert not has_binary_population(one_way(BOOLEAN), None)
    assert not has_binary_population(workload(), None)
    with pytest.raises(PlanError, match="density= is the share of ones in a table of zeros and ones"):
        has_binary_population(workload(), 0.1)


def shares_of_ones(asked: Workload, density: float | None) -> list[float]:
    """Return the share of ones of each attribute of a public table, from its errors against 'always 0'."""
    table = public_table(asked, 4000, seed=1, density=density)
    found = []
    for attribute in range(len(asked.schema)):
        ones = np.array([2 * attribute + 1])
        errors = non_private_errors(table, asked.clauses.take(ones), {"never": np.zeros(1)})
        found.append(errors["never"].max_error)
    return found


def test_a_table_of_zeros_and_ones_is_filled_as_declared() -> None:
    assert np.mean(shares_of_ones(one_way(Schema.binary(60)), 0.05)) == pytest.approx(0.05, abs=0.01)
    assert np.mean(shares_of_ones(one_way(Schema.binary(60)), None)) == pytest.approx(0.5, abs=0.1)


def test_any_other_table_is_the_usual_population() -> None:
    asked = parse_workload("marginals:1", SCHEMA)
    columns = public_population(SCHEMA, 500, seed=3)
    truth = np.concatenate([np.bincount(c, minlength=a.size) for c, a in zip(columns, SCHEMA.attributes, strict=True)])
    errors = non_private_errors(public_table(asked, 500, seed=3), asked.queries, {"same": truth / 500})
    assert errors["same"].max_error < 1e-12


def test_a_wide_table_is_not_written_out() -> None:
    with pytest.raises(PlanError, match="not predicted: on a table of 101 binary attributes .more than 100."):
        public_table(one_way(Schema.binary(101)), 10, seed=1)
