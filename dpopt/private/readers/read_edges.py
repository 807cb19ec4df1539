"""The edges of an undirected graph from a file or a table: two columns of names of nodes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.readers.open_table import AnyTable, named_by, open_table
from dpopt.private.readers.read_fields import nameless_rows, read_texts
from dpopt.private.readers.table_problems import shown
from dpopt.private.readers.table_reading import OnInvalid, TableReading
from dpopt.private.readers.table_sources import TableSource, is_array
from dpopt.private.tables.bin_counts import BinCounts

if TYPE_CHECKING:
    import pyarrow as pa

_ENDS = ("first", "second")


def read_degrees(
    edges: AnyTable, columns: tuple[str, str] | None = None, reading: TableReading | None = None
) -> BinCounts:
    """Read edges, from a table with two columns of names or a file without names, and return the degrees of their ends.

    A text file without names of columns (`columns` is None), as graphs are often kept, has two names in each line, apart
    by a run of blanks and tabs, or by the separator that is declared. A line that begins with # or %, wherever it
    stands, is no edge. Every other name is one, also NA or null. With `drop` for what does not fit, edges are those
    lines that name two different nodes, each pair of nodes once: one line more or less is one edge more or less at most.
    """
    how = reading or TableReading()
    if how.repairs not in {OnInvalid.ERROR, OnInvalid.DROP}:
        raise SchemaError(
            f"on-invalid {how.repairs.text!r}: edges have no numbers to clip and no buckets; use error or drop"
        )
    source = _source(edges, columns, how)
    first, second = read_texts(source, columns or _ENDS, drop=OnInvalid.DROP in how.repairs)
    return _degrees(source, first, second, how)


def _source(edges: AnyTable, columns: tuple[str, str] | None, how: TableReading) -> TableSource:
    if columns is not None or is_array(edges):
        return open_table(edges, named_by(edges, how, columns or _ENDS))
    if not isinstance(edges, str | os.PathLike):
        raise PrivateDataError("a table in memory has names of columns; say which two hold the ends of the edges")
    return nameless_rows(Path(edges), _ENDS, how.edges_form())


def _degrees(source: TableSource, first: pa.Array, second: pa.Array, how: TableReading) -> BinCounts:
    import pyarrow as pa

    # Rows with an empty end are left out before repeats are looked for: no node's code may stand for an end that is missing.
    empty = _empty(first) | _empty(second)
    named = np.flatnonzero(~empty)
    coded = pa.concat_arrays([ends.take(pa.array(named)) for ends in (first, second)]).dictionary_encode()
    codes: NDArray[np.int64] = coded.indices.to_numpy().astype(np.int64)
    one, other = codes[: named.size], codes[named.size :]
    low, high = np.minimum(one, other), np.maximum(one, other)
    order = np.lexsort((high, low))  # stable: of equal edges the first stays first
    again = np.zeros(named.size, dtype=np.bool_)
    again[order[1:]] = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    wrong = (
        (np.flatnonzero(empty), "has an empty end; every edge names two nodes"),
        (named[one == other], "joins a node with itself; leave loops out"),
        (named[again], "stands there for the second time; give each edge once, in one direction"),
    )
    kept = (one != other) & ~again
    if OnInvalid.DROP not in how.repairs:
        for rows, what in wrong:
            if rows.size:
                row = int(rows[0])
                ends = f"{shown(first[row].as_py() or '')} and {shown(second[row].as_py() or '')}"
                place = source.places([row]).get(row, f"row {row + 1}")
                raise PrivateDataError(f"{source.title}, {place}: the edge of {ends} {what}; or use --on-invalid drop")
        if not named.size:
            raise PrivateDataError("found no edges; expected at least one")
    nodes, ends_of = np.unique(np.concatenate([one[kept], other[kept]]), return_inverse=True)
    return BinCounts.of_degrees(np.bincount(ends_of, minlength=nodes.size), int(np.count_nonzero(kept)))


def _empty(ends: pa.Array) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    found: NDArray[np.bool_] = pc.equal(pc.fill_null(ends, ""), "").to_numpy(zero_copy_only=False)
    return found
