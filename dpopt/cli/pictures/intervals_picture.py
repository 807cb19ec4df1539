"""The picture of released intervals or boxes of two columns: how many records each bin or cell of them has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpopt.cli.pictures.picture_file import labelled_bins, save_picture
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.synopses.intervals.partition_release import PartitionRelease

_MOST_EDGES = 2_000  # boxes whose edges are drawn


def draw_partition(released: PartitionRelease, path: Path) -> None:
    """Draw the density of the intervals or boxes, as PNG; nothing of the truth is in it.

    Raises
    ------
    PlanError
        If there are more than two columns.
    """
    if len(released.axes) > 2:
        raise PlanError(
            f"a picture shows one or two columns, and this release has {len(released.axes)}; export a .csv file instead"
        )
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    partition = released.partition
    density = released.weights / partition.volumes
    figure, axes = plt.subplots(figsize=(9, 4) if len(released.axes) == 1 else (7, 6), layout="constrained")
    places = [labelled_bins(bins) for bins in released.axes]
    if len(released.axes) == 1:
        edges = np.append(partition.starts[:, 0], partition.stops[-1, 0])
        axes.stairs(density, edges, fill=True, alpha=0.4)
        axes.stairs(density, edges)
        axes.set_xticks(places[0][0] + 0.5, places[0][1], rotation=30, ha="right")
        axes.set(xlabel=released.axes[0].name, ylabel="records in each bin")
    else:
        from matplotlib.collections import PolyCollection

        low, high = partition.starts[:, ::-1], partition.stops[:, ::-1]  # the second column goes to the right
        corners = np.stack(
            [
                np.column_stack((left, bottom))
                for left, bottom in (
                    (low[:, 0], low[:, 1]),
                    (high[:, 0], low[:, 1]),
                    (high[:, 0], high[:, 1]),
                    (low[:, 0], high[:, 1]),
                )
            ],
            axis=1,
        )
        drawn = PolyCollection(
            list(corners),
            array=np.log10(np.maximum(density, 1e-6)),
            edgecolors="white" if len(partition) <= _MOST_EDGES else "face",
            linewidths=0.3,
        )
        axes.add_collection(drawn)
        figure.colorbar(drawn, ax=axes, label="log10 of the records in each cell")
        rows, columns = released.axes
        axes.set_xticks(places[1][0] + 0.5, places[1][1], rotation=30, ha="right")
        axes.set_yticks(places[0][0] + 0.5, places[0][1])
        axes.set(xlabel=columns.name, ylabel=rows.name, xlim=(0, columns.number), ylim=(0, rows.number))
    save_picture(figure, path)
