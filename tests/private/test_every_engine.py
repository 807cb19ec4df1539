"""Every engine counts for every feature what the table in memory gives, or refuses before anything is made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.private.engines.dask_workers import DaskWorkers
from dpopt.private.engines.distributed_table import DistributedTable
from dpopt.private.engines.fine_counts import count_columns
from dpopt.private.engines.streamed_table import StreamedTable
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.tables.dataset import PrivateDataset

NUMBERS = dpopt.Attribute("x", dpopt.AttributeKind.NUMERIC, edges=(0, 50, 100), integer=True)
SCHEMA = dpopt.Schema((NUMBERS, dpopt.Attribute("k", dpopt.AttributeKind.CATEGORICAL, ("a", "b", "c"))))
FINER = dpopt.Attribute("x", dpopt.AttributeKind.NUMERIC, edges=(0, 10, 50, 75, 100), integer=True)
READINGS = {
    "strict": TableReading(),
    "persons": TableReading(person="who", rows_per_person=2),
    "drop": TableReading(on_invalid="drop"),
    "clip": TableReading(on_invalid="clip"),
}


@pytest.fixture(scope="module")
def workers() -> Iterator[DaskWorkers]:
    started = DaskWorkers.start(1)
    yield started
    started.close()


def folder_of_parts(path: Path, form: str, *, fits: bool) -> Path:
    """Write a folder of four files; values beyond the bounds are there unless all must fit."""
    rows = np.arange(3000)
    frame = pd.DataFrame({"x": rows % (101 if fits else 120), "k": np.array(["a", "b", "c"])[rows % 3]})
    frame["who"] = rows // 3
    path.mkdir()
    for part in range(4):
        own = frame.iloc[part::4]
        if form == "csv":
            own.to_csv(path / f"{part}.csv", index=False)
        else:
            own.to_parquet(path / f"{part}.parquet", row_group_size=200)
    return path


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("engine", ["stream", "dask"])
@pytest.mark.parametrize("reading", READINGS)
def test_counts_of_numbers_within_bins_are_those_of_memory(
    reading: str, engine: str, form: str, tmp_path: Path, workers: DaskWorkers
) -> None:
    how = READINGS[reading]
    path = folder_of_parts(tmp_path / "parts", form, fits=reading in {"strict", "persons"})
    spread: PrivateDataset = (
        StreamedTable.open(path, SCHEMA, how)
        if engine == "stream"
        else DistributedTable.open(path, SCHEMA, lambda: workers, how)
    )
    found = count_columns(spread, [FINER])
    expected = count_columns(read_table(path, SCHEMA, how), [FINER])
    assert found._rows == expected._rows
    assert np.array_equal(found._sums, expected._sums)
