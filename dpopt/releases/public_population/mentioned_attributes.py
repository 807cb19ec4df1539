"""Which attributes a workload mentions, and public random codes for the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.queries.counting.binary_columns import BitRecords, octets_for
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.public_population.public_choice import public_stream
from dpopt.schema.domains import Domains

_CODES_AT_ONCE, _ROWS_AT_ONCE = 1 << 20, 64  # they bound the temporary arrays


def mentioned_attributes(workload: Workload) -> NDArray[np.int64]:
    """Return the attributes that a query or a rule mentions, increasing."""
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
    for attributes, codes in _random_columns(len(records), domains, left_out, seed):
        found[:, attributes] = codes.T
    return found


def random_bits(
    named: NDArray[np.int64], codes: NDArray[np.int32], domains: Domains, seed: int
) -> BitRecords:
    """Return records whose codes of some attributes are given and those of all others are public random codes, as bits.

    Every attribute has the codes 0 and 1. The records are those of `random_codes`; of records times attributes nothing is held
    but bits.

    Parameters
    ----------
    named : (a,) int64
        The attributes whose codes are given, increasing.
    codes : (r, a) int32
        Their codes.
    """
    rows, width = len(codes), domains.counts.size
    columns = np.empty(
        (width, octets_for(rows)), dtype=np.uint8
    )  # bit 7 - i % 8 of columns[a, i // 8]: record i
    columns[named] = np.packbits(codes.T.astype(np.bool_), axis=1)
    left_out = np.setdiff1d(np.arange(width), named)
    for attributes, drawn in _random_columns(rows, domains, left_out, seed):
        columns[attributes] = np.packbits(drawn.astype(np.bool_), axis=1)
    octets = np.empty((rows, octets_for(width)), dtype=np.uint8)
    for begin in range(0, rows, _ROWS_AT_ONCE):
        end = min(begin + _ROWS_AT_ONCE, rows)
        part = columns[:, begin // 8 : octets_for(end)]
        turned = np.unpackbits(part, axis=1, count=end - begin).T
        octets[begin:end] = np.packbits(turned, axis=1)
    return BitRecords(width, freeze(octets))


def _random_columns(
    rows: int, domains: Domains, left_out: NDArray[np.int64], seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Yield some attributes (a,) and random codes of each, (a, rows), until all that were left out had their turn."""
    stream = public_stream(seed, "attributes that no query mentions")
    step = max(1, _CODES_AT_ONCE // max(1, rows))
    for begin in range(0, left_out.size, step):
        attributes = left_out[begin : begin + step]
        drawn = stream.below_each(domains.counts[attributes].astype(np.uint64), rows).astype(np.int64)
        yield attributes, domains.codes[domains.starts[attributes][:, None] + drawn]
