"""A release of ten million rows of eight columns: seconds and memory, in memory and streamed, to the last row written."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpopt.releases.records import ROWS_AT_ONCE, RowBlock
from dpopt.releases.table_output import write_blocks
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import run_releases, spread
from experiments.tables import Table

LISTED = (8, 5, 4, 2, 2)
EDGES = {
    "age": (18, 25, 35, 45, 55, 65, 90),
    "income": (0, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 500_000),
    "hours": (0, 20, 40, 60, 80, 100),
}


@case(
    "How long does a release of ten million rows of eight columns take, and how much memory, to the last row written?"
)
def many_rows(setting: Setting) -> Result:
    """Release a made-up table of five listed columns and three of numbers within bins, by default and streamed."""
    listed = [
        Attribute(f"a{place}", AttributeKind.CATEGORICAL, tuple(range(size))) for place, size in enumerate(LISTED)
    ]
    numeric = [Attribute(name, AttributeKind.NUMERIC, edges=edges, integer=True) for name, edges in EDGES.items()]
    schema, rows = Schema((*listed, *numeric)), setting.pick(10_000_000, 2_000)
    path, declared = setting.folder / "table.parquet", setting.folder / "schema.json"
    schema.write(declared)
    write_blocks(path, schema, _blocks(schema, rows), weighted=False, format="parquet")
    table, found, bars = Table("made up", path, declared, rows), [], []
    for engine, seconds, megabytes in (("memory", 18, 1_200), ("stream", 36, 1_200)):
        options = ["--algorithm", "auto", "--epsilon", "1", "--engine", engine]
        runs = run_releases(
            table, "marginals:3", options, setting.folder, runs=setting.runs, warm_up=setting.warm_up, with_errors=False
        )
        row = {
            "engine": engine,
            "rows": rows,
            "seconds": spread(run.process.seconds for run in runs),
            "seconds of writing": spread(run.stages["writing records"] for run in runs),
            "processor_seconds": spread(run.process.processor_seconds for run in runs),
            "peak_mb": spread(run.process.peak_bytes / 1e6 for run in runs),
        }
        found.append(row)
        bars.append(Bar(f"{engine}: seconds, median", row["seconds"]["median"], seconds))
        bars.append(Bar(f"{engine}: peak memory in MB, largest", row["peak_mb"]["largest"], megabytes))
    return Result(found, bars)


def _blocks(schema: Schema, rows: int) -> Iterator[RowBlock]:
    """Yield rows whose columns all lean on one hidden number; those of a block have a seed of their own."""
    for begin in range(0, rows, ROWS_AT_ONCE):
        generator, number = np.random.default_rng(begin), min(ROWS_AT_ONCE, rows - begin)
        hidden = generator.random((number, 1))
        mixed = 0.6 * hidden + 0.4 * generator.random((number, len(schema)))
        codes = (mixed * schema.sizes).astype(np.int32)
        numbers = {}
        for place, edges in enumerate(EDGES.values(), start=len(LISTED)):
            low, high = np.array(edges)[codes[:, place]], np.array(edges)[codes[:, place] + 1]
            numbers[place] = np.floor(low + (high - low) * generator.random(number))
        yield RowBlock(codes, numbers=numbers)
