"""A small table written as CSV and Parquet, queries on it, and the sizes of batches made small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpopt.private.engines import streamed_table
from dpopt.private.readers import batch_reader, csv_source
from dpopt.queries import parse_workload
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema import Attribute, AttributeKind, Schema

ROWS = 3_000
SCHEMA = Schema(
    (
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 20, 65, 100), integer=True),
        Attribute("sex", AttributeKind.CATEGORICAL, ("F", "M", "a, b"), missing="?"),
        Attribute("member", AttributeKind.BOOLEAN),
        Attribute("rooms", AttributeKind.CATEGORICAL, (1, 2, 3)),
    )
)
FORMS = ("conjunctions:3,count=60,seed=1", "parity:2,count=40,seed=2", "threshold:2of3,count=40,seed=3")


def frame(rows: int = ROWS, seed: int = 1) -> pd.DataFrame:
    """Return a table that fits SCHEMA, with a column that it does not name."""
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "note": [f"n{row % 7}" for row in range(rows)],
            "rooms": random.integers(1, 4, rows),
            "sex": random.choice(["F", "M", "a, b", "?"], rows),
            "age": random.integers(0, 101, rows),
            "member": random.random(rows) < 0.3,
        }
    )


def write_csv(path: Path, table: pd.DataFrame) -> Path:
    table.to_csv(path, index=False)
    return path


def write_parquet(path: Path, table: pd.DataFrame, group: int = 250) -> Path:
    pq.write_table(pa.Table.from_pandas(table), path, row_group_size=group)
    return path


def write_folder(path: Path, table: pd.DataFrame) -> Path:
    """Write a folder of three files of different length, one of them without rows."""
    path.mkdir()
    write_parquet(path / "a.parquet", table[:1_100], 300)
    write_parquet(path / "b.parquet", table[1_100:1_100])
    write_parquet(path / "c.parquet", table[1_100:], 170)
    return path


def write_csv_folder(path: Path, table: pd.DataFrame, *, header: bool = True) -> Path:
    """Write a folder of four CSV files of different length, one of them without rows, one of them packed."""
    path.mkdir()
    cuts = {"a.csv": (0, 1_100), "b.csv": (1_100, 1_100), "c.csv.gz": (1_100, 1_300), "d.csv": (1_300, None)}
    for name, (begin, end) in cuts.items():
        if header or begin != end:
            table[begin:end].to_csv(path / name, index=False, header=header)
    return path


def queries() -> list[Clauses | MarginalSet]:
    """Return clauses of several kinds, none, some that name one attribute only, and marginals."""
    clauses = [parse_workload(form, SCHEMA).clauses for form in FORMS]
    one = Clauses.conjunctions([[1]], [[2]], [[True]])
    marginals = parse_workload("marginals:2", SCHEMA).marginals
    assert marginals is not None
    return [*clauses, one, one.take(np.arange(0)), marginals]


def in_small_batches(patch: pytest.MonkeyPatch) -> None:
    """Let batches have 512 rows, and blocks of CSV 4 kB."""
    patch.setattr(batch_reader, "BATCH_BYTES", 1)
    patch.setattr(streamed_table, "_FEWEST_ROWS", 512)
    patch.setattr(csv_source, "BLOCK_BYTES", 4_096)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `in_small_batches`, for a test."""
    in_small_batches(monkeypatch)
