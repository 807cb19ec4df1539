"""The files of histograms and sorted counts: written whole and never over another one, read back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from dpopt.errors import ReleaseFolderError
from dpopt.releases.folder_files import check_new, read_json, write_json
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease


class Released(Protocol):
    """What can be written: a histogram of one column or of several, or sorted counts."""

    def to_json(self) -> dict[str, Any]:
        """Return all that is to be kept, as JSON."""
        ...


def write_histogram(histogram: Released, path: str | os.PathLike[str]) -> None:
    """Write a histogram or sorted counts as JSON, whole or not at all; a file that is there is not replaced.

    Raises
    ------
    ReleaseFolderError
        If the file is there already, or cannot be written.
    """
    target = Path(path)
    check_new(target)
    try:
        write_json(target, histogram.to_json())
    except OSError as error:
        raise ReleaseFolderError(f"cannot write {target}: {error.strerror}") from error


def read_released(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the JSON object that `write_histogram` wrote.

    Raises
    ------
    ReleaseFolderError
        If the file cannot be read, or is no JSON object.
    """
    source = Path(path)
    if not source.is_file():
        reason = "it is a folder" if source.is_dir() else "there is no such file"
        raise ReleaseFolderError(f"cannot read {source}: {reason}; expected the file of a release (--out)")
    return read_json(source)


def read_histogram(path: str | os.PathLike[str]) -> Histogram:
    """Read a histogram that `write_histogram` wrote.

    Raises
    ------
    ReleaseFolderError
        If the file is missing or no JSON.
    TranscriptError
        If it is no histogram, or damaged.
    """
    return Histogram.from_json(read_released(path))


def read_sorted_counts(path: str | os.PathLike[str]) -> SortedCountsRelease:
    """Read sorted counts that `write_histogram` wrote; errors as for `read_histogram`."""
    return SortedCountsRelease.from_json(read_released(path))
