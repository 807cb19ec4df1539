"""Marginals that records and rows keep (PJ-9): bounds, the search that ends within them, and rows beside whole copies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.inference.records.fit import fit_records
from dpopt.inference.records.problem import FitProblem, FitSettings, FitTerm, KeptMarginals
from dpopt.inference.records.rounding import spared_copies
from dpopt.models.records.projection import projection
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema import Rule, Schema, implies, literal
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.domains import Domains

SIZES = (5, 4, 3, 5)
RULES = (
    Rule(implies(literal("a", "=", "0"), literal("b", "=", "0")), "one"),
    Rule(implies(literal("b", "=", "3"), literal("c", "=", "2")), "two"),
    Rule(implies(literal("a", "=", "4"), literal("d", "=", "4")), "three"),
)


def schema_of(*, ruled: bool) -> Schema:
    values = [tuple(map(str, range(size))) for size in SIZES]
    attributes = (
        Attribute(name, AttributeKind.CATEGORICAL, values=own) for name, own in zip("abcd", values, strict=True)
    )
    return Schema(tuple(attributes), rules=RULES if ruled else ())


def sets_of(domains: Domains, width: int) -> MarginalSet:
    rows = [[one] for one in range(4)] if width == 1 else [[i, j] for i in range(4) for j in range(i + 1, 4)]
    return MarginalSet(domains, np.array(rows, dtype=np.int32))


def problem_of(seed: int, number: int, *, ruled: bool, reach: float) -> FitProblem:
    """Return a problem whose pairs say something else of single attributes than the marginals that are kept."""
    generator, schema = np.random.default_rng(seed), schema_of(ruled=ruled)
    domains = Domains.of(schema, occurring=False)
    pairs, ones = sets_of(domains, 2), sets_of(domains, 1)
    values = np.concatenate([generator.dirichlet(np.full(cells, 0.3)) for cells in pairs.cells()])
    problem = FitProblem(schema.sizes, (FitTerm(pairs, values),), schema.circuit(), domains)
    some = fit_records(problem, FitSettings(number, sweeps=0, seed=seed)).records  # some that obey the rules
    shares = counted(some) / number
    kept = KeptMarginals(ones, shares, np.full(shares.size, reach))
    return replace(problem, kept=kept)


def counted(records: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the count of each code of each attribute, one after the other."""
    pairs = zip(records.T, SIZES, strict=True)
    return np.concatenate([np.bincount(column, minlength=size) for column, size in pairs])


@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("reach", [0.0, 0.004, 0.02])
@pytest.mark.parametrize("number", [300, 6_000])
def test_records_end_within_the_bounds(number: int, reach: float, ruled: bool) -> None:
    for seed in range(4):
        problem = problem_of(seed, number, ruled=ruled, reach=reach)
        assert problem.kept is not None
        settings = FitSettings(number, sweeps=3, seed=seed)
        free = fit_records(replace(problem, kept=None), settings)
        found = fit_records(problem, settings)
        most = max(1.0, number * reach) + 1e-6
        middle = number * problem.kept.values
        assert np.abs(counted(free.records) - middle).max() > most
        assert np.abs(counted(found.records) - middle).max() <= most
        assert not problem.infeasible(found.records).any()
        assert found.objective >= free.objective * 0.99


def test_the_nearest_shares_are_those_of_a_quadratic_program() -> None:
    ones = sets_of(Domains.of(schema_of(ruled=False), occurring=False), 1)
    generator = np.random.default_rng(1)
    values = np.concatenate([generator.dirichlet(np.ones(cells)) for cells in ones.cells()])
    kept = KeptMarginals(ones, values, np.full(values.size, 0.06))
    wanted = np.concatenate([generator.dirichlet(np.ones(cells)) for cells in ones.cells()])
    found = kept.nearest(wanted, 100)
    reach = np.full(5, 0.05)  # a record of 100 inside
    low, high = np.maximum(values[:5] - reach, 0), values[:5] + reach
    model = projection(np.eye(5, dtype=bool), wanted[:5], np.ones(5), low=low, high=high)
    np.testing.assert_allclose(found[:5], model.solve("clarabel").value["w"], atol=1e-6)
    np.testing.assert_allclose(np.add.reduceat(found, ones.starts[:-1]), 1)


def test_a_count_outside_its_bounds_is_found_and_one_record_is_always_allowed() -> None:
    ones = sets_of(Domains.of(schema_of(ruled=False), occurring=False), 1)
    values = np.concatenate([np.full(size, 1 / size) for size in SIZES])
    kept = KeptMarginals(ones, values, np.zeros(values.size))
    exact = np.rint(60 * values).astype(np.int64)
    moved = exact.copy()
    moved[:2] += 1, -1
    assert kept.outside(moved, 60) == 0
    moved[:2] += 2, -2
    assert kept.outside(moved, 60) == 4
    assert replace(kept, reach=np.full(values.size, 0.05)).outside(moved, 60) == 0
    assert replace(kept, reach=np.full(values.size, np.inf)).outside(moved, 60) == 0


def test_copies_are_spared_where_there_are_more_than_a_cell_may_hold() -> None:
    """Two records of weight 1/2 and six rows, a third of which are to have the first record's codes."""
    ones = sets_of(Domains.of(schema_of(ruled=False), occurring=False), 1)
    records = np.array([[0, 0, 0, 0], [1, 1, 1, 1]], dtype=np.int32)
    values = np.concatenate([np.r_[1 / 3, 2 / 3, np.zeros(size - 2)] for size in SIZES])
    kept = KeptMarginals(ones, values, np.zeros(values.size))
    assert spared_copies(kept, records, np.array([3, 3]), 6).tolist() == [1, 0]
    copied = kept.counts(records, np.array([2, 3]))
    np.testing.assert_allclose(kept.beside(copied, 6, 1).values[:3], [0, 1, 0], atol=1e-12)
