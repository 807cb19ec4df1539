"""Opening a table: which kind of source a path or an object in memory is.

Tables in the files of other programs: workbooks of Excel, and files of SPSS, Stata and SAS. Each cell is read by
itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dpopt.errors import PrivateDataError
from dpopt.files.reading import neighbours, open_file
from dpopt.private.readers.binary.bit_file import BitTable
from dpopt.private.readers.csv_source import CsvFilesSource, CsvSource
from dpopt.private.readers.parquet_source import ParquetSource
from dpopt.private.readers.table_problems import unreadable
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.readers.table_sources import ArrowStream, MemorySource, TableSource, is_array, plain_text

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray
    from scipy.sparse import sparray, spmatrix


EXCEL = (".xlsx", ".xlsm")
STATISTICS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""Endings of file names, and the functions of pyreadstat that read them."""


class WorkbookSource(MemorySource):
    """The table of such a file, read into memory: as texts, or as numbers where the file has columns of numbers.

    Of a column, `labels` are the words that the file gives to its values, by their text; `notes` name sheets only.
    """

    def __init__(self, path: Path, column_names: Sequence[str] | None, *, empty_rows: bool, trim: bool) -> None:
        self.labels: Mapping[str, Mapping[str, str]] = {}
        self.notes: tuple[str, ...] = ()
        if path.suffix.lower() in EXCEL:
            table = self._workbook(path, header=column_names is None, empty_rows=empty_rows)
        else:
            table = self._statistics(path)
        super().__init__(table, column_names, title=path.name, files=(path,), trim=trim)

    def _workbook(self, path: Path, *, header: bool, empty_rows: bool) -> pa.Table:
        """Return the first sheet. A row without any value is none, unless every row counts (`empty_rows`)."""
        try:
            import openpyxl
        except ImportError:
            raise _not_installed(path, "openpyxl", "excel") from None
        with _reading(path):
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # which the file states, and need not hold
            if len(book.worksheets) > 1:
                self.notes = (f"the workbook has {len(book.worksheets)} sheets; the first, {sheet.title!r}, is read",)
            rows = [[_cell(value) for value in row] for row in sheet.iter_rows(values_only=True)]
            book.close()
        names = ["" if name is None else name for name in rows[0]] if header and rows else []
        width = len(names) if header else max(map(len, rows), default=0)
        held = [row for row in rows[header:] if empty_rows or any(value is not None for value in row)]
        return _table(
            names or [""] * width,
            ([row[place] if place < len(row) else None for row in held] for place in range(width)),
        )

    def _statistics(self, path: Path) -> pa.Table:
        try:
            import pyreadstat
        except ImportError:
            raise _not_installed(path, "pyreadstat", "statistics") from None
        with _reading(path):
            columns, about = getattr(pyreadstat, STATISTICS[path.suffix.lower()])(path, output_format="dict")
        self.labels = {
            name: {plain_text(code) or "": str(label) for code, label in labels.items()}
            for name, labels in about.variable_value_labels.items()
        }
        return _table(list(columns), columns.values())


def _cell(value: object) -> str | None:
    text = plain_text(value)
    if text is not None and text.endswith(" 00:00:00") and hasattr(value, "hour"):
        return text.removesuffix(" 00:00:00")  # a day, which workbooks hold as its first moment
    return text or None


