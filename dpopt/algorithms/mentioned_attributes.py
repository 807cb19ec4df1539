"""Which attributes a workload speaks of, and public random codes for the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.public_choice import public_stream
from dpopt.queries.generation import Domains
from dpopt.queries.workload import Workload


def mentioned_attributes(workload: Workload) -> NDArray[np.int64]:
    """Return the attributes that a query or a rule speaks of, increasing."""
    named = workload.queries.attributes
    found = np.zeros(len(workload.schema), dtype=np.bool_)
    found[named[named >= 0]] = True
    found[workload.schema.circuit().attributes()] = True
    return np.flatnonzero(found)


def random_codes(
    records: NDArray[np.int32], domains: Domains, left_out: NDArray[np.int64], seed: int
) -> NDArray[np.int32]:
    """Return records (r, d) with public random codes of the attributes that nobody asks about."""
    found = records.copy()
    stream = public_stream(seed, "attributes that no query mentions")
    for attribute in left_out.tolist():
        bounds = np.full(len(found), domains.counts[attribute], dtype=np.uint64)
        drawn = stream.below(bounds).astype(np.int64)
        found[:, attribute] = domains.codes[domains.starts[attribute] + drawn]
    return found
