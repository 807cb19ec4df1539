"""The error that a plan predicts from public values, beside the one that the release then has."""

from __future__ import annotations

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import run_releases, summarize
from experiments.tables import prepare

WORKLOADS = {
    "adult-coded": ("conjunctions:3,count=500000,seed=7", "1e-3"),
    "adult-raw": ("marginals:3", "1e-9"),
    "kdd99-coded": ("conjunctions:3,count=500000,seed=7", "1e-3"),
    "nist-acs": ("marginals:3,count=64,seed=1", "1e-9"),
}
FACTOR = 1.5


@case("How far is the predicted error from the measured one, on four tables at epsilon 1?")
def prediction(setting: Setting) -> Result:
    """Compare the prediction in release.json with `dpopt evaluate`: largest and mean error, within a factor 1.5."""
    rows, bars = [], []
    for name in setting.pick(list(WORKLOADS), ["nist-acs"]):
        workload, delta = WORKLOADS[name]
        table = prepare(name, setting.folder, quick=setting.quick)
        chosen = setting.pick(workload, "marginals:2,count=2,seed=1")
        options = ["--epsilon", "1", "--delta", delta]
        summary = summarize(run_releases(table, chosen, options, setting.folder, runs=setting.runs, warm_up=False))
        row: dict[str, object] = {"table": name, "workload": chosen, "epsilon": 1.0, "delta": delta}
        for figure in ("max_error", "mean_error"):
            measured, predicted = summary[figure]["median"], summary["predicted"][figure]
            ratio = predicted / measured
            row |= {f"{figure} measured": measured, f"{figure} predicted": predicted, f"{figure} ratio": ratio}
            bars.append(Bar(f"{name}, {figure}, predicted and measured apart by", max(ratio, 1 / ratio), FACTOR))
        rows.append(row)
    return Result(rows, bars)
