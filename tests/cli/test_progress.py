from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from dpopt.algorithms.progress import stage
from dpopt.cli import progress as module
from dpopt.cli.progress import TerminalProgress


def go_through(shown: TerminalProgress) -> None:
    with shown:
        with stage(shown, "counting exact answers"):
            shown.share(0.5)
        with stage(shown, "playing rounds"):
            shown.round(1, 2, 0.25)
            shown.round(2, 2, -0.5)


def test_without_a_terminal_each_stage_is_a_line_of_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    go_through(TerminalProgress())
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["counting exact answers", "playing rounds"]
    assert all(line.endswith(" s") for line in lines)


def test_a_terminal_shows_bars_rounds_and_values(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        module,
        "Console",
        lambda stderr, quiet: Console(stderr=stderr, quiet=quiet, force_terminal=True, width=120),
    )
    go_through(TerminalProgress())
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2 of 2, value -0.500" in shown.err
    assert "counting exact answers" in shown.err


def test_quiet_progress_says_nothing_and_keeps_the_seconds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
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
