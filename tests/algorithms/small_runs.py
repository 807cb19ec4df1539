"""Small tables, plans and runs that the tests of drivers and of the command line share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.run_release import run_release
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import DpoptWarning
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import ExactSampler
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.job import Job
from dpopt.releases.progress import Figures, Progress
from dpopt.releases.run import Sources
from dpopt.releases.table_output import write_records
from dpopt.schema.schema import Attribute, AttributeKind, Schema

REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE
ROWS = 200
AMPLE = Budget(1e6, 1e-6, None, Accountant.ZCDP)
SCHEMA = Schema(
    (
        Attribute("colour", AttributeKind.CATEGORICAL, ("red", "green", "blue"), ordered=True),
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 20, 40, 60), integer=True),
        Attribute("smoker", AttributeKind.BOOLEAN),
        Attribute("town", AttributeKind.CATEGORICAL, ("north", "south", "other"), missing="?", other="other"),
    )
)

WITH_BUCKETS = Schema(
    tuple(
        replace(attribute, other=attribute.other or (attribute.edges or attribute.values)[-1])
        for attribute in SCHEMA.attributes
    )
)


def codes(rows: int = ROWS) -> NDArray[np.int32]:
    """Return records (rows, 4) that depend on each other, the same each time."""
    number = np.arange(rows)
    colour = number * 7 % 3
    age = np.minimum(number * 11 % 5, 2)
    smoker = (age == 2) & (number % 4 > 0)
    town = np.where(colour == 0, 0, number * 13 % 4)
    return np.ascontiguousarray(np.stack([colour, age, smoker, town], axis=1), dtype=np.int32)


def dataset(rows: int = ROWS) -> PrivateDataset:
    """Return the records behind the curator's door."""
    return PrivateDataset.from_codes(SCHEMA, list(codes(rows).T))


def write_table(folder: Path, *, rows: int = ROWS, name: str = "people.csv") -> Path:
    """Write the records as a table and return its path; the ending of the name says in which format."""
    path = folder / name
    write_records(path, SCHEMA, codes(rows), format="parquet" if path.suffix == ".parquet" else "csv")
    return path


def workload(text: str = "marginals:2") -> Workload:
    """Return a workload over the schema."""
    return parse_workload(text, SCHEMA)


def plan(**changes: Any) -> DualQueryPlan:
    """Return a plan of 6 rounds with an ample budget, changed as asked."""
    usual = DualQueryPlan(
        rounds=6, draws=8, step=Decimal("1.4"), size=ROWS, relation=REPLACE, budget=AMPLE, attributes=4
    )
    return replace(usual, **changes)


def job(*, output: dict[str, Any] | None = None, schema: Schema = SCHEMA, **changes: Any) -> Job:
    """Return the public inputs of a small run."""
    return Job(plan(**changes), schema, parse_workload("marginals:2", schema), output or {}, {})


def seeded(seed: int = 1) -> ExactSampler:
    """Return the exact sampler fed from a seed: runs repeat, and their ledgers say that they are not private."""
    return ExactSampler(SeededWords(seed))


class Heard(Progress):
    """Keeps what is reported."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []
        self.for_the_owner: list[str] = []
        self.stages: list[str] = []
        self.shares: list[float] = []
        self.rounds: list[tuple[int, int, float]] = []
        self.steps: list[tuple[int, int, str]] = []
        self.of_rounds: list[Figures] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warning(self, what: DpoptWarning) -> None:
        self.note(f"warning: {what}")

    def owner_note(self, text: str) -> None:
        self.for_the_owner.append(text)

    def begin(self, stage: str) -> None:
        super().begin(stage)
        self.stages.append(stage)

    def share(self, done: float) -> None:
        self.shares.append(done)

    def round(self, number: int, rounds: int, value: float) -> None:
        self.rounds.append((number, rounds, value))

    def step(self, number: int, steps: int, what: str) -> None:
        self.steps.append((number, steps, what))

    def figures(self, of_round: Callable[[], Figures]) -> None:
        self.of_rounds.append(of_round())


def small_release(folder: Path | None = None, **changes: Any) -> SyntheticRelease:
    """Play a small run that repeats."""
    return run_release(dataset(), job(**changes), folder, sources=Sources(sampler=seeded()))
