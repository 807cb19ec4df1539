"""The picture of a released histogram of two columns; nothing of the truth is in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpopt.cli.pictures.picture_file import labelled_bins, save_picture
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram


def draw_grid(histogram: GridHistogram, path: Path, estimate: str = "divided") -> None:
    """Draw the counts of the cells and their standard errors side by side, as PNG.

    Raises
    ------
    PlanError
        If there are not two columns, or there is no such estimate.
    """
    if len(histogram.axes) != 2:
        raise PlanError(
            f"a picture shows two columns, and this histogram has {len(histogram.axes)}; export a .csv file instead"
        )
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    shape = histogram.plan.shape
    cells = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1).astype(np.int64)
    errors = np.array([answer.standard_error for answer in histogram.boxes_from(cells, cells + 1)])
    figure, sides = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", sharex=True, sharey=True)
    shown = (
        ("records in each cell", histogram.estimate(estimate)),
        ("standard error by least squares", errors.reshape(shape)),
    )
    rows, columns = histogram.axes
    for axes, (title, values) in zip(sides, shown, strict=True):
        image = axes.imshow(values, origin="lower", aspect="auto", interpolation="nearest")
        figure.colorbar(image, ax=axes)
        axes.set(title=title, xlabel=columns.name)
        for bins, ticks, turned in ((columns, axes.set_xticks, 30), (rows, axes.set_yticks, 0)):
            places, labels = labelled_bins(bins)
            ticks(places, labels, rotation=turned, ha="right")
    sides[0].set_ylabel(rows.name)
    save_picture(figure, path)
