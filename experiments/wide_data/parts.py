"""What is measured: the settings of Figures 2, 3 and 4, each as a row of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dpopt.accounting.accountants import AdvancedComposition
from dpopt.accounting.dualquery import MOST_ROUNDS, run_columns
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import largest_number

DELTA = 1e-3
SEED = 7

BUDGETS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
DRAWS = {"adult-coded": 1_000, "kdd99-coded": 1_000, "netflix-shaped": 5_000}
"""Draws per round of Figure 2, by table; its step is 2."""

QUERIES = (40_000, 100_000, 250_000, 500_000, 1_000_000, 2_000_000)
SERIES: dict[str, dict[str, Any]] = {
    "T = 170 as in the paper": {"rounds": 170, "epsilon": 2.0, "accountant": "theorem"},
    "epsilon 1 by Theorem 4.3": {"rounds": None, "epsilon": 1.0, "accountant": "theorem"},
    "epsilon 1 by zCDP": {"rounds": None, "epsilon": 1.0, "accountant": "zcdp"},
}
"""The runs of Figure 3: s = 1,750 and eta = 1.2 throughout."""

COLUMNS = {50: 200, 200: 400, 1_000: 1_000, 5_000: 2_500, 20_000: 5_000, 100_000: 20_000, 512_000: 50_000}
"""Draws per round of Figure 4, by number of columns; its step is 0.4, and there are 100,000 records and queries."""

PROJECTED = (50, 200, 1_000, 5_000)
"""Numbers of columns at which `projection` is run."""

FIT_SECONDS = 600
"""Seconds after which a fit of `projection` ends with what it has."""

ACCOUNTANTS = ("theorem", "zcdp")
TRIVIAL = "zeros, uniform"


@dataclass(frozen=True, slots=True)
class Row:
    """One release, or what stands beside it."""

    figure: int
    table: str
    queries: int
    algorithm: str
    """dualquery, projection, noise (in closed form), or the two trivial data sets."""
    series: str = ""
    """What the row belongs to within its figure."""
    columns: int | None = None
    """Width of a table of random bits."""
    epsilon: float = 1.0
    accountant: str = "zcdp"
    rounds: int | None = None
    draws: int | None = None
    step: float | None = None
    """What is fixed of the plan of dualquery."""
    free: str = "first"
    """How attributes are set that no drawn query names."""
    run: int = 0

    def played(self, size: int) -> Row:
        """Return the row as it is released: the rounds that Theorem 4.3 allows, whose cost by zCDP is less."""
        if self.accountant == "zcdp" or self.draws is None or self.step is None:
            return self
        run = (self.draws, self.step, size, NeighbouringRelation.REPLACE_ONE)

        def affordable(rounds: int) -> bool:
            return run_columns(rounds, *run).epsilon(AdvancedComposition.THEOREM, DELTA) <= self.epsilon

        allowed = largest_number(affordable, MOST_ROUNDS)
        return replace(self, accountant="zcdp", rounds=self.rounds or allowed)

    def key(self) -> dict[str, Any]:
        """Return what tells this row from all others."""
        return {
            "figure": self.figure,
            "table": self.table,
            "columns": self.columns,
            "queries": self.queries,
            "algorithm": self.algorithm,
            "series": self.series,
            "epsilon": self.epsilon,
            "accountant": self.accountant,
            "run": self.run,
        }

    @property
    def workload(self) -> str:
        """The short form of its queries."""
        return f"conjunctions:3,count={self.queries},seed={SEED}"


def rows(figure: int, runs: int, tables: list[str] | None = None, *, quick: bool = False) -> Iterator[Row]:
    """Yield the rows of a figure, tables one after the other; Figure 2 of some tables where they are named."""
    for row in {2: _figure2, 3: _figure3, 4: _figure4}[figure](runs, quick=quick):
        if figure != 2 or tables is None or row.table in tables:
            yield row


def _figure2(runs: int, *, quick: bool) -> Iterator[Row]:
    queries = 300 if quick else 500_000
    for table, draws in (("netflix-shaped", 20),) if quick else DRAWS.items():
        yield Row(2, table, queries, TRIVIAL)
        budgets = (1_000.0,) if quick else BUDGETS
        for epsilon in budgets:
            yield Row(2, table, queries, "noise", epsilon=epsilon)
        for run in range(runs):
            for epsilon in budgets:
                for accountant in ACCOUNTANTS:
                    yield Row(
                        2,
                        table,
                        queries,
                        "dualquery",
                        epsilon=epsilon,
                        accountant=accountant,
                        rounds=3 if quick else None,
                        draws=draws,
                        step=2.0,
                        run=run,
                    )


def _figure3(runs: int, *, quick: bool) -> Iterator[Row]:
    for queries in (100, 200) if quick else QUERIES:
        yield Row(3, "kdd99-coded", queries, TRIVIAL)
        yield Row(3, "kdd99-coded", queries, "noise", epsilon=1_000.0 if quick else 1.0)
        for run in range(runs):
            for name, chosen in list(SERIES.items())[: 1 if quick else None]:
                given = {**chosen, "rounds": 2, "epsilon": 1e6} if quick else chosen
                yield Row(3, "kdd99-coded", queries, "dualquery", name, draws=1_750, step=1.2, run=run, **given)


def _figure4(runs: int, *, quick: bool) -> Iterator[Row]:
    queries = 300 if quick else 100_000
    for columns, draws in ((50, 20),) if quick else COLUMNS.items():
        yield Row(4, "random bits", queries, TRIVIAL, columns=columns)
        yield Row(4, "random bits", queries, "noise", columns=columns, epsilon=1_000.0 if quick else 1.0)
        for run in range(runs):
            for accountant in ("zcdp",) if quick else ACCOUNTANTS:
                yield Row(
                    4,
                    "random bits",
                    queries,
                    "dualquery",
                    columns=columns,
                    epsilon=1_000.0 if quick else 1.0,
                    accountant=accountant,
                    rounds=2 if quick else None,
                    draws=draws,
                    step=0.4,
                    free="random",
                    run=run,
                )
    for columns in () if quick else PROJECTED:
        yield Row(4, "random bits", queries, "projection", columns=columns)
