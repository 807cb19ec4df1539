"""The picture of a comparison: two performance profiles side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpopt.cli.pictures.picture_file import save_picture
from dpopt.comparison.tables import (
    WITHIN,
    Profile,
    profile_over_distance,
    profile_over_time,
)

if TYPE_CHECKING:
    from dpopt.comparison.parts import Comparison

_LEAST_SECONDS = 0.01
_MOST_PER_CENT = 20.0


def draw_profiles(comparison: Comparison, path: Path) -> None:
    """Draw share of cases over time and over distance, one step curve for each solver, as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    seconds = comparison.limits.seconds or 1.0
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    _steps(left, profile_over_time(comparison), _LEAST_SECONDS, seconds)
    left.set_xscale("log")
    left.set(
        xlabel="seconds",
        ylabel="share of cases",
        title=f"within {WITHIN:g} % of the best known value",
        ylim=(-0.02, 1.05),
    )
    _steps(right, profile_over_distance(comparison), 0.0, _MOST_PER_CENT)
    right.set(
        xlabel="per cent below the best known value",
        title=f"final value, limit {seconds:g} s",
        xlim=(0, None),
    )
    right.set_xscale("symlog", linthresh=0.1)
    right.legend(loc="lower right", fontsize="small")
    for axes in (left, right):
        axes.grid(visible=True, alpha=0.3)
    save_picture(figure, path)


def _steps(axes: Any, profile: Profile, first: float, last: float) -> None:
    """Draw each solver's curve from the first to the last place; solvers that coincide differ in their dashes."""
    styles = ["-", "--", "-.", ":"]
    for number, (label, points) in enumerate(zip(profile.labels, profile.points, strict=True)):
        places = np.concatenate(([first], np.clip(points, first, None), [max(last, first)]))
        shares = np.concatenate(([0], np.arange(1, points.size + 1), [points.size])) / max(1, profile.cases)
        inside = places <= last
        axes.step(places[inside], shares[inside], where="post", label=label, linestyle=styles[number % 4])
