from __future__ import annotations

import numpy as np
import pytest

from dpopt.errors import PlanError
from dpopt.private.evaluation.errors import non_private_errors
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.public_population.population import public_population
from dpopt.releases.public_population.public_table import has_binary_population, public_table
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.small_runs import SCHEMA, workload

BOOLEAN = Schema(tuple(Attribute(name, AttributeKind.BOOLEAN) for name in "abc"))


def one_way(schema: Schema) -> Workload:
    return parse_workload("marginals:1", schema)


def test_a_population_of_zeros_and_ones_is_for_wide_tables_or_a_declared_density() -> None:
    assert has_binary_population(one_way(Schema.binary(3)), None)
    assert has_binary_population(one_way(Schema.binary(3)), 0.1)
    assert has_binary_population(one_way(BOOLEAN), 0.1)
    assert not has_binary_population(one_way(BOOLEAN), None)
    assert not has_binary_population(workload(), None)
    with pytest.raises(PlanError, match="--density is the share of ones in a table of zeros and ones"):
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
    truth = np.concatenate(
        [np.bincount(c, minlength=a.size) for c, a in zip(columns, SCHEMA.attributes, strict=True)]
    )
    errors = non_private_errors(public_table(asked, 500, seed=3), asked.queries, {"same": truth / 500})
    assert errors["same"].max_error < 1e-12


def test_a_wide_table_is_not_written_out() -> None:
    with pytest.raises(PlanError, match="not predicted: on a table of 101 binary attributes .more than 100."):
        public_table(one_way(Schema.binary(101)), 10, seed=1)
