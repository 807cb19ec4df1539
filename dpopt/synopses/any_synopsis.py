"""A synopsis, read from a file whose kind is not known."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dpopt.synopses.decision_lists.list_summary import ListSummary
from dpopt.synopses.halfspaces.halfspaces import Halfspaces
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease
from dpopt.synopses.intervals.partition_release import PartitionRelease
from dpopt.synopses.sanitizers.sanitized import SanitizedPolynomial
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.synopsis import Synopsis, key_of

KINDS: Mapping[str, type[Synopsis]] = {
    kind.KEY: kind
    for kind in (
        Histogram,
        GridHistogram,
        SortedCountsRelease,
        PartitionRelease,
        Summary,
        ListSummary,
        Halfspaces,
        SanitizedPolynomial,
    )
}
"""The class of each kind by the key of its statement."""


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
    return KINDS[key_of(path, frozenset(KINDS))].read(path)
