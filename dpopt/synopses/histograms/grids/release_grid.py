"""From a table to a histogram of several columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Unpack

from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.bin_measurement import GroupSums
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import block_of_cells, blocks_shape
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from dpopt.synopses.histograms.grids.grid_plan import GridPlan, blocks_name, plan_grid
from dpopt.synopses.histograms.release_histogram import declared_attributes, named_axes
from dpopt.synopses.release import Asked, Request, Running, reserved
from dpopt.transcript.journal import MemoryJournal

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def grid(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    columns: Sequence[str],
    *,
    ranges: str = "all",
    shapes: str = "auto",
    ordered: bool = False,
    **asked: Unpack[Asked],
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
        Which blocks of cells may be measured: "auto", "cubes", "rectangles" or "cells".
    ordered : bool
        Whether the declared values of categorical columns are ordered as they are listed.
    **asked
        epsilon (alone: Laplace noise), or epsilon and delta, or rho (Gaussian noise); neighbours, reading, accept_draft,
        progress, budget: see `dpopt.synopses.release.Asked`.

    Returns
    -------
    GridHistogram
        Answers by `answer("20:40,:")`, and is kept by `write(path)`.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.

    Examples
    --------
    >>> import dpopt, pandas
    >>> ages = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60, 80))
    >>> smokers = dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN)
    >>> table = pandas.DataFrame({"age": [15, 25, 35, 45] * 50, "smoker": [True, False] * 100})
    >>> released = dpopt.grid(
    ...     table, dpopt.Schema((ages, smokers)), ("age", "smoker"), epsilon=5, ordered=True
    ... )
    >>> abs(released.answer("20:40,:").value - 100) < 50
    True
    """
    request, names = Request(**asked), tuple(columns)
    attributes = declared_attributes(request, schema, names)
    axes = tuple(Bins.of_attribute(attribute, ordered=ordered) for attribute in attributes)
    return request.release(
        "grid",
        lambda budget, size: plan_grid(
            tuple(bins.number for bins in axes),
            budget,
            ranges=ranges,
            shapes=shapes,
            relation=request.relation,
            size=size,
        ),
        lambda: BinCounts.of_columns(request.table(table, Schema(attributes)), names),
        partial(release_grid, axes=axes),
        tried=None,
    )


def release_grid(
    counts: BinCounts, plan: GridPlan, axes: tuple[Bins, ...] | None = None, **how: Unpack[Running]
) -> GridHistogram:
    """Measure the levels of a plan and return the histogram that they agree on.

    Parameters
    ----------
    counts : BinCounts
        The exact counts of the cells, the last column's bins fastest. Private.
    plan : GridPlan
    axes : tuple of Bins, optional
        What the bins of each column are; positions 0, 1, ... if left out.
    **how
        As `dpopt.synopses.release.Running` says.

    Raises
    ------
    PlanError, PrivateDataError, BudgetError
        As `release_histogram`.
    """
    named = named_axes(plan.shape, axes)
    run = reserved(plan, plan.charges(), how)
    with run.stage("measuring"):
        curator = CountingCurator(
            counts,
            run.ledger,
            MemoryJournal(keep=False),
            size=plan.size or 0,
            noise=run.noise,
            progress=run.progress.share,
        )
        noisy = []
        for level, scale in zip(plan.levels, plan.scales, strict=True):
            blocks = blocks_shape(plan.shape, level)
            sums = GroupSums(
                blocks_name(level), scale, plan.gaussian, block_of_cells(plan.shape, level), prod(blocks)
            )
            noisy.append(curator.measure(sums).values.reshape(blocks))
    with run.stage("making the counts consistent"):
        released = GridHistogram(named, plan, tuple(noisy), run.privacy())
        _ = released.counts
    return released
