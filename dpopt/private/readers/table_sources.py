"""Where a table comes from: one small interface over CSV files, Parquet files and tables in memory; checks of names."""

from __future__ import annotations

import datetime as dt
import difflib
import re
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, counted
from dpopt.private.readers.arrow_types import plain
from dpopt.private.readers.table_problems import NO_TEXT, no_regular_file, shown, unreadable
from dpopt.private.tables.dataset import Progress

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

BATCH_ROWS = 2**17
"""Rows that are encoded at a time, where the source lets one choose."""
BLANKS = " \t\r\v\f"  # left out around texts where they are trimmed


class TableSource(Protocol):
    """A table that can be read column by column, in batches, once."""

    @property
    def title(self) -> str:
        """Name of the table in messages."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in order."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it is read from; none for a table in memory."""

    @property
    def nulls_are_malformed(self) -> bool:
        """Whether a null stands for a row that cannot be read (then in every column), and not for a missing value."""

    @property
    def decimal(self) -> str:
        """The decimal mark of numbers in texts, then the thousands mark, if any."""

    def pieces(
        self, positions: Sequence[int], progress: Progress | None, *, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.Array]]:
        """Yield pairs (i, next values of the column at positions[i]), from the first row to the last; positions differ.

        The same rows of all columns come one after the other, then the next rows of all of them.
        """

    def faults(self) -> list[str]:
        """Malformed rows, known once all pieces were read."""

    def places(self, rows: Sequence[int]) -> dict[int, str]:
        """Places of rows (from 0), such as "line 7"; a row without a place is called "row 7", from 1."""


class ArrowStream(Protocol):
    """A table in memory of any library that hands its columns over by Arrow's PyCapsule interface, such as polars."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the stream of its batches."""


def is_sparse_matrix(table: object) -> bool:
    """Return whether this is a sparse matrix or array of SciPy; SciPy is not imported for it."""
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and bool(scipy.issparse(table))


def is_array(table: object) -> bool:
    """Return whether this is an array or a sparse matrix, whose columns have no names."""
    return is_sparse_matrix(table) or (isinstance(table, np.ndarray) and table.dtype.names is None)


def _in_memory(table: Any) -> tuple[str, Any, list[str]]:
    """Return for a table in memory: a name for messages, a DataFrame, Table or CSC matrix, and its column names."""
    import pyarrow as pa

    pandas = sys.modules.get("pandas")  # a DataFrame can only exist if pandas has been imported
    if pandas is not None and isinstance(table, pandas.DataFrame):
        # from pandas 3 on, what is later written to the owner's frame does not reach this one; nothing is copied before
        return "the DataFrame", table.copy(deep=False), [str(name) for name in table.columns]
    if is_sparse_matrix(table) and table.ndim == 2:
        return "the sparse matrix", table.tocsc(), _numbered(table.shape[1])
    if isinstance(table, np.ndarray) and table.ndim in (1, 2):
        import pandas as pd

        named = table.dtype.names
        if named is None:
            frame = pd.DataFrame(_for_pandas(table))
            return "the array", frame, _numbered(frame.shape[1])
        if wide := [name for name in named if table[name].ndim > 1]:
            raise PrivateDataError(f"column {wide[0]!r} of the array has several values in a row; give each a column")
        return "the array", pd.DataFrame({name: _for_pandas(table[name]) for name in named}), list(named)
    if hasattr(table, "__arrow_c_stream__"):
        try:
            held = pa.table(table)
            title = "the pyarrow Table" if isinstance(table, pa.Table) else f"the {type(table).__name__}"
            return title, held, list(held.column_names)
        except (pa.ArrowException, TypeError, ValueError) as problem:
            if hasattr(table, "columns"):  # else it is a single column, such as a Series
                raise PrivateDataError(
                    f"a column of the {type(table).__name__} has a type that Arrow does not know ({problem}); convert "
                    f"it to text, numbers or truth values, or leave it out"
                ) from problem
    raise PrivateDataError(
        "a table is the path of a CSV or Parquet file, a DataFrame (of pandas, polars or another library that speaks "
        f"Arrow), a pyarrow Table, an array with a row for each record, or a sparse matrix; found "
        f"{type(table).__name__}"
    )


