"""The one number about a table that may be public: its size under replace-one."""

from __future__ import annotations

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.dataset import PrivateDataset


def public_size(dataset: PrivateDataset, relation: NeighbouringRelation, n0: int | None) -> int:
    """Return the public size that a plan may use.

    Under replace-one all neighbours have the same number of records, so n is public and read off the table. Under
    add-remove the number of records is private, and the fixed public n0 that the user declares is returned.

    Raises
    ------
    PlanError
        If n0 is missing under add-remove, or given under replace-one.
    """
    if relation is NeighbouringRelation.REPLACE_ONE:
        if n0 is not None:
            raise PlanError(
                "n0 belongs to add-remove; under replace-one the table's size n is used. Leave n0 out"
            )
        return dataset._rows
    if n0 is None:
        raise PlanError(
            "add-remove needs a fixed public n0, a number near the size of the table that does not depend on it: give --n0"
        )
    return n0
