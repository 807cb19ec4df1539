"""`python -m experiments.relations`: errors under add-remove with a measured number of records, and under replace-one."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpopt.algorithms.asked import ReleaseRequest, Terms
from dpopt.algorithms.evaluate import evaluate
from dpopt.algorithms.run_release import job_of, run_release
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.measured_size import PublicSize
from dpopt.releases.progress import Progress
from dpopt.schema.schema import Schema
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.labels import options_of
from experiments.runs import spread, spread_text
from experiments.tables import prepare

RELATIONS = ("add-remove", "replace")
EPSILONS, DELTA = (0.1, 1.0), 1e-9
COLUMNS = [
    "table and queries | algorithm | epsilon | mean error, add-remove",
    "mean error, replace-one | ratio | largest error, add-remove",
    "largest error, replace-one | ratio",
]


@dataclass(frozen=True, slots=True)
class Case:
    """A table, its workload, and the algorithms."""

    table: str
    workload: str
    algorithms: tuple[str, ...]


CASES = (
    Case("adult-raw", "marginals:3", ("projection", "adaptive", "auto")),
    Case("kdd99-coded", "conjunctions:3,count=500000,seed=7", ("dualquery", "auto")),
)
QUICK = Case("adult-raw", "marginals:1", ("projection",))


def main(arguments: list[str] | None = None) -> int:
    """Measure every case and print the table."""
    return carry_out(parser_of("relations", runs=3), arguments, {"rows": _rows}, markdown)


def _rows(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    for case in (QUICK,) if options.quick else CASES:
        with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
            yield from _measure(case, Path(place), runs=options.runs, quick=options.quick)


def _measure(case: Case, folder: Path, *, runs: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Return one row per algorithm and budget; the relations take turns."""
    made = prepare(case.table, folder, quick=quick)
    schema = Schema.read(made.schema)
    names = None if made.header else schema.names
    dataset = read_table(made.path, schema, TableReading(column_names=names))
    workload = parse_workload(case.workload, schema)
    for algorithm in case.algorithms:
        for epsilon in (10.0,) if quick else EPSILONS:
            found: dict[str, list[dict[str, Any]]] = {relation: [] for relation in RELATIONS}
            for _ in range(runs):
                for relation in RELATIONS:
                    settings = Terms.of(
                        **options_of(algorithm), epsilon=epsilon, delta=DELTA, neighbours=relation, predict=False
                    )
                    found[relation].append(_one(dataset, settings, schema, workload, rows=made.rows))
            row = {"table": case.table, "workload": case.workload, "algorithm": algorithm, "epsilon": epsilon}
            yield {**row, **{relation: _summary(results) for relation, results in found.items()}}


def _one(dataset: PrivateDataset, settings: Terms, schema: Schema, workload: Workload, *, rows: int) -> dict[str, Any]:
    asked = ReleaseRequest(settings, schema, workload)
    if settings.measures_size:
        made = run_release(dataset, asked, None)
    else:
        made = run_release(dataset, job_of(asked, PublicSize(rows, settings.budget()), Progress()), None)
    errors = evaluate(made, dataset)
    return {
        "played": made.job.plan.algorithm,
        "size": made.job.plan.size,
        "mean_error": errors.mean_error,
        "max_error": errors.max_error,
    }


def _summary(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    figures = ("mean_error", "max_error")
    return {
        "played": sorted({result["played"] for result in results}),
        "sizes": [result["size"] for result in results],
        **{figure: spread(result[figure] for result in results) for figure in figures},
    }


def markdown(report: Report) -> Iterator[str]:
    """Yield the lines of the table."""
    yield from table(COLUMNS, map(_cells, report["rows"]))


def _cells(row: Result) -> Iterator[str]:
    one, other = (row[relation] for relation in RELATIONS)
    played = " and ".join(sorted({*one["played"], *other["played"]}))
    yield f"{row['table']}, {row['workload']}"
    yield row["algorithm"] + (f" ({played})" if row["algorithm"] == "auto" else "")
    yield f"{row['epsilon']:g}"
    for name in ("mean_error", "max_error"):
        yield from (spread_text(one[name]), spread_text(other[name]))
        yield f"{one[name]['median'] / other[name]['median']:.2f}"


if __name__ == "__main__":
    sys.exit(main())
