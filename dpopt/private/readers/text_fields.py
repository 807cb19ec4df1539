"""Records of a text file, plain or gzip, and their fields, block by block: each divided independently, as declared."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, counted
from dpopt.private.readers.table_problems import refuse_faults, unreadable
from dpopt.private.readers.table_sources import BLANKS
from dpopt.threads import USUAL, map_in_threads

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 2**25
LONGEST_LINE = 2**28
"""Bytes; a longer line is a bad record."""

GZIP_MARK = b"\x1f\x8b"
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)


def is_packed(path: Path, *, public_start: bool) -> bool:
    """Return whether a text file is gzip: by its first bytes, where they are public; else by its name, which ends with .gz.

    The first bytes of a file that begins with a record are that record's, which must not decide how the others are
    read.
    """
    if not public_start:
        return path.suffix.lower() == ".gz"
    with path.open("rb") as file:
        return file.read(2) == GZIP_MARK


class _AsUtf8:
    """A stream of UTF-16 as one of UTF-8. Half of a surrogate pair, or of a character, is invalid in both."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")

    def read(self, size: int) -> bytes:
        """Return about this number of bytes; none at the end."""
        while block := self._stream.read(size):
            if text := self._decoder.decode(block):
                return text.encode("utf-8", "surrogatepass")
        try:
            return self._decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            self._decoder.reset()
            return b"\xff"


def whole_lines(
    path: Path, *, packed: bool, size: int | None = None, encoding: str = "utf-8"
) -> Iterator[bytes | None]:
    """Yield the bytes of a file in blocks of whole lines; None stands for one line that is too long.

    The last line gets its newline where it lacks one. Lines end with a newline and nowhere else. Blocks have about `size`
    bytes, `BLOCK_BYTES` if left out. UTF-16 is turned into UTF-8; bytes of any other encoding come as they are.
    """
    parts: list[bytes] = []
    held, skipping = 0, False
    with opened(path, packed=packed) as raw:
        stream = _AsUtf8(raw, encoding) if encoding.startswith("utf-16") else raw
        while read := stream.read(size or BLOCK_BYTES):
            first, end = read.find(b"\n") + 1, read.rfind(b"\n") + 1
            skipping |= held + (first or len(read)) > LONGEST_LINE + (first > 0)
            if skipping:
                parts, held = [], 0
                if not end:
                    continue
                yield None
                skipping = False
                read, end = read[first:], end - first
            if end:
                yield b"".join([*parts, read[:end]])
                parts, held = [], 0
            parts.append(read[end:])
            held += len(read) - end
    if skipping:
        yield None
    elif held:
        yield b"".join([*parts, b"\n"])


@contextmanager
def opened(path: Path, *, packed: bool) -> Iterator[IO[bytes]]:
    """Give the bytes of a text file, unpacked; PrivateDataError where opening or reading it fails."""
    try:
        with gzip.open(path) if packed else path.open("rb") as stream:
            yield stream  # type: ignore[misc]  # a gzip file reads as any binary file
    except _BROKEN as problem:
        raise PrivateDataError(f"{path.name} is a damaged or incomplete gzip file: {problem}") from problem
    except OSError as problem:
        raise unreadable(path, problem) from problem


