"""Small wide tables of zeros and ones, and their files in every layout."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.io
import scipy.sparse as sp
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.private.readers.binary.bit_file import bit_table, write_bit_file
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.counting.binary_columns import BinaryColumns

Bits = NDArray[np.bool_]


def cells_of(dataset: PrivateDataset) -> Bits:
    """Return the records of a data set (n, d): from inside, for tests."""
    columns = dataset._columns
    assert isinstance(columns, BinaryColumns)
    return np.stack([columns.dense(i) for i in range(len(columns))], axis=1).astype(np.bool_)


def some_cells(rows: int = 60, width: int = 40, *, seed: int = 1, share: float = 0.15) -> Bits:
    """Return a table with no empty record."""
    cells = np.random.default_rng(seed).random((rows, width)) < share
    cells[np.arange(rows), np.arange(rows) % width] = True
    return cells


@st.composite
def cell_tables(draw: st.DrawFn, *, no_empty_record: bool = False) -> Bits:
    """Draw a table of up to 70 records (so that words of 64 bits are crossed) and 6 columns."""
    rows, width = draw(st.integers(1, 70)), draw(st.integers(1, 6))
    packed = draw(st.lists(st.integers(0, 2**width - 1), min_size=rows, max_size=rows))
    cells = np.array([[bool(value >> i & 1) for i in range(width)] for value in packed])
    if no_empty_record:
        cells[~cells.any(axis=1), 0] = True
    return cells


def _npz(form: Literal["csr", "csc", "coo"]) -> Callable[[Path, Bits], TableReading | None]:
    def write(path: Path, cells: Bits) -> TableReading | None:
        with path.open("wb") as file:  # SciPy adds an ending to names alone
            sp.save_npz(file, sp.csr_array(cells.astype(np.int8)).asformat(form))
        return None

    return write


def _mtx(
    kind: Literal["real", "integer", "pattern"], *, packed: bool = False
) -> Callable[[Path, Bits], TableReading | None]:
    def write(path: Path, cells: Bits) -> TableReading | None:
        matrix = sp.coo_array(cells.astype(np.float64 if kind == "real" else np.int64))
        plain = path.with_suffix(".mtx")
        scipy.io.mmwrite(plain, matrix, field=kind, symmetry="general")
        content = plain.read_bytes()
        path.write_bytes(gzip.compress(content) if packed else content)
        return None

    return write


def write_baskets(path: Path, cells: Bits, *, first: int = 0, separator: str = " ") -> TableReading:
    """Write baskets of numbers."""
    lines = [separator.join(str(first + i) for i in np.flatnonzero(row)) for row in cells]
    path.write_text("".join(f"{line}\n" for line in lines))
    return TableReading("baskets", first_item=first)


def write_pairs(path: Path, cells: Bits, *, separator: str = ",", header: bool = True) -> TableReading:
    """Write pairs of user and item; a record without items has no pair."""
    lines = [f"user{separator}item"] if header else []
    lines += [f"u{row}{separator}{item}" for row, item in np.argwhere(cells).tolist()]
    path.write_text("\n".join(lines) + "\n")
    return TableReading("pairs", header=header, separator=separator)


def _bits(path: Path, cells: Bits) -> TableReading | None:
    write_bit_file(path, len(cells), iter(cells.T))
    return None


FILES: dict[str, Callable[[Path, Bits], TableReading | None]] = {
    "csr": _npz("csr"),
    "csc": _npz("csc"),
    "coo": _npz("coo"),
    "real": _mtx("real"),
    "integer": _mtx("integer"),
    "pattern": _mtx("pattern"),
    "packed mtx": _mtx("pattern", packed=True),
    "baskets": write_baskets,
    "baskets from 1": lambda path, cells: write_baskets(path, cells, first=1, separator=", "),
    "bits": _bits,
}
"""Writers of files that keep empty records: how the file is read is returned."""

IN_MEMORY: dict[str, Callable[[Bits], object]] = {
    "csr array": sp.csr_array,
    "csc matrix": lambda cells: sp.csc_matrix(cells.astype(np.float32)),
    "coo array": lambda cells: sp.coo_array(cells.astype(np.int64)),
    "list of lists": lambda cells: sp.lil_array(cells.astype(np.int8)),
    "bit table": lambda cells: bit_table(len(cells), iter(cells.T)),
}
