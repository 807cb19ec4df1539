"""Reading Parquet files, one or a folder of them, in batches of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpopt.errors import PrivateDataError
from dpopt.private.readers.arrow_types import plain
from dpopt.private.readers.table_problems import shown
from dpopt.private.readers.table_sources import BATCH_ROWS, BLANKS, checked_names, given_names, trimmed
from dpopt.private.tables.dataset import Progress

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BUFFER_BYTES = 2**20  # of each column that is read at a time; else a whole row group of it would be held


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Some row groups of one Parquet file, in order, and how many rows they hold. Private where the table is."""

    path: Path
    groups: tuple[int, ...]
    rows: int


class ParquetSource:
    """Parquet files with the same columns, read one after the other."""

    nulls_are_malformed = False
    decimal = "."

    def __init__(
        self, paths: Sequence[Path], title: str, column_names: Sequence[str] | None, *, trim: bool = False
    ) -> None:
        import pyarrow.parquet as pq

        self._paths, self._trim = list(paths), trim
        self.title = title
        with _opened(self._paths[0]) as file:
            self.file_names = tuple(file.schema_arrow.names)
        self.types = dict(zip(self.file_names, pq.read_schema(self._paths[0]).types, strict=True))  # as written
        found = tuple(name.strip(BLANKS) for name in self.file_names) if trim else self.file_names
        self.names = given_names(column_names, len(found), title) or found
        self._parts: tuple[RowGroups, ...] | None = None  # None: all row groups of the files

    @classmethod
    def of_parts(
        cls, parts: Sequence[RowGroups], title: str, file_names: tuple[str, ...], *, trim: bool = False
    ) -> ParquetSource:
        """Return the source of some row groups only; `file_names` are the columns of the first file of the whole table."""
        made = cls.__new__(cls)
        made._paths, made._trim = [part.path for part in parts], trim
        made.title, made.types = title, {}
        made.file_names = made.names = file_names
        made._parts = tuple(parts)
        return made

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it is read from."""
        return tuple(self._paths)

    def pieces(
        self, positions: Sequence[int], progress: Progress | None, *, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.Array]]:
        """Yield the columns of one batch after the other; a batch without rows comes first."""
        import pyarrow as pa

        wanted = [self.file_names[position] for position in positions]
        for number, path in enumerate(self._paths):
            rows = 0
            groups = None if self._parts is None else list(self._parts[number].groups)
            try:
                with _opened(path) as file:
                    self._check(path, file, wanted)
                    if number == 0:  # whether the types can be read does not depend on rows
                        yield from enumerate(plain(pa.array([], file.schema_arrow.field(name).type)) for name in wanted)
                    total = max(file.metadata.num_rows, 1)
                    for batch in file.iter_batches(batch_rows, row_groups=groups, columns=wanted):
                        rows += batch.num_rows
                        for index, name in enumerate(wanted):
                            column = plain(batch.column(name))
                            yield index, trimmed(column) if self._trim else column
                        if progress is not None:
                            progress((number + rows / total) / len(self._paths))
            except (pa.ArrowException, OSError) as problem:
                raise PrivateDataError(f"{path.name} is damaged and cannot be read to its end: {problem}") from problem
        if progress is not None:
            progress(1.0)

    def faults(self) -> list[str]:
        """Return nothing: rows of Parquet files are whole."""
        return []

    def places(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the file and the row in it (from 1) where there are several files."""
        if len(self._paths) == 1:
            return {}
        ends = np.cumsum([sum(_rows_of_groups(path)) for path in self._paths])
        places = {}
        for row in rows:
            number = int(np.searchsorted(ends, row, side="right"))
            before = int(ends[number - 1]) if number else 0
            places[row] = f"{self._paths[number].name}, row {row - before + 1}"
        return places

    def parts(self, number: int) -> list[tuple[RowGroups, ...]]:
        """Return the table in order, cut between row groups into at most `number` parts with about as many rows each.

        Only the files' own lists of row groups are read. A row group is never cut, and no part is without a row.
        """
        held = [(path, group, rows) for path in self._paths for group, rows in enumerate(_rows_of_groups(path)) if rows]
        sizes = np.array([rows for _, _, rows in held], dtype=np.float64)
        middles = np.cumsum(sizes) - sizes / 2
        places = np.floor(middles * number / max(sizes.sum(), 1.0)).astype(np.int64)
        parts = []
        for place in np.unique(places):
            part = []
            for path, of_file in groupby((held[index] for index in np.flatnonzero(places == place)), itemgetter(0)):
                _, groups, rows = zip(*of_file, strict=True)
                part.append(RowGroups(path, groups, sum(rows)))
            parts.append(tuple(part))
        return parts

    def _check(self, path: Path, file: pq.ParquetFile, wanted: Sequence[str]) -> None:
        names = file.schema_arrow.names
        checked_names([name for name in names if name in wanted], path.name)
        absent = [name for name in wanted if name not in names]
        if absent:
            raise PrivateDataError(
                f"{path.name} lacks the column {shown(absent[0])}, which {self._paths[0].name} has; all files in "
                "the folder need the same columns"
            )


def _rows_of_groups(path: Path) -> list[int]:
    """Return the number of rows of each row group of a file."""
    with _opened(path) as file:
        metadata = file.metadata
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]


def _opened(path: Path) -> pq.ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        plain = pq.ParquetFile(path, buffer_size=_BUFFER_BYTES)
        texts = [field.name for field in plain.schema_arrow if pa.types.is_string(field.type)]
        if not texts:
            return plain
        plain.close()
        # Repeated texts then arrive as a dictionary and are looked up once.
        return pq.ParquetFile(path, read_dictionary=texts, buffer_size=_BUFFER_BYTES)
    except (pa.ArrowException, OSError) as problem:
        raise PrivateDataError(f"{path.name} is not a readable Parquet file: {problem}") from problem
