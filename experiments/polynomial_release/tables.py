"""Public tables of bits: a made-up one of a million records, Adult's bits, and who visited the 200 most visited places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.private.dataset import PrivateDataset
from dpopt.queries.schema import Attribute, AttributeKind, Schema
from experiments.tables import MissingDataError, data_folder

SEED = 2012


@dataclass(frozen=True, slots=True, eq=False)
class Bits:
    """A table of bits.

    Attributes
    ----------
    name : str
    bits : (d, n) uint8
    widths : tuple of int
        The numbers of conditions that are asked of it.
    """

    name: str
    bits: NDArray[np.uint8]
    widths: tuple[int, ...]

    @property
    def schema(self) -> Schema:
        """Attributes b0, b1, ... with the values 0 and 1."""
        return Schema(
            tuple(
                Attribute(f"b{place}", AttributeKind.CATEGORICAL, values=(0, 1))
                for place in range(len(self.bits))
            )
        )

    def dataset(self) -> PrivateDataset:
        """Return the records behind their door."""
        return PrivateDataset.from_codes(self.schema, list(self.bits))


def tables(names: list[str] | None, *, quick: bool = False) -> Iterator[Bits]:
    """Yield the tables; with `quick` a tiny one."""
    if quick:
        yield Bits("made up", made_up(8, 500), (3, 4))
        return
    makers = {"made up": _large, "adult": _adult, "gowalla": _gowalla}
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
    return Bits("made up", made_up(50, 1_000_000), (8,))


def _adult() -> Bits:
    with np.load(_file("adult/adult-dualquery-15attr-235bits.npz"), allow_pickle=False) as stored:
        codes = stored["codes"] if "codes" in stored else stored[stored.files[0]]
    columns = [
        codes[:, place] == code for place in range(codes.shape[1]) for code in np.unique(codes[:, place])
    ]
    return Bits("adult", np.array(columns, dtype=np.uint8), (4, 6, 8))


def _gowalla() -> Bits:
    with np.load(_file("sparse/gowalla.npz"), allow_pickle=False) as stored:
        rows, items = _pairs(stored)
    popular = np.argsort(-np.bincount(items))[:200]
    bits = np.zeros((200, int(rows.max()) + 1), dtype=np.uint8)
    for place, item in enumerate(popular.tolist()):
        bits[place, rows[items == item]] = 1
    return Bits("gowalla", bits, (4, 6, 8))


def _pairs(stored: np.lib.npyio.NpzFile) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    counts = np.diff(stored["indptr"])
    return np.repeat(np.arange(counts.size), counts), stored["indices"].astype(np.int64)


def _file(name: str) -> str:
    path = data_folder() / name
    if not path.exists():
        raise MissingDataError(f"{path} is not there; set DPOPT_DATA to the folder of the data sets")
    return str(path)
