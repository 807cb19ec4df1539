"""Counting on 20 million rows: by worker processes of Dask, in one process that reads batch by batch, and in memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dpopt.schema.schema import Attribute, AttributeKind, Schema
from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import spread
from experiments.tables import ROOT

SIZES = (2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 8, 8)
GROUP_ROWS = 500_000
BLOCK_ROWS = 1_000_000
ENGINES = ("memory", "stream", "dask:4")


@case("What do 4 Dask workers cost beside one process, on 20 million rows and 100,000 three-way conjunctions?")
def dask_workers(setting: Setting) -> Result:
    """Count by each engine in turns, in a process of its own each time; the counts must agree, also with a worker killed."""
    schema = Schema(
        tuple(
            Attribute(f"a{number}", AttributeKind.CATEGORICAL, tuple(range(size))) for number, size in enumerate(SIZES)
        )
    )
    schema.write(setting.folder / "schema.json")
    rows, queries = setting.pick((20_000_000, 100_000), (20_000, 200))
    table = _write(schema, rows, setting.folder / "table.parquet", setting.pick(GROUP_ROWS, 1_000))
    engines = setting.pick(ENGINES, ("memory", "stream", "dask:1"))
    runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    for _ in range(setting.runs):
        for engine, measured in runs.items():
            measured.append(_counted(setting.folder, table, queries, engine))
    digests = {run["digest"] for measured in runs.values() for run in measured}
    if len(digests) != 1:
        raise RuntimeError("the counts of the engines differ")
    listed = [
        {"engine": engine, "rows": rows, "queries": queries, **_figures(measured)} for engine, measured in runs.items()
    ]
    memory, stream, dask = listed
    for key in ("seconds of a count", "processor seconds of a count"):
        dask[f"{key}, beside stream"] = _rounded(dask[key]["median"] / stream[key]["median"])
        stream[f"{key}, beside memory"] = _rounded(stream[key]["median"] / memory[key]["median"])
    bars = [
        Bar(f"{key} by Dask, beside one process", dask[f"{key}, beside stream"], 1.3)
        for key in ("seconds of a count", "processor seconds of a count")
    ]
    return Result(listed, bars)


def _write(schema: Schema, rows: int, path: Path, group_rows: int) -> Path:
    """Write a public population, a block of rows after the other with a seed of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dpopt.releases.public_population.population import public_population

    fields = pa.schema([(name, pa.int8()) for name in schema.names])
    with pq.ParquetWriter(path, fields) as writer:
        for seed, begin in enumerate(range(0, rows, BLOCK_ROWS)):
            codes = public_population(schema, min(BLOCK_ROWS, rows - begin), seed=seed)
            block = pa.table([column.astype(np.int8) for column in codes], schema=fields)
            writer.write_table(block, row_group_size=group_rows)
    return path


def _counted(folder: Path, table: Path, queries: int, engine: str) -> dict[str, Any]:
    workload = f"conjunctions:3,count={queries},seed=7"
    kill = ["kill"] if engine.startswith("dask") else []
    done = subprocess.run(  # noqa: S603  its arguments are written here
        [
            sys.executable,
            "-m",
            "experiments.benchmarks.engine_process",
            str(table),
            str(folder / "schema.json"),
            workload,
            engine,
            *kill,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"counting by {engine} failed:\n{done.stdout}{done.stderr}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def _figures(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of equal processes."""
    warm = [lap for run in runs for lap in run["warm"]]
    figures: dict[str, Any] = {
        "opening, seconds (workers start, all values are checked)": spread(run["opening"]["seconds"] for run in runs),
        "first count, seconds (kernels are loaded)": spread(run["first"]["seconds"] for run in runs),
        "seconds of a count": spread(lap["seconds"] for lap in warm),
        "processor seconds of a count": spread(lap["processor_seconds"] for lap in warm),
        "peak MB": _rounded(statistics.median(run["peak_bytes"] for run in runs) / 1e6),
    }
    if "killed" in runs[0]:
        figures["seconds of a count with a worker killed"] = spread(run["killed"]["seconds"] for run in runs)
        peaks = [max(run["workers_peak_bytes"]) for run in runs]
        figures["peak MB of a worker"] = _rounded(statistics.median(peaks) / 1e6)
    return figures


def _rounded(number: float) -> float:
    return float(f"{number:.4g}")