def _table(names: Sequence[str], columns: Iterable[Any]) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    arrays = [
        pa.array(column, from_pandas=True)
        if isinstance(column, np.ndarray) and column.dtype != object
        else pa.array(list(map(plain_text, column)), pa.string())
        for column in columns
    ]
    return pa.Table.from_arrays(arrays, names=list(names))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever the library of a format raises into one refusal of the whole file."""
    try:
        yield
    except FileNotFoundError:
        raise PrivateDataError(f"there is no file {str(path)!r}") from None
    except Exception as problem:
        raise PrivateDataError(f"{path.name} cannot be read: {problem}; save the table as CSV") from problem


def _not_installed(path: Path, library: str, extra: str) -> PrivateDataError:
    return PrivateDataError(
        f"{path.name}: such files are read by {library}, which is not installed; run: pip install 'dpopt[{extra}]', or "
        f"save the table as CSV"
    )


AnyTable: TypeAlias = (
    "str | os.PathLike[str] | pd.DataFrame | pa.Table | ArrowStream | NDArray[Any] | sparray | spmatrix"
)
"""Types that are read as a table: a path, or an object in memory."""

_PARQUET, _CSV = {".parquet", ".pq"}, (".csv", ".csv.gz")

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

_NO_TABLES = {".json", ".jsonl", ".html"}
_FOR_WIDE_TABLES = (
    "declare its number of columns by Schema.binary or --binary-columns (plan, release, resume, evaluate)"
)


def open_table(table: AnyTable, reading: TableReading | None = None) -> TableSource:
    """Return the source for a path, a DataFrame, an object with the Arrow interface, an array or a sparse matrix.

    Files are told apart by their first bytes, which are public: the mark of a format, or the names of columns. Where
    names are given, the first bytes of a text may be a record, which must not decide how the others are read: then the
    name of the file alone says whether it is Parquet (.parquet, .pq) or text. It always says what is a file of Excel,
    SPSS, Stata or SAS.

    Raises PrivateDataError if there is no such file, or its format is none of those that can be read.
    """
    if isinstance(table, BitTable):
        raise PrivateDataError(f"a {type(table).__name__} is a wide table of zeros and ones; {_FOR_WIDE_TABLES}")
    how = reading or TableReading()
    column_names = how.column_names
    if not isinstance(table, str | os.PathLike):
        return MemorySource(table, column_names, trim=bool(how.trim))
    path = Path(table)
    if how.repairs.is_total:
        _refuse_where_records_meet(path, how)
    if path.is_dir():
        files, title = _parts(path), path.name or str(path)
        if files[0].suffix.lower() in _PARQUET:
            return ParquetSource(files, title, column_names, trim=bool(how.trim))
        return CsvFilesSource(files, title, column_names, how.table_form())
    if path.suffix.lower() in {*EXCEL, *STATISTICS}:
        first_bytes(path)  # refuses a file that is not there
        return WorkbookSource(path, column_names, empty_rows=how.repairs.is_total, trim=bool(how.trim))
    start = first_bytes(path)
    if column_names is None or path.suffix.lower() in _PARQUET:
        if start.startswith(b"PAR1"):
            return ParquetSource([path], path.name, column_names, trim=bool(how.trim))
        _refuse_foreign(path, start, how)
    return CsvSource(path, column_names, how.table_form())


def _refuse_where_records_meet(path: Path, how: TableReading) -> None:
    """Refuse, by PrivateDataError, to read a file to its end in which one record may decide how others are read.

    A library reads a workbook as a whole, and one odd byte moves all that follow it in UTF-16.
    """
    whole = path.suffix.lower() in {*EXCEL, *STATISTICS}
    if whole or (how.encoding or "").startswith("utf-16"):
        what = "a file that another program's library reads as a whole" if whole else "text in UTF-16"
        raise PrivateDataError(
            f"{path.name} is {what}: one record in it may decide how others are read, so --on-invalid "
            f"{how.repairs.text} cannot promise that it does not. Save the table as CSV in UTF-8, or as Parquet"
        )


def named_by(table: object, how: TableReading, names: Sequence[str]) -> TableReading:
    """Return how a table is read: columns of arrays and matrices get these names if none are declared."""
    return replace(how, column_names=tuple(names)) if how.column_names is None and is_array(table) else how


def _refuse_foreign(path: Path, start: bytes, how: TableReading) -> None:
    """Refuse, by PrivateDataError, a file that is no text by its name or first bytes."""
    if path.suffix.lower() in _PARQUET:
        raise PrivateDataError(f"{path.name} is not a Parquet file: it does not start with the mark PAR1")
    if path.suffix.lower() in _NO_TABLES:
        raise PrivateDataError(f"{path.name} does not have the name of a table; name a CSV or Parquet file")
    if start.startswith((b"DPOPTBIT", b"%%MatrixM")) or (start.startswith(b"PK") and b".npy" in start):
        raise PrivateDataError(f"{path.name} is a file of a wide table of zeros and ones; {_FOR_WIDE_TABLES}")
    if (what := foreign_format(start)) and not ((how.encoding or "").startswith("utf-16") and "UTF-16" in what):
        raise PrivateDataError(f"{path.name} is {what}; save the table as CSV or Parquet")


def first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file, 64 at most."""
    try:
        with open_file(path) as stream:
            return stream.read(64)
    except FileNotFoundError:
        raise PrivateDataError(f"there is no file {str(path)!r}{neighbours(path, but=_NO_TABLES)}") from None
    except OSError as problem:
        raise unreadable(path, problem) from problem


def foreign_format(start: bytes) -> str | None:
    """Return the format of a file that begins with these bytes; None if no known format begins so."""
    return next((what for mark, what in _FOREIGN.items() if start.startswith(mark)), None)


def _parts(folder: Path) -> list[Path]:
    """Return the Parquet files in a folder and the folders in it, or the CSV files in it, by name.

    Hidden files are left out, and marks such as _SUCCESS. Folders in a folder of CSV files are not looked into: they
    may be releases.
    """
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(name.startswith((".", "_")) for name in path.relative_to(folder).parts)
    ]
    parquet = [path for path in files if path.suffix.lower() in _PARQUET]
    texts = [path for path in files if path.name.lower().endswith(_CSV) and path.parent == folder]
    if parquet and texts:
        raise PrivateDataError(
            f"the folder {str(folder)!r} holds both Parquet and CSV files, such as {parquet[0].name} and "
            f"{texts[0].name}; keep the files of the table, and nothing else, in a folder of their own"
        )
    if not parquet and not texts:
        raise PrivateDataError(
            f"the folder {str(folder)!r} holds no Parquet files (*.parquet) and no CSV files (*.csv, *.csv.gz); name a "
            f"file, or the folder that holds them"
        )
    return parquet or texts
