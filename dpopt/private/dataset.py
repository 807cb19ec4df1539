"""The records of a table, encoded: the one type that never leaves this room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivacyBoundaryError, PrivateDataError
from dpopt.queries.arrays import freeze
from dpopt.queries.schema import Schema

Codes = NDArray[np.unsignedinteger]
_REFUSED = "<PrivateDataset: contents refused>"


class PrivateDataset:
    """Encoded records behind a closed door: nothing about them can be read off the object.

    Made by `read_table` or by `PrivateDataset.from_codes`; used by the curator, which is in the same room. Printing
    shows neither values nor numbers; converting, iterating, measuring, indexing, copying and pickling are refused.
    Two data sets are equal only if they are the same object.

    Raises
    ------
    PrivacyBoundaryError
        By everything that would take records, or their number, out of the private side.
    """

    __slots__ = ("__weakref__", "_columns", "_rows", "_schema")
    _schema: Schema
    _columns: tuple[
        Codes, ...
    ]  # one (n,) array per attribute, in the least dtype that holds its codes; read-only
    _rows: int

    def __init__(self, *_: object, **__: object) -> None:
        _refuse("an empty one was asked for; make it with read_table(...) or PrivateDataset.from_codes(...)")

    @classmethod
    def from_codes(cls, schema: Schema, columns: Sequence[NDArray[np.integer]]) -> PrivateDataset:
        """Take records that are encoded already.

        Parameters
        ----------
        schema
            The public schema.
        columns
            One (n,) array of codes per attribute, in the schema's order, with n >= 1. They are copied unless they
            are read-only and of the least unsigned type already.

        Raises
        ------
        PrivateDataError
            If the number of columns, their lengths or a code does not fit the schema.
        """
        if len(columns) != len(schema):
            raise PrivateDataError(
                f"{len(columns)} columns of codes for the {len(schema)} attributes of the schema"
            )
        names = schema.names
        encoded = tuple(
            _encoded(np.asarray(column), int(size), name)
            for column, size, name in zip(columns, schema.sizes, names, strict=True)
        )
        rows = encoded[0].size
        for column, name in zip(encoded, names, strict=True):
            if column.size != rows:
                raise PrivateDataError(
                    f"column {name!r} has {column.size} codes, column {names[0]!r} has {rows}"
                )
        if rows == 0:
            raise PrivateDataError("the table has no rows; at least one record is needed")
        made = object.__new__(cls)
        object.__setattr__(made, "_schema", schema)
        object.__setattr__(made, "_columns", encoded)
        object.__setattr__(made, "_rows", rows)
        return made

    def __repr__(self) -> str:
        return _REFUSED

    def __str__(self) -> str:
        return _REFUSED

    def __format__(self, specification: str) -> str:
        if specification:
            _refuse("it cannot be formatted")
        return _REFUSED

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        _refuse(f"its {name!r} cannot be set; a data set never changes")

    def __delattr__(self, name: str) -> NoReturn:
        _refuse(f"its {name!r} cannot be deleted; a data set never changes")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        _refuse("it cannot become an array")

    def __iter__(self) -> NoReturn:
        _refuse("its records cannot be listed")

    def __reversed__(self) -> NoReturn:
        _refuse("its records cannot be listed")

    def __contains__(self, item: object) -> NoReturn:
        _refuse("whether it holds a record is not told")

    def __len__(self) -> NoReturn:  # noqa: PLE0303
        _refuse("its number of records is not told; where it is public, the plan says it")

    def __bool__(self) -> NoReturn:  # noqa: PLE0304
        _refuse("whether it is empty is not told; compare with None by 'is None'")

    def __getitem__(self, key: object) -> NoReturn:
        _refuse("its records cannot be read")

    def __reduce__(self) -> NoReturn:
        _refuse("it cannot be pickled or sent to another process")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        _refuse("it cannot be pickled or sent to another process")

    def __getstate__(self) -> NoReturn:
        _refuse("it cannot be pickled or sent to another process")

    def __copy__(self) -> NoReturn:
        _refuse("it cannot be copied")

    def __deepcopy__(self, memo: object) -> NoReturn:
        _refuse("it cannot be copied")


def least_dtype(size: int) -> np.dtype[np.unsignedinteger]:
    """Return the least unsigned type for the codes 0 .. size - 1."""
    return np.dtype(np.min_scalar_type(max(size - 1, 0)))


def _encoded(column: NDArray[np.integer], size: int, name: str) -> Codes:
    if column.ndim != 1 or column.dtype.kind not in "iu":
        raise PrivateDataError(
            f"column {name!r}: expected one whole number per record, found an array of {column.dtype} with "
            f"{column.ndim} dimensions"
        )
    if column.size and not (column.min() >= 0 and column.max() < size):
        row = int(np.flatnonzero((column < 0) | (column >= size))[0])
        raise PrivateDataError(
            f"column {name!r}, row {row + 1}: code {column[row]} is none of 0 .. {size - 1}"
        )
    dtype = least_dtype(size)
    kept = column.dtype == dtype and column.flags.c_contiguous and not column.flags.writeable
    encoded: Codes = column.astype(dtype, order="C", copy=not kept)
    return freeze(encoded)


def _refuse(what: str) -> NoReturn:
    raise PrivacyBoundaryError(
        f"a PrivateDataset keeps its records: {what}. Answers about them come from the curator, which charges for them."
    )
