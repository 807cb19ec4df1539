"""Whole releases of Adult, and of KDD Cup 1999, 10 % file: errors, seconds and memory beside limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import Run, figures, run_releases, summarize
from experiments.tables import prepare

PAPER = ["--epsilon", "1", "--delta", "1e-3"]
RAW = ["--epsilon", "1", "--delta", "1e-9"]
LARGEST_RUN = ["--rounds", "170", "--draws", "1750", "--step", "1.2", "--epsilon", "2", "--delta", "1e-3"]
TINY = ["--rounds", "2", "--draws", "20", "--step", "1.2", "--epsilon", "100", "--delta", "1e-3"]
COSTS = {"theorem": 1.859, "per-round": 1.029, "zcdp": 0.320, "gdp": 0.270}
FIGURES = {
    "max_error": ("largest error, median", "median"),
    "mean_error": ("mean error, median", "median"),
    "seconds": ("seconds, median", "median"),
    "peak_mb": ("peak memory in MB, largest", "largest"),
}


@case("How large are errors and time on Adult, 500,000 random three-way conjunctions, epsilon 1, delta 1e-3?")
def adult_coded(setting: Setting) -> Result:
    """Measure the DualQuery coding at the paper's privacy: queries over all declared values, and over those that occur."""
    queries = _conjunctions(setting, 500_000)
    workloads = {"all values": queries, "occurring values": queries + ",occurring"}
    summaries = {name: summarize(_runs(setting, "adult-coded", text, PAPER)) for name, text in workloads.items()}
    slowest = max(summaries.values(), key=lambda summary: summary["seconds"]["median"])
    bars = [*_bars(summaries["all values"], max_error=0.115, mean_error=0.0070), *_bars(slowest, seconds=5)]
    return Result([{"queries over": name, **summary} for name, summary in summaries.items()], bars)


@case("Does every record decode, and how large are errors and time, on raw Adult, all three-way marginals?")
def adult_raw(setting: Setting) -> Result:
    """Measure the raw CSV file with its reviewed schema."""
    workload = setting.pick("marginals:3", "marginals:3,count=2,seed=1")
    summary = summarize(_runs(setting, "adult-raw", workload, RAW))
    decoded = Bar("share of records that decode", summary["share_of_records_that_decode"], 1.0, at_least=True)
    return Result([summary], [decoded, *_bars(summary, max_error=0.12, seconds=30)])


@case("How large are errors, time and memory on KDD99, 500,000 three-way conjunctions, epsilon 1, delta 1e-3?")
def kdd99(setting: Setting) -> Result:
    """Measure the DualQuery coding (41 attributes), and the raw file (42 columns); the limits hold for the coding."""
    tables = setting.pick(("kdd99-coded", "kdd99-raw"), ("kdd99-raw",))
    summaries = {name: summarize(_runs(setting, name, _conjunctions(setting, 500_000), PAPER)) for name in tables}
    bars = _bars(summaries[tables[0]], max_error=0.031, mean_error=0.0018, seconds=12, peak_mb=1_000)
    return Result([{"table": name, **summary} for name, summary in summaries.items()], bars)


@case(
    "How large are errors and time on KDD99, 500,000 three-way conjunctions by measured counts, epsilon 1, delta 1e-3?"
)
def kdd99_measured(setting: Setting) -> Result:
    """Measure the DualQuery coding, by `projection`."""
    table, options = setting.pick("kdd99-coded", "adult-raw"), [*PAPER, "--algorithm", "projection"]
    row = figures(_runs(setting, table, _conjunctions(setting, 500_000), options))
    return Result([row], _bars(row, max_error=0.006, mean_error=0.00006, seconds=60))


@case("How long do 2,000,000 queries on KDD99 take with the paper's parameters, and what do they cost?")
def kdd99_two_million(setting: Setting) -> Result:
    """Measure the paper's parameters; the budget is wide enough for them, the cost is what the release states."""
    runs = _runs(setting, "kdd99-coded", _conjunctions(setting, 2_000_000), setting.pick(LARGEST_RUN, TINY))
    summary, stated = summarize(runs), runs[0].statement["privacy"]["epsilon_by_accountant"]
    costs = {name: stated[name] for name in ("pure", *COSTS)}
    bars = _bars(summary, seconds=20, peak_mb=1_000)
    for name, cost in COSTS.items():
        bars.append(Bar(f"epsilon by {name}, distance to {cost}", abs(costs[name] - cost), 0.0005))
    return Result([{**summary, "epsilon by accountant": costs}], bars)


def _conjunctions(setting: Setting, queries: int) -> str:
    return f"conjunctions:3,count={setting.pick(queries, 50)},seed=7"


def _runs(setting: Setting, name: str, workload: str, options: Sequence[str]) -> list[Run]:
    table = prepare(name, setting.folder, quick=setting.quick)
    return run_releases(table, workload, options, setting.folder, runs=setting.runs, warm_up=setting.warm_up)


def _bars(summary: dict[str, Any], **limits: float) -> list[Bar]:
    """Return the limits of some figures: errors and seconds hold for medians, memory for the largest."""
    return [Bar(FIGURES[name][0], summary[name][FIGURES[name][1]], limit) for name, limit in limits.items()]
