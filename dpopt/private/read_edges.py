"""The edges of an undirected graph from a file or a table: two columns of names of nodes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.bin_counts import BinCounts
from dpopt.private.open_table import AnyTable, open_table
from dpopt.private.table_problems import shown
from dpopt.private.table_sources import column_positions

if TYPE_CHECKING:
    import pyarrow as pa

_COMMENTS = (b"#", b"%")


def read_degrees(edges: AnyTable, columns: tuple[str, str] | None = None) -> BinCounts:
    """Read edges and return the degrees of their ends.

    Parameters
    ----------
    edges
        A path or a table with two columns. A text file without names of columns, as graphs are often kept, is read as such: two
        names in each line, apart by blanks, tabs or a comma; lines that begin with # or % are left out.
    columns
        Names of the two columns of a table that has names; None reads a file without names.

    Raises
    ------
    PrivateDataError
        If the file cannot be read, has no edges, or holds a loop or an edge twice (in either direction): degrees of neighbours
        would not be those that the charge is for. The message names the line.
    """
    first, second = _from_lines(edges) if columns is None else _from_columns(edges, columns)
    if len(first) == 0:
        raise PrivateDataError("found no edges; expected at least one")
    if first.null_count or second.null_count:
        raise PrivateDataError("an edge has an empty end; every edge names two nodes")
    return _degrees(first, second)


def _from_columns(edges: AnyTable, columns: tuple[str, str]) -> tuple[pa.Array, pa.Array]:
    import pyarrow as pa

    source = open_table(edges, None)
    found: list[list[pa.Array]] = [[], []]
    for index, array in source.pieces(column_positions(source, columns), None):
        plain = array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
        found[index].append(plain.cast(pa.string()))
    faults = source.faults()
    if faults:
        raise PrivateDataError(f"{source.title}:\n" + "\n".join(faults))
    first, second = (pa.concat_arrays(pieces) if pieces else pa.array([], pa.string()) for pieces in found)
    return first, second


def _from_lines(edges: AnyTable) -> tuple[pa.Array, pa.Array]:
    import pyarrow as pa
    import pyarrow.csv

    if not isinstance(edges, str | os.PathLike):
        raise PrivateDataError(
            "a table in memory has names of columns; say which two hold the ends of the edges"
        )
    try:
        with pa.OSFile(os.fspath(edges), "rb") as file:
            head = file.read(1 << 16)
        lines = head.splitlines()
        skipped = 0
        while skipped < len(lines) and lines[skipped].lstrip().startswith(_COMMENTS):
            skipped += 1
        sample = lines[skipped] if skipped < len(lines) else b""
        delimiter = next((mark for mark in (",", "\t") if mark.encode() in sample), " ")
        table = pyarrow.csv.read_csv(
            os.fspath(edges),
            read_options=pyarrow.csv.ReadOptions(skip_rows=skipped, column_names=["first", "second"]),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={"first": pa.string(), "second": pa.string()}, strings_can_be_null=True
            ),
        )
    except pa.ArrowInvalid as problem:
        raise PrivateDataError(
            f"the edges cannot be read: {problem}. Expected two names of nodes in each line, apart by a blank, a tab or a comma"
        ) from problem
    except OSError as problem:
        raise PrivateDataError(f"the edges cannot be read: {problem}") from problem
    return table["first"].combine_chunks(), table["second"].combine_chunks()


def _degrees(first: pa.Array, second: pa.Array) -> BinCounts:
    import pyarrow as pa

    number = len(first)
    coded = pa.concat_arrays([first, second]).dictionary_encode()
    codes: NDArray[np.int64] = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    one, other = codes[:number], codes[number:]
    loops = np.flatnonzero(one == other)
    if loops.size:
        raise PrivateDataError(
            f"edge {loops[0] + 1} joins {shown(first[int(loops[0])].as_py())} with itself; leave loops out"
        )
    low, high = np.minimum(one, other), np.maximum(one, other)
    order = np.lexsort((high, low))
    same = np.flatnonzero((np.diff(low[order]) == 0) & (np.diff(high[order]) == 0))
    if same.size:
        again = int(max(order[same[0]], order[same[0] + 1]))
        raise PrivateDataError(
            f"edge {again + 1} joins {shown(first[again].as_py())} and {shown(second[again].as_py())} for the second time; "
            "give each edge once, in one direction"
        )
    return BinCounts.of_degrees(np.bincount(codes, minlength=len(coded.dictionary)).astype(np.int64), number)
