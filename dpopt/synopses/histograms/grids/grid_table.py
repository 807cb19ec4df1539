"""A released histogram of several columns as a CSV file: a line for each cell, with its error."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import IO

import numpy as np

from dpopt.releases.folder_files import write_whole
from dpopt.synopses.histograms.grids.grid_histogram import GridEstimate, GridHistogram


def write_cells(
    histogram: GridHistogram,
    path: str | os.PathLike[str],
    *,
    whole: bool = False,
    estimate: str | GridEstimate = GridEstimate.DIVIDED,
) -> None:
    """Write labels of each column's bin, count, standard error and interval of 95 % of each cell; whole or not at all.

    Parameters
    ----------
    whole : bool
        Whether counts are rounded to whole numbers that add up to the rounded total.
    estimate : str or GridEstimate

    Raises
    ------
    PlanError
        If there is no such estimate.
    ReleaseFolderError
        If the file cannot be written.
    """
    cells = np.stack(np.unravel_index(np.arange(np.prod(histogram.plan.shape)), histogram.plan.shape), axis=1)
    answers = histogram.boxes_from(cells.astype(np.int64), cells.astype(np.int64) + 1, estimate=estimate)
    rounded = histogram.whole_counts(estimate).reshape(-1).tolist() if whole else None

    def write(stream: IO[bytes]) -> None:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow([*(bins.name for bins in histogram.axes), "count", "standard_error", "low", "high"])
        for place, (cell, answer) in enumerate(zip(cells.tolist(), answers, strict=True)):
            labels = [bins.label(at) for bins, at in zip(histogram.axes, cell, strict=True)]
            count = f"{answer.value:.6g}" if rounded is None else rounded[place]
            lines.writerow(
                [
                    *labels,
                    count,
                    *(f"{value:.6g}" for value in (answer.standard_error, answer.low, answer.high)),
                ]
            )
        text.flush()
        text.detach()

    write_whole(Path(path), write, "table of cells")
