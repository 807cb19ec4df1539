"""`python -m experiments.relations`: errors under add-remove with a measured number of records, and under replace-one."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpopt.algorithms.evaluate import evaluate
from dpopt.algorithms.request import ReleaseRequest, Terms
from dpopt.algorithms.run_release import job_of, run_release
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.measured_size import PublicSize
from dpopt.releases.progress import Progress
from dpopt.schema.schema import Schema
from experiments.documents import circumstances, write_results
from experiments.labels import options_of
from experiments.machine import describe_circumstances
from experiments.runs import spread
from experiments.tables import prepare

RELATIONS = ("add-remove", "replace")
EPSILONS, DELTA = (0.1, 1.0), 1e-9
COLUMNS = (
    "table and queries",
    "algorithm",
    "epsilon",
    "mean error, add-remove",
    "mean error, replace-one",
    "ratio",
    "largest error, add-remove",
    "largest error, replace-one",
    "ratio",
)


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
    parser = argparse.ArgumentParser(prog="python -m experiments.relations")
    parser.add_argument("--runs", type=int, default=3, help="runs under each relation (3)")
    parser.add_argument("--quick", action="store_true", help="a tiny made-up table: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the table into this document")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    runs = 1 if options.quick else options.runs
    report: dict[str, Any] = {**describe_circumstances(), "runs": runs, "quick": options.quick, "rows": []}
    for case in (QUICK,) if options.quick else CASES:
        with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
            for row in _measure(case, Path(place), runs=runs, quick=options.quick):
                report["rows"].append(row)
                if options.json is not None:
                    text = json.dumps(report, indent=1, ensure_ascii=False)
                    options.json.write_text(text + "\n", encoding="utf-8")
    lines = list(markdown(report["rows"]))
    print("\n".join(lines))
    if options.document is not None:
        write_results(options.document, [circumstances(report), "", *lines])
    return 0


def _measure(case: Case, folder: Path, *, runs: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Return one row per algorithm and budget; the relations take turns."""
    table = prepare(case.table, folder, quick=quick)
    schema = Schema.read(table.schema)
    names = None if table.header else schema.names
    dataset = read_table(table.path, schema, TableReading(column_names=names))
    workload = parse_workload(case.workload, schema)
    for algorithm in case.algorithms:
        for epsilon in (10.0,) if quick else EPSILONS:
            found: dict[str, list[dict[str, Any]]] = {relation: [] for relation in RELATIONS}
            for _ in range(runs):
                for relation in RELATIONS:
                    settings = Terms.of(
                        **options_of(algorithm), epsilon=epsilon, delta=DELTA, neighbours=relation, predict=False
                    )
                    found[relation].append(_one(dataset, settings, schema, workload, rows=table.rows))
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


def markdown(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Return the lines of the table."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|" + "---|" * len(COLUMNS)
    for row in rows:
        one, other = (row[relation] for relation in RELATIONS)
        played = " and ".join(sorted({*one["played"], *other["played"]}))
        algorithm = row["algorithm"] + (f" ({played})" if row["algorithm"] == "auto" else "")
        cells = [f"{row['table']}, {row['workload']}", algorithm, f"{row['epsilon']:g}"]
        for figure in ("mean_error", "max_error"):
            cells += [_figure(one[figure]), _figure(other[figure])]
            cells.append(f"{one[figure]['median'] / other[figure]['median']:.2f}")
        yield f"| {' | '.join(cells)} |"


def _figure(values: dict[str, float]) -> str:
    return f"{values['median']:.3g} ({values['least']:.3g} to {values['largest']:.3g})"


if __name__ == "__main__":
    sys.exit(main())
