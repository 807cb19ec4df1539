"""Files that are continued: one writer at a time, whatever names lead to them, in Python and in the shell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest

import dpopt
from dpopt.cli.application import EXIT_INTERRUPTED
from dpopt.errors import BudgetError, ReleaseFolderError
from dpopt.files.written_files import whole_file
from dpopt.transcript import budget_ledger
from dpopt.transcript.budget_ledger import BudgetLedger
from dpopt.transcript.continued_file import ContinuedFile
from dpopt.transcript.journal import FileJournal, line_of, read_journal
from tests.algorithms.small_runs import ROWS
from tests.cli.command_line import COMMAND, call, inputs, refuse, succeed


def by_symbolic_link(place: Path, _: pytest.MonkeyPatch) -> Path:
    link = place.with_name("latest")
    link.symlink_to(place.name)
    return link


def by_link_to_a_link(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    second = place.with_name("second")
    second.symlink_to(by_symbolic_link(place, monkeypatch))
    return second


def by_hard_link(place: Path, _: pytest.MonkeyPatch) -> Path:
    if place.is_dir():  # folders have none; all their files do
        shutil.copytree(place, place.with_name("hard"), copy_function=os.link)
    else:
        os.link(place, place.with_name("hard"))
    return place.with_name("hard")


def by_linked_folder(place: Path, _: pytest.MonkeyPatch) -> Path:
    link = place.parent.with_name("linked")
    link.symlink_to(place.parent, target_is_directory=True)
    return link / place.name


def by_relative_path(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place.parent)
    return Path(place.name)


def from_another_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (place.parent / "elsewhere").mkdir()
    monkeypatch.chdir(place.parent / "elsewhere")
    return Path("..") / place.name


Name = Callable[[Path, pytest.MonkeyPatch], Path]
NAMES: list[Name] = [
    by_symbolic_link, by_link_to_a_link, by_hard_link, by_linked_folder, by_relative_path, from_another_folder,
]  # fmt: skip
DAYS, STEPS = 12, 3


def names(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test for each name of a file."""
    found: Callable[..., None] = pytest.mark.parametrize("name", NAMES, ids=lambda name: name.__name__)(test)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder beside which links can stand."""
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Write a file elsewhere: another opening of it is locked."""
    with closing(ContinuedFile(file)):
        yield


def of_days(folder: Path, rows: int = 200) -> list[object]:
    """Write a table of days and its schema, and return the words that name them."""
    day = {"name": "day", "type": "numeric", "edges": list(range(DAYS + 1)), "integer": True}
    (folder / "days.json").write_text(json.dumps({"dpopt_schema": 1, "attributes": [day]}))
    (folder / "days.csv").write_text("day\n" + "".join(f"{row % DAYS}\n" for row in range(rows)))
    return [folder / "days.csv", "--schema", folder / "days.json", "--column", "day"]


def measured(file: Path) -> list[int]:
    """Return which steps were measured, in the order of the file."""
    entries = [entry for entry in read_journal(file).entries if entry["kind"] == "measurement"]
    return [one for entry in entries for one in range(entry["first"], entry["first"] + len(entry["values"]))]


@names
def test_a_growing_release_is_continued_by_one_only(folder: Path, monkeypatch: pytest.MonkeyPatch, name: Name) -> None:
    file, table = folder / "v", of_days(folder)
    succeed("prefixes release", *table, "--steps", STEPS, "--rho", 0.5, "-o", file)
    given = name(file, monkeypatch)
    linked = given.is_symlink()
    before = file.read_bytes()
    with held(file):
        assert "another process is writing" in refuse("prefixes grow", given, *table, "--steps", STEPS + 1)
    assert file.read_bytes() == before
    succeed("prefixes grow", given, *table, "--steps", STEPS + 1)
    succeed("prefixes grow", file, *table, "--steps", STEPS + 2)
    assert given.is_symlink() == linked
    assert measured(given) == measured(file) == list(range(STEPS + 2))
    succeed("prefixes answer", given)