_NO_TEXT, _TOO_LONG = 3, 4  # beside the states of the kernel
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the records of a text file are divided into fields. Declared, never found out."""

    separators: str = ","
    """The characters that separate fields, each of one byte."""
    runs: bool = False
    """Whether separators in a row are one; else there is an empty field between them."""
    quotes: bool = True
    """Whether a field may stand in quotes."""
    trimmed: bool = True
    """Whether blanks around fields are left out."""
    multiline: bool = False
    """Whether fields in quotes may hold line ends; else every line is a record."""
    encoding: str = "utf-8"
    """UTF-8, an encoding of one byte for each character, or UTF-16 in one order of its bytes."""
    comments: str = ""
    """Signs; lines that begin with one of them hold nothing."""
    decimal: str = "."
    """The decimal mark of numbers, followed by the thousands mark if there is one. Fields stay texts; callers read the
    numbers."""
    empty_lines: bool = False
    """Tables: whether a line without a field is a row, a malformed one, and not skipped."""

    def kinds(self) -> NDArray[np.uint8]:
        """Return the kind of each byte, (256,)."""
        from dpopt.private.readers.text_kernels import COMMENT, SEPARATOR, TRIMMED

        kinds = np.zeros(256, dtype=np.uint8)
        if self.trimmed:
            kinds[list(BLANKS.encode())] = TRIMMED
        kinds[list(self.comments.encode())] = COMMENT
        kinds[list(self.separators.encode())] = SEPARATOR
        return kinds

    def utf8(self, block: bytes) -> bytes:
        """Return a block in UTF-8; bytes that are invalid in its encoding are invalid in UTF-8 too."""
        if self.encoding.startswith("utf-") or block.isascii():  # UTF-16 was turned into UTF-8 already
            return block
        return block.decode(self.encoding, "surrogateescape").encode("utf-8", "surrogatepass")


COMMAS = TextForm()
"""Commas, quotes, and blanks around fields left out."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fields:
    """The fields of some records."""

    block: bytes
    """The records as they stand in the file, in UTF-8."""
    starts: NDArray[np.int32]
    """Shape (records + 1,). Record r is block[starts[r]:starts[r + 1]]."""
    data: NDArray[np.uint8]
    """Shape (bytes,). The bytes of all fields, one after the other."""
    ends: NDArray[np.int32]
    """Shape (fields + 1,). Field i is data[ends[i]:ends[i + 1]]."""
    firsts: NDArray[np.int32]
    """Shape (records + 1,). Record r has the fields firsts[r] to firsts[r + 1]."""
    bad: NDArray[np.uint8]
    """Shape (records,). 0, or why the record cannot be divided."""
    before: int
    """Number of lines of the file before these."""

    @property
    def counts(self) -> NDArray[np.int32]:
        """The number of fields of each record, (records,) int32."""
        return np.diff(self.firsts)

    def after(self, records: int) -> Fields:
        """Return the same without the first records, each of one line."""
        start, first = int(self.starts[records]), int(self.firsts[records])
        return Fields(
            self.block[start:],
            self.starts[records:] - np.int32(start),
            self.data,
            self.ends[first:],
            self.firsts[records:] - np.int32(first),
            self.bad[records:],
            self.before + records,
        )

    def lines_of(self, fields: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the lines (from 1) in which the records with these fields begin."""
        return self.lines(np.searchsorted(self.firsts, fields, side="right") - 1)

    def lines(self, records: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the lines (from 1) in which records begin."""
        found, line, reached = [], self.before + 1, 0
        for start in self.starts[records].tolist():
            line += self.block.count(b"\n", reached, start)
            reached = start
            found.append(line)
        return np.array(found, dtype=np.int64)

    def text(self, field: int) -> str:
        """Return a field for a message."""
        return self.data[self.ends[field] : self.ends[field + 1]].tobytes().decode("utf-8", "replace")

    def arrow(self) -> pa.Array:
        """Return the fields as an Arrow array of bytes."""
        import pyarrow as pa

        buffers = [None, pa.py_buffer(self.ends), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.binary(), self.ends.size - 1, buffers)

    def complaint(self, record: int) -> str:
        """Return the problem of a record, or of its number of fields."""
        state = int(self.bad[record])
        if state == 0:
            return counted(int(self.counts[record]), "field")
        if state == _TOO_LONG:  # nothing of it is held
            return f"it has more than {LONGEST_LINE:,} bytes"
        if state == _NO_TEXT:
            raw = self.block[self.starts[record] : self.starts[record + 1]]
            return f"{_no_text(raw)!r} is not text in the declared encoding (--encoding)"
        return "a value in quotes is not closed properly in its line"


class Faults:
    """Problems of a file, collected block by block for the owner's message: how often, and the first places."""

    def __init__(self) -> None:
        self.number = 0
        self._messages: list[str] = []

    def add(
        self,
        found: NDArray[np.integer],
        lines: Callable[[NDArray[np.integer]], NDArray[np.int64]],
        text: Callable[[int], str],
    ) -> None:
        """Add problems; `lines` gives the lines of some of them, `text` describes one of them."""
        self.number += found.size
        first = found[: EXAMPLES - len(self._messages)]
        if first.size:
            self._messages += [
                f"line {line:,}: {text(one)}" for line, one in zip(lines(first).tolist(), first.tolist(), strict=True)
            ]

    def examples(self) -> list[str]:
        """Return the first places, and how many more there are."""
        more = self.number - len(self._messages)
        return [*self._messages, f"and {more:,} more"] if more else list(self._messages)


class Malformed(Faults):
    """Records that cannot be divided, or have another number of fields."""

    def __init__(self, expected: str) -> None:
        super().__init__()
        self._expected = expected

    def add_records(self, fields: Fields, records: NDArray[np.integer]) -> None:
        """Add records of a block."""
        self.add(records, fields.lines, fields.complaint)

    def message(self) -> list[str]:
        """Return the text for the owner, as one element; none if there were no such records."""
        if not self.number:
            return []
        lines = [f"{counted(self.number, 'malformed row')}; expected {self._expected} in each"]
        lines += [f"  {example}" for example in self.examples()]
        lines.append(
            "  what to do: correct the rows, or declare how the file is written: --separator, --encoding, --multiline "
            "where "
            'values in quotes hold line ends. A value that holds the separator is written in quotes: "a, b"; a quote '
            'in it twice: "say ""yes"""'
        )
        return ["\n".join(lines)]

    def refuse(self, title: str) -> None:
        """Refuse the file, by PrivateDataError, if there were any."""
        refuse_faults(title, self.message())


def fields_of(path: Path, form: TextForm, *, packed: bool, size: int | None = None) -> Iterator[Fields]:
    """Yield the fields of a text file, block by block. Parameters as for `whole_lines`."""
    before, rest = 0, b""
    for block in whole_lines(path, packed=packed, size=size, encoding=form.encoding):
        if len(rest) > LONGEST_LINE or (block is None and form.multiline):
            raise _unclosed(path, before)
        text = b"\n" if block is None else form.utf8(block)
        fields = _divided(rest + text if rest else text, form, before)
        if block is None:
            fields.bad[:] = _TOO_LONG
        consumed = int(fields.starts[-1])
        rest = fields.block[consumed:] if form.multiline else b""
        yield fields
        before += fields.block.count(b"\n", 0, consumed)
    if rest:
        raise _unclosed(path, before)


def table_columns(
    fields: Fields, rows: NDArray[np.integer], good: NDArray[np.bool_], positions: Sequence[int]
) -> list[pa.Array]:
    """Return columns of the table whose rows are some records, as dictionaries of texts; null where a row is not good."""
    import pyarrow as pa

    texts = fields.arrow()
    firsts = fields.firsts[rows]
    blank = fields.firsts[rows + 1] == firsts  # in a table of one column: an empty value
    absent = None if good.all() else ~good
    if blank.any():
        texts = pa.concat_arrays([texts, pa.array([b""])])
        firsts = np.where(blank, len(texts) - 1, firsts)

    def column(position: int) -> pa.Array:
        encoded = texts.take(pa.array(firsts + position, mask=absent)).dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(pa.string()))

    return map_in_threads(column, positions, USUAL)


