"""Public tables of users and items: popular triples, with random signs and positive alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import run_releases, summarize
from experiments.wide_files import SPARSE, WideTable, netflix_file, sparse_file

BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


@case(
    "How large are errors on four tables of users and items, 500,000 popular triples, epsilon 1, delta 1e-6?"
)
def sparse_sets(setting: Setting) -> Result:
    """Measure triples with random signs and positive ones, on ranks and a fill that are taken from the table itself.

    That is honest in a benchmark alone: for a private table they must be public, such as last year's catalogue.
    """
    rows, bars = [], []
    for name in setting.pick(list(SPARSE), ["made up"]):
        table = netflix_file(setting.folder, quick=True) if setting.quick else sparse_file(name)
        popularity = _popularity(table.path)
        ranks = _write_ranks(popularity, setting.folder)
        fill = f"{popularity.sum() / (table.rows * table.columns):.2g}"
        for kind in setting.pick(("signed", "positive"), ("signed",)):
            summary = _release(setting, table, ranks, fill, positive=kind == "positive")
            label = f"{name}, {kind}"
            rows.append({"table": label, **summary})
            bars.append(Bar(f"{label}: seconds, median", summary["seconds"]["median"], 120))
            if kind == "signed":
                bars += [
                    Bar(
                        f"{label}: {figure.replace('_', ' ')}, median, against {other}",
                        summary[figure]["median"],
                        errors[figure],
                    )
                    for other, errors in summary["baselines"].items()
                    for figure in ("max_error", "mean_error")
                ]
    return Result(rows, bars)


def _release(setting: Setting, table: WideTable, ranks: Path, fill: str, *, positive: bool) -> dict[str, Any]:
    queries = setting.pick(500_000, 300)
    workload = f"popular:3,count={queries},seed=7,ranks={ranks}{',positive' if positive else ''}"
    budget = setting.pick(BUDGET, ["--epsilon", "100", "--delta", "1e-6", "--rounds", "2", "--draws", "20"])
    return summarize(
        run_releases(
            table,
            workload,
            [*budget, "--fill", fill],
            setting.folder,
            runs=setting.runs,
            warm_up=setting.warm_up,
        )
    )


def _popularity(path: Path) -> NDArray[np.int64]:
    """Return how many records have each item."""
    with np.load(path, allow_pickle=False) as stored:
        columns = int(stored["shape"][1])
        if stored["format"].item() == b"csc":
            return np.asarray(np.diff(stored["indptr"]), dtype=np.int64)
        return np.bincount(stored["indices"], minlength=columns).astype(np.int64)


def _write_ranks(popularity: NDArray[np.int64], folder: Path) -> Path:
    """Write the columns by popularity, a number on each line."""
    file = folder / "ranks.txt"
    order = np.argsort(-popularity, kind="stable")
    file.write_text("\n".join(map(str, order.tolist())) + "\n", encoding="utf-8")
    return file
