"""KDD Cup 1999, 10 % file: the paper's second table, in its coding and as it is published."""

from __future__ import annotations

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import run_releases, summarize
from experiments.tables import prepare

OPTIONS = ["--epsilon", "1", "--delta", "1e-3"]


@case("How large are errors, time and memory on KDD99, 500,000 three-way conjunctions, epsilon 1, delta 1e-3?")
def kdd99(setting: Setting) -> Result:
    """Measure the DualQuery coding (41 attributes), and the raw file (42 columns); the limits hold for the coding."""
    workload = f"conjunctions:3,count={setting.pick(500_000, 300)},seed=7"
    summaries = {}
    for name in setting.pick(("kdd99-coded", "kdd99-raw"), ("kdd99-raw",)):
        table = prepare(name, setting.folder, quick=setting.quick)
        summaries[name] = summarize(
            run_releases(table, workload, OPTIONS, setting.folder, runs=setting.runs, warm_up=setting.warm_up)
        )
    coded = next(iter(summaries.values()))
    bars = [
        Bar("largest error, median", coded["max_error"]["median"], 0.031),
        Bar("mean error, median", coded["mean_error"]["median"], 0.0018),
        Bar("seconds, median", coded["seconds"]["median"], 12),
        Bar("peak memory in MB, largest", coded["peak_mb"]["largest"], 1_000),
    ]
    return Result([{"table": name, **summary} for name, summary in summaries.items()], bars)
