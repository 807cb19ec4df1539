"""From a table to a histogram of several columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from dpopt.synopses.histograms.grids.grid_plan import GridPlan, plan_grid
from dpopt.synopses.histograms.in_rounds import measured_in_rounds
from dpopt.synopses.release import ModelKeywords, Request, Reserved, Running, named_axes

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def grid(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    columns: Sequence[str],
    *,
    ranges: str = "all",
    shapes: str = "auto",
    **keywords: Unpack[ModelKeywords],
) -> GridHistogram:
    """Release the histogram of several columns, which answers any box with its error.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    schema : Schema or path
        Declares the columns' bins or values. Public; other attributes are not looked at.
    columns : sequence of str
        Different ones; at most 4,194,304 cells together.
    ranges : str
        The boxes whose variance the plan minimizes: "all", or sizes such as "sizes:1x1,16x16".
    shapes : str
        Which blocks of cells may be measured: "cubes", "rectangles", "cells", "rounds": the largest first, and none
        that holds few records is divided further; or "auto": rounds of two columns with Laplace noise where no solver
        is named (`dpopt.synopses.histograms.grids.grid_plan.plan_grid`).
    **keywords
        epsilon (delta=0: pure), or rho; neighbours, reading, accept_draft, progress, budget: see
        `dpopt.synopses.release.RequestKeywords`; solver, seconds: see `dpopt.synopses.release.ModelKeywords`.

    Returns
    -------
    GridHistogram
        Answers by `answer("20:40,:")`, and is kept by `write(path)`.
    Raises DpoptError for whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote
    the table.

    Examples
    --------
    >>> import dpopt, pandas
    >>> ages = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60, 80))
    >>> smokers = dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN)
    >>> table = pandas.DataFrame({"age": [15, 25, 35, 45] * 50, "smoker": [True, False] * 100})
    >>> released = dpopt.grid(table, dpopt.Schema((ages, smokers)), ("age", "smoker"), epsilon=5)
    >>> abs(released.answer("20:40,:").value - 100) < 50
    True
    """
    request = Request(**keywords)
    how: dict[str, Any] = {"ranges": ranges, "shapes": shapes, "modelled": request.solver is not None}
    return request.release_bins(
        "grid",
        table,
        schema,
        tuple(columns),
        plan=lambda axes, *given: plan_grid(
            tuple(bins.number for bins in axes), *given, relation=request.relation, **how
        ),
        measure=lambda axes: partial(release_grid, axes=axes),
    )


def release_grid(
    counts: BinCounts, plan: GridPlan, axes: tuple[Bins, ...] | None = None, **how: Unpack[Running]
) -> GridHistogram:
    """Measure the levels of a plan and return the histogram that they agree on, as `dpopt.synopses.release.Measure` says.

    The counts are those of the cells, the last column's bins fastest; `axes` are positions 0, 1, ... if left out.
    """
    named = named_axes(plan.shape, axes)
    run = Reserved.of(plan, how)
    if plan.round_levels:
        noisy = measured_in_rounds(run, counts, plan)
    else:
        flat = run.measured(counts, plan.measurements())
        noisy = tuple(values.reshape(shape) for values, shape in zip(flat, plan.level_shapes(), strict=True))
    with run.stage("making the counts consistent"):
        released = GridHistogram(named, plan, noisy, run.privacy())
        _ = released.counts
    return released
