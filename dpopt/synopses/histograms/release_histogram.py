"""From a table, or from counts, to a histogram."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from dpopt.accounting.budget import Budget
from dpopt.errors import PlanError
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.tree import Tree, read_hierarchy
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.counts_plan import OnSolved, discard
from dpopt.synopses.histograms.hierarchy_plan import plan_hierarchy
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.in_rounds import ROUNDS, measured_in_rounds
from dpopt.synopses.histograms.range_workload import ALL, NODES
from dpopt.synopses.histograms.tree_plan import TreePlan
from dpopt.synopses.histograms.wave_plan import plan_waves
from dpopt.synopses.release import ModelKeywords, Request, RequestKeywords, Reserved, Running, named_axes

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable

AUTO, BLOCKS, WAVES, _ = MEASURED = ("auto", "blocks", "waves", ROUNDS)
"""Choices of the measurements; `AUTO` stands for rounds, or blocks."""


def planned_histogram(
    bins: Bins,
    request: Request,
    budget: Budget,
    size: int | None = None,
    *,
    ranges: str | None = None,
    hierarchy: str | os.PathLike[str] | None = None,
    branching: int | None = None,
    measure: str = AUTO,
    modelled: bool = False,
    solver: str | None = None,
    on_solved: OnSolved = discard,
) -> TreePlan:
    """Return the plan for these bins from public values: waves, blocks, blocks in rounds, or a hierarchy.

    Nobody chooses rounds where estimates that are models will be asked for (`modelled`), which rounds do not have.
    """
    if measure not in MEASURED:
        raise PlanError(f"found {measure!r} to be measured; expected one of {', '.join(MEASURED)}")
    if measure in {WAVES, ROUNDS} and any(one is not None for one in (hierarchy, branching, solver)):
        raise PlanError(f"{measure} have no hierarchy, branching or solver: leave these out, or measure blocks")
    if branching is not None and (hierarchy is not None or solver is not None):
        raise PlanError(
            "a branching gives the hierarchy and the same budget to each of its levels: leave out the declared hierarchy "
            "and the solver, or the branching"
        )
    how: dict[str, Any] = {"ranges": ranges or (ALL if hierarchy is None else NODES), "relation": request.relation}
    if measure == WAVES:
        return plan_waves(bins.number, budget, **how)
    how |= {"size": size, "solver": solver, "on_solved": on_solved}
    if branching is not None:
        return plan_hierarchy(Tree.balanced(bins.number, branching), budget, bins=bins, uniform=True, **how)
    if hierarchy is not None:
        return plan_hierarchy(read_hierarchy(hierarchy, bins), budget, bins=bins, **how)
    chosen = None if measure == AUTO and not modelled else measure == ROUNDS
    return plan_blocks(bins, budget, rounds=chosen, **how)


def plan_histogram(
    schema: Schema | str | os.PathLike[str],
    column: str,
    *,
    n: int | None = None,
    ranges: str | None = None,
    hierarchy: str | os.PathLike[str] | None = None,
    branching: int | None = None,
    measure: str = AUTO,
    **keywords: Unpack[RequestKeywords],
) -> TreePlan:
    """Return the measurements that `histogram` would make of a column, and the expected errors, without a table.

    Parameters
    ----------
    n : int, optional
        The number of records, under replace.
    schema, column, ranges, hierarchy, branching, measure, **keywords
        As for `dpopt.histogram`.

    Returns
    -------
    TreePlan
        `level_names` and `scales` (noise, in records) of what is measured, `predicted` (mean variance of each group of
        ranges, in records squared).
    Raises DpoptError for whatever cannot be planned.

    Examples
    --------
    >>> import dpopt
    >>> ages = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60, 80))
    >>> planned = dpopt.plan_histogram(dpopt.Schema((ages,)), "age", epsilon=1)
    >>> {name: round(variance**0.5, 1) for name, variance in planned.predicted.items()}
    {'all ranges': 1.9}
    """
    request = Request(**keywords)
    (bins,) = request.declared_bins(schema, (column,))
    how: dict[str, Any] = {"ranges": ranges, "hierarchy": hierarchy, "branching": branching, "measure": measure}
    plan: Callable[..., TreePlan] = partial(planned_histogram, bins, request, **how)
    return plan(request.noise(plan, n), n)


def histogram(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str] | None = None,
    column: str | None = None,
    *,
    counts: str | None = None,
    ranges: str | None = None,
    hierarchy: str | os.PathLike[str] | None = None,
    branching: int | None = None,
    measure: str = AUTO,
    **keywords: Unpack[ModelKeywords],
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
        In place of schema and column: the table has one row for each bin, in order, with its count in this column. A
        record is in one bin, and the number of rows is public.
    ranges : str, optional
        The ranges whose variance the plan minimizes: "all", "prefixes", "worst", "sizes:1,64,1024", "file:PATH"; with a
        hierarchy "nodes", "all", "sizes:..." or "file:PATH". "all" if left out, or "nodes".
    hierarchy : path, optional
        Public JSON file of nested lists of bins: the levels of this hierarchy are measured.
    branching : int, optional
        At least 2. The tree of Hay et al. 2010, in which each node joins this many, all levels with the same part of the
        budget; its estimate "least-squares" is their H-bar. Without it the plan chooses levels and budgets, with less
        error.
    measure : str
        "blocks" (of 1, 2, 4, ... bins), or "waves": of the least variance for "all" ranges or "prefixes", with Gaussian
        noise under add-remove; better where most bins hold records, and often worse where most are empty. "rounds"
        measures blocks from the largest down and divides none further that holds few records: better where most bins
        are empty or alike. "auto": rounds for "all" ranges or "prefixes" with Laplace noise, if blocks of 8 bins or
        more are planned and no solver is named; else blocks.
    **keywords
        epsilon (delta=0: pure), or rho; neighbours, reading, accept_draft, progress, budget: see
        `dpopt.synopses.release.RequestKeywords`; solver, seconds: see `dpopt.synopses.release.ModelKeywords`.

    Returns
    -------
    Histogram
        Answers by `answer("20:40")`, and is kept by `write(path)`.
    Raises DpoptError for whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote
    the table.

    Examples
    --------
    >>> import dpopt, pandas
    >>> ages = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60, 80))
    >>> table = pandas.DataFrame({"age": [15, 25, 35, 45, 55, 65] * 50})
    >>> released = dpopt.histogram(table, dpopt.Schema((ages,)), "age", epsilon=1)
    >>> abs(released.answer("20:60").value - 200) < 50
    True
    """
    request = Request(**keywords)
    how: dict[str, Any] = {"ranges": ranges, "hierarchy": hierarchy, "branching": branching, "measure": measure}
    return request.release_bins(
        "histogram",
        table,
        schema,
        () if column is None else (column,),
        counts=counts,
        plan=lambda axes, *given: planned_histogram(
            axes[0], request, *given, modelled=request.solver is not None, **how
        ),
        measure=lambda axes: partial(release_histogram, bins=axes[0]),
    )


def release_histogram(counts: BinCounts, plan: TreePlan, bins: Bins | None = None, **how: Unpack[Running]) -> Histogram:
    """Measure the levels of a plan and return the histogram that they agree on, as `dpopt.synopses.release.Measure` says.

    `bins` are positions 0, 1, ... if left out.
    """
    (named,) = named_axes((plan.bins,), (Bins("bins", plan.bins) if bins is None else bins,))
    run = Reserved.of(plan, how)
    in_rounds = bool(plan.round_levels)
    noisy = measured_in_rounds(run, counts, plan) if in_rounds else run.measured(counts, plan.measurements())
    with run.stage("making the counts consistent"):
        released = Histogram(named, plan, noisy, run.privacy())
        _ = released.counts
    return released
