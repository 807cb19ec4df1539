"""What a plan assumes of the share of ones in a wide table where none is declared: by how the table is handed over."""

from __future__ import annotations

from dataclasses import dataclass

from dpopt.algorithms.dualquery.budget_fit import LARGEST_SPARSE_DENSITY
from dpopt.private.readers.table_reading import Layout
from dpopt.schema.schema import Schema

ONES_IN_A_RECORD = 40
"""Ones that a record of a sparse table is assumed to have: 9, 34, 37, 93 and 165 are the means of five public tables of
purchases, visits and ratings."""

SPARSE_MATRIX, BIT_TABLE = "a sparse matrix", "a table of bits"
"""How a table in memory is handed over; files have a `Layout`."""

_SPARSE = (*(layout.value for layout in Layout if layout is not Layout.BITS), SPARSE_MATRIX)
LEAST_SPARSE_COLUMNS = round(ONES_IN_A_RECORD / LARGEST_SPARSE_DENSITY)
"""With fewer columns 40 ones would be no sparse record, and tables are planned as dense ones whatever their layout."""


@dataclass(frozen=True, slots=True)
class AssumedDensity:
    """What is assumed, from public values alone.

    Attributes
    ----------
    density : float or None
        Share of ones of a sparse table; None for a dense one, with about as many ones as zeros.
    form : str or None
        How the table is handed over; None where that is not known.
    because : str
        Why, in words.
    """

    density: float | None
    form: str | None
    because: str


def assumed_density(schema: Schema, form: str | None) -> AssumedDensity | None:
    """Return what is assumed of a wide table without a declared share of ones; None for other tables.

    Layouts that list ones alone (npz, mtx, baskets, pairs, a sparse matrix in memory) are chosen where most cells are zeros; so
    from 400 columns on 40 ones are assumed in a record. Neither the layout nor the number of columns says anything about the
    records: both are public, and the release holds them.

    Parameters
    ----------
    schema : Schema
    form : str or None
        A `Layout`, `SPARSE_MATRIX` or `BIT_TABLE`; None where it is not known, as for a plan without a table.
    """
    if not schema.is_binary:
        return None
    width = len(schema)
    if form is None:
        return AssumedDensity(None, form, "no layout is named, so about as many ones as zeros are assumed")
    how = f"the layout {form}" if form in tuple(Layout) else form
    if form not in _SPARSE:
        return AssumedDensity(
            None, form, f"{how} holds zeros and ones alike, so about as many ones as zeros are assumed"
        )
    if width < LEAST_SPARSE_COLUMNS:
        return AssumedDensity(
            None,
            form,
            f"{how} lists ones alone, but of {width:,} columns (fewer than {LEAST_SPARSE_COLUMNS}) about as many ones as zeros "
            "are assumed",
        )
    return AssumedDensity(
        ONES_IN_A_RECORD / width,
        form,
        f"{how} lists ones alone, so {ONES_IN_A_RECORD} ones are assumed in a record of {width:,} columns",
    )
