"""`dpopt certify`: on a tiny transcript, in this process and interrupted in one of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.algorithms.small_runs import small_release
from tests.cli.command_line import call, refuse, start, succeed
from tests.cli.test_interruption import stopped

pytestmark = pytest.mark.solver("highs")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "release"
    small_release(folder, solver="local-search")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def stated(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_a_run_is_certified_and_not_touched(folder: Path, tmp_path: Path) -> None:
    before = contents(folder)
    text = succeed("certify", folder, "--seconds", 5, "--out", tmp_path / "bounds.json")
    assert contents(folder) == before
    assert "gap between record and bound, divided by the draws" in text
    assert "gap between record and bound, divided by the record's value" in text
    assert "certified rounds are proven optimal, without any solver's word" in text
    assert "with the rounds' proven gaps: no bound below 1 on the largest error" in text  # six rounds are few
    found = stated(tmp_path / "bounds.json")
    assert [row["round"] for row in found["rounds"]] == [1, 2, 3, 4, 5, 6]
    assert all(row["objective"] <= row["proven_bound"] for row in found["rounds"])


def test_the_figures_come_as_json_too(folder: Path, tmp_path: Path) -> None:
    out = succeed("certify", folder, "--solver", "none", "--round-numbers", "2-3", "--json")
    found = json.loads(out)
    assert [row["round"] for row in found["rounds"]] == [2, 3]
    assert found["summary"]["rounds_certified"] == 2
    assert {row["reported_bound"] for row in found["rounds"]} == {None}


def test_rounds_on_file_are_not_done_again(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "bounds.json"
    succeed("certify", folder, "--solver", "none", "--round-numbers", "1,4", "--out", target)
    marked = stated(target)
    marked["rounds"][0]["proven_by"] = "kept"
    target.write_text(json.dumps(marked))
    result = call("certify", folder, "--solver", "none", "--round-numbers", "1-2", "--out", target)
    assert result.exit_code == 0
    assert "1 rounds are in" in result.stderr
    rounds = stated(target)["rounds"]
    assert [row["round"] for row in rounds] == [1, 2, 4]
    assert rounds[0]["proven_by"] == "kept"


def test_the_lp_solver_and_the_formulation_are_named_in_the_proof(folder: Path) -> None:
    for formulation in ("per-literal", "aggregated"):
        out = succeed(
            *("certify", folder, "--solver", "none", "--no-lift", "--lp-solver", "highs"),
            *("--formulation", formulation, "--json"),
        )
        arguments = {row["proven_by"].split(", multipliers")[0] for row in json.loads(out)["rounds"]}
        assert arguments <= {f"weak duality, {formulation} relaxation", "sum of the positive weights"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--round-numbers", "7"], "it has the rounds 1 to 6"),
        (["--solver", "nobody"], "there is no solver 'nobody'"),
        (["--solver", "cp-sat,nobody"], "there is no solver 'nobody'"),
        (["--lp-solver", "local-search"], "local-search gives no dual values"),
        (["--formulation", "best"], "a formulation is one of"),
        (["--seconds", "0"], "seconds must be a finite number above 0"),
    ],
)
def test_what_cannot_be_done_is_refused(folder: Path, words: list[str], message: str) -> None:
    assert message in refuse("certify", folder, "--solver", "none", *words)


def test_the_release_folder_is_never_written_to(folder: Path) -> None:
    before = contents(folder)
    assert "lies in the release folder" in refuse("certify", folder, "--out", folder / "bounds.json")
    assert contents(folder) == before


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    assert "is not a release folder" in refuse("certify", tmp_path, "--solver", "none")


def test_an_interruption_keeps_the_rounds_that_are_done(tmp_path: Path) -> None:
    folder, target = tmp_path / "release", tmp_path / "bounds.json"
    small_release(folder, solver="local-search", rounds=400)
    process = start("certify", folder, "--solver", "none", "--out", target)
    code, output, messages = stopped(process, target.exists)
    assert code == 130, messages
    kept = len(stated(target)["rounds"])
    assert 1 <= kept < 400
    assert messages.splitlines()[-1] == f"interrupted after {kept} rounds; its rounds are kept in {target}"
    assert "gap between record and bound" in output
    succeed("certify", folder, "--solver", "none", "--round-numbers", f"1-{kept + 1}", "--out", target)
    assert len(stated(target)["rounds"]) == kept + 1


def test_a_file_that_states_what_cannot_be_is_named_and_not_continued(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "bounds.json"
    succeed("certify", folder, "--solver", "none", "--round-numbers", "1", "--out", target)
    good = stated(target)
    for change in ({"proven_bound": -1}, {"proven_bound": True}, {"proven_bound": 10**9}):
        target.write_text(json.dumps({**good, "rounds": [{**good["rounds"][0], **change}]}))
        message = " ".join(refuse("certify", folder, "--solver", "none", "--out", target).split())
        assert f"{target} cannot be continued" in message
        assert "Move it away" in message
    target.write_text(json.dumps({**good, "rounds": good["rounds"] * 2}))
    assert "on file twice" in refuse("certify", folder, "--solver", "none", "--out", target)
