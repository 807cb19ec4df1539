"""The twelve tables as codes, and which of their marginals are asked for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.queries.workloads.workload import Workload, workload_from_json
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.schema import Schema
from experiments.tables import QUICK_ROWS, SCHEMAS, data_folder

FOLDER = ("bank", "car", "compas", "covertype-50000", "credit-card-clients", "german-credit", "kr-vs-kp", "titanic")
TABLES = ("adult", "kdd99", "nist-acs", *FOLDER, "loans")
HALVES = (
    ("adult", "nist-acs", "car", "credit-card-clients", "kr-vs-kp", "titanic"),
    ("kdd99", "loans", "bank", "compas", "covertype-50000", "german-credit"),
)
"""Constants are chosen on one half and judged on the other: each has small and large, wide and narrow tables."""
QUICK = "made up"
KINDS = ("64of3", "all2", "64of2", "all3")
SOME = 64
MOST_CELLS = 200_000
"""Marginals with more cells are not asked for; the table of loans alone has such."""
MOST_MARGINALS = 500
"""Tables with more marginals of an order are asked for 64 of them."""
MOST_HIGHER_CELLS = 1_000_000
KDD_ROWS = 50_000
KDD_COLUMNS = (
    "duration", "protocol_type", "service", "flag", "src_bytes", "dst_bytes", "hot", "logged_in",
    "count", "srv_count", "serror_rate", "rerror_rate", "same_srv_rate", "dst_host_count", "dst_host_srv_count", "label",
)  # fmt: skip
CLASSES = {
    "adult": "income", "kdd99": "label", "nist-acs": "OWN_RENT", "bank": "y", "car": "class", "compas": "two_year_recid",
    "covertype-50000": "Cover_Type", "credit-card-clients": "default payment next month", "german-credit": "class",
    "kr-vs-kp": "class", "titanic": "survived", "loans": "loan_status", QUICK: "income",
}  # fmt: skip
"""The column that is predicted from all others."""

Marginal = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """A coded table: codes (n, d), the number of values of each column (d,), and names."""

    name: str
    codes: NDArray[np.int32]
    sizes: NDArray[np.int32]
    names: tuple[str, ...]

    @property
    def delta(self) -> float:
        """1 / n^2."""
        return 1.0 / len(self.codes) ** 2

    @cached_property
    def schema(self) -> Schema:
        """A schema of codes alone."""
        return Schema(
            tuple(
                Attribute(name, AttributeKind.CATEGORICAL, values=tuple(range(size)))
                for name, size in zip(self.names, self.sizes.tolist(), strict=True)
            )
        )

    def workload(self, marginals: Sequence[Marginal]) -> Workload:
        """Return marginals as a workload of dpopt."""
        named = [[self.names[column] for column in marginal] for marginal in marginals]
        return workload_from_json({"dpopt_workload": 1, "marginals": named}, self.schema)

    def cells(self, marginal: Sequence[int]) -> int:
        """Return the number of cells of a marginal."""
        return math.prod(self.sizes[list(marginal)].tolist())


@cache
def load(name: str) -> Table:
    """Return a table by its name; `QUICK` is made up, without data."""
    codes, sizes, names = _READERS.get(name, _of_folder)(name)
    return Table(name, np.ascontiguousarray(codes, dtype=np.int32), sizes.astype(np.int32), names)


def asked(table: Table, kind: str, seed: int) -> list[Marginal]:
    """Return the marginals of a kind: "all2", or "64of3" for 64 random ones of three columns (all, where there are fewer)."""
    order = int(kind[-1])
    every = [
        marginal
        for marginal in itertools.combinations(range(len(table.sizes)), order)
        if table.cells(marginal) <= MOST_CELLS
    ]
    if kind.startswith("all"):
        if len(every) > MOST_MARGINALS:
            raise ValueError(f"{table.name} has {len(every):,} marginals of {order} columns; ask for {SOME}of{order}")
        return every
    if len(every) <= SOME:
        return every
    chosen = np.random.default_rng(seed).choice(len(every), SOME, replace=False)
    return [every[place] for place in sorted(chosen)]


def higher(table: Table, order: int) -> list[Marginal]:
    """Return 64 random marginals of more columns than were asked for, or all where there are fewer."""
    rng, found = np.random.default_rng(order), set[Marginal]()
    wanted = min(SOME, math.comb(len(table.sizes), order))
    for _ in range(100_000):
        marginal = tuple(sorted(rng.choice(len(table.sizes), order, replace=False).tolist()))
        if table.cells(marginal) <= MOST_HIGHER_CELLS:
            found.add(marginal)
        if len(found) == wanted:
            break
    return sorted(found)


def pairs_of(marginals: Sequence[Marginal]) -> list[Marginal]:
    """Return all pairs of columns that stand together in a marginal."""
    return sorted({pair for marginal in marginals for pair in itertools.combinations(marginal, 2)})


_Coded = tuple[NDArray[np.integer], NDArray[np.integer], tuple[str, ...]]


def _read(path: Path, schema: Schema, columns: Sequence[str] | None = None) -> _Coded:
    from dpopt.private.readers.batch_reader import BatchReader
    from dpopt.private.readers.open_table import open_table
    from dpopt.private.readers.table_reading import TableReading

    how = TableReading(column_names=columns)
    codes = BatchReader.first_pass(open_table(path, how), schema, how).columns()
    return np.stack([np.asarray(column) for column in codes], axis=1), schema.sizes, tuple(schema.names)


def _of_folder(name: str) -> _Coded:
    folder = data_folder() / "tables"
    return _read(folder / f"{name}.csv.gz", Schema.read(folder / f"{name}.schema.json"))


def _adult(_: str) -> _Coded:
    return _read(data_folder() / "adult/adult-train.csv.gz", Schema.read(SCHEMAS / "adult.json"))


def _nist(_: str) -> _Coded:
    return _read(data_folder() / "constrained/nist-acs-national2019.csv.gz", Schema.read(SCHEMAS / "nist-acs.json"))


def _kdd(_: str) -> _Coded:
    schema = Schema.read(SCHEMAS / "kdd99.json")
    codes, sizes, names = _read(data_folder() / "kdd99/kddcup.data_10_percent.gz", schema, schema.names)
    rows = np.sort(np.random.default_rng(0).choice(len(codes), KDD_ROWS, replace=False))
    kept = [names.index(name) for name in KDD_COLUMNS]
    return codes[rows][:, kept], sizes[kept], KDD_COLUMNS


def _loans(_: str) -> _Coded:
    with np.load(data_folder() / "peers/loans.npz", allow_pickle=False) as stored:
        return stored["codes"], stored["sizes"], tuple(stored["names"].tolist())


def _made_up(_: str) -> _Coded:
    from dpopt.releases.public_population.population import public_population

    schema = Schema.read(SCHEMAS / "adult.json")
    codes = np.stack(public_population(schema, QUICK_ROWS, seed=1), axis=1)
    return codes, schema.sizes, tuple(schema.names)


_READERS: dict[str, Callable[[str], _Coded]] = {
    "adult": _adult, "nist-acs": _nist, "kdd99": _kdd, "loans": _loans, QUICK: _made_up,
}  # fmt: skip


def settings(
    tables: Sequence[str], kinds: Sequence[str], epsilons: Sequence[float], runs: int
) -> Iterator[tuple[str, str, float, int]]:
    """Yield table, kind, epsilon and run: every table and budget once before any of them again."""
    for run, kind, epsilon, table in itertools.product(range(runs), kinds, epsilons, tables):
        yield table, kind, epsilon, run
