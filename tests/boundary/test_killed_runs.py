"""Processes that are really killed, and go on: the quick form of experiments/killed_runs, and a check that its checks hold.

`test_crash_protocol.py` goes through every step inside one process; here each kill is a SIGKILL of a process of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.source_code import ROOT

if not (ROOT / "experiments").is_dir():
    pytest.skip("the experiments are not part of this copy", allow_module_level=True)

from dpopt.transcript.journal import FileJournal
from experiments.killed_runs.parts import Inputs, dualquery, write_inputs
from experiments.killed_runs.protocol import Snapshot, problems_of_folder, problems_of_run
from experiments.killed_runs.runs import Forks, Kill, run_to_the_end

PART = dualquery(6, "--free-attributes", "estimated", "--neighbours", "add-remove", "--n0", "400")
MAKING = 6  # steps in which the folder is made: three files, each flushed and renamed


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Start the process whose forks run dpopt."""
    with Forks(tmp_path_factory.mktemp("forks")) as started:
        yield started


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Write the small table."""
    return write_inputs(tmp_path_factory.mktemp("inputs"))


def test_ten_kills_of_one_run_repeat_nothing_and_cost_what_is_charged(
    forks: Forks, inputs: Inputs, tmp_path: Path
) -> None:
    kills = [
        Kill(at=3, how="after"),  # the folder is half made: nothing is on file, nothing spent
        Kill(at=MAKING, how="within"),  # the reservation is torn
        # A torn line is replaced by its mark first: a cut and a write.
        Kill(at=2, how="after"),  # reserved
        Kill(at=1, how="within"),  # charged, the one-way marginals are torn
        Kill(at=1, how="within"),  # while that is being marked
        Kill(at=3, how="within"),  # charged, the draw of round 1 is torn
        Kill(at=3, how="after"),  # charged once more and drawn
        Kill(at=0, how="within"),  # its record is torn: it is found again
        Kill(at=3, how="before"),  # recorded, round 2 charged, not drawn
        Kill(at=4, how="within"),  # the draw of round 3 is torn
    ]
    ended = run_to_the_end(forks, inputs, PART, tmp_path / "out", kills)
    assert ended.problems == []
    assert (ended.kills, ended.begun_anew) == (10, 1)
    kinds = [entry["kind"] for entry in Snapshot.of(tmp_path / "out").entries]
    assert kinds[:4] == ["torn", "reserve", "charge", "torn"]
    assert kinds.count("draw") == kinds.count("record") == 4  # two of six rounds paid for torn draws
    assert ended.lost == 3


def test_kills_while_records_and_statement_are_written_leave_no_trace(
    forks: Forks, inputs: Inputs, tmp_path: Path
) -> None:
    out, part = tmp_path / "out", dualquery(2, "--values-share", "0", "--weights")
    finished = [Kill(at=MAKING + 8, how="before")]  # reserved, charge, draw, record twice, finished, half the records
    kills = [Kill(at=0, how="within"), Kill(at=1, how="before"), Kill(at=1, how="after")]
    statement = [Kill(at=2, how="within"), Kill(at=3, how="before"), Kill(at=3, how="after")]
    ended = run_to_the_end(forks, inputs, part, out, [*finished, *kills, *statement])
    assert ended.problems == []
    assert (ended.kills, ended.torn, ended.lost) == (7, 0, 0)
    assert [entry["kind"] for entry in Snapshot.of(out).entries].count("finish") == 1


def charge(label: str, parameter: float = 0.25) -> dict[str, Any]:
    return {"label": label, "kind": "bounded range", "parameter": parameter, "count": 2}


def pays(label: str) -> dict[str, Any]:
    return {"kind": "charge", "charge": charge(label)}


RESERVE = {"kind": "reserve", "charges": [charge("round 1"), charge("round 2"), charge("round 3")]}
DRAW, RECORD, TORN, FINISH = ({"kind": kind} for kind in ("draw", "record", "torn", "finish"))


def left(folder: Path, *entries: dict[str, Any], torn: bytes = b"") -> Snapshot:
    """Return a transcript with these entries as a kill may have left it."""
    folder.mkdir()
    journal = FileJournal(folder / "transcript.jsonl")
    for entry in entries:
        journal.append(entry)
    journal.close()
    with (folder / "transcript.jsonl").open("ab") as file:
        file.write(torn)
    return Snapshot.of(folder)


def statement(*labels: str, private: bool = True) -> dict[str, Any]:
    charges = [charge(label) for label in labels]
    rho = sum(2 * 0.25**2 / 8 for _ in charges)
    return {"privacy": {"private": private, "rho": rho, "charges": charges}}


ROUND = (pays("round 1"), DRAW, RECORD)


def test_a_run_as_it_should_be_has_no_problems(tmp_path: Path) -> None:
    torn = left(tmp_path / "one", RESERVE, *ROUND, pays("round 2"), torn=b'{"crc":')
    entries = [RESERVE, *ROUND, pays("round 2"), TORN, pays("round 2"), DRAW, RECORD, FINISH]
    final = left(tmp_path / "final", *entries)
    assert problems_of_run([torn], final, statement("round 1", "round 2", "round 2")) == []
    assert final.lost() == 1


@pytest.mark.parametrize(
    ("entries", "labels", "problem"),
    [
        ((pays("round 1"), DRAW, RECORD, DRAW), ("round 1",), "line 5 is a draw without a charge of its own"),
        ((pays("round 1"), DRAW, pays("round 1"), DRAW), ("round 1", "round 1"), "round 1: 2 draws on file"),
        ((pays("round 1"), TORN, DRAW), ("round 1",), "line 4 is a draw without a charge of its own"),
        ((pays("round 1"), pays("round 1"), DRAW), ("round 1", "round 1"), "line 3 charges again"),
        (ROUND, (), "the ledger's charges are not those on file"),
        (ROUND, ("round 1",) * 4, "reserved"),
    ],
)
def test_a_transcript_that_breaks_the_protocol_is_noticed(
    tmp_path: Path, entries: tuple[dict[str, Any], ...], labels: tuple[str, ...], problem: str
) -> None:
    final = left(tmp_path / "final", RESERVE, *entries, FINISH)
    assert any(problem in found for found in problems_of_run([], final, statement(*labels)))


@pytest.mark.parametrize(
    ("seen", "problem"),
    [
        ((RESERVE, *ROUND, pays("round 2"), DRAW, {"kind": "record", "round": 7}), "are not the first of"),
        ((RESERVE, *ROUND, pays("round 2"), DRAW), None),
        ((RESERVE,), "is not marked"),
    ],
)
def test_what_a_kill_left_on_file_is_held_against_the_final_transcript(
    tmp_path: Path, seen: tuple[dict[str, Any], ...], problem: str | None
) -> None:
    final = left(tmp_path / "final", RESERVE, *ROUND, pays("round 2"), DRAW, RECORD, FINISH)
    snapshot = left(tmp_path / "seen", *seen, torn=b"" if len(seen) > 1 else b"{")
    found = problems_of_run([snapshot], final, statement("round 1", "round 2"))
    assert (found == []) if problem is None else any(problem in one for one in found)


def test_a_torn_draw_that_is_not_charged_again_is_noticed(tmp_path: Path) -> None:
    """As if the reader had forgotten the mark: the draw is made again for the same charge."""
    torn = left(tmp_path / "seen", RESERVE, pays("round 1"), torn=b'{"crc":"0')
    final = left(tmp_path / "final", RESERVE, pays("round 1"), DRAW, RECORD, FINISH)
    found = problems_of_run([torn], final, statement("round 1"))
    assert "round 1: 2 draws may have been seen, 1 are charged" in found


def test_what_a_finished_folder_should_not_have_is_noticed(tmp_path: Path) -> None:
    for name in ("release.json", ".synthetic.csv.x.tmp"):
        (tmp_path / name).write_text(json.dumps({}))
    assert problems_of_folder(tmp_path) == ["left behind: .synthetic.csv.x.tmp"]
    (tmp_path / ".synthetic.csv.x.tmp").rename(tmp_path / "synthetic.csv")
    assert problems_of_folder(tmp_path) == []
    import os

    os.utime(tmp_path / "synthetic.csv", (1, 1))
    assert problems_of_folder(tmp_path) == ["the times of the files differ"]
