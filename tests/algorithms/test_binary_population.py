from __future__ import annotations

import hashlib
from itertools import product
from math import prod

import numpy as np
import pytest

from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.kernels import satisfied
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.public_population import binary_population as law_module
from dpopt.releases.public_population.binary_population import (
    ACTIVITY,
    BinaryPopulation,
    binary_population,
    zipf_shares,
)
from dpopt.schema.schema import Schema

RANKS = np.array([3, 0, 2], dtype=np.int64)


def digest(law: BinaryPopulation) -> str:
    """Return a digest of what a law says of 1 / 1000, which does not depend on the last digits of an exponential."""
    return hashlib.sha256(np.rint(1000 * law.ones).astype("<i4").tobytes()).hexdigest()


@pytest.mark.parametrize(
    ("seed", "fill", "pinned"),
    [
        (1, None, "7006f0f6ab08b24b2d7b4504800331a29dcaf3309cc87b61fdedcbc9103eac6a"),
        (2, None, "5097cb45d3400b2c14c1caa820a48862cd3291ed14cf0ee393bf487b23dd2480"),
        (1, 0.02, "6fef358b25cfd8d0f3ea9af1d81b9443cffa2ffb49d6bd8d5818f515ba89abc0"),
    ],
)
def test_a_population_is_the_same_for_ever(seed: int, fill: float | None, pinned: str) -> None:
    assert digest(binary_population(200, seed=seed, fill=fill, ranks=RANKS)) == pinned


def test_a_part_has_the_law_of_the_whole() -> None:
    named = np.array([7, 3, 90], dtype=np.int64)
    for fill in (None, 0.05):
        whole = binary_population(100, seed=4, fill=fill, ranks=RANKS)
        part = binary_population(100, seed=4, fill=fill, ranks=RANKS, named=named)
        assert np.array_equal(part.ones, whole.ones[named])
        assert np.array_equal(part.shares, whole.shares)


def test_a_dense_population_has_every_share_of_ones_and_weak_dependences() -> None:
    law = binary_population(20_000, seed=1)
    shares = law.ones @ law.shares
    assert abs(law.fill() - 0.5) < 0.01
    assert np.quantile(shares, [0.05, 0.25, 0.75, 0.95]) == pytest.approx([0.05, 0.25, 0.75, 0.95], abs=0.015)
    spread = np.sqrt(((law.ones - shares[:, None]) ** 2) @ law.shares)
    assert 0.005 < np.median(spread) < 0.03
    assert spread.max() > 0.1


@pytest.mark.parametrize("fill", [0.0004, 0.012, 0.09, 0.6])
def test_a_sparse_population_is_filled_as_declared(fill: float) -> None:
    law = binary_population(5000, seed=3, fill=fill)
    assert law.shares.sum() == pytest.approx(1)
    assert law.fill() == pytest.approx(fill, rel=2e-3)


def test_popular_items_come_first_and_the_others_in_any_order() -> None:
    law = binary_population(50, seed=1, fill=0.05, ranks=RANKS)
    shares = law.ones @ law.shares
    order = np.argsort(-shares)
    assert order[:3].tolist() == RANKS.tolist()
    other = binary_population(50, seed=2, fill=0.05, ranks=RANKS)
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
    law = binary_population(2000, seed=1, fill=0.01)
    means = law.ones.sum(axis=0)
    mean = float(means @ law.shares)
    variance = float((means - mean) ** 2 @ law.shares)
    degrees, shares = np.array(ACTIVITY).T
    assert float(degrees @ shares) == pytest.approx(1, abs=0.02)
    assert 0.8 < variance / mean**2 < 1.8
    pair = (law.ones[:, None, :200] * law.ones[None, :50]) @ law.shares
    apart = (law.ones @ law.shares)[:, None] * (law.ones[:50] @ law.shares)[None]
    assert float(pair.sum() / apart.sum()) > 1.5


@pytest.mark.parametrize("fill", [None, 0.2])
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
def test_answers_are_those_of_the_law(text: str, fill: float | None) -> None:
    """Every record of five bits, weighted by its probability."""
    law = binary_population(5, seed=6, fill=fill)
    clauses = parse_workload(text, Schema.binary(5)).clauses
    expected = np.zeros(len(clauses))
    for record in product((0, 1), repeat=5):
        ones = np.where(np.array(record)[:, None] == 1, law.ones, 1 - law.ones.astype(np.float64))
        expected += satisfied(clauses, np.array(record, dtype=np.int32)) * float(
            ones.prod(axis=0) @ law.shares
        )
    assert law.answers(clauses) == pytest.approx(expected, abs=1e-6)


def test_answers_on_clauses_of_different_widths() -> None:
    law = binary_population(4, seed=6)
    clauses = Clauses.conjunctions([[0, 2], [1, -1]], [[1, 0], [0, 0]], [[True, True], [False, False]])
    expected = [prod((law.ones[0], 1 - law.ones[2])) @ law.shares, law.ones[1] @ law.shares]
    assert law.answers(clauses) == pytest.approx(expected, abs=1e-6)


def test_records_follow_the_law() -> None:
    """20,000 records: each of the shares within six standard deviations."""
    law = binary_population(30, seed=2, fill=0.3)
    records = law.records(20_000, seed=5)
    assert records.shape == (20_000, 30)
    shares = law.ones @ law.shares
    deviations = np.abs(records.mean(axis=0) - shares) / np.sqrt(shares * (1 - shares) / 20_000)
    assert deviations.max() < 6
    clauses = parse_workload("conjunctions:2,count=30,positive", Schema.binary(30)).clauses
    counted = np.mean([satisfied(clauses, record) for record in records[:4000]], axis=0)
    assert np.abs(counted - law.answers(clauses)).max() < 6 * 0.5 / 4000**0.5


def test_a_law_on_some_attributes_is_part_of_the_law_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many attributes are drawn at a time, and in whatever order they are named."""
    whole = binary_population(1_000, seed=4)
    for at_once in (7, 100, 1 << 17):
        monkeypatch.setattr(law_module, "_DRAWN", at_once)
        for named in ([0], [3, 99, 100, 999], [999, 3, 3], list(range(1_000))):
            some = binary_population(1_000, seed=4, named=np.array(named))
            assert np.array_equal(some.ones, whole.ones[named])
