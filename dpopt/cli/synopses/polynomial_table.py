"""A table of least degrees as a CSV file, each row with both of its proofs."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from dpopt.files.written_files import whole_file
from dpopt.polynomials.certificates import Witness
from dpopt.polynomials.degree_tables import degree_table

COLUMNS = (
    "predicate",
    "k",
    "error_limit",
    "degree",
    "least_error",
    "chebyshev_degree",
    "points",
    "weights",
    "points_below",
    "weights_below",
)


def write_degree_table(
    path: Path,
    predicate: str,
    widths: Sequence[int],
    errors: Sequence[Fraction],
    *,
    free_constant: bool | None,
    solver: str | None,
) -> int:
    """Write the table and return its number of rows.

    Points and weights are separated by blanks: those of the least error at the degree, and those that show that one
    degree less does not suffice.
    """
    rows = [
        [
            entry.predicate,
            entry.width,
            entry.found.error_limit,
            entry.found.degree,
            entry.found.best.objective,
            "" if entry.chebyshev is None else entry.chebyshev,
            *_texts(entry.found.best.witness),
            *_texts(entry.found.below),
        ]
        for entry in degree_table(predicate, widths, errors, free_constant=free_constant, solver=solver)
    ]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
    with whole_file(path) as stream:
        stream.write(text.getvalue().encode())
    return len(rows)


def _texts(witness: Witness | None) -> tuple[str, str]:
    if witness is None:
        return "", ""
    return " ".join(map(str, witness.points)), " ".join(map(str, witness.weights))
