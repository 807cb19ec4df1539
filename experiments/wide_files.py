"""Wide tables of zeros and ones as files: the two made-up ones are written once to a folder, the public ones are there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.tables import data_folder
from experiments.wide_tables import COLUMNS_AT_ONCE, BiasedBits, biased_bits, netflix_shaped

SPARSE = {
    "gowalla": "gowalla",
    "amazon": "amazon-video-games",
    "citeulike-a": "citeulike-a",
    "book-crossing": "book-crossing-20x10core",
}


@dataclass(frozen=True, slots=True)
class WideTable:
    """A wide table on disk."""

    name: str
    """What results call it."""
    path: Path
    """The file."""
    rows: int
    columns: int
    """Its shape."""
    layout: str
    """npz or bits."""

    def declared(self) -> list[str]:
        """Return the options of `dpopt` that declare its columns."""
        return ["--binary-columns", str(self.columns), "--layout", self.layout]

    def options(self) -> list[str]:
        """Return further options with which the table is read."""
        return []


def netflix_file(folder: Path, *, quick: bool = False) -> WideTable:
    """Return the table with the shape of a table of ratings, written to a folder where it is not there yet: 515 MB."""
    rows, columns, fill = (300, 60, 0.05) if quick else (480_189, 17_770, 0.012)
    table = WideTable("netflix-shaped", folder / f"netflix-shaped-{rows}-{columns}.npz", rows, columns, "npz")
    if not table.path.exists():
        made = netflix_shaped(rows, columns, fill)
        unfinished = table.path.with_suffix(".tmp.npz")
        # As scipy.sparse.save_npz writes it, with numbers of 32 bits.
        np.savez(
            unfinished,
            format=np.array(b"csc"),
            shape=np.array([rows, columns]),
            indptr=made.starts.astype(np.int32),
            indices=made.listed.astype(np.int32),
            data=np.ones(made.listed.size, dtype=np.uint8),
        )
        unfinished.replace(table.path)
    return table


def bits_file(folder: Path, columns: int, *, quick: bool = False) -> WideTable:
    """Return a table of biased random bits, written to a folder where it is not there yet: 12.5 kB for each column."""
    from dpopt.private.readers.binary.bit_file import write_bit_file

    rows = 300 if quick else 100_000
    table = WideTable("random bits", folder / f"bits-{rows}-{columns}.bits", rows, columns, "bits")
    if not table.path.exists():
        write_bit_file(table.path, rows, _words(biased_bits(rows, columns)))
    return table


def sparse_file(name: str) -> WideTable:
    """Return one of the public tables of users and items."""
    path = data_folder() / "sparse" / f"{SPARSE[name]}.npz"
    with np.load(path, allow_pickle=False) as stored:
        rows, columns = stored["shape"].tolist()
    return WideTable(name, path, rows, columns, "npz")


def _words(table: BiasedBits) -> Iterator[NDArray[np.uint64]]:
    step = 16 * COLUMNS_AT_ONCE
    for begin in range(0, len(table), step):
        wanted = np.arange(begin, min(begin + step, len(table)))
        words = np.zeros((wanted.size, -(-table.rows // 64)), dtype=np.uint64)
        table.pack_into(wanted, words)
        yield from words
