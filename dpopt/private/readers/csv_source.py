"""Reading text files of rows and columns (CSV and its relatives, plain or gzip), in blocks, as texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.readers.binary.fields import Fields, Malformed, TextForm, fields_of, table_columns
from dpopt.private.readers.binary.text_blocks import is_packed
from dpopt.private.readers.table_problems import counted
from dpopt.private.readers.table_sources import BATCH_ROWS, Progress, checked_names

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 2**22
_HEADER_BYTES = 2**16
CSV_FORM = TextForm(trimmed=False)


class CsvSource:
    """One text file. The first line that is not empty holds the names unless names are given.

    An empty line after it is an empty value in a table of one column. In others it is skipped, or malformed where the form has
    `empty_lines`. A row that cannot be divided into as many fields as there are columns, or is no text in the declared
    encoding, is null in every column; an empty cell is the text "".
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
            self.names = checked_names(self._read_header(), self.title)
        else:
            self.names = checked_names(column_names, "the list of column names")
        self._malformed = self._none_malformed()

    def pieces(
        self, positions: Sequence[int], progress: Progress | None, *, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.Array]]:
        """Yield the columns of one block of lines after the other, as dictionaries of texts.

        Blocks have 4 MiB of text, whatever number of rows is asked for.
        """
        self._malformed = self._none_malformed()
        done, total = 0, max(self._path.stat().st_size, 1)
        for fields, rows, good in self._blocks():
            self._malformed.add(fields, rows[~good])
            yield from enumerate(table_columns(fields, rows, good, positions))
            done += len(fields.block)
            if progress is not None:
                # Of a packed file it is not known how much there is to come.
                progress(done / (done + total) if self._packed else min(done / total, 1.0))
        if progress is not None:
            progress(1.0)

    def faults(self) -> list[str]:
        """Return what is said about malformed rows."""
        return self._malformed.message()

    def places(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the line in the file (from 1, the names counted) where each row starts. Reads the file again."""
        wanted, places, before = np.array(sorted(rows), dtype=np.int64), {}, 0
        for fields, records, _ in self._blocks():
            here = wanted[(wanted >= before) & (wanted < before + records.size)]
            lines = fields.lines(records[here - before])
            places.update(
                {row: f"line {line}" for row, line in zip(here.tolist(), lines.tolist(), strict=True)}
            )
            before += records.size
        return places

    def _blocks(self) -> Iterator[tuple[Fields, NDArray[np.int64], NDArray[np.bool_]]]:
        """Yield the fields of a block, which of its records are rows, and which rows are good."""
        width, skip = len(self.names), self._skip
        for fields in fields_of(self._path, self._form, packed=self._packed, size=BLOCK_BYTES):
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
                    f"{self.title}, line {line}: {fields.complaint(record)}; expected the names of the columns, or give them "
                    "where the file has none (--no-header)"
                )
            return [fields.text(field) for field in range(fields.firsts[record], fields.firsts[record + 1])]
        raise PrivateDataError(
            f"{self.title} is empty; expected a line of column names and one line per record"
        )
