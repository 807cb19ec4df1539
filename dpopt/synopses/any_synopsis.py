"""The kinds of synopses, and a synopsis that is read from a file whose kind is not known.

The class of a kind is imported when a file of it is read: the help of the command line loads none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpopt.synopses.synopsis import Synopsis


def _histogram() -> type[Synopsis]:
    from dpopt.synopses.histograms.histogram import Histogram

    return Histogram


def _grid_histogram() -> type[Synopsis]:
    from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram

    return GridHistogram


def _sorted_counts_release() -> type[Synopsis]:
    from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease

    return SortedCountsRelease


def _partition_release() -> type[Synopsis]:
    from dpopt.synopses.intervals.partition_release import PartitionRelease

    return PartitionRelease


def _summary() -> type[Synopsis]:
    from dpopt.synopses.summaries.summary import Summary

    return Summary


def _list_summary() -> type[Synopsis]:
    from dpopt.synopses.decision_lists.list_summary import ListSummary

    return ListSummary


def _halfspaces() -> type[Synopsis]:
    from dpopt.synopses.halfspaces.halfspaces import Halfspaces

    return Halfspaces


def _sanitized() -> type[Synopsis]:
    from dpopt.synopses.sanitizers.sanitized import SanitizedPolynomial

    return SanitizedPolynomial


def _optimal_count() -> type[Synopsis]:
    from dpopt.synopses.optimal_count import OptimalCount

    return OptimalCount


KINDS: Mapping[str, Callable[[], type[Synopsis]]] = {
    "dpopt_histogram": _histogram,
    "dpopt_grid_histogram": _grid_histogram,
    "dpopt_sorted_counts": _sorted_counts_release,
    "dpopt_intervals": _partition_release,
    "dpopt_summary": _summary,
    "dpopt_list_summary": _list_summary,
    "dpopt_halfspaces": _halfspaces,
    "dpopt_sanitizer": _sanitized,
    "dpopt_count": _optimal_count,
}
"""Imports of the class of each kind, by the key of its statement."""


def read_synopsis(path: str | os.PathLike[str]) -> Synopsis:
    """Read a synopsis of any kind: a histogram, intervals, a summary, ....

    Parameters
    ----------
    path : path
        What `write` of a release, or a command with --out, wrote.
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

    return KINDS[key_of(path, frozenset(KINDS))]().read(path)
