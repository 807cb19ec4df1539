"""Adult in the coding of other projects, as they run DualQuery on it: four budgets, eta 5, s 100."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import LAUNCHER, Run, run_release, spread
from experiments.tables import ROOT, Table, prepare

EPSILONS = (0.1, 0.2, 0.5, 1.0)
STEP, DRAWS = "5", "100"
USUAL = {0.1: (0.206, 0.0011), 0.2: (0.195, 0.0009), 0.5: (0.090, 0.0007), 1.0: (0.083, 0.0007)}
"""Largest and mean error of the usual baseline in papers, run once with a commercial solver: 22 seconds for the four."""


@case(
    "How long does DualQuery take on Adult with 13 attributes, all 286 three-way marginals, four budgets, eta 5, s 100?"
)
def adult_gem_dualquery(setting: Setting) -> Result:
    """Measure the four releases in one process through the Python API, and as four processes of `dpopt release`."""
    table = prepare("adult-gem", setting.folder, quick=setting.quick)
    workload = setting.pick("marginals:3", "marginals:2,count=3,seed=1")
    epsilons = setting.pick(EPSILONS, (20.0,))
    delta = repr(1 / table.rows**2)
    together = [
        _in_one_process(table, workload, delta, epsilons, setting.folder) for _ in range(setting.runs + setting.warm_up)
    ][setting.warm_up :]
    row: dict[str, Any] = {
        "runs": len(together),
        "releases": len(epsilons),
        "seconds of the process": spread(one["seconds"] for one in together),
        "of these, importing": spread(one["importing"] for one in together),
        "reading, counting, releasing": spread(one["work"] for one in together),
        "processor seconds": spread(one["processor_seconds"] for one in together),
        "peak_mb": spread(one["peak_mb"] for one in together),
    }
    alone = [_alone(table, workload, delta, epsilon, setting) for epsilon in epsilons]
    bars = [
        Bar("seconds of work for all four in one process, median", row["reading, counting, releasing"]["median"], 2)
    ]
    return Result([{"what": "all in one process", **row}, *alone], bars)


def _in_one_process(
    table: Table, workload: str, delta: str, epsilons: tuple[float, ...], folder: Path
) -> dict[str, Any]:
    out, measured = folder / "releases", folder / "measured.json"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    program = [sys.executable, "-m", "experiments.benchmarks.releases_in_one_process"]
    inputs = [str(table.path), str(table.schema), workload, str(out)]
    options = [f"step={STEP}", f"draws={DRAWS}", f"delta={delta}", *map(str, epsilons)]
    done = subprocess.run(  # noqa: S603  its arguments are written in this repository
        [sys.executable, "-I", "-S", str(LAUNCHER), str(measured), *program, *inputs, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"four releases in one process failed:\n{done.stderr}")
    process = json.loads(measured.read_text(encoding="utf-8"))
    return {
        **json.loads(done.stdout),
        "seconds": process["seconds"],
        "processor_seconds": process["processor_seconds"],
        "peak_mb": process["peak_bytes"] / 1e6,
    }


def _alone(table: Table, workload: str, delta: str, epsilon: float, setting: Setting) -> dict[str, Any]:
    """Measure one budget as a process of `dpopt release`, with its errors."""
    options = ["--epsilon", f"{epsilon:g}", "--delta", delta, "--step", STEP, "--draws", DRAWS, "--no-predict"]
    runs: list[Run] = [run_release(table, workload, options, setting.folder) for _ in range(setting.runs)]
    plan = runs[0].statement["plan"]
    usual = dict(zip(("usual max_error", "usual mean_error"), USUAL.get(epsilon, ()), strict=False))
    return {
        "what": "dpopt release",
        "epsilon": epsilon,
        "queries": runs[0].statement["workload"]["queries"],
        "T": plan["rounds"],
        "seconds of the process": spread(run.process.seconds for run in runs),
        "processor seconds": spread(run.process.processor_seconds for run in runs),
        "peak_mb": spread(run.process.peak_bytes / 1e6 for run in runs),
        "max_error": spread(run.errors["max_error"] for run in runs),
        "mean_error": spread(run.errors["mean_error"] for run in runs),
        **usual,
    }
