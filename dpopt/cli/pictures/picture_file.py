"""What pictures share: which bins of an axis are labelled, and a file that is there whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.files.written_files import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpopt.queries.ranges.bins import Bins

_MOST_LABELS = 12


def labelled_bins(bins: Bins) -> tuple[NDArray[np.int64], list[str]]:
    """Return the positions of at most 12 bins from the first to the last, evenly spread, and their labels."""
    places = np.linspace(0, bins.number - 1, min(bins.number, _MOST_LABELS)).round().astype(np.int64)
    return places, [bins.label(place) for place in places.tolist()]


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, whole or not at all, and close it."""
    from matplotlib import pyplot as plt

    with whole_file(path) as stream:
        figure.savefig(stream, format="png", dpi=120)
    plt.close(figure)
