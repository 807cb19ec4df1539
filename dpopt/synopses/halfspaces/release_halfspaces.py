"""From a table behind its door to released halfspaces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError, SchemaError
from dpopt.private.measurements.halfspace_measurement import ProjectedPoints
from dpopt.private.readers.open_table import open_table
from dpopt.private.readers.read_numbers import HalfspacePoints, columns_of_array, read_points
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries.halfspaces.halfspaces import COPIES, PointColumns, Scaling
from dpopt.schema.schema import AttributeKind, Schema
from dpopt.synopses.halfspaces.halfspace_plan import HalfspacePlan
from dpopt.synopses.halfspaces.halfspaces import Halfspaces
from dpopt.synopses.halfspaces.planning import named_shapes, plan_halfspaces
from dpopt.synopses.release import Request, RequestKeywords, Reserved, Running

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def declared_columns(
    table: AnyTable | NDArray[np.float64],
    names: tuple[str, ...] | None,
    bounds: str | None,
    schema: Schema | None,
    *,
    normalise: bool,
    reading: TableReading | None = None,
) -> PointColumns:
    """Return the columns with their scaling: those that are named, all numeric ones of a schema, or all of the table.

    Only names of columns are read from the table, and only where none are given: they are taken to be public. Those of
    an array, or of a .npy file, are x1, x2, ... A schema has the bounds of each column.
    """
    if normalise + (bounds is not None) + (schema is not None) > 1:
        raise PlanError("found more than one scaling; give --normalise, --bounds or --schema, or none of them")
    if schema is not None:
        return _with_schema(names, schema)
    named = _of_table(table, reading) if names is None else names
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
        if attribute.kind is AttributeKind.NUMERIC and attribute.after is None and attribute.date_format is None
    }
    chosen = tuple(numeric) if names is None else names
    unknown = [name for name in chosen if name not in numeric]
    if unknown:
        raise SchemaError(
            f"{', '.join(map(repr, unknown))}: no numeric attribute of the schema, which has "
            f"{', '.join(numeric) or 'none'}"
        )
    return PointColumns(chosen, Scaling.BOUNDS, tuple(numeric[name] for name in chosen))


def _of_table(table: AnyTable | NDArray[np.float64], reading: TableReading | None) -> tuple[str, ...]:
    number = None
    if isinstance(table, np.ndarray):
        number = table.shape[-1]
    elif isinstance(table, str | os.PathLike):
        number = columns_of_array(Path(table))
    if number is not None:
        return tuple(f"x{place + 1}" for place in range(number))
    return open_table(table, reading).names


def halfspaces(
    table: AnyTable | NDArray[np.float64],
    margin: float,
    *,
    columns: PointColumns | Sequence[str] | None = None,
    normalise: bool = False,
    bounds: str | None = None,
    schema: Schema | str | os.PathLike[str] | None = None,
    projected_to: int | None = None,
    projections: int | None = None,
    directions: int | None = None,
    n0: int | None = None,
    queries: int = 1000,
    seed: int = 0,
    copies: int = COPIES,
    **keywords: Unpack[RequestKeywords],
) -> Halfspaces:
    """Release noisy sides of projected points, from which the share of the records in any halfspace is estimated.

    Parameters
    ----------
    table : path, DataFrame or (n, d) array
        CSV (also .gz), Parquet or .npy; or in memory. Private.
    margin : float
        gamma: errors are predicted for queries y (of length 1) with abs(<x, y>) of at least gamma for all records x.
    columns : sequence of str or PointColumns, optional
        Columns of the coordinates; all columns if left out.
    normalise : bool
        Divide each row by its length; else rows must have length 1.
    bounds : str, optional
        In place of `normalise`: public bounds "LOW:HIGH" of all columns; each is centred and scaled, so that rows have
        length 1 at most.
    schema : Schema or path, optional
        In place of `bounds`: its numeric attributes have the bounds of the columns. Public.
    projected_to, projections, directions : int, optional
        T, the dimension of the projections; m, how many; and how many canonical directions each has, antipodes among
        them. Chosen if left out.
    n0 : int, optional
        Under add-remove the public number of records that answers are shares of; measured with 1 % of the budget if
        left out. Under replace the number of records is public, and read off the table.
    queries : int
        Number of queries for which errors are predicted simultaneously.
    seed : int
        Seed of the projections. Public; no private draw depends on it.
    copies : int
        Number of random signs that an entry of a projection adds up; 1 gives the paper's matrices.
    **keywords
        epsilon (delta=0: pure), or rho; neighbours, progress, budget, accept_draft, reading (how a text file is
        written): see `dpopt.synopses.release.RequestKeywords`.

    Returns
    -------
    Halfspaces
        Answers by `answer("0.6,0.8")`, and is kept by `write(path)`.
    Raises DpoptError for whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote
    the table.

    Examples
    --------
    >>> import dpopt, numpy
    >>> points = numpy.array([[0.6, 0.8], [-0.6, -0.8]] * 500)
    >>> shape = {"projected_to": 2, "projections": 8, "directions": 8}
    >>> released = dpopt.halfspaces(points, 0.5, **shape, n0=1000, epsilon=5)
    >>> one = released.answer("0.6,0.8", confidence=0.9999)
    >>> abs(one.value - 0.5) <= one.bound
    True
    """
    request = Request(**keywords)
    request.refuse_reading("each row of coordinates is a record; leave them out")
    if isinstance(columns, PointColumns):
        chosen = columns
    else:
        chosen = declared_columns(
            table,
            None if columns is None else tuple(columns),
            bounds,
            None if schema is None else request.declared(schema),
            normalise=normalise,
            reading=request.reading,
        )
    how: dict[str, Any] = {"margin": margin, "queries": queries, "seed": seed, "copies": copies}
    shapes = named_shapes(projected_to, projections, directions)
    return request.release(
        "halfspaces",
        table,
        partial(plan_halfspaces, chosen, relation=request.relation, shapes=shapes, **how),
        lambda: read_points(table, chosen, request.reading),
        release_halfspaces,
        size=n0,
        margin=0.0,
    )


def release_halfspaces(points: HalfspacePoints, plan: HalfspacePlan, **how: Unpack[Running]) -> Halfspaces:
    """Make the measurements of a plan and return the release, as `dpopt.synopses.release.Measure` says."""
    run = Reserved.of(plan, how)
    held = ProjectedPoints.of(points, plan.projections)
    return Halfspaces(plan, run.measured(held, plan.measurements()), run.privacy())
