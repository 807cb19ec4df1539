"""The picture: mean and largest errors against epsilon, one line for each algorithm."""

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

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    names = list(dict.fromkeys(one["algorithm"] for one in results))
    for axis, key, title in zip(
        axes, ("mean_error", "max_error"), ("mean error", "largest error"), strict=True
    ):
        for name in names:
            budgets = sorted({one["epsilon"] for one in results if one["algorithm"] == name})
            values = [
                statistics.mean(
                    one[key] for one in results if (one["algorithm"], one["epsilon"]) == (name, epsilon)
                )
                for epsilon in budgets
            ]
            axis.plot(budgets, values, marker="o", label=name)
        axis.set_xlabel("epsilon (pure)")
        axis.set_title(title)
        axis.set_yscale("log")
        axis.grid(visible=True, alpha=0.3)
    axes[0].legend(fontsize=7)
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)
