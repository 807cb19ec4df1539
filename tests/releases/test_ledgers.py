"""Every release is paid from the owner's budget: reserved before it draws, refused before it reads, never twice."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pytest

import dpopt
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.release import release, resume
from dpopt.errors import BudgetError, PlanError, PrivateDataError
from dpopt.polynomials.minimax import best_polynomial
from dpopt.polynomials.targets import Target
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries.decision_lists.families import ListFamily, RowKind
from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling
from dpopt.queries.polynomial_families import PolynomialFamily
from dpopt.releases.ledgers import open_account
from dpopt.synopses.sanitizers.symmetric_families import symmetric_family
from dpopt.transcript.budget_ledger import BudgetLedger
from dpopt.transcript.journal import FileJournal
from tests.algorithms.small_runs import ROWS, SCHEMA, write_table
from tests.source_code import source_files

HALF = Budget(0.5, 0.0, None, Accountant.PURE)
HALVES: dict[str, Any] = {"epsilon": 0.5}
CELLS: dict[str, Any] = {**HALVES, "n0": ROWS}
SHARES: dict[str, Any] = {"epsilon": 0.5, "n0": ROWS}
ASKED: dict[str, Any] = {
    "epsilon": 0.5, "delta": 1e-6, "neighbours": "add-remove", "n0": ROWS, "algorithm": "noise", "predict": False,
}  # fmt: skip
FAMILY = ListFamily(("x1", "x2"), 1, RowKind.LISTS, 1)


def disjunctions() -> PolynomialFamily:
    target = Target.disjunction(1)
    polynomial = best_polynomial(target, 1).polynomial
    return symmetric_family(SCHEMA, target, polynomial, columns=("smoker",), literals="all")


PERSON = TableReading(person="user", rows_per_person=2)
COUNTED = TableReading(person="user", rows_per_person=2, n0_counted=True)
Paid = Callable[[Path, BudgetLedger], object]
RELEASES: dict[str, tuple[str, Paid]] = {
    "records": ("release", lambda table, b: release(table, SCHEMA, "marginals:1", budget=b, **ASKED)),
    "histogram": ("histogram", lambda table, b: dpopt.histogram(table, SCHEMA, "age", budget=b, **HALVES)),
    "counts": ("histogram", lambda table, b: dpopt.histogram(table, counts="age", budget=b, **HALVES)),
    "grid": ("grid", lambda table, b: dpopt.grid(table, SCHEMA, ("age", "smoker"), budget=b, **HALVES)),
    "sorted": ("sorted", lambda table, b: dpopt.sorted_counts(table, SCHEMA, "age", epsilon=0.5, budget=b)),
    "sorted counts": ("sorted", lambda table, b: dpopt.sorted_counts(table, counts="age", epsilon=0.5, budget=b)),
    "degrees": ("degrees", lambda table, b: dpopt.degrees(table, 10, epsilon=0.5, budget=b)),
    "intervals": ("intervals", lambda table, b: dpopt.intervals(table, SCHEMA, "age", budget=b, **CELLS)),
    "boxes": ("intervals", lambda table, b: dpopt.intervals(table, SCHEMA, ("age", "smoker"), budget=b, **CELLS)),
    "intervals of counts": ("intervals", lambda table, b: dpopt.intervals(table, counts="age", budget=b, **CELLS)),
    "summary": ("summary", lambda table, b: dpopt.summary(table, SCHEMA, 1, budget=b, **SHARES)),
    "lists": ("lists", lambda table, b: dpopt.decision_lists(table, FAMILY, budget=b, **SHARES)),
    "halfspaces": (
        "halfspaces",
        lambda table, b: dpopt.halfspaces(
            table,
            0.5,
            columns=PointColumns(("x", "y"), Scaling.UNIT),
            projected_to=1,
            projections=4,
            directions=2,
            queries=10,
            budget=b,
            **SHARES,
        ),
    ),
    "sanitizer": ("sanitizer", lambda table, b: dpopt.sanitize(table, disjunctions(), budget=b, **SHARES)),
}


def table_of(name: str, folder: Path) -> Path:
    """Return a small table for a release."""
    path = folder / f"{name.replace(' ', '-')}.csv"
    if name == "degrees":
        path.write_text("a b\nb c\n", encoding="utf-8")
    elif "counts" in name:
        pd.DataFrame({"age": [3, 5, 2, 0]}).to_csv(path, index=False)
    elif name == "lists":
        path.write_text("x1:1,else:0\n", encoding="utf-8")
    elif name == "halfspaces":
        pd.DataFrame({"x": [0.6, -0.8], "y": [0.8, 0.6]}).to_csv(path, index=False)
    else:
        return write_table(folder, name=path.name)
    return path


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_reserves_what_it_costs_and_is_refused_before_it_reads(name: str, tmp_path: Path) -> None:
    command, release = RELEASES[name]
    budget = BudgetLedger.create(tmp_path / "owner.budget", epsilon=0.9, delta=1e-6)
    release(table_of(name, tmp_path), budget)
    (found,) = budget.contents().releases
    assert found.command == command
    assert 0.0 < found.cost.rho <= 0.125
    assert found.cost.epsilon is None or found.cost.epsilon <= 0.5
    short = BudgetLedger.create(tmp_path / "short.budget", rho=1e-9)
    with pytest.raises(BudgetError, match="left"):
        release(tmp_path / "there is no such table.csv", short)
    assert len(short.path.read_bytes().splitlines()) == 1
    with pytest.raises(PrivateDataError):
        release(tmp_path / "there is no such table.csv", BudgetLedger.create(tmp_path / "ample", epsilon=9, delta=1e-6))


MANY = pd.DataFrame(
    {
        "age": [number * 7 % 60 for number in range(1200)],
        "smoker": ["true", "false"] * 600,
        "user": [number // 2 for number in range(1200)],
    }
)
AGES = dpopt.Schema(tuple(one for one in SCHEMA.attributes if one.name in {"age", "smoker"}))
TOTALS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "pure": ({"epsilon": 20, "delta": 0}, {"epsilon": 20, "delta": 0.0}),
    "epsilon and delta": ({"epsilon": 20, "delta": 1e-6}, {"epsilon": 20, "delta": 1e-6}),
    "rho": ({"rho": 9}, {"rho": 9}),
    "half of it is a replacement": (
        {"epsilon": 20, "delta": 0, "neighbours": "replace"},
        {"epsilon": 10, "delta": 0.0},
    ),
    "a quarter of it is one": ({"rho": 36, "neighbours": "replace"}, {"rho": 9}),
    "a person": ({"epsilon": 20, "delta": 1e-6, "person": "user"}, {"epsilon": 20, "delta": 1e-6}),
}
"""A budget file, and what is asked of a release: as much as is there."""
WHOLE: dict[str, Callable[..., object]] = {
    **{
        name: partial(
            lambda name, budget, asked: release(
                MANY, AGES, "marginals:2", algorithm=name, predict=False, budget=budget, **asked
            ),
            name,
        )
        for name in ("noise", "projection", "dualquery", "mwem")
    },
    "histogram": lambda budget, asked: dpopt.histogram(MANY, AGES, "age", budget=budget, **asked),
    "grid": lambda budget, asked: dpopt.grid(MANY, AGES, ("age", "smoker"), budget=budget, **asked),
    "sorted": lambda budget, asked: dpopt.sorted_counts(MANY, AGES, "age", budget=budget, **asked),
    "intervals": lambda budget, asked: dpopt.intervals(MANY, AGES, "age", budget=budget, **asked),
    "boxes": lambda budget, asked: dpopt.intervals(MANY, AGES, ("age", "smoker"), budget=budget, **asked),
    "summary": lambda budget, asked: dpopt.summary(MANY, AGES, 2, budget=budget, **asked),
}


ONE_BY_ONE = [("noise", total) for total in TOTALS] + [(name, "epsilon and delta") for name in WHOLE]
"""Every kind of total, and every family."""


@pytest.mark.parametrize(("name", "total"), ONE_BY_ONE)
def test_a_release_of_all_that_a_budget_file_holds_is_paid(name: str, total: str, tmp_path: Path) -> None:
    held, asked = TOTALS[total]
    if held.get("person"):
        asked = {**asked, "reading": PERSON}
    budget = BudgetLedger.create(tmp_path / "owner.budget", **held)
    WHOLE[name](budget, asked)
    assert len(budget.contents().releases) == 1
    with pytest.raises(BudgetError, match="left"):
        WHOLE[name](budget, asked)
    assert len(budget.contents().releases) == 1


@pytest.mark.parametrize(
    ("held", "asked"), [({"epsilon": 20, "delta": 0}, {"epsilon": 2, "delta": 0}), ({"rho": 7}, {"rho": 0.7})]
)
def test_ten_tenths_with_measured_sizes_are_paid(held: dict[str, Any], asked: dict[str, Any], tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", **held)
    for _ in range(10):
        WHOLE["noise"](budget, asked)
    with pytest.raises(BudgetError, match="left"):
        WHOLE["noise"](budget, asked)


@pytest.mark.parametrize("spent", [{"epsilon": 2, "delta": 1e-6}, {"rho": 0.5}], ids=str)
def test_prefixes_are_paid_from_a_file_that_holds_as_much(spent: dict[str, Any], tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", **spent)
    made = dpopt.prefixes(MANY, AGES, "age", steps=2, out=tmp_path / "steps.jsonl", budget=budget, **spent)
    (found,) = budget.contents().releases
    assert found.cost.rho == made.privacy["rho"]


def test_a_table_that_does_not_fit_costs_nothing(tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", epsilon=1)
    table = tmp_path / "table.csv"
    table.write_text("age\n10\nold\n", encoding="utf-8")
    with pytest.raises(PrivateDataError):
        dpopt.histogram(table, SCHEMA, "age", budget=budget, **HALVES)
    assert not budget.contents().releases


def test_the_statement_of_a_release_names_its_reservation_and_nothing_else_of_the_budget(tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "secret.budget", epsilon=1, delta=1e-6)
    folder = tmp_path / "out"
    release(write_table(tmp_path), SCHEMA, "marginals:1", out=folder, budget=budget, **ASKED)
    (found,) = budget.contents().releases
    assert json.loads((folder / "release.json").read_text())["privacy"]["reservation"] == found.reservation
    assert not any("secret" in path.read_text() for path in folder.iterdir())


class StopError(Exception):
    """A run was stopped."""


def patched_append(stopping: Callable[..., None]) -> AbstractContextManager[object]:
    return mock.patch.object(FileJournal, "append", stopping)


@pytest.mark.parametrize("lines", range(8))
def test_a_run_that_was_stopped_anywhere_is_reserved_once(lines: int, tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", epsilon=0.5, delta=1e-6)
    table, folder = write_table(tmp_path), tmp_path / "out"
    append, written = FileJournal.append, [0]

    def stopping(journal: FileJournal, entry: dict[str, Any], *, wait: bool = True) -> None:
        if written[0] == lines:
            raise StopError
        written[0] += 1
        append(journal, entry, wait=wait)

    asked = {**ASKED, "algorithm": "dualquery", "rounds": 2, "draws": 3}
    with patched_append(stopping), pytest.raises(StopError):
        release(table, SCHEMA, "marginals:1", out=folder, budget=budget, **asked)
    reserved = budget.path.read_bytes()
    assert len(budget.contents().releases) == (
        0 if lines == 0 else 1
    )  # the first line is the plan, the next the first charge
    assert folder.exists() == (lines > 0)  # a folder without a line is taken back
    if lines == 0:
        return
    with pytest.raises(BudgetError, match="budget="):
        resume(folder, table)
    resume(folder, table, budget=budget)
    (found,) = budget.contents().releases
    assert budget.path.read_bytes() == reserved
    assert found.cost.rho > 0.0
    assert budget.contents().total().is_kept


def test_a_run_without_a_budget_does_not_go_on_with_one(tmp_path: Path) -> None:
    table, folder = write_table(tmp_path), tmp_path / "out"

    append = FileJournal.append
    written: list[dict[str, Any]] = []

    def stop_at_the_second(journal: FileJournal, entry: dict[str, Any], *, wait: bool = True) -> None:
        if written:
            raise StopError
        written.append(entry)
        append(journal, entry, wait=wait)

    with patched_append(stop_at_the_second), pytest.raises(StopError):
        release(table, SCHEMA, "marginals:1", out=folder, **ASKED)
    with pytest.raises(BudgetError, match="without budget="):
        resume(folder, table, budget=BudgetLedger.create(tmp_path / "b", epsilon=1))


def test_other_neighbours_than_those_of_the_budget_are_refused(tmp_path: Path) -> None:
    budget = BudgetLedger.create(tmp_path / "owner.budget", epsilon=1, delta=1e-6)
    with pytest.raises(BudgetError, match="neighbours='add-remove'"):
        dpopt.histogram(tmp_path / "none.csv", SCHEMA, "age", epsilon=0.5, neighbours="replace", budget=budget)


OF_PERSONS: dict[str, Callable[[Path, BudgetLedger], object]] = {
    "records": lambda table, b: release(table, SCHEMA, "marginals:1", budget=b, reading=COUNTED, **ASKED),
    "histogram": lambda table, b: dpopt.histogram(table, SCHEMA, "age", budget=b, reading=PERSON, **HALVES),
    "summary": lambda table, b: dpopt.summary(table, SCHEMA, 1, budget=b, columns=("age",), reading=COUNTED, **SHARES),
    "sanitizer": lambda table, b: dpopt.sanitize(table, disjunctions(), budget=b, reading=COUNTED, **SHARES),
}


@pytest.mark.parametrize("name", OF_PERSONS)
def test_releases_for_persons_cost_what_was_asked_and_say_for_whom(name: str, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    pd.read_csv(write_table(tmp_path), dtype=str, keep_default_na=False).assign(
        user=[number // 3 for number in range(ROWS)]
    ).to_csv(table, index=False)
    budget = BudgetLedger.create(tmp_path / "owner.budget", epsilon=0.9, delta=1e-6, person="user")
    released: Any = OF_PERSONS[name](table, budget)
    (found,) = budget.contents().releases
    privacy = released.statement["privacy"] if name == "records" else released.privacy
    assert privacy["unit"].startswith("one person (all rows of a person, at most 2")
    assert privacy["neighbours"].startswith("one person more or less")
    assert 0.45 < privacy["epsilon"] <= 0.5
    assert "2 rows" in found.note
    assert found.cost.rho == pytest.approx(4 * sum(_rho(one) for one in privacy["charges"]), rel=0.1)
    with pytest.raises(BudgetError, match="person="):
        RELEASES[name][1](tmp_path / "there is no such table.csv", budget)


def _rho(charge: dict[str, Any]) -> float:
    parameter = float(charge["parameter"])
    return parameter if charge["kind"] == "concentrated" else parameter**2 / 2


def test_a_budget_for_persons_needs_a_table_that_is_read_so(tmp_path: Path) -> None:
    persons = Budget(0.5, 0.0, None, Accountant.PURE, 3)
    for reading in (None, PERSON):
        with pytest.raises(BudgetError, match="rows_per_person="):
            open_account(None, "summary", persons, NeighbouringRelation.ADD_REMOVE, reading)
    with pytest.raises(PlanError, match="person="):
        dpopt.decision_lists(tmp_path / "none.csv", FAMILY, reading=PERSON, **SHARES)
    with pytest.raises(PlanError, match="person="):
        dpopt.halfspaces(tmp_path / "none.csv", 0.5, reading=PERSON, **SHARES)


# --- no release can leave it out -------------------------------------------------------------------------------------

DRIVERS = {"releases", "algorithms", "synopses"}


@cache
def _nodes() -> tuple[list[tuple[str, str, ast.Call]], list[ast.FunctionDef]]:
    """Return every call of the rooms that release, with its file and the name that is called, and every function."""
    calls, functions = [], []
    for file in source_files():
        for node in ast.walk(file.tree) if file.room in DRIVERS else ():
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                calls.append((file.path, name, node))
            elif isinstance(node, ast.FunctionDef):
                functions.append(node)
    return calls, functions


def _calls(names: set[str]) -> list[tuple[str, ast.Call]]:
    return [(path, call) for path, name, call in _nodes()[0] if name in names]


def test_ledgers_are_made_in_one_place() -> None:
    assert {path for path, _ in _calls({"Ledger"})} == {"dpopt/releases/ledgers.py"}


def test_a_ledger_without_an_account_is_for_public_populations() -> None:
    without = {
        path
        for path, call in _calls({"reserved_ledger", "ledger"})
        if call.args and isinstance(call.args[-1], ast.Constant) and call.args[-1].value is None
    }
    assert without == set()


def test_whoever_reads_a_table_to_release_something_hands_its_account_on() -> None:
    """Synopses do so in one place: what measures a plan is called by the one path of all of them, and by nobody else."""
    makers = {node.name for node in _nodes()[1] if _takes(node, "account")}
    makers = {name for name in makers if name.partition("_")[0] in {"release", "resume"}}
    assert makers
    for path, call in _calls(makers):
        if not path.startswith("dpopt/synopses/"):
            assert any(keyword.arg == "account" for keyword in call.keywords), f"{path}, line {call.lineno}"
    taking = {node.name for node in _nodes()[1] if node.args.kwarg and node.args.kwarg.arg == "how"}
    measuring = {name for name in taking if name.startswith("release_")}
    assert len(measuring) == 9
    assert not list(_calls(measuring))
    found = (call for path, call in _calls({"measure"}) if path == "dpopt/synopses/release.py")
    (measure,) = (call for call in found if call.keywords)  # others ask a curator, or name the bins
    assert {keyword.arg for keyword in measure.keywords} == {"progress", "account"}


def _takes(node: ast.FunctionDef, name: str) -> bool:
    return name in {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
