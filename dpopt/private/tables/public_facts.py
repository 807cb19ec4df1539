"""Public facts about a table: that it follows a schema, its bins, and its size under replace-one."""

from __future__ import annotations

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError, SchemaError
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.closed import Closed
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.schema.schema import Schema


def public_size(dataset: Closed, relation: NeighbouringRelation, n0: int | None) -> int:
    """Return the public size that a plan may use.

    Under replace-one all neighbours have the same number of records, so n is public and read off the table. Under
    add-remove the number of records is private, and the fixed public n0 that the user declares is returned.
    """
    if relation is NeighbouringRelation.REPLACE_ONE:
        if n0 is not None:
            raise PlanError("n0 belongs to add-remove; under replace-one the table's size n is used. Leave n0 out")
        if dataset._rows == 0:
            raise PrivateDataError("the table has no rows; under replace-one at least one record is needed")
        return dataset._rows
    if n0 is None:
        raise PlanError(
            "add-remove needs a fixed public n0, a number near the size of the table that does not depend on it: give "
            "--n0"
        )
    return n0


def check_size(dataset: Closed, relation: NeighbouringRelation, size: int) -> None:
    """Refuse, by PrivateDataError, under replace-one a table of another number of records than the plan's."""
    if relation is NeighbouringRelation.REPLACE_ONE and dataset._rows != size:
        raise PrivateDataError(
            f"the table has {dataset._rows:,} records but the plan was made for n = {size:,}. "
            "Under replace-one n is public and must be the table's exact size; plan with that n, "
            "or use add-remove with a fixed public n0"
        )


def check_schema(dataset: PrivateDataset, schema: Schema) -> None:
    """Refuse, by SchemaError, a data set that was read by another schema: its codes would mean other values."""
    if dataset._schema.attributes != schema.attributes:
        raise SchemaError("the table was read by another schema than the workload's; read it again with this schema")


def public_number_of_bins(counts: BinCounts) -> int:
    """Return how many bins were counted: a file with one row for each bin shows the domain, which is public."""
    return int(counts._counts.size)
