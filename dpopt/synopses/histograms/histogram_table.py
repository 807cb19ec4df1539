"""Released counts as CSV files: a line for each bin, with its error; for each count, with its frequency; or in order."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dpopt.releases.folder_files import write_whole
from dpopt.synopses.histograms.estimates import Estimate
from dpopt.synopses.histograms.histogram import Histogram


def write_table(
    histogram: Histogram,
    path: str | os.PathLike[str],
    *,
    whole: bool = False,
    estimate: str | Estimate = Estimate.DIVIDED,
) -> None:
    """Write bin, label, count, standard error and interval of 95 % of each bin; whole or not at all.

    Parameters
    ----------
    whole : bool
        Whether counts are rounded to whole numbers, so that sums over the first bins are the rounded ones.
    estimate : str or Estimate
        Which counts.

    Raises
    ------
    ReleaseFolderError
        If the file cannot be written.
    PlanError
        If there is no such estimate.
    """
    number = histogram.bins.number
    answers = histogram.ranges([(place, place + 1) for place in range(number)], estimate=estimate)
    rounded = whole or Estimate(estimate) is Estimate.WHOLE
    counts = histogram.whole_counts(estimate).tolist() if rounded else [f"{one.value:.6g}" for one in answers]
    rows = [
        [place, histogram.bins.label(place), count]
        + [f"{value:.6g}" for value in (answer.standard_error, answer.low, answer.high)]
        for place, (count, answer) in enumerate(zip(counts, answers, strict=True))
    ]
    _write_rows(path, ["bin", "label", "count", "standard_error", "low", "high"], rows, "table of counts")


def write_frequencies(counts: NDArray[np.int64], path: str | os.PathLike[str]) -> None:
    """Write how many bins or nodes have each count that some have; whole or not at all."""
    rows = np.column_stack(np.unique(counts, return_counts=True)).tolist()
    _write_rows(path, ["count", "frequency"], rows, "table of frequencies")


def write_sequence(counts: NDArray[np.int64], path: str | os.PathLike[str]) -> None:
    """Write sorted counts, the largest first, each with its rank from 1; whole or not at all."""
    ranks = np.arange(1, counts.size + 1)
    _write_rows(path, ["rank", "count"], np.column_stack((ranks, counts[::-1])).tolist(), "sorted counts")


def _write_rows(
    path: str | os.PathLike[str], header: Sequence[str], rows: Iterable[Sequence[object]], what: str
) -> None:
    def write(stream: IO[bytes]) -> None:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(header)
        lines.writerows(rows)
        text.flush()
        text.detach()

    write_whole(Path(path), write, what)
