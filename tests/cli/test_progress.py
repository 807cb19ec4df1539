from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dpopt.cli.reports import progress as module
from dpopt.cli.reports.progress import TerminalProgress
from dpopt.releases.progress import stage
from tests.cli.command_line import refuse, release_arguments, succeed, words


def go_through(shown: TerminalProgress) -> None:
    with shown:
        with stage(shown, "counting exact answers"):
            shown.share(0.5)
        with stage(shown, "playing rounds"):
            shown.round(1, 2, 0.25)
            shown.round(2, 2, -0.5)


def test_without_a_terminal_each_stage_is_a_line_of_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    go_through(TerminalProgress())
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["counting exact answers", "playing rounds"]
    assert all(line.endswith(" s") for line in lines)


def test_terminals_show_bars_rounds_values(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        module, "Console", lambda stderr, quiet: Console(stderr=stderr, quiet=quiet, force_terminal=True, width=120)
    )
    go_through(TerminalProgress())
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2 of 2, value -0.500" in shown.err
    assert "counting exact answers" in shown.err


def test_quiet_progress_says_nothing_and_keeps_the_seconds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shown = TerminalProgress(quiet=True)
    go_through(shown)
    assert capsys.readouterr() == ("", "")
    shown.write_timings(tmp_path / "timings.json")
    seconds = json.loads((tmp_path / "timings.json").read_text())["seconds"]
    assert set(seconds) == {"counting exact answers", "playing rounds"}


def test_a_round_outside_any_stage_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    shown = TerminalProgress()
    shown.share(0.5)
    shown.round(1, 2, 0.0)
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_a_long_stage_says_now_and_then_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINES_APART", 0.0)
    shown = TerminalProgress()
    go_through(shown)
    with stage(shown, "fitting records"):
        shown.step(1, 4, "objective 3.5 [m]")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines[:2]] == [
        "counting exact answers: 50%",
        f"counting exact answers: {shown.seconds['counting exact answers']:.2f} s",
    ]
    assert lines[2].startswith("playing rounds: 1 of 2, value +0.250, ")
    assert lines[2].endswith(" s left")
    assert lines[4] == "fitting records: 1 of 4, objective 3.5 [m]"  # steps of unlike times: no estimate
    assert len(lines) == 6  # the last round of a stage has the stage's own line


def test_a_stage_that_comes_again_has_a_line_with_its_own_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    shown = TerminalProgress()
    shown.seconds["playing rounds"] = 1_000.0
    with stage(shown, "playing rounds"):
        pass
    assert capsys.readouterr().err == "playing rounds: 0.00 s\n"
    assert shown.seconds["playing rounds"] >= 1_000


def test_lines_of_one_stage_are_apart(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalProgress() as shown, stage(shown, "playing rounds"):
        for number in range(1, 200):
            shown.round(number, 200, 0.0)
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7_512, "2 h 05 min")]
)
def test_waiting_is_reported_in_its_largest_units(seconds: float, text: str) -> None:
    assert module.in_words(seconds) == text


# Run log.


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def interrupted(folder: Path, rounds: int) -> None:
    """Cut the transcript of a finished release off behind so many rounds, as if it had been killed there."""
    out = folder / "out"
    (out / "release.json").unlink()
    (out / "synthetic.csv").unlink()
    lines = (out / "transcript.jsonl").read_text().splitlines(keepends=True)
    (out / "transcript.jsonl").write_text("".join(lines[: 1 + 3 * rounds]))


def test_a_log_of_a_release_and_of_its_continuation(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    succeed(*release_arguments(tmp_path, "--n0", 200, "--log", log, "--quiet"))
    first = events(log)
    assert (first[0]["event"], first[0]["command"], first[-1]["event"]) == ("run", "release", "finish")
    stages = [line["stage"] for line in first if line["event"] == "begin"]
    assert stages == ["reading the table", "planning", "counting exact answers", "playing rounds", "writing records"]
    assert [line["stage"] for line in first if line["event"] == "end"] == stages
    interrupted(tmp_path, 2)
    succeed("resume", tmp_path / "out", tmp_path / "people.csv", "--log", log, "--quiet")
    second = events(log)[len(first) :]
    assert (second[0]["event"], second[0]["command"], second[-1]["event"]) == ("run", "resume", "finish")
    rounds = [line for line in second if line["event"] == "round"]
    assert [(line["round"], line["from_file"]) for line in rounds] == [
        (1, True), (2, True), (3, False), (4, False), (5, False),
    ]  # fmt: skip
    assert [line["solve_seconds"] is None for line in rounds] == [True, True, False, False, False]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == words(
        "README.txt plan.json release.json schema.json synthetic.csv transcript.jsonl workload.json"
    )


def test_a_log_is_refused_where_it_would_be_published_or_lost(tmp_path: Path) -> None:
    arguments = release_arguments(tmp_path)
    inside = refuse(*arguments, "--log", tmp_path / "out" / "run.log")
    assert "lies in the release folder, which may be published" in inside
    assert "cannot be written" in refuse(*arguments, "--log", tmp_path / "nowhere" / "run.log")
    assert "cannot be written" in refuse(*arguments, "--log", tmp_path)
    assert "is not a log of dpopt" in refuse(*arguments, "--log", tmp_path / "people.csv")
    both = refuse(*arguments, "--log", tmp_path / "x", "--timings", tmp_path / "x")
    assert "name two files" in both
    assert not (tmp_path / "out").exists()


def test_a_refused_run_ends_its_log_so(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    arguments = release_arguments(tmp_path)
    arguments[1] = tmp_path / "nobody.csv"
    refuse(*arguments, "--log", log, "--quiet")
    assert not log.exists() or events(log)[-1]["event"] == "failed"
    succeed(*release_arguments(tmp_path, "--quiet"))
    refuse("resume", tmp_path / "out", tmp_path / "people.csv", "--log", log, "--quiet")
    assert (events(log)[-1]["event"], events(log)[-1]["error"]) == ("failed", "ReleaseFolderError")
