"""Adult in the binary coding of the MWEM experiments: 27 bits, 30,163 records; some of its columns as a table."""

from __future__ import annotations

import gzip

import numpy as np
from numpy.typing import NDArray

from dpopt.private.tables.dataset import PrivateDataset
from dpopt.public_random import PublicRandom
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.schema import Schema
from experiments.tables import data_folder

FILE = "adult/adult-mwem-27bit-counts.txt.gz"
QUICK_ROWS = 2_000


def bits(columns: int, *, quick: bool = False) -> tuple[Schema, PrivateDataset, int]:
    """Return schema, table and number of records of the columns whose share of ones is nearest to one half, in their order.

    Rare bits would flatter mean errors. `quick` makes records up: independent fair bits.
    """
    codes = _made_up(columns) if quick else _read()
    nearest = np.sort(np.argsort(np.abs(codes.mean(axis=0) - 0.5), kind="stable")[:columns])
    schema = Schema(
        tuple(Attribute(f"bit {column + 1}", AttributeKind.CATEGORICAL, values=(0, 1)) for column in nearest)
    )
    chosen = [np.ascontiguousarray(codes[:, column]) for column in nearest]
    return schema, PrivateDataset.from_codes(schema, chosen), len(codes)


def _read() -> NDArray[np.uint8]:
    with gzip.open(data_folder() / FILE, "rt") as lines:
        rows = [line.split() for line in lines]
    distinct = np.array([[int(bit) for bit in row[0]] for row in rows], dtype=np.uint8)
    return np.repeat(distinct, [int(row[-1]) for row in rows], axis=0)


def _made_up(columns: int) -> NDArray[np.uint8]:
    return PublicRandom(1).bits(QUICK_ROWS * columns).reshape(QUICK_ROWS, columns).astype(np.uint8)