def test_rows_are_drawn_once_where_two_processes_continue_a_file_by_two_names(folder: Path) -> None:
    file, table = folder / "v", of_days(folder, 100_000)
    succeed("prefixes release", *table, "--steps", 1, "--rho", 0.5, "-o", file)
    (folder / "latest").symlink_to("v")
    grow = [
        [*COMMAND, "prefixes", "grow", *map(str, [place, *table, "--steps", DAYS])]
        for place in (file, folder / "latest")
    ]
    both = [subprocess.Popen(one, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for one in grow]
    assert sorted(one.wait() for one in both) == [0, 2]  # refused while the other writes, or as all was measured
    assert measured(file) == list(range(DAYS))


@pytest.mark.parametrize("size", [["--n0", ROWS], []], ids=["declared", "measured"])
@names
def test_a_run_is_resumed_by_one_at_a_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: Name, size: list[object]
) -> None:
    table, schema = inputs(folder)
    asked = ["--schema", schema, "--workload", "marginals:1", "--algorithm", "noise", "--epsilon", 500]
    asked += ["--delta", 1e-9, "--no-predict", *size]
    out, append = folder / "out", FileJournal.append

    def interrupted(journal: FileJournal, entry: dict[str, object], *, wait: bool = True) -> None:
        append(journal, entry, wait=wait)
        if entry["kind"] == "charge":
            raise KeyboardInterrupt

    with mock.patch.object(FileJournal, "append", interrupted):
        assert call("release", table, *asked, "-o", out).exit_code == EXIT_INTERRUPTED
    given = name(out, monkeypatch)
    with held(out / "transcript.jsonl"):
        assert "another process is writing" in refuse("resume", given, table)
    succeed("resume", given, table)
    assert "has ended" in refuse("resume", given, table)
    if name is not by_hard_link:  # the other folder has this transcript alone
        assert "byte for byte" in succeed("replay", out, "-o", folder / "again")
    else:
        succeed("resume", out, table)


@names
def test_a_budget_is_reserved_from_by_one_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch, name: Name) -> None:
    table, schema = inputs(folder)
    budget, out = folder / "owner.budget", folder / "h.npz"
    succeed("budget create", budget, "--epsilon", 1, "--delta", 0)
    given = name(budget, monkeypatch)
    linked = given.is_symlink()
    paid = ["histogram release", table, "--schema", schema, "--column", "age", "--epsilon", 0.6, "--budget"]
    with held(budget), mock.patch.object(budget_ledger, "SECONDS_TO_WAIT", 0.1):
        assert "another process has been writing" in refuse(*paid, given, "-o", out)
    assert not out.exists()
    succeed(*paid, given, "-o", out)
    assert given.is_symlink() == linked
    assert "left" in refuse(*paid, budget, "-o", folder / "second.npz")
    assert len(json.loads(succeed("budget show", given, "--json"))["releases"]) == 1


@names
def test_a_release_is_made_where_a_link_leads(folder: Path, monkeypatch: pytest.MonkeyPatch, name: Name) -> None:
    table, schema = inputs(folder)
    (folder / "out").mkdir()
    given = name(folder / "out", monkeypatch)
    asked = ["release", table, "--schema", schema, "--workload", "marginals:1", "--algorithm", "noise"]
    asked += ["--epsilon", 1, "--delta", 1e-6, "--no-predict", "--n0", ROWS, "-o"]
    succeed(*asked, given)
    assert "is not empty" in refuse(*asked, given)
    assert (given / "release.json").exists()
    assert (folder / "out" / "release.json").exists() == (name is not by_hard_link)


