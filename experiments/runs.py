"""Runs of the `dpopt` command as whole processes: seconds, peak memory, what was released, and errors against the table."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from experiments.tables import ROOT

LAUNCHER = Path(__file__).resolve().parent / "launch.py"


class Table(Protocol):
    """A table on disk: where it is, and the options of `dpopt` that declare its columns and say how it is read."""

    @property
    def path(self) -> Path: ...  # noqa: D102

    def declared(self) -> list[str]: ...  # noqa: D102

    def options(self) -> list[str]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Process:
    """A finished process: wall and processor seconds, peak resident memory in bytes, standard output."""

    seconds: float
    processor_seconds: float
    peak_bytes: int
    output: str


@dataclass(frozen=True, slots=True)
class Run:
    """A release, and what `dpopt evaluate` says of it."""

    process: Process
    """The process of `dpopt release`."""
    statement: Mapping[str, Any]
    """Its release.json."""
    stages: Mapping[str, float]
    """Seconds by stage, as the release measured them."""
    errors: Mapping[str, Any]
    """The output of `dpopt evaluate --json`; empty where it was not wanted."""


def run_dpopt(arguments: Sequence[str]) -> Process:
    """Run a `dpopt` command of this checkout and wait for it."""
    with tempfile.NamedTemporaryFile(prefix="dpopt-launch-", suffix=".json") as result:
        done = subprocess.run(  # noqa: S603  its arguments are written in this repository
            [sys.executable, "-I", "-S", str(LAUNCHER), result.name, sys.executable, "-m", "dpopt", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"dpopt {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
        measured = json.loads(Path(result.name).read_text(encoding="utf-8"))
    return Process(measured["seconds"], measured["processor_seconds"], measured["peak_bytes"], done.stdout)


def run_release(table: Table, workload: str, options: Sequence[str], folder: Path, *, with_errors: bool = True) -> Run:
    """Release a table into a folder inside `folder`, evaluate, and remove it.

    By DualQuery and under replace-one, as in the papers, unless an option names another algorithm or relation.
    """
    named = options if "--algorithm" in options else ["--algorithm", "dualquery", *options]
    named = named if "--neighbours" in named else ["--neighbours", "replace", *named]
    out, timings = folder / "release", folder / "timings.json"
    shutil.rmtree(out, ignore_errors=True)
    release = ["release", str(table.path), *table.declared(), "--workload", workload, "--out", str(out)]
    process = run_dpopt([*release, "--quiet", "--timings", str(timings), *table.options(), *named])
    errors: dict[str, Any] = {}
    if with_errors:
        errors = json.loads(run_dpopt(["evaluate", str(out), str(table.path), "--json"]).output)
    statement = json.loads((out / "release.json").read_text(encoding="utf-8"))
    stages = json.loads(timings.read_text(encoding="utf-8"))["seconds"]
    shutil.rmtree(out)
    return Run(process, statement, stages, errors)


def run_releases(
    table: Table,
    workload: str,
    options: Sequence[str],
    folder: Path,
    *,
    runs: int,
    warm_up: bool = True,
    with_errors: bool = True,
) -> list[Run]:
    """Release a table `runs` times after one run that is not counted: it compiles kernels and fills caches."""
    if warm_up:
        run_release(table, workload, options, folder, with_errors=False)
    return [run_release(table, workload, options, folder, with_errors=with_errors) for _ in range(runs)]


def spread(values: Iterable[float]) -> dict[str, float]:
    """Return median, least and largest of some figures, to four significant digits."""
    listed = list(values)
    return {
        "median": _rounded(statistics.median(listed)),
        "least": _rounded(min(listed)),
        "largest": _rounded(max(listed)),
    }


def spread_text(figure: Mapping[str, float]) -> str:
    """Return such a spread in words, to three digits."""
    return f"{figure['median']:.3g} ({figure['least']:.3g} to {figure['largest']:.3g})"


def figures(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the figures of equal runs that every algorithm has: errors, seconds and memory."""
    return {
        "runs": len(runs),
        "queries": runs[0].statement["workload"]["queries"],
        "max_error": spread(run.errors["max_error"] for run in runs),
        "mean_error": spread(run.errors["mean_error"] for run in runs),
        "seconds": spread(run.process.seconds for run in runs),
        "processor_seconds": spread(run.process.processor_seconds for run in runs),
        "peak_mb": spread(run.process.peak_bytes / 1e6 for run in runs),
    }


def summarize(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the figures of equal runs: plan, cost, seconds, memory, and errors beside the baselines."""
    first = runs[0].statement
    plan, records = first["plan"], first["records"]
    summary: dict[str, Any] = {
        "runs": len(runs),
        "queries": first["workload"]["queries"],
        "rounds": plan["rounds"],
        "draws": plan["draws"],
        "step": plan["step"],
        "epsilon": _rounded(first["privacy"]["epsilon"]),
        "delta": first["privacy"]["delta"],
        "accountant": first["privacy"]["accountant"],
        "encoding": records["encoding"],
        "share_of_records_that_decode": _rounded(
            statistics.median(run.statement["records"]["records_that_decode"] / records["rounds"] for run in runs)
        ),
        "seconds": spread(run.process.seconds for run in runs),
        "processor_seconds": spread(run.process.processor_seconds for run in runs),
        "stages": {name: _rounded(statistics.median(run.stages[name] for run in runs)) for name in runs[0].stages},
        "peak_mb": spread(run.process.peak_bytes / 1e6 for run in runs),
    }
    if runs[0].errors:
        for figure in ("max_error", "mean_error"):
            summary[figure] = spread(run.errors[figure] for run in runs)
        summary["baselines"] = {
            name: {figure: _rounded(value) for figure, value in row.items()}
            for name, row in runs[0].errors["baselines"].items()
        }
    predicted = first["accuracy"]["predicted"]
    if predicted is not None:
        summary["predicted"] = {key: _rounded(predicted[key]) for key in ("max_error", "mean_error")}
    return summary


def _rounded(number: float) -> float:
    return float(f"{number:.4g}")
