"""From a table, or from counts, to a histogram."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Unpack

from dpopt.accounting.budget import Budget
from dpopt.errors import PlanError, SchemaError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.public_facts import public_number_of_bins
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.tree import read_hierarchy
from dpopt.releases.progress import stage
from dpopt.schema.attribute import Attribute
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.hierarchy_plan import plan_hierarchy
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.histogram_plan import plan_histogram
from dpopt.synopses.histograms.range_workload import ALL, NODES
from dpopt.synopses.histograms.tree_plan import TreePlan
from dpopt.synopses.release import Asked, Request, Running, one_source, reserved
from dpopt.transcript.journal import MemoryJournal

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def declared_attributes(
    request: Request, schema: Schema | str | os.PathLike[str], columns: tuple[str, ...]
) -> tuple[Attribute, ...]:
    """Return what a schema declares of columns.

    Raises
    ------
    SchemaError
        If the schema cannot be read, is an unreviewed draft, or lacks a column; or if a column is named twice.
    """
    declared = request.declared(schema)
    for place, column in enumerate(columns):
        if column in columns[:place]:
            raise SchemaError(f"found the column {column!r} twice; name different ones")
        if column not in declared.names:
            raise SchemaError(f"found no attribute {column!r}; the schema has {', '.join(declared.names)}")
    return tuple(declared.attributes[declared.names.index(column)] for column in columns)


def declared_bins(
    request: Request, schema: Schema | str | os.PathLike[str], columns: tuple[str, ...], *, ordered: bool
) -> tuple[Bins, ...]:
    """Return the bins that a schema declares for each of these columns.

    Raises
    ------
    DpoptError
        As `declared_attributes`; or if the schema does not say that the values of a column are ordered.
    """
    return tuple(
        Bins.of_attribute(one, ordered=ordered) for one in declared_attributes(request, schema, columns)
    )


def planned_histogram(
    bins: Bins,
    request: Request,
    budget: Budget,
    size: int | None = None,
    *,
    ranges: str | None = None,
    hierarchy: str | os.PathLike[str] | None = None,
) -> TreePlan:
    """Return the plan for these bins, over blocks of them or over a declared hierarchy; made from public values alone.

    Raises
    ------
    DpoptError
        For whatever cannot be planned.
    """
    relation = request.relation
    if hierarchy is None:
        return plan_histogram(bins, budget, ranges=ranges or ALL, relation=relation, size=size)
    return plan_hierarchy(
        read_hierarchy(hierarchy, bins),
        budget,
        bins=bins,
        ranges=ranges or NODES,
        relation=relation,
        size=size,
    )


def histogram(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str] | None = None,
    column: str | None = None,
    *,
    counts: str | None = None,
    ranges: str | None = None,
    hierarchy: str | os.PathLike[str] | None = None,
    ordered: bool = False,
    **asked: Unpack[Asked],
) -> Histogram:
    """Release the histogram of a column, which answers any range with its error.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    schema : Schema or path, optional
        Declares the column's bins or values. Public; other attributes are not looked at.
    column : str, optional
        The column that is counted.
    counts : str, optional
        In place of schema and column: the table has one row for each bin, in order, with its count in this column. A record is
        in one bin, and the number of rows is public.
    ranges : str, optional
        The ranges whose variance the plan minimizes: "all", "worst", "sizes:1,64,1024", "file:PATH"; with a hierarchy
        "nodes", "all", "sizes:..." or "file:PATH". "all" if left out, or "nodes".
    hierarchy : path, optional
        Public JSON file of nested lists of bins: the levels of this hierarchy are measured.
    ordered : bool
        Whether the declared values of a categorical column are ordered as they are listed.
    **asked
        epsilon (alone: Laplace noise), or epsilon and delta, or rho (Gaussian noise); neighbours, reading, accept_draft,
        progress, budget: see `dpopt.synopses.release.Asked`.

    Returns
    -------
    Histogram
        Answers by `answer("20:40")`, and is kept by `write(path)`.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.

    Examples
    --------
    >>> import dpopt, pandas
    >>> ages = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60, 80))
    >>> table = pandas.DataFrame({"age": [15, 25, 35, 45, 55, 65] * 50})
    >>> released = dpopt.histogram(table, dpopt.Schema((ages,)), "age", epsilon=1)
    >>> abs(released.answer("20:60").value - 200) < 50
    True
    """
    request = Request(**asked)
    one_source(column, schema, counts)
    if column is None or schema is None:
        account = request.account("histogram")
        with stage(request.stages, "reading the table"):
            read = request.counts(table, str(counts))
        bins = Bins(str(counts), public_number_of_bins(read))
        plan = partial(planned_histogram, bins, request, ranges=ranges, hierarchy=hierarchy)
        return request.release_read(read, account, plan, partial(release_histogram, bins=bins), counted=False)
    (attribute,) = declared_attributes(request, schema, (column,))
    bins = Bins.of_attribute(attribute, ordered=ordered)
    return request.release(
        "histogram",
        partial(planned_histogram, bins, request, ranges=ranges, hierarchy=hierarchy),
        lambda: BinCounts.of_columns(request.table(table, Schema((attribute,))), (column,)),
        partial(release_histogram, bins=bins),
        tried=None,
    )


def release_histogram(
    counts: BinCounts, plan: TreePlan, bins: Bins | None = None, **how: Unpack[Running]
) -> Histogram:
    """Measure the levels of a plan and return the histogram that they agree on.

    Parameters
    ----------
    counts : BinCounts
        The exact counts. Private.
    plan : TreePlan
    bins : Bins, optional
        What the bins are; positions 0, 1, ... if left out.
    **how
        As `dpopt.synopses.release.Running` says.

    Raises
    ------
    PlanError
        If plan and bins have different numbers of bins.
    PrivateDataError
        If the counts do not have the plan's number of bins, or under replace-one another number of records.
    BudgetError
        If the plan costs more than its budget.
    """
    named = named_bins(plan.bins, bins)
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
        noisy = tuple(curator.measure(plan.measurement(level)).values for level in plan.levels)
    with run.stage("making the counts consistent"):
        released = Histogram(named, plan, noisy, run.privacy())
        _ = released.counts
    return released


def named_bins(number: int, bins: Bins | None) -> Bins:
    """Return the bins of a plan: those that are given, or positions.

    Raises
    ------
    PlanError
        If these are not as many as were planned.
    """
    named = Bins("bins", number) if bins is None else bins
    if named.number != number:
        raise PlanError(
            f"found {named.number:,} bins for a plan of {number:,}; plan for the bins that are there"
        )
    return named


def named_axes(shape: tuple[int, ...], axes: tuple[Bins, ...] | None) -> tuple[Bins, ...]:
    """Return the columns of a plan: those that are given, or positions.

    Raises
    ------
    PlanError
        If these do not have the bins that were planned for.
    """
    named = tuple(Bins(f"column {place}", bins) for place, bins in enumerate(shape)) if axes is None else axes
    if tuple(bins.number for bins in named) != shape:
        raise PlanError(
            f"found columns of {[bins.number for bins in named]} bins for a plan of {list(shape)}"
        )
    return named
