"""Released partitions as CSV files: a line for each interval or box with its weight, or synthetic records."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError
from dpopt.queries.ranges.bins import Bins
from dpopt.releases.folder_files import write_whole
from dpopt.schema.attribute import number_text
from dpopt.synopses.intervals.partition_release import PartitionRelease

MOST_RECORDS = 10_000_000


def write_boxes(released: PartitionRelease, path: str | os.PathLike[str]) -> None:
    """Write the first and the last bin of each box along each column, and its weight; whole or not at all.

    Raises
    ------
    ReleaseFolderError
        If the file cannot be written.
    """
    header = [f"{bins.name} {end}" for bins in released.axes for end in ("first", "last")]
    partition = released.partition
    ends = zip(partition.starts.tolist(), partition.stops.tolist(), released.weights.tolist(), strict=True)
    rows = (
        [
            *(
                label
                for bins, low, high in zip(released.axes, start, stop, strict=True)
                for label in (bins.label(low), bins.label(high - 1))
            ),
            f"{weight:.6g}",
        ]
        for start, stop, weight in ends
    )
    _write_rows(path, [*header, "weight"], rows, "table of boxes")


def write_records(released: PartitionRelease, path: str | os.PathLike[str], records: int) -> None:
    """Write synthetic records: as many in each box as its weight says, spread evenly over its cells; whole or not at all.

    A bin of numbers is written as its lower edge, which lies in it; any other as its label.

    Raises
    ------
    PlanError
        If there are too many records.
    WorkloadError
        If there are none, or the release has none by its own estimate.
    ReleaseFolderError
        If the file cannot be written.
    """
    if records > MOST_RECORDS:
        raise PlanError(f"found {records:,} records to write; expected at most {MOST_RECORDS:,}")
    cells = synthetic_cells(released, records)
    labels = [_values_of(bins) for bins in released.axes]
    rows = ([names[place] for names, place in zip(labels, cell, strict=True)] for cell in cells.tolist())
    _write_rows(path, [bins.name for bins in released.axes], rows, "table of records")


def synthetic_cells(released: PartitionRelease, records: int) -> NDArray[np.int64]:
    """Return the cell of each synthetic record, (records, D).

    Of c records in a box of v cells record r, from 0, lies in cell (2 r + 1) v / (2 c), rounded down.

    Raises
    ------
    WorkloadError
        As `PartitionRelease.whole_counts`.
    """
    partition = released.partition
    counts = released.whole_counts(records)
    box = np.repeat(np.arange(len(partition)), counts)
    place = np.arange(box.size) - np.repeat(np.cumsum(counts) - counts, counts)
    volume = partition.volumes[box]
    flat = np.floor((2 * place + 1) * volume / (2 * counts[box])).astype(np.int64)
    found = np.empty((box.size, len(partition.shape)), dtype=np.int64)
    sides = (partition.stops - partition.starts)[box]
    for axis in range(len(partition.shape) - 1, -1, -1):
        found[:, axis] = partition.starts[box, axis] + flat % sides[:, axis]
        flat //= sides[:, axis]
    return found


def _values_of(bins: Bins) -> list[str]:
    if bins.edges is None:
        return [bins.label(place) for place in range(bins.number)]
    numbers = [number_text(edge) for edge in bins.edges[:-1]]
    return [*numbers, *(bins.label(place) for place in range(bins.intervals, bins.number))]


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
