"""Public histograms of two columns: those of DPBench."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from experiments.tables import data_file

FILE = "hist/dpbench-2d-256x256.npz"


def grids(*, quick: bool = False) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield the name and the cells of all grids; with `quick` a made-up one."""
    if quick:
        yield "made up", (np.arange(128, dtype=np.int64) % 7 * (np.arange(128) % 3 == 0)).reshape(16, 8)
        return
    with np.load(data_file(FILE), allow_pickle=False) as stored:
        for name in stored.files:
            yield name, stored[name].astype(np.int64)
