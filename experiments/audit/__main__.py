"""`python -m experiments.audit`: lower bounds of what every mechanism gives away, from two files to what is released."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from experiments.audit.cells import EPSILONS, Cell, all_cells, audit, audit_hostile
from experiments.audit.exact_distributions import LAWS, exact_row
from experiments.audit.hostile import HOSTILE
from experiments.audit.markdown import markdown
from experiments.experiment import present, write_report
from experiments.machine import describe_circumstances

PARTS = ("claims", "planted", "hostile", "exact")
CONFIDENCE = 0.99
QUICK = ("histogram, Laplace", "net")
HOSTILE_RUNS, QUICK_RUNS = 200, 6
Audit = Callable[[], dict[str, Any]]


def main(arguments: list[str] | None = None) -> int:
    """Audit every cell that is not on file yet; fail where a claim is broken, or planted noise is not found."""
    options = _options(arguments)
    report: dict[str, Any] = {**describe_circumstances(), "runs": options.runs, "quick": options.quick}
    report |= {"confidence": CONFIDENCE, **{part: {} for part in PARTS}}
    if options.json is not None and options.json.exists():
        on_file = json.loads(options.json.read_text(encoding="utf-8"))
        if on_file["quick"] == options.quick:
            report |= {part: on_file[part] for part in PARTS}
    tasks = [
        (part, key, task) for part in options.parts for key, task in _tasks(part, options) if key not in report[part]
    ]
    for part, key, row in _done(tasks, options.processes):
        report[part][key] = row
        print(part, key, file=sys.stderr, flush=True)
        write_report(options.json, report)
    present(report, markdown(report), options.document)
    faults = [f"{part}: {key}" for part, key in broken(report)]
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


def _done(tasks: list[tuple[str, str, Audit]], processes: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield what the tasks find, in the order in which they end."""
    if processes == 1:
        yield from ((part, key, task()) for part, key, task in tasks)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(task): (part, key) for part, key, task in tasks}
        yield from ((*waiting[done], done.result()) for done in as_completed(waiting))


def broken(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what must not be: claims that are broken, and planted noise that is not found."""
    for part in ("claims", "hostile"):
        yield from ((part, key) for key, row in report[part].items() if row["violated"])
    yield from (("exact", key) for key, row in report["exact"].items() if row["ratio"] > 1 + 1e-9)
    if not report["quick"]:  # few runs find nothing
        yield from (("planted", key) for key, row in report["planted"].items() if not row["violated"])


def _tasks(part: str, options: argparse.Namespace) -> Iterator[tuple[str, Audit]]:
    """Yield the name of each cell and what audits it; every bound holds but for the same share of 1 - the confidence."""
    claims = [cell for cell in all_cells() if not options.quick or (cell.mechanism in QUICK and cell.epsilon == 1)]
    alpha = (1 - CONFIDENCE) / (len(claims) + len(HOSTILE))
    if part == "claims":
        yield from _cells(claims, options.runs, alpha)
    elif part == "planted":
        planted = [cell for cell in all_cells((1.0,), planted=True) if not options.quick or cell.mechanism in QUICK]
        yield from _cells(planted, options.runs, 1 - CONFIDENCE)
    elif part == "hostile":
        for number, pair in enumerate(HOSTILE):
            yield pair.name, partial(audit_hostile, number, min(options.runs, HOSTILE_RUNS), alpha)
    else:
        for name in QUICK if options.quick else LAWS:
            for epsilon in (1.0,) if options.quick else EPSILONS:
                yield f"{name}, {epsilon:g}", partial(exact_row, name, epsilon)


def _cells(cells: list[Cell], runs: int, alpha: float) -> Iterator[tuple[str, Audit]]:
    for cell in cells:
        key = f"{cell.mechanism}, {cell.relation}, {cell.epsilon:g}"
        yield key, partial(audit, cell, runs, alpha)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.audit")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="some of the parts (all)")
    parser.add_argument("--runs", type=int, default=4000, help="runs on either file (4,000)")
    parser.add_argument("--processes", type=int, default=2, help="processes at once (2)")
    parser.add_argument("--quick", action="store_true", help="two mechanisms and few runs: shows that it runs")
    parser.add_argument("--json", type=Path, help="keep results in this file; what is there is not repeated")
    parser.add_argument("--document", type=Path, help="put the tables into this document")
    options = parser.parse_args(arguments)
    if options.quick:
        options.runs, options.processes = QUICK_RUNS, 1
    return options


if __name__ == "__main__":
    sys.exit(main())
