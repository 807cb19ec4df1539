"""The kinds of synopses, and a synopsis that is read from a file whose kind is not known.

The class of a kind is imported when a file of it is read: the help of the command line loads none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpopt.synopses.synopsis import Synopsis


def kind_of(path: str) -> Callable[[], Any]:
    """Return what imports the class of "module:Class" in this package."""

    def imported() -> Any:
        from dpopt.solvers.registry import load

        return load(f"dpopt.synopses.{path}")

    return imported


KINDS: Mapping[str, Callable[[], type[Synopsis]]] = {
    "dpopt_histogram": kind_of("histograms.histogram:Histogram"),
    "dpopt_grid_histogram": kind_of("histograms.grids.grid_histogram:GridHistogram"),
    "dpopt_sorted_counts": kind_of("histograms.sorted.sorted_counts:SortedCountsRelease"),
    "dpopt_intervals": kind_of("intervals.partition_release:PartitionRelease"),
    "dpopt_summary": kind_of("summaries.summary:Summary"),
    "dpopt_list_summary": kind_of("decision_lists.list_summary:ListSummary"),
    "dpopt_halfspaces": kind_of("halfspaces.halfspaces:Halfspaces"),
    "dpopt_sanitizer": kind_of("sanitizers.sanitized:SanitizedPolynomial"),
    "dpopt_count": kind_of("optimal_count:OptimalCount"),
    "dpopt_prefixes": kind_of("histograms.prefixes:Prefixes"),
}
"""Imports of the class of each kind, by the key of its statement."""


def read_synopsis(path: str | os.PathLike[str]) -> Synopsis:
    """Read a synopsis of any kind: a histogram, intervals, a summary, ....

    Parameters
    ----------
    path : path
        What `write` of a release, or a command with --out, wrote; also the file of prefixes, which grows.
    Raises ReleaseFolderError if the file is missing; TranscriptError if it is something else, or damaged.

    Examples
    --------
    >>> import dpopt, pandas, tempfile
    >>> ages = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40))
    >>> released = dpopt.histogram(pandas.DataFrame({"age": [1, 30]}), dpopt.Schema((ages,)), "age", epsilon=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     released.write(f"{folder}/ages.npz")
    ...     again = dpopt.read_synopsis(f"{folder}/ages.npz")
    >>> again.answer("0:20") == released.answer("0:20")
    True
    """
    from dpopt.synopses.synopsis import key_of
    from dpopt.transcript.journal import begins_as_journal

    key = "dpopt_prefixes" if begins_as_journal(path) else key_of(path, frozenset(KINDS))
    return KINDS[key]().read(path)
