"""Fields of the lines of a text file, block by block, with the lines where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.binary.text_blocks import whole_lines

if TYPE_CHECKING:
    import pyarrow as pa

_BLANKS = " \t\r\v\f"


@dataclass(frozen=True, slots=True)
class Separation:
    """How lines are divided into fields.

    Attributes
    ----------
    separators : str
        The signs that separate fields, each of one byte.
    runs : bool
        Whether separators in a row are one; else there is an empty field between them.
    quotes : bool
        Whether a field may stand in quotes.
    """

    separators: str
    runs: bool
    quotes: bool = False

    def kinds(self) -> NDArray[np.uint8]:
        """Return the kind of each byte, (256,); blanks that do not separate are trimmed off the ends of fields."""
        from dpopt.private.binary.text_kernels import NEWLINE, SEPARATOR, TRIMMED

        kinds = np.zeros(256, dtype=np.uint8)
        kinds[list(_BLANKS.encode())] = TRIMMED
        kinds[list(self.separators.encode())] = SEPARATOR
        kinds[ord("\n")] = NEWLINE
        return kinds


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fields:
    """The fields of some lines.

    Attributes
    ----------
    data : (bytes,) uint8
        The bytes of all fields, one after the other.
    ends : (fields + 1,) int32
        Field i is data[ends[i]:ends[i + 1]].
    counts : (lines,) int32
        Number of fields of each line.
    before : int
        Number of lines of the file before these.
    """

    data: NDArray[np.uint8]
    ends: NDArray[np.int32]
    counts: NDArray[np.int32]
    before: int

    def lines_of(self, fields: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lines (from 1) in which fields stand."""
        return np.searchsorted(np.cumsum(self.counts), fields, side="right") + self.before + 1

    def text(self, field: int) -> str:
        """Return a field for a message."""
        return self.data[self.ends[field] : self.ends[field + 1]].tobytes().decode("utf-8", "replace")

    def arrow(self) -> pa.Array:
        """Return the fields as an Arrow array of bytes."""
        import pyarrow as pa

        buffers = [None, pa.py_buffer(self.ends), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.binary(), self.ends.size - 1, buffers)


def fields_of(path: Path, separation: Separation) -> Iterator[Fields]:
    """Yield the fields of a text file, block by block.

    Raises
    ------
    PrivateDataError
        If it is a damaged gzip file, or a quote is not closed.
    """
    from dpopt.private.binary.text_kernels import split_lines

    kinds, before = separation.kinds(), 0
    for block in whole_lines(path):
        data = np.empty(block.size, dtype=np.uint8)
        ends = np.empty(block.size + 2, dtype=np.int32)
        counts = np.empty(block.size + 1, dtype=np.int32)
        fields, lines, whole = split_lines(
            block, kinds, separation.runs, separation.quotes, data, ends, counts
        )
        if not whole:
            raise PrivateDataError(
                f"{path.name}, line {before + lines + 1:,}: a field in quotes is not closed properly in its line; close it, "
                'and write a quote inside of it twice: "say ""yes"""'
            )
        yield Fields(data, ends[: fields + 1], counts[:lines].copy(), before)
        before += lines
