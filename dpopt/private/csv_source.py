"""Reading CSV files (UTF-8, commas, quotes doubled inside quotes; plain or gzip), in blocks, as text."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpopt.errors import PrivateDataError
from dpopt.private.csv_lines import find_lines, first_bad_line, unclosed_quote
from dpopt.private.table_problems import counted
from dpopt.private.table_sources import BATCH_ROWS, Progress, checked_names, given_names

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_BYTES = 2**22
_BROKEN_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)


class CsvSource:
    """One CSV file. Blank lines are skipped; the first other line holds the names unless names are given."""

    def __init__(self, path: Path, column_names: Sequence[str] | None) -> None:
        self._path = path
        self.title = path.name
        self.files = (path,)
        first, length = self._first_record()
        self._fields = len(first)
        given = given_names(column_names, len(first), self.title)
        if given is not None and list(given) == first:
            raise PrivateDataError(
                f"{self.title} starts with a line of names already; do not give the names of its columns"
            )
        self.names = given or checked_names(first, self.title)
        self._header = given is None
        self._skip = length if given is None else 0
        self._rows = 0
        self._bad_rows = 0

    def pieces(
        self, positions: Sequence[int], progress: Progress | None, *, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.Array]]:
        """Yield the columns of one block of lines after the other, as dictionaries of texts.

        Blocks have 4 MiB of text, whatever number of rows is asked for.
        """
        import pyarrow as pa

        odd_quotes = self._quotes() % 2 == 1
        # Arrow reads the file itself: a Python stream in the hands of its threads can abort the process at its end.
        with pa.OSFile(str(self._path)) as file, self._native(file) as stream:
            stream.read(self._skip)
            try:
                for batch in self._reader(stream, positions):
                    self._rows += batch.num_rows
                    for index, position in enumerate(positions):
                        yield index, batch.column(f"{position}")
                    if progress is not None:
                        progress(min(file.tell() / max(file.size(), 1), 1.0))
            except pa.ArrowException as problem:
                raise PrivateDataError(self._diagnosis(str(problem))) from problem
        if odd_quotes:
            with self._text() as text:
                fault = unclosed_quote(text)
            if fault is not None:
                raise PrivateDataError(f"{self.title}, {fault}")
        if progress is not None:
            progress(1.0)

    def faults(self) -> list[str]:
        """Return what is said about rows with too few or too many fields."""
        if not self._bad_rows:
            return []
        with self._text() as text:
            _, bad = find_lines(text, self._fields, (), header=self._header)
        lines = [f"{counted(self._bad_rows, 'row')} with a wrong number of fields; expected {self._fields}"]
        lines += [f"  line {line}: {counted(fields, 'field')}" for line, fields in bad]
        if self._bad_rows > len(bad):
            lines.append(f"  and {self._bad_rows - len(bad)} more")
        lines.append(
            '  what to do: correct the rows; a value that holds a comma is written in quotes: "a, b"'
        )
        return ["\n".join(lines)]

    def places(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the line in the file (from 1, the names counted) where each row starts."""
        with self._text() as text:
            lines, _ = find_lines(text, self._fields, rows, header=self._header)
        return {row: f"line {line}" for row, line in lines.items()}

    def _reader(self, stream: pa.NativeFile, positions: Sequence[int]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.csv

        def skip(_: object) -> str:
            self._bad_rows += 1
            return "skip"

        texts = pa.dictionary(pa.int32(), pa.string())
        try:
            return iter(
                pyarrow.csv.open_csv(
                    stream,
                    # One thread: blocks are parsed in order, and reading is as fast as unpacking gzip anyway.
                    read_options=pyarrow.csv.ReadOptions(
                        use_threads=False,
                        block_size=_BLOCK_BYTES,
                        column_names=[f"{position}" for position in range(self._fields)],
                    ),
                    parse_options=pyarrow.csv.ParseOptions(
                        newlines_in_values=True,
                        invalid_row_handler=skip,
                        # In a file of one column an empty line is a row with an empty value: no row is lost silently.
                        ignore_empty_lines=self._fields != 1,
                    ),
                    convert_options=pyarrow.csv.ConvertOptions(
                        column_types={f"{position}": texts for position in positions},
                        include_columns=[f"{position}" for position in positions],
                        strings_can_be_null=False,
                    ),
                )
            )
        except pa.ArrowInvalid as problem:
            if "Empty CSV" in str(problem):
                return iter(())
            raise

    def _first_record(self) -> tuple[list[str], int]:
        """Return the fields of the first record and the number of bytes up to its end."""
        length = 0

        def lines(stream: _ByteStream) -> Iterator[str]:
            nonlocal length
            for line in stream:
                length += len(line)
                yield line.decode("utf-8-sig" if length == len(line) else "utf-8")

        with self._opened() as stream:
            try:
                for record in csv.reader(lines(stream)):
                    if record:
                        return record, length
            except UnicodeDecodeError as problem:
                raise PrivateDataError(self._diagnosis("invalid UTF8")) from problem
            except csv.Error as problem:
                raise PrivateDataError(
                    f"{self.title} does not start with a line of CSV ({problem}); expected values separated by "
                    "commas, lines ended by a newline"
                ) from problem
            except _BROKEN_GZIP as problem:
                raise PrivateDataError(
                    f"{self.title} is a damaged or incomplete gzip file: {problem}"
                ) from problem
        raise PrivateDataError(
            f"{self.title} is empty; expected a line of column names and one line per record"
        )

    def _diagnosis(self, problem: str) -> str:
        if "UTF8" in problem:
            with self._opened() as stream:
                found = first_bad_line(stream)
            if found is not None:
                line, bad = found
                return (
                    f"{self.title}, line {line}: the bytes {bad!r} are not UTF-8; save the table as UTF-8 "
                    "(for example: iconv -f latin1 -t utf-8)"
                )
        with self._text() as text:
            fault = unclosed_quote(text)
        return f"{self.title}, {fault}" if fault else f"{self.title} cannot be read as CSV: {problem}"

    def _quotes(self) -> int:
        """Return the number of quotes in the file; on the way, find out whether it can be unpacked."""
        with self._opened() as stream:
            try:
                while stream.read(_BLOCK_BYTES):
                    pass
            except _BROKEN_GZIP as problem:
                raise PrivateDataError(
                    f"{self.title} is a damaged or incomplete gzip file: {problem}"
                ) from problem
            return stream.quotes

    def _native(self, file: pa.NativeFile) -> pa.NativeFile:
        import pyarrow as pa

        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        return pa.CompressedInputStream(file, "gzip") if packed else file

    def _opened(self) -> _ByteStream:
        return _ByteStream(self._path)

    def _text(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(self._opened(), encoding="utf-8-sig", errors="surrogateescape", newline="")


class _ByteStream(io.BufferedIOBase):
    """The bytes of a file, unpacked if it is gzip. Counts quotes."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        packed = self._file.read(2) == b"\x1f\x8b"
        self._file.seek(0)
        self._stream: io.BufferedIOBase = gzip.GzipFile(fileobj=self._file) if packed else self._file
        self.quotes = 0

    @property
    def name(self) -> str:
        return str(self._file.name)

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        data = self._stream.read(-1 if size is None else size)
        self.quotes += data.count(b'"')
        return data

    def read1(self, size: int = -1, /) -> bytes:
        return self._stream.read1(size)

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._stream.readline(-1 if size is None else size)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._file.close()
        super().close()
