"""Public tables of users and items: popular triples, with random signs and positive alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import figures, run_release, run_releases, summarize
from experiments.wide_files import SPARSE, WideTable, netflix_file, sparse_file

FIT_SECONDS = 60
"""Limit of a fit of `projection`, which ends after the sweep it is in."""


@case("How large are errors on four tables of users and items, 500,000 popular triples, epsilon 1, delta 1e-6?")
def sparse_sets(setting: Setting) -> Result:
    """Measure triples with random signs and positive ones, on ranks and a fill that are taken from the table itself.

    That is honest in a benchmark alone: for a private table they must be public, such as last year's catalogue. Beside them
    stand all zeros, all records alike, and `projection`: records fitted to noise on every count, for about a minute.
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
            rows.append(
                {"table": f"{label}, projection", **_projected(setting, table, ranks, positive=kind == "positive")}
            )
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
    played = setting.pick([], ["--rounds", "2", "--draws", "20"])
    return summarize(
        run_releases(
            table,
            _workload(setting, ranks, positive=positive),
            [*_budget(setting), "--density", fill, *played],
            setting.folder,
            runs=setting.runs,
            warm_up=setting.warm_up,
        )
    )


def _projected(setting: Setting, table: WideTable, ranks: Path, *, positive: bool) -> dict[str, Any]:
    """Return the figures of one release by projection; its fit ends after the sweep in which the seconds are over."""
    limit = ["--fit-seconds", str(setting.pick(FIT_SECONDS, 0.1)), "--no-predict"]
    run = run_release(
        table,
        _workload(setting, ranks, positive=positive),
        [*_budget(setting), "--algorithm", "projection", *limit],
        setting.folder,
    )
    return figures([run])


def _workload(setting: Setting, ranks: Path, *, positive: bool) -> str:
    queries = setting.pick(500_000, 300)
    return f"popular:3,count={queries},seed=7,ranks={ranks}{',positive' if positive else ''}"


def _budget(setting: Setting) -> list[str]:
    return ["--epsilon", setting.pick("1", "100"), "--delta", "1e-6"]


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
