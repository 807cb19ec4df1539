"""Opening a table: which kind of source a path or an object in memory is."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dpopt.errors import PrivateDataError
from dpopt.private.csv_source import CsvSource
from dpopt.private.parquet_source import ParquetSource
from dpopt.private.table_sources import MemorySource, TableSource

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

AnyTable: TypeAlias = "str | os.PathLike[str] | pd.DataFrame | pa.Table"
"""What can be read as a table: a path, or an object in memory."""

_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"ARROW1": "an Arrow (Feather) file",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"SQLite f": "an SQLite database",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}


def open_table(table: AnyTable, column_names: Sequence[str] | None) -> TableSource:
    """Return the source for a path, a pandas DataFrame or a pyarrow Table.

    Files are told apart by their first bytes, not by their names.

    Raises
    ------
    PrivateDataError
        If there is no such file, its format is none of those that can be read, or names of columns repeat.
    """
    if not isinstance(table, str | os.PathLike):
        return MemorySource(table, column_names)
    path = Path(table)
    if path.is_dir():
        return ParquetSource(_parts(path), path.name or str(path), column_names)
    try:
        with path.open("rb") as stream:
            start = stream.read(8)
    except FileNotFoundError:
        raise PrivateDataError(f"there is no file {str(path)!r}{_neighbours(path)}") from None
    except OSError as problem:
        raise PrivateDataError(f"the file {str(path)!r} cannot be read: {problem.strerror}") from problem
    if start.startswith(b"PAR1"):
        return ParquetSource([path], path.name, column_names)
    if path.suffix.lower() in {".parquet", ".pq"}:
        raise PrivateDataError(f"{path.name} is not a Parquet file: it does not start with the mark PAR1")
    for mark, what in _FOREIGN.items():
        if start.startswith(mark):
            raise PrivateDataError(f"{path.name} is {what}; save the table as CSV (UTF-8, commas) or Parquet")
    return CsvSource(path, column_names)


def _parts(folder: Path) -> list[Path]:
    """Return the Parquet files in a folder and the folders in it, by name; hidden ones and _SUCCESS marks are left out."""
    parts = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in {".parquet", ".pq"}
        and path.is_file()
        and not any(name.startswith((".", "_")) for name in path.relative_to(folder).parts)
    ]
    if not parts:
        raise PrivateDataError(
            f"the folder {str(folder)!r} holds no Parquet files (*.parquet); name a file, or the folder that holds them"
        )
    return parts


def _neighbours(path: Path) -> str:
    if not path.parent.is_dir():
        return f": there is no folder {str(path.parent)!r}"
    near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=2)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
