"""The picture of a polynomial: its curve, the target, the band of its error and the points where the error is largest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpopt.cli.pictures.picture_file import save_picture
from dpopt.polynomials import LeastDegree

if TYPE_CHECKING:
    from dpopt.polynomials import Solution


def draw_polynomial(found: Solution | LeastDegree, path: Path) -> None:
    """Draw a polynomial on [0, k] as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    solution = found.best if isinstance(found, LeastDegree) else found
    target, polynomial = solution.problem.target, solution.polynomial
    values = np.array([float(value) for value in target.values])
    error = polynomial.error(target)
    points = np.arange(target.width + 1)
    curve = np.linspace(0, target.width, 50 * target.width + 1)
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.plot(
        curve, polynomial.evaluate(curve), color="C0", label=f"polynomial of degree {polynomial.degree}"
    )
    axes.errorbar(
        points,
        values,
        yerr=float(error.value),
        fmt="k.",
        ecolor="lightgrey",
        capsize=3,
        label=f"{target.name}, error at most {float(error.value):.4g}",
    )
    largest = np.array(error.points)
    at_largest = [float(polynomial.at(int(point))) for point in largest]
    axes.plot(largest, at_largest, "o", color="C3", mfc="none", label="largest error")
    span = np.concatenate([values, [float(polynomial.at(s)) for s in range(target.width + 1)]])
    margin = 0.15 * max(float(np.ptp(span)), 0.1)
    axes.set(
        xlabel="true literals s", ylabel="p(s)", ylim=(float(span.min()) - margin, float(span.max()) + margin)
    )
    axes.legend()
    save_picture(figure, path)
