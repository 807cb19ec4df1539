from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.command_line import refuse, release_arguments, succeed, words


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
        (1, True),
        (2, True),
        (3, False),
        (4, False),
        (5, False),
    ]
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
