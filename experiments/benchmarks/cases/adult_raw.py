"""Adult as it is published, all three-way marginals."""

from __future__ import annotations

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import run_releases, summarize
from experiments.tables import prepare

OPTIONS = ["--epsilon", "1", "--delta", "1e-9"]


@case("Does every record decode, and how large are errors and time, on raw Adult, all three-way marginals?")
def adult_raw(setting: Setting) -> Result:
    """Measure the raw CSV file with its reviewed schema."""
    table = prepare("adult-raw", setting.folder, quick=setting.quick)
    workload = setting.pick("marginals:3", "marginals:3,count=2,seed=1")
    summary = summarize(
        run_releases(table, workload, OPTIONS, setting.folder, runs=setting.runs, warm_up=setting.warm_up)
    )
    bars = [
        Bar("share of records that decode", summary["share_of_records_that_decode"], 1.0, at_least=True),
        Bar("largest error, median", summary["max_error"]["median"], 0.12),
        Bar("seconds, median", summary["seconds"]["median"], 30),
    ]
    return Result([summary], bars)
