"""Reading a wide table of zeros and ones: memory grows with its ones (or bits), never with records times columns."""

from __future__ import annotations

import gzip
import os
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.readers.binary.bit_file import MARK as BITS_MARK
from dpopt.private.readers.binary.bit_file import BitFileTable, BitTable, bit_table
from dpopt.private.readers.binary.item_files import Items, read_baskets, read_pairs
from dpopt.private.readers.binary.matrices import MARK as MTX_MARK
from dpopt.private.readers.binary.matrices import columns_of_matrix, read_matrix_market, read_npz
from dpopt.private.readers.open_table import first_bytes, foreign_format
from dpopt.private.readers.table_problems import shown
from dpopt.private.readers.table_reading import Layout, TableReading
from dpopt.private.readers.table_sources import ArrowStream, MemorySource, column_positions, is_sparse_matrix
from dpopt.private.readers.text_fields import GZIP_MARK
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.counting.binary_columns import BinaryColumns
from dpopt.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from scipy.sparse import sparray, spmatrix

AnyBinaryTable: TypeAlias = (
    "str | os.PathLike[str] | BitTable | sparray | spmatrix | NDArray[Any] | pd.DataFrame | ArrowStream"
)
"""Types that are read as a wide table: a path, a table of bits, a sparse matrix of SciPy, or a dense table in memory.
"""


def read_binary_table(table: AnyBinaryTable, schema: Schema, reading: TableReading | None = None) -> PrivateDataset:
    """Read a wide table of zeros and ones. All of it fits, or nothing is returned.

    Parameters
    ----------
    table
        Path of a file in one of the layouts of `Layout`; or a sparse matrix of SciPy with a row for each record, whose
        entries that are not 0 are ones; or what `bit_table` made; or an array or a DataFrame of zeros and ones.
        Private.
    schema
        Made by `Schema.binary`: the number of columns is declared in public, and the table must have as many.
    reading
        The layout and what belongs to it, for files only.

    Returns
    -------
    PrivateDataset
        At least one record.

    Raises
    ------
    PrivateDataError
        If the table cannot be read or does not fit the declared columns. The message names file, line and entry: it is
        for the owner of the table only.
    SchemaError
        If the schema is of another kind, or an option of `reading` does not suit the layout.

    Examples
    --------
    >>> import dpopt, numpy
    >>> type(dpopt.read_binary_table(numpy.eye(3), dpopt.Schema.binary(3))).__name__
    'PrivateDataset'
    """
    if not schema.is_binary:
        raise SchemaError(
            "a wide table of zeros and ones needs a schema that declares their number, Schema.binary(d) or "
            f"--binary-columns; this one lists {len(schema):,} attributes"
        )
    how = reading or TableReading()
    how.check_against(schema)
    if isinstance(table, str | os.PathLike):
        how = found_layout(table, how)
        if how.layout is Layout.BITS:
            return BitFileTable.open(Path(table), schema)
    elif how.repairs.is_total:
        raise SchemaError(
            "a table in memory holds zeros and ones alone; leave on_invalid out, which is for files of baskets and "
            "pairs"
        )
    return PrivateDataset.from_binary(schema, _columns(table, schema, how))


def found_layout(table: str | os.PathLike[str], reading: TableReading) -> TableReading:
    """Return the reading of a file with its layout: the one that is given, or the one that the first bytes show.

    Only npz, mtx and bits are known by their first bytes, which say nothing of records. The first bytes of baskets, and
    of pairs without names of columns, are a record: these layouts are declared, and nothing is looked at.
    """
    path = Path(table)
    start = first_bytes(path)
    declared = reading.layout is Layout.BASKETS or (reading.layout is Layout.PAIRS and not reading.header)
    if not start and not (declared and reading.repairs.is_total):
        raise PrivateDataError(f"{path.name} is empty; expected a table with at least one record")
    if declared:
        return reading
    from_bytes = None
    if start.startswith(b"PK\x03\x04"):
        from_bytes = Layout.NPZ
    elif start.startswith(BITS_MARK):
        from_bytes = Layout.BITS
    elif start.startswith(MTX_MARK) or (start.startswith(GZIP_MARK) and _is_packed_matrix(path)):
        from_bytes = Layout.MTX
    if reading.layout is None:
        if from_bytes is None:
            raise PrivateDataError(
                f"the first bytes of {path.name} do not show its layout{_but(start)}; give --layout baskets (the items "
                f"of a record on each line) or --layout pairs (a user and an item on each line), or save the table as "
                f"npz, mtx or bits"
            )
        return replace(reading, layout=from_bytes)
    if from_bytes is not reading.layout and (
        from_bytes is not None or reading.layout in {Layout.NPZ, Layout.MTX, Layout.BITS}
    ):
        what = "something else" if from_bytes is None else from_bytes.value
        raise PrivateDataError(
            f"{path.name} is not a file of the layout {reading.layout}: its first bytes show {what}; name the layout "
            "that it has"
        )
    if from_bytes is None and (foreign := foreign_format(start)):
        raise PrivateDataError(f"{path.name} is {foreign}; save the table as a text in UTF-8")
    return reading


