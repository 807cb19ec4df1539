"""Adult in the DualQuery coding: the paper's first table, at the paper's privacy."""

from __future__ import annotations

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import run_releases, summarize
from experiments.tables import prepare

OPTIONS = ["--epsilon", "1", "--delta", "1e-3"]


@case("How large are errors and time on Adult, 500,000 random three-way conjunctions, epsilon 1, delta 1e-3?")
def adult_coded(setting: Setting) -> Result:
    """Measure queries over all declared values, and over those that occur."""
    table = prepare("adult-coded", setting.folder, quick=setting.quick)
    queries = f"conjunctions:3,count={setting.pick(500_000, 300)},seed=7"
    summaries = {
        name: summarize(
            run_releases(table, workload, OPTIONS, setting.folder, runs=setting.runs, warm_up=setting.warm_up)
        )
        for name, workload in (("all values", queries), ("occurring values", queries + ",occurring"))
    }
    declared = summaries["all values"]
    bars = [
        Bar("largest error, median", declared["max_error"]["median"], 0.115),
        Bar("mean error, median", declared["mean_error"]["median"], 0.0070),
        Bar("seconds, median", max(s["seconds"]["median"] for s in summaries.values()), 5),
    ]
    return Result([{"queries over": name, **summary} for name, summary in summaries.items()], bars)
