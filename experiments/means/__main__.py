"""`python -m experiments.means`: how far means and quartiles of the numbers of released records are from those of the table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dpopt
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.schema import Schema
from experiments import documents
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.tables import Table, data_folder, prepare

FOLDER = ("bank", "covertype-50000", "credit-card-clients", "compas")
"""The tables of `tables/` with numeric columns and 5,000 records or more."""
EPSILONS = (1.0, 0.1)
NEAR = 0.03
"""A figure is near if it is off by at most this part of the column's mean, or of its bin where that is more."""


def main(arguments: list[str] | None = None) -> int:
    """Release every table at every budget, and compare its columns."""
    parser = parser_of("means", runs=2)
    parser.add_argument("--tables", nargs="+", default=["adult-raw", *FOLDER], help="tables to release (all)")
    return carry_out(parser, arguments, {"rows": _rows}, markdown)


def _rows(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    quick = options.quick
    with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as folder:
        for name in ["adult-raw"] if quick else options.tables:
            table = _table(name, Path(folder), quick=quick)
            for epsilon in (10.0,) if quick else EPSILONS:
                asked = "marginals:1" if quick else "marginals:2"
                found = [measured(table, epsilon, asked) for _ in range(options.runs)]
                yield {"table": name, "epsilon": epsilon, "runs": found}


def _table(name: str, folder: Path, *, quick: bool) -> Table:
    if name not in FOLDER:
        return prepare(name, folder, quick=quick)
    path = data_folder() / "tables" / f"{name}.csv.gz"
    return Table(name, path, path.with_name(f"{name}.schema.json"), 0)


def measured(table: Table, epsilon: float, asked: str) -> dict[str, Any]:
    """Return how many figures of one release are far, of how many, and by which part of it each mean is off."""
    schema = Schema.read(table.schema)
    release = dpopt.release(table.path, schema, asked, epsilon=epsilon, predict=False)
    columns = dpopt.evaluate(release, table.path).columns
    numeric = {one.name: one for one in schema.attributes if one.kind is AttributeKind.NUMERIC}
    off: dict[str, float] = {}
    far = {"means": 0, "quartiles": 0}
    for name, found in columns.items():
        real, ours = ([one["mean"], *one["quartiles"]] for one in (found["real"], found["synthetic"]))
        misses = np.abs(np.subtract(ours, real)) > _allowed(numeric[name], real)
        far["means"] += int(misses[0])
        far["quartiles"] += int(misses[1:].sum())
        off[name] = round(ours[0] / real[0] - 1, 4)
    return {**far, "figures": 4 * len(off), "off": off}


def _allowed(attribute: Attribute, real: list[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return by how much a mean and the quartiles may be off, (4,)."""
    edges = np.array(attribute.edges)
    bins = np.clip(np.searchsorted(edges, real, side="right") - 1, 0, edges.size - 2)
    return NEAR * np.maximum(abs(real[0]), np.diff(edges)[bins])


def markdown(report: Report) -> Iterator[str]:
    """Yield the table."""
    titles = ["table | epsilon | figures | far | of them means | means off by: median | at worst"]
    yield from documents.table(titles, map(_cells, report["rows"]))


def _cells(row: Result) -> list[object]:
    runs = row["runs"]
    far = [run["means"] + run["quartiles"] for run in runs]
    off = np.abs([list(run["off"].values()) for run in runs])
    means = _range([run["means"] for run in runs])
    shares = (f"{np.median(off):.1%}", f"{off.max():.1%}")
    return [row["table"], f"{row['epsilon']:g}", runs[0]["figures"], _range(far), means, *shares]


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"


if __name__ == "__main__":
    sys.exit(main())
