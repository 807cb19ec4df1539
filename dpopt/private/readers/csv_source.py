"""Reading text files of rows and columns (CSV and its relatives, plain or gzip), in blocks, as texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, counted
from dpopt.private.readers.table_problems import shown
from dpopt.private.readers.table_sources import BATCH_ROWS, checked_names
from dpopt.private.readers.text_fields import Fields, Malformed, TextForm, fields_of, is_packed, table_columns
from dpopt.private.tables.dataset import Progress
from dpopt.threads import one_ahead

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 2**22
_WIDE, _MOST_BLOCKS = 1_000, 16
"""Each column of a block costs as much as some hundred rows: blocks grow with each thousand of columns, up to 16 times."""
_HEADER_BYTES = 2**16
CSV_FORM = TextForm(trimmed=False)


class CsvSource:
    """One text file. The first line that is not empty holds the names unless names are given.

    An empty line after it is an empty value in a table of one column. In others it is skipped, or malformed where the
    form has `empty_lines`. A row that cannot be divided into as many fields as there are columns, or is no text in the
    declared encoding, is null in every column; an empty cell is the text "".
    """

    nulls_are_malformed = True

    def __init__(self, path: Path, column_names: Sequence[str] | None, form: TextForm = CSV_FORM) -> None:
        self._path, self._form = path, form
        self.decimal = form.decimal
        self.title = path.name
        self.files = (path,)
        self._header = column_names is None
        self._packed = is_packed(path, public_start=self._header)
        self._skip = 0  # records up to the header
        if column_names is None:
            self.names = tuple(self._read_header())
        else:
            self.names = checked_names(column_names, "the list of column names")
        self._malformed = self._none_malformed()

    def pieces(
        self, positions: Sequence[int], progress: Progress | None, *, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.Array]]:
        """Yield the columns of one block of lines after the other, as dictionaries of texts.

        Blocks have 4 MiB of text (up to 64 MiB for thousands of columns), whatever number of rows is asked for. A thread
        divides the next one.
        """
        self._malformed = self._none_malformed()
        done, total = 0, max(self._path.stat().st_size, 1)
        for fields, rows, good in one_ahead(self._blocks()):
            self._malformed.add_records(fields, rows[~good])
            yield from enumerate(table_columns(fields, rows, good, positions))
            done += len(fields.block)
            if progress is not None:
                # Of a packed file it is not known how much there is to come.
                progress(done / (done + total) if self._packed else min(done / total, 1.0))
        if progress is not None:
            progress(1.0)

    def faults(self) -> list[str]:
        """Return the messages about malformed rows."""
        return self._malformed.message()

    def places(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the line in the file (from 1, the names counted) where each row starts. Reads the file again."""
        wanted, places, before = np.array(sorted(rows), dtype=np.int64), {}, 0
        for fields, records, _ in self._blocks():
            here = wanted[(wanted >= before) & (wanted < before + records.size)]
            lines = fields.lines(records[here - before])
            places.update({row: f"line {line}" for row, line in zip(here.tolist(), lines.tolist(), strict=True)})
            before += records.size
        return places

    def _blocks(self) -> Iterator[tuple[Fields, NDArray[np.int64], NDArray[np.bool_]]]:
        """Yield the fields of a block, which of its records are rows, and which rows are good."""
        width, skip = len(self.names), self._skip
        size = BLOCK_BYTES * min(max(1, width // _WIDE), _MOST_BLOCKS)
        for fields in fields_of(self._path, self._form, packed=self._packed, size=size):
            counts, whole = fields.counts, fields.bad == 0
            blank = whole & (counts == 0)
            # In a table of one column an empty line is a row with an empty value: no row is lost silently.
            good = whole & ((counts == width) | (blank & (width == 1)))
            is_row = np.ones(counts.size, dtype=np.bool_) if width == 1 or self._form.empty_lines else ~blank
            is_row[:skip] = False
            skip = max(skip - counts.size, 0)
            rows = np.flatnonzero(is_row)
            yield fields, rows, good[rows]

    def _none_malformed(self) -> Malformed:
        return Malformed(counted(len(self.names), "field") if self.names else "a field")

    def _read_header(self) -> list[str]:
        for fields in fields_of(self._path, self._form, packed=self._packed, size=_HEADER_BYTES):
            found = np.flatnonzero((fields.counts > 0) | (fields.bad > 0))
            if not found.size:
                self._skip += fields.bad.size
                continue
            record = int(found[0])
            self._skip += record + 1
            if fields.bad[record]:
                line = int(fields.lines(found[:1])[0])
                raise PrivateDataError(
                    f"{self.title}, line {line}: {fields.complaint(record)}; expected the names of the columns, or "
                    f"give them where the file has none (--no-header)"
                )
            return [fields.text(field) for field in range(fields.firsts[record], fields.firsts[record + 1])]
        raise PrivateDataError(f"{self.title} is empty; expected a line of column names and one line per record")


@dataclass(frozen=True, slots=True)
class CsvFile:
    """One CSV file of a table, which one worker reads; `header`: its first line holds the names of the columns."""

    path: Path
    header: bool
    form: TextForm = CSV_FORM

    def source(self, names: tuple[str, ...]) -> CsvSource:
        """Return the source of this file alone, whose columns have these names."""
        source = CsvSource(self.path, None if self.header else names, self.form)
        if source.names != names:
            raise _other_columns(source.title, source.names)
        return source


class CsvFilesSource:
    """CSV files with the same columns in the same order, read one after the other; each with a header line, or none."""

    nulls_are_malformed = True

    def __init__(
        self, paths: Sequence[Path], title: str, column_names: Sequence[str] | None, form: TextForm = CSV_FORM
    ) -> None:
        self.title = title
        self.files = tuple(paths)
        self._form, self.decimal = form, form.decimal
        self._sources = [CsvSource(path, column_names, form) for path in paths]
        self._header = column_names is None
        self.names = self._sources[0].names
        for source in self._sources[1:]:
            if source.names != self.names:
                raise _other_columns(source.title, source.names, self._sources[0])
        self._rows = np.zeros(len(paths), dtype=np.int64)

    def pieces(
        self, positions: Sequence[int], progress: Progress | None, *, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.Array]]:
        """Yield the columns of one block of lines after the other, file by file."""
        number_of_files = len(self._sources)
        for number, source in enumerate(self._sources):
            self._rows[number] = 0

            def report(share: float, number: int = number) -> None:
                if progress is not None:
                    progress((number + share) / number_of_files)

            for index, array in source.pieces(positions, report, batch_rows=batch_rows):
                if index == 0:
                    self._rows[number] += len(array)
                yield index, array

    def faults(self) -> list[str]:
        """Return the messages about malformed rows, file by file."""
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
    """Return the messages about malformed rows of one file of several."""
    return [f"{source.title}: {fault}" for fault in source.faults()]


def _other_columns(title: str, names: Sequence[str], first: CsvSource | None = None) -> PrivateDataError:
    if first is None:
        what = "has other columns than the first file"
    elif len(names) != len(first.names):
        what = f"has {len(names)} columns, and {first.title} has {len(first.names)}"
    else:
        own, other = next(pair for pair in zip(names, first.names, strict=True) if pair[0] != pair[1])
        what = f"has the column {shown(own)} where {first.title} has {shown(other)}"
    return PrivateDataError(
        f"{title} {what}; all files in the folder need the same columns in the same order, and each a line of their "
        f"names, or none of them"
    )
