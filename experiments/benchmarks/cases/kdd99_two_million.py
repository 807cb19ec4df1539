"""KDD Cup 1999 with the parameters and the 2,000,000 queries of the paper's largest run, and what five accountants say."""

from __future__ import annotations

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import run_releases, summarize
from experiments.tables import prepare

PAPER = ["--rounds", "170", "--draws", "1750", "--step", "1.2", "--epsilon", "2", "--delta", "1e-3"]
TINY = ["--rounds", "2", "--draws", "20", "--step", "1.2", "--epsilon", "100", "--delta", "1e-3"]
EXPECTED = {"theorem": 1.859, "per-round": 1.029, "zcdp": 0.320, "gdp": 0.270}


@case("How long do 2,000,000 queries on KDD99 take with the paper's parameters, and what do they cost?")
def kdd99_two_million(setting: Setting) -> Result:
    """Measure the paper's parameters; the budget is wide enough for them, the cost is what the release states."""
    table = prepare("kdd99-coded", setting.folder, quick=setting.quick)
    workload = f"conjunctions:3,count={setting.pick(2_000_000, 300)},seed=7"
    options = setting.pick(PAPER, TINY)
    runs = run_releases(table, workload, options, setting.folder, runs=setting.runs, warm_up=setting.warm_up)
    summary = summarize(runs)
    stated = runs[0].statement["privacy"]["epsilon_by_accountant"]
    costs = {name: stated[name] for name in ("pure", *EXPECTED)}
    bars = [
        Bar("seconds, median", summary["seconds"]["median"], 20),
        Bar("peak memory in MB, largest", summary["peak_mb"]["largest"], 1_000),
        *(
            Bar(f"epsilon by {name}, distance to {expected}", abs(costs[name] - expected), 0.0005)
            for name, expected in EXPECTED.items()
        ),
    ]
    return Result([{**summary, "epsilon by accountant": costs}], bars)