def appended(file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(line_of({"kind": "measurement"}))


def replaced(file: Path) -> None:
    copy = file.with_name("copy")
    copy.write_bytes(file.read_bytes())
    copy.replace(file)


def moved(file: Path) -> None:
    file.replace(file.with_name("moved"))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


@pytest.mark.parametrize("change", [appended, replaced, moved, Path.unlink, cut])
def test_what_another_process_did_in_spite_of_the_lock_is_noticed_before_anything_is_written(
    folder: Path, change: Callable[[Path], None]
) -> None:
    file, budget = folder / "v", folder / "owner.budget"
    with closing(FileJournal(file)) as journal:
        journal.append({"kind": "charge"})
        change(file)
        left = {path.name: path.read_bytes() for path in folder.iterdir()}
        for _ in range(2):  # and nothing is written after that either
            with pytest.raises(ReleaseFolderError, match="another process has changed|could not be written"):
                journal.append({"kind": "measurement", "values": [1]})
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == left
    owner = BudgetLedger.create(budget, epsilon=1, delta=0)
    with closing(ContinuedFile(budget)) as opened:
        change(budget)
        left = {path.name: path.read_bytes() for path in folder.iterdir()}
        with pytest.raises(OSError, match="another process has changed"):
            opened.write(b"x")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == left
    assert owner.path == budget


def test_a_budget_that_is_replaced_before_it_is_locked_is_read_again(folder: Path) -> None:
    """There was room when the release began; what it pays from is the file that is there when it pays."""
    owner, spent = (BudgetLedger.create(folder / name, epsilon=1, delta=0) for name in ("owner", "spent"))
    table, opened = pd.DataFrame({"x": [1]}), ContinuedFile
    dpopt.histogram(table, counts="x", epsilon=1, budget=spent)

    def late(path: Path, *, mode: int | None, seconds: float) -> ContinuedFile:
        spent.path.replace(owner.path)
        return opened(path, mode=mode, seconds=seconds)

    with mock.patch.object(budget_ledger, "ContinuedFile", late), pytest.raises(BudgetError, match="left"):
        dpopt.histogram(table, counts="x", epsilon=1, budget=owner)
    assert len(owner.contents().releases) == 1


def test_another_working_directory_does_not_lead_to_another_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget and a transcript that were named by a relative path stay what they are."""
    for place in ("one", "two"):
        (folder / place).mkdir()
        BudgetLedger.create(folder / place / "owner.budget", rho=0.5)
    monkeypatch.chdir(folder / "one")
    budget, journal = BudgetLedger("owner.budget"), FileJournal(Path("transcript.jsonl"))
    monkeypatch.chdir(folder / "two")
    assert budget.path == folder / "one" / "owner.budget"
    journal.append({"kind": "finish"})
    journal.close()
    assert read_journal(journal.path).entries == [{"kind": "finish"}]
    assert list(Path().iterdir()) == [Path("owner.budget")]


def test_a_new_file_is_not_made_through_a_link(folder: Path) -> None:
    table = of_days(folder)
    (folder / "v").symlink_to("nowhere")
    (folder / "b").symlink_to("nowhere")
    asked = [*table, "--steps", STEPS, "--rho", 0.5, "-o", folder / "v"]
    assert "exists already" in refuse("prefixes release", *asked)
    assert "exists already" in refuse("budget create", folder / "b", "--epsilon", 1)
    people, schema = inputs(folder)
    asked = [people, "--schema", schema, "--column", "age", "--epsilon", 1, "-o", folder / "v"]
    assert "exists already" in refuse("histogram release", *asked)
    records = ["--workload", "marginals:1", "--epsilon", 1, "--delta", 1e-6, "--n0", ROWS, "--no-predict"]
    message = refuse("release", people, "--schema", schema, *records, "-o", folder / "v")
    assert "cannot make" in message
    assert "reading the table" not in message
    assert not (folder / "nowhere").exists()


def test_a_file_that_is_replaced_is_the_one_that_a_link_points_to(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "real" / "page").write_text("old")
    (folder / "link").symlink_to(Path("real") / "page")
    with whole_file(folder / "link") as file:
        file.write(b"new")
    assert (folder / "link").is_symlink()
    assert (folder / "real" / "page").read_text() == "new"
    assert [path.name for path in (folder / "real").iterdir()] == ["page"]
