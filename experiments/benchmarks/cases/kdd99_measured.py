"""KDD Cup 1999, 10 % file: half a million conjunctions by noisy counts, to which records are fitted."""

from __future__ import annotations

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import figures, run_releases
from experiments.tables import prepare

OPTIONS = ["--epsilon", "1", "--delta", "1e-3", "--algorithm", "projection"]


@case(
    "How large are errors and time on KDD99, 500,000 three-way conjunctions by measured counts, epsilon 1, delta 1e-3?"
)
def kdd99_measured(setting: Setting) -> Result:
    """Measure the DualQuery coding, by `projection`."""
    table = prepare(setting.pick("kdd99-coded", "kdd99-raw"), setting.folder, quick=setting.quick)
    workload = f"conjunctions:3,count={setting.pick(500_000, 300)},seed=7"
    row = figures(run_releases(table, workload, OPTIONS, setting.folder, runs=setting.runs, warm_up=setting.warm_up))
    bars = [
        Bar("largest error, median", row["max_error"]["median"], 0.006),
        Bar("mean error, median", row["mean_error"]["median"], 0.00006),
        Bar("seconds, median", row["seconds"]["median"], 60),
    ]
    return Result([row], bars)
