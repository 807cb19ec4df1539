"""Which columns hold the coordinates of points and how they are scaled, from what a user declares."""

from __future__ import annotations

import os
from math import isfinite
from pathlib import Path

from dpopt.errors import PlanError, SchemaError
from dpopt.private.readers.open_table import open_table
from dpopt.private.readers.read_numbers import columns_of_array
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling
from dpopt.schema.schema import AttributeKind, Schema


def declared_columns(
    table: str | os.PathLike[str],
    names: tuple[str, ...] | None,
    bounds: str | None,
    schema: str | os.PathLike[str] | None,
    *,
    normalise: bool,
    reading: TableReading | None = None,
) -> PointColumns:
    """Return the columns with their scaling.

    Parameters
    ----------
    table : path
        Only its names of columns are read here, and only where none are given: they are taken to be public. The columns of a
        .npy file are called x1, x2, ...
    names : tuple of str or None
        None: all numeric attributes of the schema, or all columns of the table.
    bounds : str or None
        "LOW:HIGH" for all columns.
    schema : path or None
        Bounds of each column, from its numeric attributes.
    normalise : bool
    reading : TableReading, optional
        How a text file is written.

    Raises
    ------
    PlanError
        If more than one scaling is named, or bounds make no sense.
    SchemaError
        If a column is no numeric attribute of the schema.
    """
    if normalise + (bounds is not None) + (schema is not None) > 1:
        raise PlanError(
            "found more than one scaling; give --normalise, --bounds or --schema, or none of them"
        )
    if schema is not None:
        return _with_schema(names, Schema.read(schema))
    named = _of_table(Path(table), reading) if names is None else names
    if bounds is None:
        return PointColumns(named, Scaling.NORMALISE if normalise else Scaling.UNIT)
    low, found, high = bounds.partition(":")
    try:
        pair = (float(low), float(high)) if found else None
    except ValueError:
        pair = None
    if pair is None or not (isfinite(pair[0]) and isfinite(pair[1])):
        raise PlanError(f"found --bounds {bounds[:40]}; expected two numbers with a colon, as in 0:100")
    return PointColumns(named, Scaling.BOUNDS, (pair,) * len(named))


def _with_schema(names: tuple[str, ...] | None, schema: Schema) -> PointColumns:
    numeric = {
        attribute.name: (float(attribute.edges[0]), float(attribute.edges[-1]))
        for attribute in schema.attributes
        if attribute.kind is AttributeKind.NUMERIC
    }
    chosen = tuple(numeric) if names is None else names
    unknown = [name for name in chosen if name not in numeric]
    if unknown:
        raise SchemaError(
            f"{', '.join(map(repr, unknown))}: no numeric attribute of the schema, which has {', '.join(numeric) or 'none'}"
        )
    return PointColumns(chosen, Scaling.BOUNDS, tuple(numeric[name] for name in chosen))


def _of_table(table: Path, reading: TableReading | None) -> tuple[str, ...]:
    number = columns_of_array(table)
    if number is not None:
        return tuple(f"x{place + 1}" for place in range(number))
    return open_table(table, reading).names
