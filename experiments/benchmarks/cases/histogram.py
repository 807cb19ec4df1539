"""A histogram of a million bins as a whole process, and least squares over a tree of a million leaves alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.tree_least_squares import least_squares
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.histograms.histogram import Histogram
from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import run_dpopt, spread

BUDGETS = {"discrete Laplace": ["--epsilon", "1", "--delta", "0"], "discrete Gaussian": ["--rho", "0.5"]}
LEVELS = 20


@case(
    "How long does a histogram of 1,048,576 bins take, planned for all ranges, and least squares over its tree alone?"
)
def histogram(setting: Setting) -> Result:
    """Measure `dpopt histogram release` from a file of counts, with both kinds of noise, then two passes over a binary tree."""
    bins = setting.pick(2**LEVELS, 64)
    counts = setting.folder / "counts.csv"
    _write_counts(counts, _counts(bins))
    rows, bars = [], []
    for noise, budget in BUDGETS.items():
        row = _releases(counts, budget, setting)
        rows.append({"noise": noise, **row})
        bars.append(Bar(f"seconds with {noise} noise, median", row["seconds"]["median"], 20))
    alone = _least_squares(bins, setting)
    rows.append(alone)
    seconds = alone["least squares over all levels of a binary tree, seconds"]
    bars.append(Bar("seconds of least squares, median", seconds["median"], 0.3))
    return Result(rows, bars)


def _releases(counts: Path, budget: list[str], setting: Setting) -> dict[str, Any]:
    """Release a histogram of counts and remove it, once more than is counted; return the figures."""
    processes, levels = [], 0
    out = setting.folder / "histogram.npz"
    for _ in range(setting.runs + setting.warm_up):
        command = ["histogram", "release", str(counts), "--counts", "n", "--ranges", "all", *budget]
        processes.append(run_dpopt([*command, "-o", str(out)]))
        levels = len(Histogram.read(out).plan.levels)
        out.unlink()
    counted = processes[1 if setting.warm_up else 0 :]
    return {
        "bins": sum(1 for _ in counts.open(encoding="utf-8")) - 1,
        "levels measured": levels,
        "seconds": spread(process.seconds for process in counted),
        "processor_seconds": spread(process.processor_seconds for process in counted),
        "peak_mb": spread(process.peak_bytes / 1e6 for process in counted),
    }


def _least_squares(bins: int, setting: Setting) -> dict[str, Any]:
    tree = Tree.balanced(bins, 2)
    generator = np.random.default_rng(1)
    values = tree.totals(_counts(bins).astype(np.float64)) + generator.laplace(scale=21.0, size=len(tree))
    variances = np.full(len(tree), 2 * 21.0**2)
    seconds = []
    for _ in range(setting.pick(15, 1) + setting.warm_up):
        started = time.perf_counter()
        least_squares(tree, values, variances)
        seconds.append(time.perf_counter() - started)
    return {
        "leaves": bins,
        "nodes": len(tree),
        "least squares over all levels of a binary tree, seconds": spread(seconds[1 if setting.warm_up else 0 :]),
    }


def _counts(bins: int) -> NDArray[np.int64]:
    """Return made-up counts, most of them 0."""
    generator = np.random.default_rng(0)
    return np.where(generator.random(bins) < 0.1, generator.geometric(0.01, bins), 0).astype(np.int64)


def _write_counts(path: Path, counts: NDArray[np.int64]) -> None:
    path.write_text("n\n" + "\n".join(map(str, counts.tolist())) + "\n", encoding="utf-8")
