"""Synthetic records by SmartNoise (AIM, MST and MWEM); runs in the environment of that peer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.peers.exchange import Task, run

# MWEM with its defaults updates one histogram of all columns for every measured cell: days on seven columns of Adult.
# Its documentation offers independent groups of columns; the other way is fewer iterations over the whole histogram.
WHOLE: dict[str, Any] = {"iterations": 10, "mult_weights_iterations": 5}
GROUPS: dict[str, Any] = {"split_factor": 3}


class Sampled:
    """A fitted model of mbi 1.1.0 whose records are sampled.

    SmartNoise takes the default, "round", which orders the records of a group by their earlier columns and so ties columns
    together that are independent in the model; ``mst-rounded`` shows what that costs.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def synthetic_data(self, rows: int) -> Any:
        """Return sampled records."""
        return self._model.synthetic_data(rows=rows, method="sample")


def synthesize(task: Task) -> NDArray[np.int64]:
    """Fit a synthesizer on codes whose domain is declared, and sample as many records as the table has."""
    import pandas as pd
    from snsynth import Synthesizer  # type: ignore[import-not-found]
    from snsynth.transform import LabelTransformer, TableTransformer  # type: ignore[import-not-found]

    # A transformer fitted to every declared code takes no value and no budget from the private table.
    transformer = TableTransformer([LabelTransformer(nullable=False) for _ in task.sizes])
    transformer.fit([tuple(row) for row in declared_codes(task.sizes)])
    options: dict[str, dict[str, Any]] = {
        "aim": {"delta": task.delta, "degree": task.order, "max_cells": max(task.sizes) ** task.order},
        "mst": {"delta": task.delta},
        "mst-rounded": {"delta": task.delta},
        "mwem": WHOLE,
        "mwem-groups": GROUPS,
    }
    name = task.method.partition("-")[0]
    synthesizer = Synthesizer.create(name, epsilon=task.epsilon, **options[task.method])
    rows = [tuple(row) for row in task.codes.tolist()]
    synthesizer.fit(rows, transformer=transformer)
    if task.method in {"aim", "mst"}:
        synthesizer.synthesizer = Sampled(synthesizer.synthesizer)
    sampled = synthesizer.sample(len(rows))
    return pd.DataFrame(sampled).to_numpy().astype(np.int64)


def declared_codes(sizes: list[int]) -> list[list[int]]:
    """Return a few made-up records in which every declared code of every column occurs."""
    return [[row % size for size in sizes] for row in range(max(sizes))]


if __name__ == "__main__":
    run("smartnoise-synth", ("aim", "mst", "mst-rounded", "mwem", "mwem-groups"), synthesize)
