"""A release that is refused leaves nothing behind: no folder, no draw, no reservation in the owner's budget."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import dpopt
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.algorithms import release as releases
from dpopt.algorithms.after.reweighted_release import ReweightedRelease
from dpopt.algorithms.measured.algorithm import MeasuredAlgorithm
from dpopt.algorithms.registry import OPTIONS, algorithm_of
from dpopt.algorithms.run_release import run_release
from dpopt.errors import BudgetError, NoSolutionError, PlanError, ReleaseFolderError, SchemaError, TranscriptError
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.transcript.journal import read_journal
from tests.algorithms.small_runs import AMPLE, ROWS, SCHEMA, WITH_BUCKETS, codes, job, small_release, write_table
from tests.cli.command_line import refuse, release_arguments, succeed

NAMES = ("projection", "noise", "dualquery", "fem", "mwem", "pmw")
SIZES: dict[str, dict[str, Any]] = {"measured": {}, "declared": {"n0": ROWS}, "replace": {"neighbours": "replace"}}


def asked(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    """Return the keywords of a release into a new folder in a new folder, paid from a budget."""
    neighbours = changes.get("neighbours", "add-remove")
    owner = tmp_path / "owner.budget"
    budget = dpopt.BudgetLedger.create(owner, epsilon=5000, delta=1e-6, neighbours=neighbours)
    how = {"epsilon": 500, "delta": 1e-9, "predict": False, "budget": budget}
    return {"workload": "marginals:1", "out": tmp_path / "deep" / "out", **how, **changes}


def check_nothing_was_left(tmp_path: Path) -> None:
    assert sorted(path.name for path in tmp_path.iterdir()) == ["owner.budget", "people.csv"]
    assert dpopt.BudgetLedger(tmp_path / "owner.budget").contents().releases == ()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", NAMES)
@pytest.mark.parametrize("error", [PlanError, NoSolutionError, RuntimeError])
def test_what_an_algorithm_refuses_is_refused_before_there_is_a_folder(
    tmp_path: Path, algorithm: str, size: str, error: type[Exception]
) -> None:
    table, implementation = write_table(tmp_path), type(algorithm_of(OPTIONS[algorithm]()))

    def refused(self: object, job: object, run: object) -> object:
        assert not (tmp_path / "deep").exists()
        raise error("refused by this test")

    with mock.patch.object(implementation, "prepare", refused), pytest.raises(error, match="refused by this test"):
        dpopt.release(table, SCHEMA, algorithm=algorithm, **asked(tmp_path, **SIZES[size]))
    check_nothing_was_left(tmp_path)


@pytest.mark.parametrize("size", SIZES)
def test_a_run_for_which_there_is_too_little_memory_is_refused_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    table = write_table(tmp_path)
    monkeypatch.setattr(releases, "available_memory", lambda: 10)
    with pytest.raises(PlanError, match="the machine has"):
        dpopt.release(table, SCHEMA, algorithm="dualquery", **asked(tmp_path, **SIZES[size]))
    check_nothing_was_left(tmp_path)


@pytest.mark.parametrize("size", ["declared", "replace"])
@pytest.mark.parametrize("error", [AttributeError, NoSolutionError, TranscriptError, MemoryError])
def test_what_fails_before_a_charge_takes_its_folder_back(tmp_path: Path, size: str, error: type[Exception]) -> None:
    table = write_table(tmp_path)
    failing = mock.patch.object(MeasuredAlgorithm, "open_door", side_effect=error("refused by this test"))
    with failing, pytest.raises(error, match="refused by this test"):
        dpopt.release(table, SCHEMA, algorithm="noise", **asked(tmp_path, **SIZES[size]))
    check_nothing_was_left(tmp_path)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", [*NAMES, "prefixes"])
def test_a_release_whose_budget_was_taken_by_another_leaves_nothing(tmp_path: Path, algorithm: str, size: str) -> None:
    """Both found room when they began; the second is refused when it pays, before its first draw."""
    table, how = write_table(tmp_path), asked(tmp_path, **SIZES[size])
    find_room = dpopt.BudgetLedger.open_account

    def slowly(budget: dpopt.BudgetLedger, *about: Any, **more: Any) -> object:
        found, quicker = find_room(budget, *about, **more), find_room(budget, *about, **more)
        quicker.reserve([Charge("all", ChargeKind.PURE, 4999.0, 1, about[2], "another release")], 1)
        return found

    if algorithm == "prefixes":
        paid = {name: how[name] for name in ("epsilon", "delta", "budget")}
        start: Callable[[], object] = partial(
            dpopt.prefixes, table, SCHEMA, "age", steps=1, out=tmp_path / "deep", **paid
        )
    else:
        start = partial(dpopt.release, table, SCHEMA, algorithm=algorithm, **how)
    late = mock.patch.object(dpopt.BudgetLedger, "open_account", slowly)
    with late, pytest.raises(BudgetError, match="Nothing was drawn"):
        start()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["owner.budget", "people.csv"]


def test_a_table_of_another_schema_and_a_plan_beyond_its_budget_make_no_folder(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    other = PrivateDataset.from_codes(WITH_BUCKETS, list(codes().T))
    with pytest.raises(SchemaError, match="read by another schema"):
        run_release(other, job(), out)
    small = dpopt.Budget(1e-3, AMPLE.delta, None, AMPLE.accountant)
    with pytest.raises(BudgetError):
        run_release(PrivateDataset.from_codes(SCHEMA, list(codes().T)), job(budget=small), out)
    assert list(tmp_path.iterdir()) == []


def test_a_number_of_records_that_ends_a_run_is_on_file_and_the_message_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was drawn and charged: its folder stays, for it is where this stands."""
    table, out, needed = write_table(tmp_path), tmp_path / "deep" / "out", []

    def available() -> int:
        needed.append(1)
        return 10**12 if len(needed) == 1 else 10

    monkeypatch.setattr(releases, "available_memory", available)
    with pytest.raises(PlanError, match="keeps the number of records that was measured, and its charge; name"):
        dpopt.release(table, SCHEMA, algorithm="dualquery", **asked(tmp_path))
    assert [entry["kind"] for entry in read_journal(out / "transcript.jsonl").entries] == ["charge", "measurement"]