def _divided(block: bytes, form: TextForm, before: int) -> Fields:
    from dpopt.private.readers.text_kernels import split_lines

    lines = block.count(b"\n")
    data = np.empty(len(block), dtype=np.uint8)
    ends = np.empty(len(block) + 2, dtype=np.int32)
    firsts, starts = np.empty(lines + 1, dtype=np.int32), np.empty(lines + 1, dtype=np.int32)
    bad = np.empty(lines, dtype=np.uint8)
    kinds, whole = form.kinds(), np.frombuffer(block, dtype=np.uint8)
    records = split_lines(whole, kinds, form.runs, form.quotes, form.multiline, data, ends, firsts, starts, bad)
    firsts, starts, bad = firsts[: records + 1], starts[: records + 1], bad[:records]
    if not _is_text(block):
        for record, (start, end) in enumerate(pairwise(starts.tolist())):
            if not _is_text(block[start:end]):
                bad[record] = _NO_TEXT
    return Fields(block, starts, data, ends[: firsts[-1] + 1], firsts, bad, before)


def _is_text(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _no_text(raw: bytes) -> bytes:
    """Return the first bytes that are no text, as they stand in the file."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        found = raw[problem.start : problem.start + 3]  # an undefined byte of another encoding became three
        try:
            return found.decode("utf-8", "surrogatepass").encode("utf-8", "surrogateescape")
        except UnicodeError:
            return found[:1]
    return b""


def _unclosed(path: Path, before: int) -> PrivateDataError:
    return PrivateDataError(
        f"{path.name}, line {before + 1:,}: a value in quotes is not closed properly to the end of the file; close it, "
        f"and "
        'write a quote inside of it twice: "say ""yes"""'
    )
