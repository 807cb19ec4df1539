"""Public tables of bits: made-up ones, Adult's bits, and who visited the 200 most visited places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.private.tables.dataset import PrivateDataset
from dpopt.releases.table_output import write_records
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from experiments.tables import data_file

SEED = 2012
MADE_UP, ADULT, GOWALLA = "made up", "adult", "gowalla"
NAMES = (MADE_UP, ADULT, GOWALLA)


@dataclass(frozen=True, slots=True, eq=False)
class Bits:
    """A table of bits."""

    name: str
    bits: NDArray[np.uint8]
    """Shape (d, n)."""
    widths: tuple[int, ...]
    """The numbers of conditions that are asked of it."""

    @property
    def schema(self) -> Schema:
        """Attributes b0, b1, ... with the values 0 and 1."""
        kind = AttributeKind.CATEGORICAL
        return Schema(tuple(Attribute(f"b{place}", kind, values=(0, 1)) for place in range(len(self.bits))))

    @property
    def records(self) -> int:
        """How many there are."""
        return int(self.bits.shape[1])

    def dataset(self) -> PrivateDataset:
        """Return the records behind their door."""
        return PrivateDataset.from_codes(self.schema, list(self.bits))

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write the bits as Parquet, and their schema; return both paths."""
        table, declared = folder / "bits.parquet", folder / "bits.json"
        self.schema.write(declared)
        write_records(table, self.schema, np.ascontiguousarray(self.bits.T, dtype=np.int32), format="parquet")
        return table, declared


def tables(names: list[str] | None, *, quick: bool = False) -> Iterator[Bits]:
    """Yield the tables; with `quick` a tiny one."""
    if quick:
        yield Bits(MADE_UP, made_up(8, 500), (3, 4))
        return
    makers = {MADE_UP: _large, ADULT: _adult, GOWALLA: _gowalla}
    for name, make in makers.items():
        if names is None or name in names:
            yield make()


def made_up(attributes: int, records: int) -> NDArray[np.uint8]:
    """Return bits that depend on a hidden group of the record, so that conjunctions are not those of independent bits."""
    generator = np.random.default_rng(SEED)
    shares = generator.beta(2.0, 2.0, (4, attributes))
    group = generator.integers(4, size=records)
    return (generator.random((attributes, records)) < shares[group].T).astype(np.uint8)


def _large() -> Bits:
    return Bits(MADE_UP, made_up(50, 1_000_000), (8,))


def _adult() -> Bits:
    with np.load(data_file("adult/adult-dualquery-15attr-235bits.npz"), allow_pickle=False) as stored:
        columns = stored["codes"].T
    return Bits(
        ADULT, np.array([column == code for column in columns for code in np.unique(column)], np.uint8), (4, 6, 8)
    )


def _gowalla() -> Bits:
    with np.load(data_file("sparse/gowalla.npz"), allow_pickle=False) as stored:
        rows, items = _pairs(stored)
    popular = np.argsort(-np.bincount(items))[:200]
    bits = np.zeros((200, int(rows.max()) + 1), dtype=np.uint8)
    for place, item in enumerate(popular.tolist()):
        bits[place, rows[items == item]] = 1
    return Bits(GOWALLA, bits, (4, 6, 8))


def _pairs(stored: np.lib.npyio.NpzFile) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    counts = np.diff(stored["indptr"])
    return np.repeat(np.arange(counts.size), counts), stored["indices"].astype(np.int64)
