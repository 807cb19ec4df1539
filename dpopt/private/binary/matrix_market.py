"""Matrix Market files of coordinates as columns of zeros and ones."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from dpopt.errors import PrivateDataError
from dpopt.private.binary.matrices import columns_of_matrix
from dpopt.queries.binary_columns import MOST_ROWS, SparseColumns

MARK = b"%%MatrixMarket"

_DAMAGED = (ValueError, OverflowError, OSError, EOFError, zlib.error, RuntimeError)


def read_matrix_market(path: Path, width: int) -> SparseColumns:
    """Return the columns of a sparse matrix in a Matrix Market file, plain or gzip, with one row for each record.

    Entries may be real, integer or pattern; one that is not 0 counts as 1, and repeated ones are added up.

    Raises
    ------
    PrivateDataError
        If the file is damaged, holds a dense or complex matrix, or one without `width` columns.
    """
    from scipy.io import mminfo, mmread

    try:
        with _opened(path) as source:
            rows, columns, entries, form, field, _ = mminfo(source)
        _check_head(path.name, (rows, columns), form, field, width)
        with _opened(path) as source:
            matrix: Any = mmread(source, spmatrix=False)
    except PrivateDataError:
        raise
    except _DAMAGED as problem:
        raise PrivateDataError(f"{path.name} is no whole Matrix Market file: {problem}") from problem
    if matrix.nnz < entries:  # symmetric ones have more
        raise PrivateDataError(
            f"{path.name} announces {entries:,} entries and holds {matrix.nnz:,}; write it again"
        )
    try:
        return columns_of_matrix(matrix, width)
    except PrivateDataError as problem:
        raise PrivateDataError(str(problem).replace("the sparse matrix", path.name, 1)) from None


def _check_head(title: str, shape: tuple[int, int], form: str, field: str, width: int) -> None:
    if form != "coordinate":
        raise PrivateDataError(
            f"{title} holds a dense matrix; write it as coordinates (scipy.io.mmwrite of a sparse matrix)"
        )
    if field not in {"pattern", "integer", "unsigned-integer", "real", "double"}:
        raise PrivateDataError(f"{title} holds {field} numbers; expected pattern, integer or real")
    if shape[1] != width:
        raise PrivateDataError(
            f"{title} has {shape[1]:,} columns, and {width:,} are declared; the number of columns is public: declare the one "
            "that the table has by its making, or write the matrix with the declared width"
        )
    if not 1 <= shape[0] <= MOST_ROWS:
        raise PrivateDataError(f"{title} has {shape[0]:,} rows; expected 1 to {MOST_ROWS:,} records")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes] | Any]:
    """Open a file as SciPy reads it fastest: a plain one by its path, whatever else its name promises as a stream."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=file) as stream:
                yield stream
        else:
            yield file if path.suffix in {".gz", ".bz2"} else str(path)
