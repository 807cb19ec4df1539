"""Tables that are released again without a budget file: told to their owner, remembered for nobody else."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

import pandas as pd
import pytest

import dpopt
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.measurements import one_way_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import DpoptError, NoSolutionError, PlanError, PrivateDataError
from dpopt.private.curators.door import Door
from dpopt.releases.ledgers import reserved_ledger
from dpopt.releases.progress import Progress
from dpopt.releases.remembered_tables import forget, remembered, remembered_file
from dpopt.transcript.budget_ledger import BudgetLedger
from tests.releases.test_ledgers import RELEASES, table_of

SCHEMA = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))


class Told(Progress):
    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def owner_note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPOPT_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def note_of(table: object, budget: object = None) -> list[str]:
    told = Told()
    with remembered(table, budget, told):
        drawn()
    return told.notes


def drawn() -> None:
    """Spend a charge in a ledger, as every release does before it draws."""
    charge = one_way_charge(1, scale=2.0, gaussian=False, relation=NeighbouringRelation.ADD_REMOVE)
    reserved_ledger(Budget(1.0, 0.0, None, Accountant.PURE), charge.relation, [charge], None).spend(charge)


def test_a_second_release_of_a_path_is_told_until_it_is_forgotten(tmp_path: Path, state: Path) -> None:
    table = tmp_path / "people.csv"
    pd.DataFrame({"smoker": [True, False] * 100}).to_csv(table, index=False)
    told = Told()
    for number in (1, 2):
        dpopt.release(table, SCHEMA, epsilon=1, n0=200, predict=False, progress=told, out=tmp_path / f"r{number}")
    (note,) = told.notes
    assert note.startswith("note: this table was released once before without a budget file, last on 20")
    assert str(state) in note
    assert not any(b"people.csv" in file.read_bytes() for file in (tmp_path / "r2").iterdir())
    (three,) = note_of(tmp_path / "." / "people.csv")
    assert "released 2 times before" in three
    assert (forget(), forget(), note_of(table)) == (1, 0, [])


def test_synopses_of_a_path_are_remembered_in_python_too(tmp_path: Path) -> None:
    table, told = tmp_path / "people.csv", Told()
    pd.DataFrame({"age": [0, 1] * 100}).to_csv(table, index=False)
    schema = dpopt.Schema((dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 1, 2)),))
    dpopt.prefixes(table, schema, "age", steps=1, out=tmp_path / "p.jsonl", rho=1, progress=told)
    dpopt.count(table, schema, "age >= 1", most=9, epsilon=1, progress=told)
    dpopt.histogram(str(table), schema, "age", epsilon=1, progress=told)
    assert [note.split(" released ")[1][:14] for note in told.notes] == ["once before wi", "2 times before"]


def test_what_is_interrupted_is_remembered_once_it_has_drawn(tmp_path: Path) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    def released(*steps: Callable[[], None]) -> None:
        with remembered(tmp_path / "t.csv", None, Told()):
            for step in steps:
                step()

    with pytest.raises(KeyboardInterrupt):
        released(interrupted, drawn)
    assert not remembered_file().exists()
    with pytest.raises(KeyboardInterrupt):
        released(drawn, interrupted)
    assert len(note_of(tmp_path / "t.csv")) == 1
    assert (forget(tmp_path / "other.csv"), forget(tmp_path / "t.csv"), note_of(tmp_path / "t.csv")) == (0, 1, [])


def test_a_draw_that_ends_a_run_is_remembered(tmp_path: Path) -> None:
    table = tmp_path / "few.csv"
    pd.DataFrame({"smoker": [True, False]}).to_csv(table, index=False)
    with suppress(PlanError):  # the noise hides so few rows in all but about one run of a hundred
        dpopt.release(table, SCHEMA, epsilon=0.001, delta=1e-6, predict=False)
    assert "released once before" in note_of(table)[0]


@pytest.mark.parametrize("name", RELEASES)
def test_whatever_ends_a_release_after_its_first_draw_it_is_remembered(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, unpaid = table_of(name, tmp_path), cast("BudgetLedger", None)
    with pytest.raises(DpoptError):
        RELEASES[name][1](tmp_path / "missing.csv", unpaid)
    assert not remembered_file().exists()

    def broken(self: object, value: object, entry: object) -> object:
        raise NoSolutionError("a solver failed")

    monkeypatch.setattr(Door, "_released", broken)
    with pytest.raises(NoSolutionError):
        RELEASES[name][1](table, unpaid)
    assert "released once before" in note_of(table)[0]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are Unicode")
def test_a_path_that_is_no_unicode_is_remembered(tmp_path: Path) -> None:
    table = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv")
    assert note_of(table) == []
    assert "released once before" in note_of(table)[0]
    assert (forget(Path(table)), note_of(table)) == (1, [])


def test_nothing_is_kept_of_tables_in_memory_and_where_a_budget_pays(state: Path) -> None:
    assert note_of(pd.DataFrame()) == note_of("people.csv", budget=object()) == []
    assert not state.exists()


def test_the_list_is_for_its_owner_alone_and_a_damaged_one_is_told(tmp_path: Path, state: Path) -> None:
    note_of(tmp_path / "t.csv")
    if sys.platform != "win32":
        assert stat.S_IMODE(remembered_file().stat().st_mode) == 0o600
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
    remembered_file().write_text("[]", encoding="utf-8")
    assert "earlier releases are not known" in note_of(tmp_path / "t.csv")[0]


@pytest.mark.parametrize(
    ("platform", "variable", "inside"),
    [
        ("linux", "XDG_STATE_HOME", "own/dpopt"),
        ("linux", None, "home/.local/state/dpopt"),
        ("darwin", None, "home/Library/Application Support/dpopt"),
        ("win32", "LOCALAPPDATA", "own/dpopt"),
        ("win32", None, "home/AppData/Local/dpopt"),
    ],
)
def test_the_folder_is_that_of_the_platform(
    platform: str, variable: str | None, inside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DPOPT_STATE", "XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "own"))
    assert remembered_file() == tmp_path / inside / "released-tables.json"


class Stopped(Told):
    """Ends a run, as Ctrl-C does, once its measurements begin."""

    def begin(self, stage: str) -> None:
        super().begin(stage)
        if stage == "measuring":
            raise KeyboardInterrupt


def interrupted(table: Path, out: Path) -> None:
    asked = {"epsilon": 1, "n0": 300, "algorithm": "projection", "predict": False}
    with pytest.raises(KeyboardInterrupt):
        dpopt.release(table, SCHEMA, "marginals:1", **asked, progress=Stopped(), out=out)  # type: ignore[arg-type]


ROWS = [True] * 200 + [False] * 100
OTHERS = {"a row fewer": ROWS[1:], "a row more": [*ROWS, True], "another value": [*ROWS[:-1], True]}


@pytest.mark.parametrize(("what", "engine"), [*((one, "memory") for one in OTHERS), ("a row fewer", "stream")])
def test_a_run_goes_on_with_its_own_table_alone(tmp_path: Path, state: Path, what: str, engine: str) -> None:
    table, other, out = tmp_path / "people.csv", tmp_path / "other.csv", tmp_path / "release"
    pd.DataFrame({"smoker": ROWS}).to_csv(table, index=False)
    pd.DataFrame({"smoker": OTHERS[what]}).to_csv(other, index=False)
    interrupted(table, out)
    (kept,) = (state / "begun-runs").iterdir()
    assert os.name == "nt" or stat.S_IMODE(kept.stat().st_mode) == 0o600
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    key = json.loads(kept.read_text())["key"].encode()
    assert not any(key in held or bytes.fromhex(key.decode()) in held for held in before.values())
    with pytest.raises(PrivateDataError, match="not the table that the run in .* began with"):
        dpopt.resume(out, other, engine=engine)
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    pd.DataFrame({"smoker": ROWS[::-1]}).to_parquet(other)  # the same records in another order and file
    told = Told()
    dpopt.resume(out, other, engine=engine, progress=told)
    assert not told.notes
    assert not list((state / "begun-runs").iterdir())


def test_a_run_whose_table_is_not_known_here_goes_on_and_its_owner_is_told(tmp_path: Path, state: Path) -> None:
    table, out, told = tmp_path / "people.csv", tmp_path / "release", Told()
    pd.DataFrame({"smoker": ROWS}).to_csv(table, index=False)
    interrupted(table, out)
    (kept,) = (state / "begun-runs").iterdir()
    kept.write_text('{"key": "0g", "digests": []}')
    dpopt.resume(out, table, progress=told)
    (note,) = told.notes
    assert "does not know here which table the run" in note


def test_tables_of_interrupted_runs_are_forgotten_with_all_others(tmp_path: Path, state: Path) -> None:
    table = tmp_path / "people.csv"
    pd.DataFrame({"smoker": ROWS}).to_csv(table, index=False)
    interrupted(table, tmp_path / "release")
    forget(tmp_path / "other.csv")
    assert list((state / "begun-runs").iterdir())
    forget()
    assert not list((state / "begun-runs").iterdir())


def test_a_run_that_never_began_is_not_remembered(tmp_path: Path, state: Path) -> None:
    table = pd.DataFrame({"smoker": ROWS})
    budget = dpopt.BudgetLedger.create(tmp_path / "owner.budget", epsilon=1, delta=1e-6)
    asked = {"epsilon": 0.9, "delta": 1e-7, "n0": 300, "algorithm": "projection", "predict": False, "budget": budget}
    dpopt.release(table, SCHEMA, "marginals:1", **asked, out=tmp_path / "first")  # type: ignore[arg-type]
    with pytest.raises(dpopt.DpoptError):
        dpopt.release(table, SCHEMA, "marginals:1", **asked, out=tmp_path / "second")  # type: ignore[arg-type]
    assert not list((state / "begun-runs").iterdir())
