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
from experiments.tables import MissingDataError, data_folder

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
    codes: NDArray[np.int64] | None = None
    """The columns that the bits are values of, where there are such, (n, a)."""
    meaning: tuple[tuple[int, int], ...] = ()
    """What each bit says of them."""

    @property
    def schema(self) -> Schema:
        """Attributes b0, b1, ... with the values 0 and 1."""
        return _schema("b", [2] * len(self.bits))

    @property
    def records(self) -> int:
        """How many there are."""
        return int(self.bits.shape[1])

    def dataset(self) -> PrivateDataset:
        """Return the records behind their door."""
        return PrivateDataset.from_codes(self.schema, list(self.bits))

    def write(self, folder: Path, *, as_columns: bool = False) -> tuple[Path, Path]:
        """Write bits, or the columns that they are values of, as Parquet, and the schema; return both paths."""
        codes = self.codes if as_columns and self.codes is not None else self.bits.T
        schema = _schema("c", (codes.max(axis=0) + 1).tolist()) if as_columns else self.schema
        kind = "columns" if as_columns else "bits"
        table, declared = folder / f"{kind}.parquet", folder / f"{kind}.json"
        schema.write(declared)
        write_records(table, schema, np.ascontiguousarray(codes, dtype=np.int32), format="parquet")
        return table, declared

    def bits_of(self, records: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Return the bits of records, (d, n), that are given by bits or by the columns that the bits are values of."""
        if records.shape[1] == len(self.bits):
            return records.T.astype(np.uint8)
        return np.array([records[:, column] == code for column, code in self.meaning], dtype=np.uint8)


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


def _schema(letter: str, sizes: list[int]) -> Schema:
    return Schema(
        tuple(
            Attribute(f"{letter}{place}", AttributeKind.CATEGORICAL, values=tuple(range(size)))
            for place, size in enumerate(sizes)
        )
    )


def _large() -> Bits:
    return Bits(MADE_UP, made_up(50, 1_000_000), (8,))


def _adult() -> Bits:
    with np.load(_file("adult/adult-dualquery-15attr-235bits.npz"), allow_pickle=False) as stored:
        codes = stored["codes"]
    # A code of a column for each value that occurs, so that columns and bits say the same of a record.
    codes = np.column_stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in codes.T]).astype(
        np.int64
    )
    meaning = tuple(
        (column, code) for column in range(codes.shape[1]) for code in range(int(codes[:, column].max()) + 1)
    )
    bits = np.array([codes[:, column] == code for column, code in meaning], dtype=np.uint8)
    return Bits(ADULT, bits, (4, 6, 8), codes, meaning)


def _gowalla() -> Bits:
    with np.load(_file("sparse/gowalla.npz"), allow_pickle=False) as stored:
        rows, items = _pairs(stored)
    popular = np.argsort(-np.bincount(items))[:200]
    bits = np.zeros((200, int(rows.max()) + 1), dtype=np.uint8)
    for place, item in enumerate(popular.tolist()):
        bits[place, rows[items == item]] = 1
    return Bits(GOWALLA, bits, (4, 6, 8))


def _pairs(stored: np.lib.npyio.NpzFile) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    counts = np.diff(stored["indptr"])
    return np.repeat(np.arange(counts.size), counts), stored["indices"].astype(np.int64)


def _file(name: str) -> str:
    path = data_folder() / name
    if not path.exists():
        raise MissingDataError(f"{path} is not there; set DPOPT_DATA to the folder of the data sets")
    return str(path)