def _columns(table: AnyBinaryTable, schema: Schema, reading: TableReading) -> BinaryColumns:
    width = len(schema)
    if isinstance(table, BitTable):
        if len(table._columns) != width:
            raise PrivateDataError(
                f"the table of bits has {len(table._columns):,} columns, and {width:,} are declared; declare the "
                "number it has"
            )
        return table._columns
    if is_sparse_matrix(table):
        return columns_of_matrix(table, width)
    if not isinstance(table, str | os.PathLike):
        return _columns_in_memory(MemorySource(table, None), schema)
    try:
        return _columns_of_file(Path(table), schema, reading)
    except MemoryError:
        raise PrivateDataError(
            f"{Path(table).name} does not fit into the available memory: up to 20 bytes for each one of a sparse "
            f"matrix or of baskets, 35 for each pair, and 8 for each record. If a number of rows or entries in it is a "
            f"mistake, write it again; else use a machine with more memory, or the layout bits, which is read in place"
        ) from None


def _columns_in_memory(source: MemorySource, schema: Schema) -> BinaryColumns:
    """Return the columns of a dense table in memory, by the names of the schema, or in order where it names others."""
    names, there = schema.names, source.names
    positions = column_positions(source, names) if set(names) <= set(there) else range(len(there))
    if len(positions) != len(names):
        raise PrivateDataError(
            f"{source.title} has {len(there):,} columns, and {len(names):,} are declared; declare the number it has"
        )

    def column(position: int) -> NDArray[np.bool_]:
        pieces = [_truth_values(piece, source, position) for _, piece in source.pieces([position], None)]
        return np.concatenate(pieces)

    return bit_table(len(column(positions[0])), map(column, positions))._columns


def _truth_values(piece: pa.Array, source: MemorySource, position: int) -> NDArray[np.bool_]:
    """Return some values of a column, if all are zeros and ones."""
    found = piece.to_numpy(zero_copy_only=False)
    if found.dtype.kind not in "biuf" or not np.isin(found, (0, 1)).all():
        raise PrivateDataError(
            f"{source.title}: column {shown(source.names[position])} holds values other than zeros and ones. Declare "
            f"columns of other values by a schema that lists them"
        )
    return np.asarray(found, dtype=np.bool_)


def _columns_of_file(path: Path, schema: Schema, found: TableReading) -> BinaryColumns:
    width = len(schema)
    match found.layout:
        case Layout.NPZ:
            return read_npz(path, width)
        case Layout.MTX:
            return read_matrix_market(path, width)
        case Layout.BASKETS:
            items = Items.of(schema, found.first_item)
            usual = items.separators() if found.separator is None else ""
            return read_baskets(path, items, found.baskets_form(usual), total=found.repairs.is_total)
        case _:
            items = Items.of(schema, found.first_item)
            return read_pairs(
                path,
                items,
                pair_columns=found.pair_columns,
                header=found.header,
                form=found.pairs_form(),
                total=found.repairs.is_total,
            )


def _is_packed_matrix(path: Path) -> bool:
    try:
        with gzip.open(path) as stream:
            return stream.read(len(MTX_MARK)) == MTX_MARK
    except (OSError, EOFError, zlib.error):
        return False


def _but(start: bytes) -> str:
    if start.startswith(b"PAR1"):
        return " (it is a Parquet file, whose columns are declared by a schema that lists them)"
    foreign = foreign_format(start)
    return f" (it is {foreign})" if foreign else ""
