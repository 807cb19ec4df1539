"""`python -m experiments.one_estimator`: the errors of every method on twelve tables, beside the least of them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dpopt.algorithms.registry import OPTIONS
from dpopt.errors import DpoptError
from experiments.experiment import present
from experiments.labels import MEASURED
from experiments.machine import describe_circumstances
from experiments.one_estimator.measuring import beside, errors, real_accuracy
from experiments.one_estimator.methods import OWN, PAIRS, Method, Task, method
from experiments.one_estimator.summary import markdown, replaced, rows
from experiments.one_estimator.tables import KINDS, QUICK, TABLES, asked, load, settings
from experiments.peers.run import PeerFailedError
from experiments.tables import MissingDataError

EPSILONS = (0.1, 1.0, 10.0, 0.03, 0.3, 3.0)

Result = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not on file yet, one line of JSON for each run, and print the tables.

    Rows of the file that --json names stay where nothing was measured: one method can be measured again alone.
    """
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
        files = options.results or [Path(place) / "results.jsonl"]
        known = [result for file in files for result in read(file)]
        try:
            measure(options, known, files[0])
            tables = sorted({result["table"] for result in known})
            accuracies = {name: [float(f"{value:.4g}") for value in real_accuracy(load(name))] for name in tables}
        except MissingDataError as error:
            print(error, file=sys.stderr)
            return 2
    kept: Result = {"accuracies": {}, "rows": []}
    if options.json is not None and options.json.exists():
        kept = json.loads(options.json.read_text(encoding="utf-8"))
    found, accuracies = replaced(kept["rows"], rows(known)), kept["accuracies"] | accuracies
    report = {**describe_circumstances(), "runs": max((row["runs"] for row in found), default=0)}
    if options.json is not None:
        text = _a_row_a_line({**report, "accuracies": accuracies, "rows": found})
        options.json.write_text(text, encoding="utf-8")
    present(report, markdown(found, accuracies), options.document)
    return 0


def measure(options: argparse.Namespace, known: list[Result], file: Path) -> None:
    """Add to `known`, and to a file, what is not known yet."""
    methods = {name.split("=", 1)[0]: _of(name, options) for name in options.methods}
    for table, kind, epsilon, run in settings(options.tables, options.kinds, options.epsilon, options.runs):
        for name, one in methods.items():
            labels = {"table": table, "kind": kind, "epsilon": epsilon, "run": run, "method": name}
            if _is_known(labels, known) or (name == PAIRS and kind.endswith("2")):  # those are `projection`
                continue
            result = {**labels, **_one(labels, one, predict=options.predict and name in {*OPTIONS, *MEASURED})}
            known.append(result)
            with file.open("a", encoding="utf-8") as opened:
                opened.write(json.dumps(result) + "\n")
            print(json.dumps(result), flush=True)


def read(file: Path) -> Iterator[Result]:
    """Yield the runs on file."""
    if file.exists():
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def _one(labels: Result, one: Method, *, predict: bool) -> Result:
    """Return the figures of one run, or why there are none."""
    table = load(labels["table"])
    try:
        marginals = asked(table, labels["kind"], labels["run"])
        started, used = time.perf_counter(), time.process_time()
        released = one(Task(table, marginals, labels["epsilon"], labels["run"], predict))
        took = {"seconds": time.perf_counter() - started, "processor_seconds": time.process_time() - used}
        if released.processor_seconds is not None:
            took["processor_seconds"] = released.processor_seconds
        found = {**errors(table, marginals, released), **beside(table, released)}
    except (ValueError, DpoptError, PeerFailedError) as error:
        return {"failed": str(error)}
    figures: Result = {name: float(f"{value:.5g}") for name, value in found.items()}
    figures |= {name: round(value, 2) for name, value in took.items()}
    for name, stated in (("predicted", released.predicted), ("found", released.found)):
        if stated is not None:
            figures[name] = {key: float(f"{value:.5g}") for key, value in stated.items()}
    return {**figures, "load": round(os.getloadavg()[0], 1)}


def _is_known(labels: Result, known: Iterable[Result]) -> bool:
    """Return whether a run is on file, or another one failed that differs by its number alone."""
    same = {key: value for key, value in labels.items() if key != "run"}
    return any(
        same.items() <= result.items() and ("failed" in result or result["run"] == labels["run"]) for result in known
    )


def _a_row_a_line(report: Result) -> str:
    """Return a report as JSON in which each row of results takes one line."""
    lines = ",\n".join(json.dumps(row) for row in report["rows"])
    head = json.dumps({**report, "rows": []}, indent=1)
    return head.removesuffix("[]\n}") + f"[\n{lines}\n]\n}}\n"


def _of(name: str, options: argparse.Namespace) -> Method:
    return method(name, environments=options.environments, limit=options.limit)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.one_estimator")
    parser.add_argument("--tables", nargs="+", choices=(*TABLES, QUICK), default=list(TABLES), help="some of them")
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="64 or all marginals of two or three columns"
    )
    parser.add_argument("--epsilon", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--runs", type=int, default=5, help="runs of each method (5); 0 measures nothing")
    parser.add_argument("--methods", nargs="+", help="names, or NAME=FILE for a method of your own (all of dpopt's)")
    parser.add_argument(
        "--predict", action=argparse.BooleanOptionalAction, default=True, help="ask dpopt what it predicts"
    )
    parser.add_argument("--environments", type=Path, help="folder with one environment per peer")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a peer is ended (300)")
    parser.add_argument(
        "--results", nargs="+", type=Path, help="a line for each run: all are read, the first is continued"
    )
    parser.add_argument("--quick", action="store_true", help="a tiny made-up table: shows that it still runs")
    parser.add_argument("--json", type=Path, help="rows of the summary: those in this file are kept, or replaced")
    parser.add_argument("--document", type=Path, help="put the tables into this document")
    options = parser.parse_args(arguments)
    if options.quick:
        options.tables, options.kinds, options.epsilon = [QUICK], ["64of2"], [10.0]
        options.runs, options.predict = 1, False
    options.methods = options.methods or ([OWN[0]] if options.quick else list(OWN))
    return options


if __name__ == "__main__":
    sys.exit(main())
