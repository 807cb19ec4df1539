"""What is killed: a small made-up table, and a release of it by each algorithm whose journal differs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpopt.releases.public_population.population import public_population
from dpopt.releases.table_output import write_records
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from experiments.labels import words_of

ROWS = 400
SCHEMA = Schema(
    (
        Attribute("colour", AttributeKind.CATEGORICAL, ("red", "green", "blue")),
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 20, 40, 60, 80), integer=True),
        Attribute("smoker", AttributeKind.BOOLEAN),
        Attribute("town", AttributeKind.CATEGORICAL, ("north", "south", "west", "other")),
        Attribute("owner", AttributeKind.BOOLEAN),
        Attribute("rooms", AttributeKind.CATEGORICAL, (1, 2, 3, 4, 5)),
    )
)
_DUALQUERY = ("--algorithm", "dualquery", "--epsilon", "1e5", "--draws", "20")
_ADD_REMOVE = ("--neighbours", "add-remove", "--n0", str(ROWS))
_WEIGHTS = ("--epsilon", "10", "--rounds", "6")


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of run."""

    name: str
    """What the table of results calls it."""
    options: tuple[str, ...]
    """Options of `dpopt release` beside table, schema, workload and folder."""
    rounds: int | None = None
    """Rounds of DualQuery, which a torn draw makes fewer; None for other algorithms."""


def dualquery(rounds: int, *more: str, name: str = "dualquery") -> Part:
    """Return a run of DualQuery."""
    return Part(name, (*_DUALQUERY, "--rounds", str(rounds), *more), rounds)


def parts(rounds: int) -> tuple[Part, ...]:
    """Return the runs that are killed at every step of their writing; those of DualQuery have so many rounds."""
    estimated = ("--free-attributes", "estimated")
    return (
        dualquery(rounds),
        dualquery(rounds, *estimated, name="dualquery, one-way marginals"),
        dualquery(rounds, *estimated, *_ADD_REMOVE, name="dualquery, one-way marginals, add-remove"),
        Part("projection", (*words_of("projection"), "--epsilon", "10")),
        Part("adaptive", (*words_of("adaptive"), "--epsilon", "10", "--selections", "2")),
        Part("residuals", (*words_of("residuals"), "--epsilon", "10")),
        Part("pmw", ("--algorithm", "pmw", *_WEIGHTS)),
        Part("mwem", ("--algorithm", "mwem", *_WEIGHTS)),
    )


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files that every run reads."""

    table: Path
    schema: Path

    def release(self, part: Part, out: Path) -> list[str]:
        """Return the words of `dpopt release`."""
        where = ["--schema", str(self.schema), "--workload", "marginals:2", "--out", str(out)]
        relation = () if "--neighbours" in part.options else ("--neighbours", "replace")
        return [
            "release",
            str(self.table),
            *where,
            *relation,
            *part.options,
            "--delta",
            "1e-6",
            "--no-predict",
            "--quiet",
        ]

    def resume(self, out: Path) -> list[str]:
        """Return the words of `dpopt resume`."""
        return ["resume", str(out), str(self.table), "--quiet"]


def write_inputs(folder: Path) -> Inputs:
    """Write the table and its schema."""
    inputs = Inputs(folder / "table.csv", folder / "schema.json")
    SCHEMA.write(inputs.schema)
    codes = np.stack(public_population(SCHEMA, ROWS, seed=1), axis=1).astype(np.int32)
    write_records(inputs.table, SCHEMA, codes)
    return inputs
