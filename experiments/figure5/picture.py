"""The picture: mean and largest errors against epsilon, one line for each algorithm, and the spread of the runs around it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def draw(results: Sequence[dict[str, Any]], file: Path) -> None:
    """Write the picture of results, each with epsilon, algorithm, max_error and mean_error."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    names = list(dict.fromkeys(one["algorithm"] for one in results))
    for axis, key, title in zip(
        axes, ("mean_error", "max_error"), ("mean error", "largest error"), strict=True
    ):
        for name in names:
            budgets = sorted({one["epsilon"] for one in results if one["algorithm"] == name})
            runs = [
                [one[key] for one in results if (one["algorithm"], one["epsilon"]) == (name, epsilon)]
                for epsilon in budgets
            ]
            (line,) = axis.plot(budgets, [statistics.mean(one) for one in runs], marker="o", label=name)
            axis.fill_between(
                budgets,
                [min(one) for one in runs],
                [max(one) for one in runs],
                color=line.get_color(),
                alpha=0.2,
            )
        axis.set_xlabel("epsilon (pure)")
        axis.set_xticks(sorted({one["epsilon"] for one in results}))
        axis.set_title(title)
        axis.set_yscale("log")
        axis.grid(visible=True, alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)
