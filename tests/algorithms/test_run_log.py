from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dpopt.algorithms.release import release
from dpopt.algorithms.run_release import run_release
from dpopt.cli.reports import reporting as module
from dpopt.cli.reports.reporting import RunLog
from dpopt.errors import PlanError
from dpopt.releases.progress import Pace, Progress, Together, stage
from dpopt.releases.run import Sources
from tests.algorithms.small_runs import SCHEMA, Heard, dataset, job, seeded, small_release, write_table


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_log_has_a_line_for_the_run_each_stage_round_step_and_note(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    log = RunLog(path, command="release")
    log.note("a remark")
    log.owner_note("13 rows break a rule")
    with stage(log, "playing rounds"):
        log.figures(lambda: {"rho": 0.5})
        log.round(1, 2, 0.25)
        assert [line["event"] for line in lines(path)] == ["run", "note", "begin", "round"]  # at once
        log.step(2, 2, "query 7")
    log.line("finish")
    log.close()
    run, note, begin, played, step, end, finish = lines(path)
    assert run["command"] == "release"
    assert {"dpopt", "started", "process"} <= run.keys()
    assert note["text"] == "a remark"
    assert begin["stage"] == end["stage"] == played["stage"] == "playing rounds"
    assert (played["round"], played["rounds"], played["value"], played["rho"]) == (1, 2, 0.25, 0.5)
    assert (step["step"], step["steps"], step["what"]) == (2, 2, "query 7")
    assert "rho" not in step  # figures are those of one round
    assert 0 <= played["taken_seconds"] <= end["stage_seconds"] <= finish["seconds"]
    assert end["peak_bytes"] > 1_000_000
    assert "13 rows" not in path.read_text(encoding="utf-8")
    seconds = [line["seconds"] for line in (run, note, begin, played, step, end, finish)]
    assert seconds == sorted(seconds)


def test_a_log_is_continued_also_behind_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    RunLog(path, command="release").close()
    with path.open("a") as file:
        file.write('{"event": "round", "sec')
    RunLog(path, command="resume").close()
    first, torn, second = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(first)["command"] == "release"
    assert torn == '{"event": "round", "sec'
    assert json.loads(second)["command"] == "resume"


def test_a_file_that_is_no_log_is_not_written_into(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("age,smoker\n30,true\n")
    with pytest.raises(PlanError, match="is not a log of dpopt; name another file"):
        RunLog(table)
    assert table.read_text() == "age,smoker\n30,true\n"


def test_a_log_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot be written"):
        RunLog(tmp_path / "nowhere" / "run.log")


def test_a_full_disk_ends_the_log_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = RunLog(tmp_path / "run.log")
    written = (tmp_path / "run.log").read_bytes()

    def full(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("os.write", full)
        log.note("lost")
    log.note("lost too")
    log.close()
    assert (tmp_path / "run.log").read_bytes() == written


def test_shares_are_written_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.log"
    log = RunLog(path)
    with stage(log, "counting exact answers"):
        log.share(0.25)
        monkeypatch.setattr(module, "SHARES_APART", 0.0)
        log.share(0.5)
        log.share(0.75)
    shares = [line for line in lines(path) if line["event"] == "share"]
    assert [(line["stage"], line["share"]) for line in shares] == [
        ("counting exact answers", 0.5),
        ("counting exact answers", 0.75),
    ]
    assert all(line["seconds_left"] >= 0 for line in shares)


def test_the_log_of_a_run_tells_of_each_round_what_its_transcript_and_ledger_hold(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "run.log")
    made = run_release(dataset(), job(), tmp_path / "out", sources=Sources(sampler=seeded()), progress=log)
    log.close()
    rounds = [line for line in lines(tmp_path / "run.log") if line["event"] == "round"]
    assert [line["round"] for line in rounds] == [done.sampled.round for done in made.played]
    for line, done in zip(rounds, made.played, strict=True):
        assert (line["algorithm"], line["draws"], line["rounds"]) == ("dualquery", 8, 6)
        assert (line["objective"], line["bound"]) == (done.certificate.objective, done.certificate.bound)
        assert (line["stopped"], line["fallback"], line["solver"]) == (done.stopped, done.fallback, done.solver)
        assert line["from_file"] is False
        assert 0 <= line["solve_seconds"] <= line["taken_seconds"]
    for path in (tmp_path / "out").iterdir():
        assert "solve_seconds" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("algorithm", ["mwem", "projection", "fem", "dualquery"])
def test_the_spent_budget_grows_to_what_is_released(tmp_path: Path, algorithm: str) -> None:
    log = RunLog(tmp_path / "run.log")
    rounds: dict[str, Any] = {"selections": 3} if algorithm == "projection" else {"rounds": 3}
    settings: dict[str, Any] = {
        "algorithm": algorithm,
        "epsilon": 20.0,
        "delta": 1e-6,
        "predict": False,
        "values_share": 0,  # which is spent after the rounds
        **rounds,
    }
    made = release(write_table(tmp_path), SCHEMA, "marginals:2", **settings, progress=log)
    log.close()
    spent = [
        line["rho"] for line in lines(tmp_path / "run.log") if line["event"] in {"round", "step"} and "rho" in line
    ]
    assert len(spent) == 3
    assert spent == sorted(spent)
    assert spent[-1] == pytest.approx(made.ledger.spent().rho)


def test_together_passes_everything_on() -> None:
    one, other = Heard(), Heard()
    both = Together(one, other)
    with stage(both, "playing"):
        both.note("n")
        both.owner_note("o")
        both.share(0.5)
        both.round(1, 2, 0.5)
        both.step(1, 2, "s")
        both.figures(lambda: {"rho": 1.0})
    for heard in (one, other):
        assert (heard.notes, heard.for_the_owner, heard.stages, heard.shares) == (["n"], ["o"], ["playing"], [0.5])
        assert (heard.rounds, heard.steps) == ([(1, 2, 0.5)], [(1, 2, "s")])
        assert heard.of_rounds == [{"rho": 1.0}]
        assert set(heard.seconds) == set(both.seconds) == {"playing"}


def test_time_left_forgets_the_rounds_that_were_read_back_at_once() -> None:
    pace = Pace(0.0)
    assert pace.seconds_left(0.0, 0.0) is None
    assert pace.seconds_left(0.5, 2.0) == pytest.approx(2.0)  # half was on file
    left = [pace.seconds_left(0.5 + 0.001 * second, 2.0 + second) for second in range(1, 60)]
    assert left[-1] == pytest.approx((0.5 - 0.059) / 0.001)


def test_without_a_log_no_figures_are_asked_for() -> None:
    def figures() -> dict[str, float]:
        raise AssertionError("asked")

    Progress().figures(figures)
    assert small_release().played