def _for_pandas(array: NDArray[Any]) -> Any:
    """Return an array whose values pandas does not interpret: objects for texts, seconds for units above a second."""
    import pandas as pd

    if array.dtype.kind in "OUSV":
        return pd.DataFrame(array, dtype=object) if array.ndim > 1 else pd.Series(array, dtype=object)
    step = np.datetime_data(array.dtype) if array.dtype.kind in "mM" else ("s", 1)
    size = {"Y": 31_622_400, "M": 2_678_400, "W": 604_800, "D": 86_400, "h": 3600, "m": 60}.get(step[0], 0) * step[1]
    if not size:
        return array
    near = np.clip(array.view(np.int64), -(2**53) // size, 2**53 // size).view(array.dtype)
    return np.where(np.isnat(array), array, near).astype(f"{array.dtype.kind}8[s]")


def _numbered(columns: int) -> list[str]:
    return [f"x{place + 1}" for place in range(columns)]


def trimmed(array: pa.Array) -> pa.Array:
    """Return texts without the blanks around them; values of other types as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, trimmed(array.dictionary))
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return array
    return pc.ascii_trim(array, characters=BLANKS)


class MemorySource:
    """A table in memory, `held` as a DataFrame, Table or CSC matrix; `title` and `files` if it was read from some."""

    nulls_are_malformed = False
    decimal = "."

    def __init__(
        self,
        table: object,
        column_names: Sequence[str] | None,
        *,
        title: str | None = None,
        files: tuple[Path, ...] = (),
        trim: bool = False,
    ) -> None:
        called, self.held, found = _in_memory(table)
        self.title = title or called
        self.files = files
        self._trim = trim
        found = [name.strip(BLANKS) for name in found] if trim else found
        self.names = given_names(column_names, len(found), self.title) or tuple(found)

    def pieces(
        self, positions: Sequence[int], progress: Progress | None, *, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.Array]]:
        """Yield the columns of one batch after the other; of a table without rows, one batch without rows."""
        import pyarrow as pa

        rows = max(self.held.shape[0], 1)
        for start in range(0, rows, batch_rows):
            held = self._slice(positions, start, batch_rows)
            for batch in held.to_batches() or [pa.RecordBatch.from_pylist([], schema=held.schema)]:
                columns = map(plain, batch.columns)
                yield from enumerate(map(trimmed, columns) if self._trim else columns)
            if progress is not None:
                progress(min((start + batch_rows) / rows, 1.0))

    def faults(self) -> list[str]:
        """Return nothing: rows in memory are whole."""
        return []

    def places(self, rows: Sequence[int]) -> dict[int, str]:
        """Return nothing: rows have no place but their number."""
        return {}

    def _slice(self, positions: Sequence[int], start: int, rows: int) -> pa.Table:
        """Return some columns of some rows."""
        import pyarrow as pa

        if isinstance(self.held, pa.Table):
            return self.held.slice(start, rows).select(list(positions))
        if is_sparse_matrix(self.held):
            dense = self.held[:, list(positions)][start : start + rows].toarray()
            columns = [pa.array(np.ascontiguousarray(column), from_pandas=True) for column in dense.T]
        else:
            part = self.held.iloc[start : start + rows]
            columns = [_column(part.iloc[:, position]) for position in positions]
        return pa.Table.from_arrays(columns, names=[f"{position}" for position in positions])


def _column(column: pd.Series) -> pa.Array | pa.ChunkedArray:
    """Return some rows of a column of a DataFrame."""
    import pyarrow as pa

    # By the type of a column alone, what Arrow has no type for is read as what it has one for.
    if str(column.dtype).startswith("Sparse"):
        column = column.astype(column.to_numpy().dtype)
    if column.dtype == np.longdouble:
        column = column.astype("float64")
    of_arrow = hasattr(column.dtype, "pyarrow_dtype") or getattr(column.dtype, "storage", "") == "pyarrow"
    if column.dtype.kind in "Oc" and not of_arrow and not hasattr(column, "cat"):
        return pa.array(list(map(plain_text, column.tolist())), pa.string())
    # Categories of truth values as those of any objects: one more kind of value must not change how they are read.
    if hasattr(column, "cat") and column.cat.categories.dtype.kind in "Obc":
        codes = pa.array(column.cat.codes.to_numpy(), mask=(column.cat.codes < 0).to_numpy())
        texts = pa.array(list(map(plain_text, column.cat.categories.tolist())), pa.string())
        return pa.DictionaryArray.from_arrays(codes, texts, ordered=column.cat.ordered)
    return pa.Array.from_pandas(column)


def plain_text(value: object) -> str | None:
    """Return the text of a Python value, None if it stands for nothing, and a mark (`NO_TEXT`) if it has no plain text.

    It depends on that value alone, and there is none that ends the reading: one record must never change how others are
    read.
    """
    try:
        text = _text(value)
        if text is not None:
            text.encode()  # half of a surrogate pair is no text
    except Exception:  # noqa: BLE001  # objects of any class, whose methods may raise anything
        text = None
    else:
        if text is not None or value is None or _stands_for_nothing(value):
            return text
    return f"{NO_TEXT}a value of type {type(value).__name__.encode(errors='replace').decode()}"


def _stands_for_nothing(value: object) -> bool:
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return type(value).__name__ in {"NAType", "NaTType"}


def _text(value: object) -> str | None:
    """Return the text of a value of a usual type, else None."""
    if value is None or _stands_for_nothing(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating | Decimal):
        whole = np.isfinite(float(value)) and value == int(value)
        return str(int(value)) if whole else str(value if isinstance(value, Decimal) else float(value))
    usual = isinstance(value, int | np.integer | dt.date | dt.time | dt.timedelta)
    return str(value) if usual or type(value).__name__ in {"Period", "Interval"} else None


def given_names(column_names: Sequence[str] | None, columns: int, title: str) -> tuple[str, ...] | None:
    """Return the given names of columns, checked against their number; None if none were given."""
    if column_names is None:
        return None
    if len(column_names) != columns:
        raise PrivateDataError(
            f"{title} has {counted(columns, 'column')}, but {counted(len(column_names), 'name')} of columns "
            "were given; give one name per column, in the order of the table"
        )
    return checked_names(column_names, "the list of column names")


def checked_names(names: Sequence[str], title: str) -> tuple[str, ...]:
    """Return names of columns if no two are the same."""
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        listed = ", ".join(map(shown, repeated[:5])) + (", ..." if len(repeated) > 5 else "")
        raise PrivateDataError(
            f"names of columns occur more than once in {title}: {listed}; rename or remove columns, so that names are "
            f"unique"
        )
    return tuple(names)


def column_positions(source: TableSource, wanted: Sequence[str]) -> list[int]:
    """Return where the wanted columns are."""
    chosen = set(wanted)
    checked_names([name for name in source.names if name in chosen], source.title)
    positions = {name: position for position, name in enumerate(source.names)}
    absent = [name for name in wanted if name not in positions]
    if not absent:
        return [positions[name] for name in wanted]
    lines = [f"{source.title} lacks {counted(len(absent), 'column')} of the schema:"]
    if len(source.names) > 1 and 2 * len(absent) > len(wanted) > 1:
        lines.insert(0, "is this the schema of another table? Most of its columns are missing")
    for name in absent[:5]:
        near = [found for found in source.names if found.strip().casefold() == name.strip().casefold()]
        near = near or difflib.get_close_matches(name, source.names, n=3)
        lines.append(f"  {name!r}{'; did you mean ' + ' or '.join(map(shown, near)) + '?' if near else ''}")
    if len(absent) > 5:
        lines.append(f"  and {len(absent) - 5} more")
    first = ", ".join(map(shown, source.names[:8]))
    lines.append(f"  columns of the table: {first}{', ...' if len(source.names) > 8 else ''}")
    lines.append(f"  what to do: {_remedy(source.names, len(wanted))}")
    raise PrivateDataError("\n".join(lines))


def _remedy(names: Sequence[str], wanted: int) -> str:
    if any("\r" in name for name in names):
        return "lines seem to end with carriage returns alone; end them with newlines"
    if len(names) == 1:
        for sign, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars"), (",", "commas")):
            if sign in names[0]:
                return f"the columns seem to be separated by {word}; say so by --separator, or under 'reading' in the schema"
    if all(re.fullmatch(r"[+-]?[0-9.,]+", name.strip()) for name in names):
        return "if the first line is a record already, add a line of names; else rename the columns of the table"
    if len(names) == wanted:
        return "rename the columns; or, if the table has no header line, give the names of its columns in order"
    return "rename the columns of the table, or remove the attributes from the schema"


@dataclass(frozen=True, slots=True)
class WatchedFiles:
    """Files and their state when the first pass began.

    A change that leaves size and times as they were is not noticed.
    """

    paths: tuple[Path, ...]
    _states: tuple[tuple[int, ...], ...] = field(repr=False)

    @classmethod
    def of(cls, paths: Sequence[Path]) -> WatchedFiles:
        """Note the state of files; raises PrivateDataError if one is not there, or can be read once only, such as a pipe."""
        return cls(tuple(paths), tuple(_state(path) for path in paths))

    def check(self, paths: Sequence[Path]) -> None:
        """Refuse, by PrivateDataError, files that are not the same any more, or others."""
        for path in sorted({*self.paths, *paths}):
            if (path in self.paths) is not (path in paths):
                raise PrivateDataError(f"{path.name} was {'removed' if path in self.paths else 'added'} {_WHILE}")
        for path, before in zip(self.paths, self._states, strict=True):
            if _state(path) != before:
                raise PrivateDataError(f"{path.name} was changed {_WHILE}")


_WHILE = (
    "while the table was in use; it is read several times and must stay as it is. Keep a copy that nothing writes to, "
    "and begin again"
)


def _state(path: Path) -> tuple[int, ...]:
    """Return the identity, the size and the time of the last change of a file."""
    try:
        found = path.stat()
    except OSError as problem:
        raise unreadable(path, problem) from problem
    if not stat.S_ISREG(found.st_mode):
        raise no_regular_file(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
