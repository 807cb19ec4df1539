"""Queries over the attributes that they name alone, renumbered from 0: all that counting on a wide table needs of it."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains

Queries = TypeVar("Queries", MarginalSet, Clauses, MarginalSet | Clauses)


def over_named(queries: Queries, sizes: NDArray[np.integer]) -> tuple[NDArray[np.int64], Queries]:
    """Return the attributes that queries name, in order, and the same queries over these alone.

    Parameters
    ----------
    queries
        m clauses, or marginals with m cells.
    sizes : (d,) integers
        Number of codes of each attribute.

    Returns
    -------
    attributes : (k,) int64
        Increasing; attribute 0 where no attribute is named, so that there is at least one.
    queries
        In the same order; attribute j is the one that was attributes[j].

    Raises
    ------
    WorkloadError
        If they name an attribute or a code that does not exist.
    """
    queries.check_against(sizes)
    named = np.zeros(len(sizes), dtype=np.bool_)
    named[queries.attributes[queries.attributes >= 0]] = True
    attributes = np.flatnonzero(named) if named.any() else np.zeros(1, dtype=np.int64)
    return attributes, over(attributes, queries, len(sizes))


def over(attributes: NDArray[np.int64], queries: Queries, number: int) -> Queries:
    """Return queries over some of `number` attributes alone, (k,) increasing, which are all that they name and maybe more."""
    place = np.full(number + 1, -1, dtype=np.int32)  # the last one is for padding, which is -1
    place[attributes] = np.arange(attributes.size, dtype=np.int32)
    moved = freeze(place[queries.attributes])
    if isinstance(queries, MarginalSet):
        domains = queries.domains
        own = Domains(domains.counts[attributes], domains.starts[attributes], domains.codes)
        return MarginalSet(own, moved)
    return Clauses(moved, queries.values, queries.signs, queries.accepted)
