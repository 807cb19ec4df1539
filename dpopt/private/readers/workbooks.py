"""Tables in the files of other programs: workbooks of Excel, and files of SPSS, Stata and SAS. Each cell is read by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpopt.errors import PrivateDataError
from dpopt.private.readers.table_sources import MemorySource, plain_text

if TYPE_CHECKING:
    import pyarrow as pa

EXCEL = (".xlsx", ".xlsm")
STATISTICS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""What file names end with, and the functions of pyreadstat."""


class WorkbookSource(MemorySource):
    """The table of such a file, read into memory: as texts, or as numbers where the file has columns of numbers.

    Attributes
    ----------
    labels : dict
        Of a column, the words that the file gives to its values, by their text.
    notes : tuple of str
        What the owner should know of how it is read; names of sheets only.
    """

    def __init__(self, path: Path, column_names: Sequence[str] | None, *, empty_rows: bool) -> None:
        self.labels: Mapping[str, Mapping[str, str]] = {}
        self.notes: tuple[str, ...] = ()
        if path.suffix.lower() in EXCEL:
            table = self._workbook(path, header=column_names is None, empty_rows=empty_rows)
        else:
            table = self._statistics(path)
        super().__init__(table, column_names, title=path.name, files=(path,))

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
                self.notes = (
                    f"the workbook has {len(book.worksheets)} sheets; the first, {sheet.title!r}, is read",
                )
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


class _reading:  # noqa: N801  # used like a function
    """Turns whatever the library of a format raises into one refusal of the whole file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, FileNotFoundError):
            raise PrivateDataError(f"there is no file {str(self._path)!r}") from None
        if isinstance(problem, Exception):
            raise PrivateDataError(
                f"{self._path.name} cannot be read: {problem}; save the table as CSV"
            ) from problem


def _not_installed(path: Path, library: str, extra: str) -> PrivateDataError:
    return PrivateDataError(
        f"{path.name}: such files are read by {library}, which is not installed; run: pip install 'dpopt[{extra}]', or save "
        "the table as CSV"
    )
