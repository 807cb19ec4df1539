"""A made-up table with the shape of the paper's largest one: 480,189 records of 17,770 columns, 1.2 % ones."""

from __future__ import annotations

import time

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import run_release, run_releases, summarize
from experiments.wide_files import netflix_file

PUBLISHED = ["--rounds", "120", "--draws", "4500", "--step", "1.2", "--epsilon", "2"]
PARAMETERS = {"T, s and eta as published": PUBLISHED, "the planner's": ["--epsilon", "1"]}
FILL = ["--density", "0.012"]  # declared: the share of ones of the published table
TINY = {"given": ["--rounds", "2", "--draws", "20", "--step", "1.2", "--epsilon", "1e6"]}


@case(
    "How long does a table with the shape of Netflix's take, 2,000,000 three-way conjunctions, and how large are "
    "errors?"
)
def netflix_shaped(setting: Setting) -> Result:
    """Measure whole processes on a sparse matrix on file; how long it takes to make the table stands beside them."""
    began = time.perf_counter()
    table = netflix_file(setting.folder, quick=setting.quick)
    making = float(f"{time.perf_counter() - began:.3g}")
    workload = f"conjunctions:3,count={setting.pick(2_000_000, 300)},seed=7"
    if setting.warm_up:  # compiles what the tiny table needs, without minutes on the large one
        tiny = netflix_file(setting.folder, quick=True)
        run_release(tiny, "conjunctions:3,count=300,seed=7", ["--epsilon", "100", "--delta", "1e-3"], setting.folder)
    rows, bars = [], []
    for name, options in setting.pick(PARAMETERS, TINY).items():
        runs = run_releases(
            table, workload, [*options, *FILL, "--delta", "1e-3"], setting.folder, runs=setting.runs, warm_up=False
        )
        summary = summarize(runs)
        rows.append({"parameters": name, **summary, "making the table, seconds": making})
        bars += [
            Bar(f"{name}: seconds, median", summary["seconds"]["median"], 240),
            Bar(f"{name}: peak memory in MB, largest", summary["peak_mb"]["largest"], 8_000),
            *(
                Bar(
                    f"{name}: largest error, median, against half of that of {other}",
                    summary["max_error"]["median"],
                    errors["max_error"] / 2,
                )
                for other, errors in summary["baselines"].items()
            ),
        ]
    return Result(rows, bars)
