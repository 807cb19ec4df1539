"""The exact privacy loss for persons of several rows is what their budget says at most, and not far less; defects are found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.synopses.histograms.histogram_plan import plan_histogram
from dpopt.synopses.histograms.release_histogram import release_histogram
from tests.exact_counts_loss import Drawn, Watching
from tests.exact_loss import Game
from tests.exact_person_loss import check_draws, check_histogram, check_selection, lost_between
from tests.tiny_runs import ADD_REMOVE, bits_schema, conjunctions

ONE_QUERY = conjunctions(bits_schema(1), "a")


def laplace(rows: int) -> Budget:
    return Budget(1.0, 0.0, None, Accountant.PURE, rows)


def gaussian(rows: int) -> Budget:
    return Budget(None, 1e-9, 0.2, Accountant.ZCDP, rows)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("budget", [laplace, gaussian])
def test_noisy_counts_lose_a_person_s_budget_and_no_more(budget: Callable[[int], Budget], rows: int) -> None:
    """All rows of a person may lie in one cell: nothing less than K epsilon and K^2 rho of one record would do."""
    assert 0.999 < check_histogram(budget(rows)) <= 1.0 + 1e-9


@pytest.mark.parametrize("rows", [2, 3])
def test_draws_of_dualquery_lose_no_more(rows: int) -> None:
    game = Game.of(ONE_QUERY, rounds=2, draws=2, step="0.8", size=2, relation=ADD_REMOVE)
    assert 0.5 < check_draws(game, rows) <= 1


@pytest.mark.parametrize("rows", [2, 3])
def test_selections_lose_no_more(rows: int) -> None:
    assert 0.3 < check_selection(rows) <= 1


FILES = {
    "one row": (["u,1"], 1),
    "as many rows as are counted": (["u,1", "u,1"], 2),
    "more rows than are counted": (["u,1", "u,2", "u,1", "u,1", "u,2"], 2),
}


@pytest.mark.parametrize("gaussian_noise", [False, True])
@pytest.mark.parametrize("rows", FILES)
def test_files_with_and_without_a_person_lose_no_more(
    rows: str, gaussian_noise: bool, tmp_path: Path
) -> None:
    """The rows of the person stand before, between and behind those of others."""
    own, most = FILES[rows]
    budget = gaussian(2) if gaussian_noise else laplace(2)
    others = ["v,1", "w,2", "v,2", "v,1", "w,2", "w,1"]
    without = drawn_from(others, tmp_path, budget)
    for place in (0, 3, 6):
        with_person = drawn_from(others[:place] + own + others[place:], tmp_path, budget)
        sensitivity = [
            np.abs(np.subtract(a.counts, b.counts)) for a, b in zip(without, with_person, strict=True)
        ]
        assert max(int(one.sum()) for one in sensitivity) == most
        lost = lost_between(without, with_person, budget)
        assert lost <= 1.0 + 1e-9


def drawn_from(lines: list[str], folder: Path, budget: Budget) -> tuple[Drawn, ...]:
    """Release a histogram of a file for persons of at most two rows; return what got noise."""
    table = folder / "table.csv"
    table.write_text("\n".join(["user,c", *lines, ""]), encoding="utf-8")
    schema = Schema((Attribute("c", AttributeKind.NUMERIC, edges=(1, 2, 3), integer=True),))
    dataset = read_table(table, schema, TableReading(person="user", rows_per_person=2))
    noise = Watching()
    plan = plan_histogram(Bins("c", 2), budget)
    release_histogram(BinCounts.of_columns(dataset, ("c",)), plan, noise=noise)
    return tuple(noise.drawn)
