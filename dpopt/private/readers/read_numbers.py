"""Tables of numbers: counts that were made already; points of R^d, scaled by a public rule and rounded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PrivateDataError
from dpopt.files.array_files import array_header, read_array
from dpopt.files.reading import open_file
from dpopt.private.readers.open_table import AnyTable, open_table
from dpopt.private.readers.read_fields import read_numbers
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.closed import Closed
from dpopt.queries.halfspaces.halfspaces import UNIT, PointColumns, Scaling


def read_counts(table: AnyTable, column: str, reading: TableReading | None = None) -> BinCounts:
    """Read a column of counts."""
    source = open_table(table, reading)
    (counts,) = read_numbers(source, [column])
    if np.isnan(counts).any():
        raise PrivateDataError(
            f"column {column!r} has empty cells, or the file empty lines; expected a count for each bin, 0 for empty "
            f"ones"
        )
    if not counts.size:
        raise PrivateDataError(f"{source.title} has no rows; expected one for each bin")
    return BinCounts.from_counts(counts)


UNIT_LENGTH_TOLERANCE = 1e-6
"""By how much the length of a unit vector may differ from 1."""
_NPY = b"\x93NUMPY"


class HalfspacePoints(Closed):
    """Scaled points behind a closed door; used by the curator, which is in the same room."""

    __slots__ = ("_coordinates",)
    _coordinates: NDArray[np.int32]  # (n, d) in units of 1 / UNIT; no row is zero; read-only

    @classmethod
    def of(cls, values: NDArray[np.float64], columns: PointColumns) -> HalfspacePoints:
        """Scale and round points, (n, d).

        What a record becomes depends on its own numbers alone: its length is added up coordinate by coordinate. Raises
        PrivateDataError, with the first such row (from 1), if a number is not finite or outside its bounds, a row is
        zero, or, with `UNIT`, not of length 1; or if there is no record.
        """
        if values.ndim != 2 or values.shape[1] != columns.dimension:
            raise PrivateDataError(
                f"found an array of the shape {values.shape}; expected {columns.dimension} numbers for each record"
            )
        if not len(values):
            raise PrivateDataError("the table has no rows; expected at least one record")
        _refuse_rows(
            np.asarray(~np.isfinite(values).all(axis=1)),
            "has a missing value, or one that is not a finite number",
            "give every record a number in each column, or remove it",
        )
        scaled = _scaled(values, columns)
        rounded = np.rint(scaled * UNIT).astype(np.int32)
        _refuse_rows(
            np.asarray(~(rounded != 0).any(axis=1)),
            "is the zero vector (or the centre of the bounds), which is on no side of any halfspace",
            "remove such records, or declare other bounds",
        )
        return cls._holding(_coordinates=freeze(rounded), _rows=len(rounded))


def read_points(
    table: AnyTable | NDArray[np.float64], columns: PointColumns, reading: TableReading | None = None
) -> HalfspacePoints:
    """Read points from the named columns of a table, or from an array with as many columns, (n, d), also in a .npy file."""
    if isinstance(table, np.ndarray):
        return _points(table, "the array", columns)
    if isinstance(table, str | os.PathLike) and _is_npy(path := Path(table)):
        return _points(read_array(path, _damaged(path), PrivateDataError), path.name, columns)
    values = read_numbers(open_table(table, reading), columns.names)
    return HalfspacePoints.of(np.stack(values, axis=1), columns)


def columns_of_array(path: Path) -> int | None:
    """Return how many columns the array in a .npy file has; None if the file is none."""
    if not _is_npy(path):
        return None
    return _width(*array_header(path, _damaged(path), PrivateDataError), path.name)


def _scaled(values: NDArray[np.float64], columns: PointColumns) -> NDArray[np.float64]:
    if columns.scaling is Scaling.BOUNDS:
        low, high = (np.array(side) for side in zip(*columns.bounds, strict=True))
        for place, name in enumerate(columns.names):
            outside = (values[:, place] < low[place]) | (values[:, place] > high[place])
            _refuse_rows(
                outside,
                f"has a value of {name!r} outside its bounds {low[place]:g} to {high[place]:g}",
                "declare wider bounds (they are public), or cut such values off before",
            )
        half = (high - low) / 2.0
        return np.asarray((values - (low + half)) / half / np.sqrt(columns.dimension))
    largest = np.abs(values).max(axis=1)
    _refuse_rows(~(largest > 0), "is the zero vector, which is on no side of any halfspace", "remove such records")
    relative = values / largest[:, None]
    squares = np.zeros(len(values))
    for place in range(columns.dimension):  # in this order for every record
        squares += relative[:, place] ** 2
    if columns.scaling is Scaling.UNIT:
        _refuse_rows(
            ~(np.abs(largest * np.sqrt(squares) - 1.0) <= UNIT_LENGTH_TOLERANCE),
            "is not of length 1",
            "normalise the rows (--normalise does it here), or declare bounds of the columns (--bounds)",
        )
    return np.asarray(relative / np.sqrt(squares)[:, None])


def _refuse_rows(wrong: NDArray[np.bool_], what: str, remedy: str) -> None:
    if wrong.any():
        first, number = int(np.flatnonzero(wrong)[0]), int(np.count_nonzero(wrong))
        more = f", and {number - 1:,} more" if number > 1 else ""
        raise PrivateDataError(f"row {first + 1}{more}: {what}; {remedy}")


def _is_npy(path: Path) -> bool:
    try:
        with open_file(path) as stream:
            return stream.read(len(_NPY)) == _NPY
    except OSError:
        return False


def _damaged(path: Path) -> str:
    return f"{path.name} is not a readable .npy file"


def _points(found: NDArray[np.generic], title: str, columns: PointColumns) -> HalfspacePoints:
    _width(found.shape, found.dtype, title)
    return HalfspacePoints.of(np.asarray(found, dtype=np.float64), columns)


def _width(shape: tuple[int, ...], kind: np.dtype[Any], title: str) -> int:
    """Return the number of columns of an array of points."""
    if len(shape) != 2 or kind.kind not in "iuf":
        raise PrivateDataError(
            f"{title} has the shape {shape} and the type {kind}; expected one row of numbers for each record"
        )
    return shape[1]
