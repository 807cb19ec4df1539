"""The picture of a released histogram with its error band; nothing of the truth is in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpopt.cli.pictures.picture_file import labelled_bins, save_picture

if TYPE_CHECKING:
    from dpopt.synopses.histograms.histogram import Histogram

_MOST_DRAWN = 512


def draw_histogram(histogram: Histogram, path: Path, *, estimate: str) -> None:
    """Draw an estimate, neighbouring bins joined where there are more than 512, with intervals of 95 %, as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    number = histogram.bins.number
    edges = np.unique(np.linspace(0, number, min(number, _MOST_DRAWN) + 1).round().astype(int))
    pairs = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    answers = histogram.ranges(pairs, estimate=estimate)
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    axes.stairs([answer.value for answer in answers], edges, color="C0", label="released")
    axes.stairs(
        [answer.high for answer in answers],
        edges,
        baseline=np.array([answer.low for answer in answers]),
        fill=True,
        color="C0",
        alpha=0.25,
        label="95 % interval",
    )
    places, labels = labelled_bins(histogram.bins)
    axes.set_xticks(places + 0.5, labels, rotation=30, ha="right")
    joined = -(-number // (len(edges) - 1))
    each = "bin" if joined == 1 else f"{joined} bins"
    axes.set(
        xlabel=histogram.bins.name,
        ylabel=f"records in each {each}",
        ylim=(min(0.0, *(answer.value for answer in answers)), None),
    )
    axes.legend()
    save_picture(figure, path)
