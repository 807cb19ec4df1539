"""Reading a folder of CSV files with the same columns, one after the other, as one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpopt.errors import PrivateDataError
from dpopt.private.readers.binary.fields import TextForm
from dpopt.private.readers.csv_source import CSV_FORM, CsvSource
from dpopt.private.readers.table_problems import shown
from dpopt.private.readers.table_sources import BATCH_ROWS, Progress

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class CsvFile:
    """One CSV file of a table, which one worker reads; `header`: its first line holds the names of the columns."""

    path: Path
    header: bool
    form: TextForm = CSV_FORM

    def source(self, names: tuple[str, ...]) -> CsvSource:
        """Return the source of this file alone, whose columns have these names.

        Raises
        ------
        PrivateDataError
            If it cannot be read, or has other columns.
        """
        source = CsvSource(self.path, None if self.header else names, self.form)
        if source.names != names:
            raise _other_columns(source.title)
        return source


class CsvFilesSource:
    """CSV files with the same columns in the same order, read one after the other; each has a line of names, or none has."""

    nulls_are_malformed = True

    def __init__(
        self,
        paths: Sequence[Path],
        title: str,
        column_names: Sequence[str] | None,
        form: TextForm = CSV_FORM,
    ) -> None:
        self.title = title
        self.files = tuple(paths)
        self._form, self.decimal = form, form.decimal
        self._sources = [CsvSource(path, column_names, form) for path in paths]
        self._header = column_names is None
        self.names = self._sources[0].names
        for source in self._sources[1:]:
            if source.names != self.names:
                raise _other_columns(source.title, self._sources[0], source)
        self._rows = np.zeros(len(paths), dtype=np.int64)

    def pieces(
        self, positions: Sequence[int], progress: Progress | None, *, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.Array]]:
        """Yield the columns of one block of lines after the other, file by file."""
        number_of_files = len(self._sources)
        for number, source in enumerate(self._sources):
            self._rows[number] = 0

            def tell(share: float, number: int = number) -> None:
                if progress is not None:
                    progress((number + share) / number_of_files)

            for index, array in source.pieces(positions, tell, batch_rows=batch_rows):
                if index == 0:
                    self._rows[number] += len(array)
                yield index, array

    def faults(self) -> list[str]:
        """Return what is said about malformed rows, file by file."""
        return [fault for source in self._sources for fault in faults_of(source)]

    def places(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the file, and the line in it where each row starts."""
        ends = np.cumsum(self._rows)
        files = np.searchsorted(ends, rows, side="right")
        places = {}
        for number in np.unique(files).tolist():
            source = self._sources[number]
            before = int(ends[number] - self._rows[number])
            inside = [row - before for row, file in zip(rows, files.tolist(), strict=True) if file == number]
            for row, line in source.places(inside).items():
                places[row + before] = f"{source.title}, {line}"
        return places

    def note_rows(self, rows: Sequence[int]) -> None:
        """Take it from another reader how many rows each file has, which `places` needs."""
        self._rows[:] = rows

    def parts(self) -> list[CsvFile]:
        """Return the files, in order, for workers that read one each."""
        return [CsvFile(path, self._header, self._form) for path in self.files]


def faults_of(source: CsvSource) -> list[str]:
    """Return what is said about malformed rows of one file of several."""
    return [f"{source.title}: {fault}" for fault in source.faults()]


def _other_columns(
    title: str, first: CsvSource | None = None, other: CsvSource | None = None
) -> PrivateDataError:
    what = "has other columns than the first file"
    if first is not None and other is not None:
        differ = next(
            (pair for pair in zip(first.names, other.names, strict=False) if pair[0] != pair[1]), None
        )
        what = (
            f"has {len(other.names)} columns, and {first.title} has {len(first.names)}"
            if differ is None
            else f"has the column {shown(differ[1])} where {first.title} has {shown(differ[0])}"
        )
    return PrivateDataError(
        f"{title} {what}; all files in the folder need the same columns in the same order, and each a line of their names, or "
        "none of them"
    )
