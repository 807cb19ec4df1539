"""A public population as a table, on which plans are played before any record is touched."""

from __future__ import annotations

import numpy as np

from dpopt.errors import PlanError
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.public_population.binary_population import binary_population
from dpopt.releases.public_population.population import public_population

MOST_ATTRIBUTES = 100
"""Binary attributes of a table that is written out; with more, populations are distributions (see `binary_simulation`)."""


def has_binary_population(workload: Workload, density: float | None) -> bool:
    """Return whether errors are predicted on a population of zeros and ones: for `Schema.binary`, or with a declared density.

    Raises
    ------
    PlanError
        If a density is declared and an attribute has not two values.
    """
    if density is None:
        return workload.schema.is_binary
    others = np.flatnonzero(workload.schema.sizes != 2)
    if others.size:
        attribute = workload.schema.attributes[int(others[0])]
        raise PlanError(
            f"--density is the share of ones in a table of zeros and ones; {attribute.name!r} has {attribute.size} values. "
            "Leave the option out"
        )
    return True


def public_table(workload: Workload, rows: int, *, seed: int, density: float | None = None) -> PrivateDataset:
    """Return so many records of a public population over the schema of a workload.

    Raises
    ------
    PlanError
        If there are more binary attributes than are written out.
    """
    schema = workload.schema
    if not has_binary_population(workload, density):
        return PrivateDataset.from_codes(schema, public_population(schema, rows, seed=seed))
    if len(schema) > MOST_ATTRIBUTES:
        raise PlanError(
            f"not predicted: on a table of {len(schema):,} binary attributes (more than {MOST_ATTRIBUTES}) a simulation of "
            "this algorithm takes as long as a run; give --no-predict, or use dualquery"
        )
    distribution = binary_population(len(schema), seed=seed, density=density, ranks=workload.ranks)
    return PrivateDataset.from_codes(schema, list(distribution.records(rows, seed=seed).T))
