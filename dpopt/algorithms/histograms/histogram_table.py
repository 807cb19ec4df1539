"""Released histograms as CSV files: a line for each bin, with its error; a line for each count, with its frequency."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.folder_files import write_whole
from dpopt.algorithms.histograms.histogram import Histogram


def write_table(histogram: Histogram, path: str | os.PathLike[str], *, whole: bool = False) -> None:
    """Write bin, label, count, standard error and interval of 95 % of each bin; whole or not at all.

    Parameters
    ----------
    whole : bool
        Whether counts are rounded to whole numbers, so that sums over the first bins are the rounded ones.

    Raises
    ------
    ReleaseFolderError
        If the file cannot be written.
    """
    number = histogram.bins.number
    answers = histogram.ranges([(place, place + 1) for place in range(number)])
    rounded = histogram.whole_counts().tolist() if whole else None

    def write(stream: IO[bytes]) -> None:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(["bin", "label", "count", "standard_error", "low", "high"])
        for place, answer in enumerate(answers):
            count = f"{answer.value:.6g}" if rounded is None else rounded[place]
            errors = [f"{value:.6g}" for value in (answer.standard_error, answer.low, answer.high)]
            lines.writerow([place, histogram.bins.label(place), count, *errors])
        text.flush()
        text.detach()

    write_whole(Path(path), write, "table of counts")


def write_frequencies(frequencies: NDArray[np.int64], path: str | os.PathLike[str]) -> None:
    """Write how many bins or nodes have each count that some have; whole or not at all."""
    used = np.flatnonzero(frequencies)
    lines = [
        f"{count},{number}\n" for count, number in zip(used.tolist(), frequencies[used].tolist(), strict=True)
    ]

    def write(stream: IO[bytes]) -> None:
        stream.write(b"count,frequency\n")
        stream.writelines(line.encode() for line in lines)

    write_whole(Path(path), write, "table of frequencies")
