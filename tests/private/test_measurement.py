from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, WorkloadError
from dpopt.private.curators.dualquery_curator import one_way_marginals
from dpopt.private.measurements.measurement import Measurement, check_marginals
from dpopt.queries.counting.kernels import satisfied
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.domains import Domains
from tests.tiny_measuring import SCHEMA, marginals
from tests.tiny_runs import ADD_REMOVE, REPLACE, bits_schema, conjunctions, universe

TWO = marginals([0], [0, 1])
BITS = bits_schema(3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "needs a name"),
        ({"queries": TWO.take([])}, "nothing to count"),
        ({"queries": None}, "nothing to count"),
        ({"scale": 0.0}, "the scale of the noise"),
        ({"scale": -1.0}, "the scale of the noise"),
        ({"scale": float("nan")}, "the scale of the noise"),
        ({"scale": float("inf")}, "the scale of the noise"),
        ({"scale": 1e15}, "below 1e"),
        ({"scale": 1e-10}, "1e-09"),
    ],
)
def test_a_measurement_that_is_none_is_refused(fields: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"name": "x", "queries": TWO, "scale": 2.0, "gaussian": True} | fields
    with pytest.raises(PlanError, match=message):
        Measurement(*given.values())  # type: ignore[arg-type]


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(("relation", "sensitivity"), [(ADD_REMOVE, 2), (REPLACE, 4)])
def test_marginals_are_charged_by_number(relation: NeighbouringRelation, sensitivity: int, gaussian: bool) -> None:
    what = Measurement("both", TWO, 3.5, gaussian)
    assert what.sensitivity(relation, SCHEMA.sizes) == sensitivity
    expected = measurement_charge("both", sensitivity, 3.5, gaussian=gaussian, relation=relation)
    assert what.charge(SCHEMA.sizes, relation) == expected
    assert expected.label == "both"


@pytest.mark.parametrize("queries", [("a", "b", "a b"), ("a !b", "!a b", "c"), ("a b c",), ("!a", "!b", "a b")])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_clauses_are_charged_at_least_by_the_largest_move_of_one_record(
    relation: NeighbouringRelation, queries: tuple[str, ...]
) -> None:
    clauses = conjunctions(BITS, *queries).clauses
    answers = [satisfied(clauses, np.array(r, dtype=np.int32)).astype(int) for r in universe(BITS)]
    pairs = [(one, 0 * one) for one in answers] if relation is ADD_REMOVE else product(answers, repeat=2)
    largest = max(int(np.abs(one - two).sum()) for one, two in pairs)
    sensitivity = Measurement("some", clauses, 1.0, gaussian=True).sensitivity(relation, BITS.sizes)
    assert largest <= sensitivity <= 2 * len(queries)


def test_queries_of_another_schema_are_refused() -> None:
    other = bits_schema(2)
    for queries in (TWO, marginals([0], schema=bits_schema(1)), parse_workload("marginals:3", BITS).clauses):
        with pytest.raises(WorkloadError):
            Measurement("x", queries, 1.0, gaussian=True).check_against(other.sizes)
    Measurement("x", marginals([0], schema=other), 1.0, gaussian=True).check_against(other.sizes)


def test_fewer_codes_than_the_schema_has_are_accepted() -> None:
    counts = np.array([1, 2], dtype=np.int64)
    few = Domains(counts, np.cumsum(counts) - counts, np.array([1, 2, 0], dtype=np.int32))
    check_marginals(marginals([0, 1], domains=few), SCHEMA.sizes, "x")


def test_one_way_marginals_are_the_histograms_of_all_attributes() -> None:
    found = one_way_marginals(SCHEMA)
    assert [found.attributes_of(i) for i in range(len(found))] == [(0,), (1,)]
    assert found.cells().tolist() == [2, 3]
