"""Query vectors from a CSV file: public numbers, one vector in each line."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.files.reading import read_text
from dpopt.queries.halfspaces.halfspaces import unit_queries


def read_queries(path: str | os.PathLike[str], names: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the vectors of a file divided by their lengths, (q, d).

    A first line that is not of numbers names the columns, in any order; otherwise they stand in the order of the release.

    Raises
    ------
    WorkloadError
        If the file cannot be read, or a line does not hold d numbers.
    """
    source = Path(path)
    place = f"the file {str(source)!r}"
    try:
        lines = csv.reader(io.StringIO(read_text(source, place, WorkloadError), newline=""))
        rows = [(number, row) for number, row in enumerate(lines, 1) if row]
    except csv.Error as problem:
        raise WorkloadError(f"{place} cannot be read: {problem}") from problem
    order = list(range(len(names)))
    if rows and not _are_numbers(rows[0][1]):
        heads = [head.strip() for head in rows.pop(0)[1]]
        if sorted(heads) != sorted(names):
            raise WorkloadError(
                f"{source.name} has the columns {', '.join(heads)}; expected {', '.join(names)}, in any order"
            )
        order = [heads.index(name) for name in names]
    for number, row in rows:
        if len(row) != len(names) or not _are_numbers(row):
            raise WorkloadError(
                f"{source.name}, line {number}: found {','.join(row)[:60]!r}; expected {len(names)} numbers"
            )
    if not rows:
        raise WorkloadError(f"{source.name} holds no query; expected one vector in each line")
    vectors = np.array([[float(row[place]) for place in order] for _, row in rows])
    return unit_queries(vectors, len(names))


def _are_numbers(row: list[str]) -> bool:
    try:
        return all(isinstance(float(one), float) for one in row)
    except ValueError:
        return False
