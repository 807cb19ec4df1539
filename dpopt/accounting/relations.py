"""Which two tables count as neighbours: the question every privacy statement answers first."""

from __future__ import annotations

from dpopt.arguments import Choice
from dpopt.errors import AccountingError


class NeighbouringRelation(Choice):
    """The relation between two neighbouring tables, for which a privacy guarantee holds.

    `REPLACE_ONE`: both tables have the same public number n of records and differ in one record. A linear query, an
    average over the n records, changes by at most 1/n.

    `ADD_REMOVE`: one table is the other plus one record. Answers are counts divided by a fixed public number n0, so a
    query and its negation, counted separately, change by 0 or 1/n0, both in the same direction. The true number of
    records stays private.

    A guarantee under add-remove with epsilon (or rho) holds under replace-one with at most 2 epsilon (or 4 rho). The
    two must never be added up: every charge carries its own. Privacy: A1 in docs/privacy.

    Examples
    --------
    >>> import dpopt
    >>> dpopt.NeighbouringRelation("replace").describe()
    'replace-one with public n'
    """

    REPLACE_ONE = "replace"
    ADD_REMOVE = "add-remove"

    def describe(self) -> str:
        """Return the relation between records in words."""
        if self is NeighbouringRelation.REPLACE_ONE:
            return "replace-one with public n"
        return "one record more or less (add-remove)"


def once_or_twice(moved: int, relation: NeighbouringRelation) -> int:
    """Return how far neighbours are apart where a record counts so much: twice as far if it is replaced by another."""
    if not isinstance(relation, NeighbouringRelation):
        raise AccountingError(f"relation: found {relation!r}, expected a NeighbouringRelation")
    return 2 * moved if relation is NeighbouringRelation.REPLACE_ONE else moved
