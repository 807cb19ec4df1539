"""Biased random bits, 50 to 512,000 columns: how errors, seconds and memory grow with the width of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import logarithmic, series
from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.narrow import narrow_picture
from experiments.runs import run_releases, spread
from experiments.wide_data.parts import COLUMNS
from experiments.wide_files import bits_file

PLOT = Path(__file__).resolve().parent.parent / "random_bits.svg"
WIDEST = 512_000
STAGES = {
    "counting, seconds": "counting exact answers",
    "rounds, seconds": "playing rounds",
    "reading, seconds": "reading the table",
}


@case(
    "How do errors, seconds and memory grow with columns, 100,000 conjunctions on random bits, epsilon 1, delta 1e-3?"
)
def random_bits(setting: Setting) -> Result:
    """Measure whole processes on a file of bits, with eta = 0.4 and the paper's draws by width; draw them."""
    if setting.warm_up:
        _release(setting, 50, 200, queries=1_000, runs=1)
    widths = setting.pick(COLUMNS, {50: 20})
    rows = [_release(setting, columns, draws) for columns, draws in widths.items()]
    draw(rows, setting.pick(PLOT, setting.folder / PLOT.name))
    of = {row["columns"]: row for row in rows}
    widest = of.get(WIDEST, rows[-1])
    bars = [
        Bar("mean error at 512,000 columns, median", widest["mean error"]["median"], 0.062),
        Bar("seconds of the rounds at 512,000 columns, median", widest["rounds, seconds"]["median"], 20),
        Bar("seconds of counting at 512,000 columns, median", widest["counting, seconds"]["median"], 180),
        Bar("mean error at 1,000 columns, median", of.get(1_000, rows[-1])["mean error"]["median"], 0.029),
    ]
    return Result(rows, bars)


def _release(
    setting: Setting, columns: int, draws: int, *, queries: int = 100_000, runs: int | None = None
) -> dict[str, Any]:
    table = bits_file(setting.folder, columns, quick=setting.quick)
    options = [*("--draws", str(draws), "--step", "0.4", "--free-attributes", "random", "--no-predict")]
    options += ["--rounds", "2", "--epsilon", "1e6"] if setting.quick else ["--epsilon", "1"]
    done = run_releases(
        table,
        f"conjunctions:3,count={setting.pick(queries, 300)},seed=7",
        [*options, "--delta", "1e-3"],
        setting.folder,
        runs=runs or setting.runs,
        warm_up=False,
    )
    table.path.unlink()  # the widest one has 6.4 GB
    plan = done[0].statement["plan"]
    return {
        "columns": columns,
        "rounds": plan["rounds"],
        "draws": plan["draws"],
        "largest error": spread(run.errors["max_error"] for run in done),
        "mean error": spread(run.errors["mean_error"] for run in done),
        **{name: spread(run.stages[stage] for run in done) for name, stage in STAGES.items()},
        "seconds": spread(run.process.seconds for run in done),
        "processor_seconds": spread(run.process.processor_seconds for run in done),
        "peak_mb": spread(run.process.peak_bytes / 1e6 for run in done),
        "zeros, mean error": done[0].errors["baselines"]["zeros"]["mean_error"],
        "uniform, mean error": done[0].errors["baselines"]["uniform"]["mean_error"],
    }


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw errors, seconds and memory against columns."""
    columns = [row["columns"] for row in rows]
    with narrow_picture(path, 9.4, 3, 1) as panels:
        left, middle, right = panels[:, 0]
        for number, name in enumerate(("largest error", "mean error")):
            left.plot(columns, [row[name]["median"] for row in rows], label=name, **series(number))
        for name, color in (("zeros, mean error", "0.75"), ("uniform, mean error", "0.5")):
            left.plot(columns, [row[name] for row in rows], "-", color=color, label=name)
        for number, name in enumerate(("counting, seconds", "rounds, seconds", "seconds")):
            label = "whole process" if name == "seconds" else name.removesuffix(", seconds")
            middle.plot(columns, [row[name]["median"] for row in rows], label=label, **series(number))
        right.plot(columns, [row["peak_mb"]["largest"] for row in rows], **series(0))
        for axes, title in ((left, "errors"), (middle, "seconds"), (right, "peak memory, MB")):
            axes.set(title=title, xlabel="columns")
            logarithmic(axes.xaxis)
            logarithmic(axes.yaxis)
        left.legend(fontsize="medium")
        middle.legend(fontsize="medium")
