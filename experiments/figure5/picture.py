"""The picture: mean and largest errors against epsilon, one line for each algorithm, and the spread of the runs around it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import logarithmic, series
from experiments.narrow import legend_below, narrow_picture


def draw(results: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw results, each with epsilon, algorithm, max_error and mean_error."""
    names = list(dict.fromkeys(one["algorithm"] for one in results))
    with narrow_picture(file, 8.0, 2, 1) as panels:
        for axes, key, title in zip(
            panels[:, 0], ("mean_error", "max_error"), ("mean error", "largest error"), strict=True
        ):
            for number, name in enumerate(names):
                budgets = sorted({one["epsilon"] for one in results if one["algorithm"] == name})
                runs = [
                    [one[key] for one in results if (one["algorithm"], one["epsilon"]) == (name, epsilon)]
                    for epsilon in budgets
                ]
                mean = [statistics.mean(one) for one in runs]
                axes.plot(budgets, mean, label=name, **series(number))
                low, high = [min(one) for one in runs], [max(one) for one in runs]
                axes.fill_between(budgets, low, high, color=series(number)["color"], alpha=0.15, linewidth=0)
            axes.set(xlabel="epsilon (pure)", title=title)
            axes.set_xticks(sorted({one["epsilon"] for one in results}))
            logarithmic(axes.yaxis)
        legend_below(panels)
