"""Synthetic records as a table like the one that was read: the same columns, values in place of codes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import SchemaError
from dpopt.releases.folder_files import write_whole
from dpopt.releases.table_output import write_csv, write_parquet
from dpopt.schema.schema import Schema


def write_records(
    path: str | os.PathLike[str],
    schema: Schema,
    records: NDArray[np.int32],
    *,
    weights: NDArray[np.float64] | None = None,
    weight_column: str = "weight",
    format: str = "csv",  # noqa: A002  the plainest word
) -> str | None:
    """Write records so that `read_table` gives the same codes again.

    The file appears whole or not at all: it is written under another name in the same folder, flushed to disk and
    renamed. The same arguments give the same bytes (Parquet: with the same version of pyarrow).

    Parameters
    ----------
    path
        The file; one that is there is replaced.
    schema
        The public schema: names, order and types of the columns.
    records : (r, d) int32
        One row of codes per record.
    weights : (r,) float64, optional
        Finite weights of the records, written as the last column.
    weight_column
        Name of that column. If the schema has an attribute of this name, the column is called "dpopt_weight".
    format
        "csv": UTF-8, commas; a missing value is the missing text. "parquet": text, int64, double and bool columns; a
        missing value is null.

    Returns
    -------
    str or None
        The name that the weights were given, None without weights.

    Raises
    ------
    SchemaError
        If records or weights have another shape or type, or a code is not in the schema.
    ReleaseFolderError
        If the file cannot be written.
    """
    _check(schema, records, weights)
    name = weight_name(schema, weight_column)
    write = {"csv": write_csv, "parquet": write_parquet}.get(format)
    if write is None:
        raise SchemaError(f"the format {format!r} is not known; expected 'csv' or 'parquet'")
    write_whole(Path(path), lambda stream: write(stream, schema, records, weights, name), "records")
    return None if weights is None else name


def _check(schema: Schema, records: NDArray[np.int32], weights: NDArray[np.float64] | None) -> None:
    if records.dtype != np.int32 or records.ndim != 2 or records.shape[1] != len(schema):
        raise SchemaError(
            f"expected records of shape (r, {len(schema)}) and type int32, found {records.shape} and {records.dtype}"
        )
    bad = (records < 0) | (records >= schema.sizes)
    if bad.any():
        row, position = (int(index) for index in np.argwhere(bad)[0])
        attribute = schema.attributes[position]
        raise SchemaError(
            f"record {row} has code {records[row, position]} in {attribute.name!r}; the codes are 0 .. "
            f"{attribute.size - 1}"
        )
    if weights is None:
        return
    if weights.dtype != np.float64 or weights.shape != records.shape[:1]:
        raise SchemaError(
            f"expected {len(records)} weights of type float64, found shape {weights.shape} and {weights.dtype}"
        )
    if not np.isfinite(weights).all():
        raise SchemaError(
            f"weight {int(np.argmin(np.isfinite(weights)))} is not finite; weights are finite numbers"
        )


def weight_name(schema: Schema, wanted: str = "weight") -> str:
    """Return the name of the column of weights: `wanted`, or "dpopt_weight" where an attribute has that name."""
    names = set(schema.names)
    if wanted not in names:
        return wanted
    free, number = "dpopt_weight", 1
    while free in names:
        number += 1
        free = f"dpopt_weight_{number}"
    return free
