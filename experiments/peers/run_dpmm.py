"""Synthetic records by dpmm (AIM and MST); runs in the environment of that peer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.peers.exchange import Task, run

MODEL_MEGABYTES = 80  # AIM's own default, "for any official comparisons"; its pipeline alone would set no limit


def synthesize(task: Task) -> NDArray[np.int64]:
    """Fit a pipeline on codes whose domain is declared, and sample as many records as the table has."""
    import pandas as pd
    from dpmm.pipelines import AIMPipeline, MSTPipeline  # type: ignore[import-not-found]

    options: dict[str, Any] = {"disable_processing": True, "n_jobs": 1}
    options |= {"epsilon": task.epsilon, "delta": task.delta}
    if task.method == "aim":
        # max_cells: no marginal of the workload is left out because of its size.
        degree = {"degree": task.order, "max_cells": max(task.sizes) ** task.order}
        pipeline = AIMPipeline(max_model_size=MODEL_MEGABYTES, gen_kwargs=degree, **options)
    else:
        pipeline = MSTPipeline(**options)
    pipeline.fit(
        pd.DataFrame(task.codes, columns=task.columns), domain=dict(zip(task.columns, task.sizes, strict=True))
    )
    sampled = pipeline.generate(n_records=len(task.codes))
    records: NDArray[np.int64] = sampled[task.columns].to_numpy().astype(np.int64)
    return records


if __name__ == "__main__":
    run("dpmm", ("aim", "mst"), synthesize)