@pytest.mark.parametrize(
    "error", [UnicodeEncodeError("utf-8", "\ud800", 0, 1, "refused"), MemoryError("x"), OSError(28, "x")]
)
def test_public_inputs_that_cannot_be_written_take_the_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    from dpopt.algorithms import release_folder

    monkeypatch.setattr(release_folder, "_write_plan", mock.Mock(side_effect=error))
    with pytest.raises((type(error), ReleaseFolderError)):
        small_release(tmp_path / "deep" / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("existed", [False, True])
@pytest.mark.parametrize("door", ["save", "replay", "reweight"])
def test_what_writes_a_folder_takes_it_back_where_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str, existed: bool
) -> None:
    made, out = small_release(tmp_path / "made"), tmp_path / "deep" / "out"
    write: Callable[[Path], object]
    if existed:
        out.mkdir(parents=True)
    if door == "save":
        write = made.save
    elif door == "replay":
        write = partial(dpopt.replay, tmp_path / "made")
    else:
        write = ReweightedRelease.of(made).write
    failing = PlanError("refused by this test")
    place = "reweighted_release" if door == "reweight" else "synthetic_release"
    name = "write_json" if door == "reweight" else "_write_statement"
    module = import_module(f"dpopt.algorithms.{'after.' if door == 'reweight' else ''}{place}")
    monkeypatch.setattr(module, name, mock.Mock(side_effect=failing))
    with pytest.raises(PlanError, match="refused by this test"):
        write(out)
    assert out.exists() == existed
    assert [path for path in (tmp_path / "deep").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (b"garbage", "is damaged"),
        (b"[]", "is damaged"),
        (b"", "is damaged"),
        (b"{}", "states is not what the transcript gives"),
        (b'{"privacy": []}', "contradicts itself"),
        (b'{"privacy": {"private": true, "epsilon": 0.001}}', "states is not what the transcript gives"),
    ],
)
def test_a_release_with_another_statement_is_not_reported(tmp_path: Path, held: bytes, message: str) -> None:
    succeed(*release_arguments(tmp_path))
    out, page = tmp_path / "out", tmp_path / "page.html"
    succeed("report", out, "-o", page)
    page.unlink()
    (out / "release.json").write_bytes(held)
    for call in (["report", out, "-o", page], ["evaluate", out, tmp_path / "people.csv"]):
        assert message in " ".join(refuse(*call).split())
    assert not page.exists()


def test_a_replay_names_what_is_no_part_of_the_release(tmp_path: Path) -> None:
    succeed(*release_arguments(tmp_path))
    assert "no part of the release" not in succeed("replay", tmp_path / "out", "-o", tmp_path / "again")
    (tmp_path / "out" / "errors.json").write_text(json.dumps({"exact": 1}))
    said = " ".join(succeed("replay", tmp_path / "out", "-o", tmp_path / "third").split())
    assert "errors.json in" in said
    assert "no part of the release" in said
