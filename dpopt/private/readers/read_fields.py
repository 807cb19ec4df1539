"""Reading some fields of all rows: as texts or as numbers, each cell by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.readers.csv_source import CsvSource
from dpopt.private.readers.domain_codes import with_points
from dpopt.private.readers.encode import as_floats, as_text, no_reading
from dpopt.private.readers.open_table import first_bytes
from dpopt.private.readers.table_problems import refuse_faults, shown
from dpopt.private.readers.table_sources import TableSource, column_positions
from dpopt.private.readers.text_fields import TextForm

if TYPE_CHECKING:
    import pyarrow as pa

_Piece = TypeVar("_Piece")


def nameless_rows(path: Path, fields: Sequence[str], form: TextForm) -> CsvSource:
    """Return the rows of a text file without names of columns; `fields` names their fields in messages."""
    first_bytes(path)  # that there is such a file
    return CsvSource(path, fields, form)


def read_texts(source: TableSource, fields: Sequence[str], *, drop: bool = False) -> list[pa.Array]:
    """Return the texts of these columns; malformed rows are refused, or null with `drop`."""
    import pyarrow as pa

    columns = _read(source, fields, _texts_of_cells, drop=drop)
    return [pa.concat_arrays(pieces) if pieces else pa.array([], pa.string()) for pieces in columns]


def read_numbers(source: TableSource, fields: Sequence[str]) -> list[NDArray[np.float64]]:
    """Return the numbers of these columns, NaN where a cell is empty; malformed rows are refused."""

    def numbers(array: pa.Array, field: str) -> NDArray[np.float64]:
        return _numbers_of_cells(array, field, source.decimal)

    return [np.concatenate([np.zeros(0), *pieces]) for pieces in _read(source, fields, numbers)]


def _read(
    source: TableSource, fields: Sequence[str], cells: Callable[[pa.Array, str], _Piece], *, drop: bool = False
) -> list[list[_Piece]]:
    columns: list[list[_Piece]] = [[] for _ in fields]
    for index, array in source.pieces(column_positions(source, fields), None):
        columns[index].append(cells(array, fields[index]))
    if not drop:
        refuse_faults(source.title, source.faults())
    return columns


def _texts_of_cells(array: pa.Array, field: str) -> pa.Array:
    import pyarrow as pa

    if (why := no_reading(array.type)) is not None:
        raise PrivateDataError(f"column {shown(field)}: {why}")
    text = as_text(array)
    return text.dictionary_decode() if pa.types.is_dictionary(text.type) else text


def _numbers_of_cells(array: pa.Array, name: str, decimal: str) -> NDArray[np.float64]:
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        trimmed = with_points(compute.utf8_trim_whitespace(array), decimal)
        array = compute.if_else(compute.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)
    elif not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_decimal(array.type)):
        raise PrivateDataError(f"column {shown(name)} has the type {array.type}; expected numbers")
    try:
        return as_floats(array)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
        raise PrivateDataError(f"column {shown(name)} holds a value that is not a number: {problem}") from problem
