"""The tables of the experiments: where they are, and the coded ones as Parquet files with a schema.

Data sets are looked for in the folder DPOPT_DATA, by default shared/data next to the checkout. Nothing is fetched and
nothing of them is kept. With `quick` each table is replaced by a few made-up records over the same attributes, so that no
data set is needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.schema.schema import Attribute, AttributeKind, Schema

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = Path(__file__).resolve().parent / "schemas"
QUICK_ROWS = 400
NIST = "constrained/nist-acs-national2019.csv.gz"


class MissingDataError(Exception):
    """The folder of the data sets is not there."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table on disk."""

    name: str
    """What results call it."""
    path: Path
    schema: Path
    """The table and its schema file."""
    rows: int
    """Number of records."""
    header: bool = True
    """Whether the file starts with a line of names."""

    def declared(self) -> list[str]:
        """Return the options of `dpopt` that declare its columns."""
        return ["--schema", str(self.schema)]

    def options(self) -> list[str]:
        """Return the options of `dpopt` with which the table is read."""
        return [] if self.header else ["--no-header"]


def data_folder() -> Path:
    """Return the folder of the data sets.

    Raises
    ------
    MissingDataError
        If it is not there.
    """
    folder = Path(os.environ.get("DPOPT_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        raise MissingDataError(f"no data sets in {folder}; set DPOPT_DATA to their folder; a quick run needs none")
    return folder.resolve()


def data_file(name: str) -> Path:
    """Return the path of a file in the folder of the data sets, by MissingDataError if it is not there."""
    path = data_folder() / name
    if not path.exists():
        raise MissingDataError(f"{path} is not there; set DPOPT_DATA to the folder of the data sets")
    return path


def prepare(name: str, folder: Path, *, quick: bool = False) -> Table:
    """Return a table, written to `folder` where it is not a data set as it stands.

    The names are adult-raw (15 attributes, train part), adult-coded (the DualQuery coding, 235 indicator bits),
    kdd99-raw (42 columns, no header), kdd99-coded (the DualQuery coding, 396 bits) and nist-acs (24 attributes); with rules
    on records declared: nist-acs-rules, adult-raw-rules and tic-tac-toe-rules (9 squares and a class).
    """
    return _made_up(name, folder) if quick else _TABLES[name](folder)


def load_codes(name: str) -> tuple[Schema, NDArray[np.uint8]]:
    """Return a DualQuery coding: its schema and its codes, (n, d)."""
    with np.load(data_folder() / _CODINGS[name], allow_pickle=False) as stored:
        codes = stored["codes"]
        return coded_schema(stored["names"].tolist(), stored["sizes"].tolist(), codes), codes


def load_seven_of_adult() -> tuple[Schema, NDArray[np.int64]]:
    """Return seven columns of Adult in the coding of other projects: a schema of codes alone, and the codes (n, 7)."""
    with np.load(data_file("peers/adult-gem-13attr.npz"), allow_pickle=False) as stored:
        names, sizes, codes = stored["names"].tolist(), stored["sizes"].tolist(), stored["codes"]
    places, kind = [names.index(name) for name in _SEVEN], AttributeKind.CATEGORICAL
    attributes = (Attribute(names[place], kind, values=tuple(range(sizes[place]))) for place in places)
    return Schema(tuple(attributes)), np.ascontiguousarray(codes[:, places], dtype=np.int64)


def coded_schema(names: list[str], sizes: list[int], codes: NDArray[np.integer]) -> Schema:
    """Return a schema whose values are codes, with the codes that occur declared.

    Adult and KDD Cup 1999 are public, so which codes occur in them is public knowledge. For a private table such a
    declaration must come from a code book, never from the table.
    """
    return Schema(
        tuple(
            Attribute(
                name,
                AttributeKind.CATEGORICAL,
                values=tuple(range(size)),
                occurring=tuple(np.unique(codes[:, position]).tolist()),
            )
            for position, (name, size) in enumerate(zip(names, sizes, strict=True))
        )
    )


def _coded(name: str) -> Callable[[Path], Table]:
    def write(folder: Path) -> Table:
        return _write_coded(name, folder, *load_codes(name))

    return write


def _raw(name: str, file: str, rows: int, *, header: bool = True) -> Callable[[Path], Table]:
    return lambda folder: Table(name, data_folder() / file, SCHEMAS / _SCHEMAS[name], rows, header)


def _write_coded(name: str, folder: Path, schema: Schema, codes: NDArray[np.integer]) -> Table:
    from dpopt.releases.table_output import write_records

    table, declared = folder / f"{name}.parquet", folder / f"{name}.json"
    schema.write(declared)
    write_records(table, schema, np.ascontiguousarray(codes, dtype=np.int32), format="parquet")
    return Table(name, table, declared, len(codes))


def _made_up(name: str, folder: Path) -> Table:
    """Write a few made-up records over the attributes of a table."""
    from dpopt.releases.public_population.population import public_population
    from dpopt.releases.table_output import write_records

    file = SCHEMAS / _SCHEMAS.get(name, "adult.json")
    schema = Schema.read(file)
    codes = np.stack(public_population(schema, QUICK_ROWS, seed=1), axis=1).astype(np.int32)
    if name in _CODINGS:
        schema = coded_schema(list(schema.names), schema.sizes.tolist(), codes)
        return _write_coded(name, folder, schema, codes)
    table, header = folder / f"{name}.csv", name != "kdd99-raw"
    write_records(table, schema, codes)
    if not header:
        table.write_text(table.read_text(encoding="utf-8").split("\n", 1)[1], encoding="utf-8")
    return Table(name, table, file, QUICK_ROWS, header)


_CODINGS = {
    "adult-coded": "adult/adult-dualquery-15attr-235bits.npz",
    "kdd99-coded": "kdd99/kdd99-dualquery-41attr-396bits.npz",
}
_SEVEN = ("sex", "income>50K", "race", "marital-status", "occupation", "education", "age")
_SCHEMAS = {
    "adult-coded": "adult.json",
    "adult-raw": "adult.json",
    "kdd99-coded": "kdd99.json",
    "kdd99-raw": "kdd99.json",
    "nist-acs": "nist-acs.json",
    "nist-acs-rules": "nist-acs-rules.json",
    "adult-raw-rules": "adult-rules.json",
    "tic-tac-toe-rules": "tic-tac-toe.json",
}
_TABLES = {
    "adult-coded": _coded("adult-coded"),
    "adult-raw": _raw("adult-raw", "adult/adult-train.csv.gz", 32_561),
    "kdd99-coded": _coded("kdd99-coded"),
    "kdd99-raw": _raw("kdd99-raw", "kdd99/kddcup.data_10_percent.gz", 494_021, header=False),
    "nist-acs": _raw("nist-acs", NIST, 27_253),
    "nist-acs-rules": _raw("nist-acs-rules", NIST, 27_253),
    "adult-raw-rules": _raw("adult-raw-rules", "adult/adult-train.csv.gz", 32_561),
    "tic-tac-toe-rules": _raw("tic-tac-toe-rules", "constrained/tic-tac-toe.csv.gz", 958),
}
