"""`dpopt compare`: small instances and rounds, in this process and interrupted in one of its own."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dpopt.cli.commands.compare import Running
from tests.algorithms.small_runs import small_release
from tests.cli.command_line import call, inputs, refuse, start, succeed
from tests.cli.test_interruption import stopped
from tests.comparison.comparisons import comparison
from tests.comparison.test_cases import write

pytestmark = [pytest.mark.solver("highs"), pytest.mark.solver("cp-sat")]
SOLVERS = "local-search,cp-sat,highs:aggregated"
FILES = ["leaderboard.md", "performance_profile.png", "results.csv", "results.json"]


def test_instances_are_compared_and_everything_is_written(tmp_path: Path) -> None:
    instance = write(tmp_path / "set" / "tiny.toml")
    write(tmp_path / "set" / "other.toml", "[problem]\nrows = 3\n")
    result = call(*("compare", instance.parent, "--solvers", SOLVERS, "--seconds", 1, "--out", tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert "left out:" in result.stderr
    text = result.stdout
    assert "tiny: 2 attributes, 2 clauses; proven bound 3" in text
    assert "1 case, 1 s each" in text
    assert "highs:aggregated" in text
    assert "…" not in text  # nothing is cut off
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").read_text().splitlines()))
    assert [(row["solver"], row["value"]) for row in rows] == [(name, "3") for name in SOLVERS.split(",")]
    picture = (tmp_path / "out" / "performance_profile.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 5_000


def test_the_benchmark_is_run_by_name_with_a_leaderboard(tmp_path: Path) -> None:
    """The same rows as of `dpopt compare` on the instance's file."""
    asked = ("--solvers", "cp-sat,highs:clique", "--seconds", 5, "--json")
    found = json.loads(succeed("bench", "run", "worked-example", *asked, "--out", tmp_path / "out"))
    assert [(row["case"], row["solver"], row["value"]) for row in found["rows"]] == [
        ("worked-example", "cp-sat", 2),
        ("worked-example", "highs:clique", 2),
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    board = (tmp_path / "out" / "leaderboard.md").read_text()
    assert board.startswith("5 s for each solver and problem; threads: 1\n\n| solver | answered |")
    assert "| worked-example | 2 | 2 |" in board
    assert all(0 <= one["primal_integral"] < 5 and 0 <= one["dual_integral"] < 5 for one in found["summary"])


def test_without_names_the_benchmark_is_every_round_of_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[list[str]] = []
    monkeypatch.setattr(Running, "show", lambda self, cases: taken.append([case.name for case in cases()]))
    succeed("bench", "run")
    assert len(taken[0]) == 36
    assert {name.partition("-")[0] for name in taken[0]} == {"adult", "kdd99", "wide"}


def test_an_instance_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "unheard does not exist" in refuse("bench", "run", "unheard", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_rounds_of_a_transcript_are_compared(tmp_path: Path) -> None:
    small_release(tmp_path / "release")
    out = succeed(
        *("compare", "--release", tmp_path / "release", "--round-numbers", "2,5", "--solvers", "cp-sat"),
        *("--seconds", 1, "--json"),
    )
    found = json.loads(out)
    assert [case["name"] for case in found["cases"]] == ["round 2", "round 5"]
    assert all(row["value"] == row["best_value"] for row in found["rows"])


@pytest.mark.solver("clarabel")
@pytest.mark.solver("cbc")
def test_models_are_compared_by_name_with_their_certificates(tmp_path: Path) -> None:
    names = ["isotonic_regression", "whole_tree_consistency", "consistent_records"]
    solvers = ["closed-form", "clarabel", "cbc", "local-search"]
    out = succeed(
        *("compare", "--model", ",".join(names), "--solvers", ",".join(solvers), "--seconds", 5),
        *("--out", tmp_path / "out"),
    )
    assert "isotonic_regression: 4 variables, 3 rows; proven bound 7 (weak duality" in out
    assert "proven gap" in out
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    rows = {(row["case"], row["solver"]): row for row in found["rows"]}
    assert len(rows) == 12
    answered = {"isotonic_regression": 2, "whole_tree_consistency": 1, "consistent_records": 2}
    for name, number in answered.items():
        taken = [rows[name, solver] for solver in solvers if rows[name, solver]["value"] is not None]
        assert len(taken) == number, name
        for row in taken:
            assert row["value"] == pytest.approx(row["best_value"], rel=1e-6)
            assert row["violation"] <= 1e-6
            assert abs(row["proven_gap"]) <= 1e-6 * max(1, abs(row["value"]))
            assert row["remarks"] == ["proven optimal"]
    refused = rows["whole_tree_consistency", "closed-form"]
    assert (refused["status"], refused["detail"]) == (
        "refused",
        "the model has no closed form and no method of its own",
    )
    assert rows["isotonic_regression", "local-search"]["status"] == "refused"
    assert [one["false_claims"] for one in found["summary"]] == [0] * 4


@pytest.mark.solver("osqp")
def test_a_model_is_compared_on_numbers_of_a_file_and_of_a_released_histogram(tmp_path: Path) -> None:
    (tmp_path / "numbers.json").write_text('{"values": [14, 9, 10, 15], "total": 52}')
    options = ["--solvers", "closed-form,osqp", "--seconds", 5, "--json"]
    out = succeed("compare", "--model", "isotonic_regression", "--data", tmp_path / "numbers.json", *options)
    assert [row["value"] for row in json.loads(out)["rows"]] == [9, pytest.approx(9)]
    table, schema = inputs(tmp_path)
    succeed(
        *("histogram", "release", table, "--schema", schema, "--column", "age", "--epsilon", 1),
        *("-o", tmp_path / "ages.npz"),
    )
    options = ["--histogram", tmp_path / "ages.npz", *options]
    found = json.loads(succeed("compare", "--model", "tree_consistency", *options))
    assert [row["status"] for row in found["rows"]] == ["optimal", "optimal"]
    assert found["rows"][0]["value"] == pytest.approx(found["rows"][1]["value"], rel=1e-6)
    assert found["rows"][0]["proven_gap"] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give instances (files *.toml or folders of them), or --release with a release folder, or --model"),
        (["x.toml", "--model", "projection"], "and not both"),
        (["x.toml", "--data", "y.json"], "--data and --histogram belong to --model"),
        (["--model", "projection,projection"], "names a model twice"),
        (["--model", "nothing"], "there is no model 'nothing'"),
        (["--model", "projection,isotonic_regression", "--data", "y.json"], "are for one model"),
        (["--model", "projection", "--histogram", "y.npz"], "--histogram belongs to tree_consistency"),
        (["--model", "projection", "--solvers", "highs:clique"], "a model has one formulation"),
        (["nowhere"], "nowhere does not exist"),
        (["x.toml", "--solvers", "nobody"], "there is no solver 'nobody'"),
        (["x.toml", "--solvers", "cp-sat,cp-sat"], "--solvers names cp-sat twice"),
        (["x.toml", "--solvers", "highs,highs:per-literal"], "--solvers names highs:per-literal twice"),
        (["x.toml", "--solvers", ","], "--solvers names no solver"),
        (["x.toml", "--solvers", "cp-sat:clique"], "leave ':clique' out"),
        (["x.toml", "--solvers", "highs:best"], "a formulation is one of"),
        (["x.toml", "--seconds", "0"], "seconds must be a finite number above 0"),
        (["x.toml", "--threads", "0"], "threads must be a whole number of at least 1, found 0"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(words: list[str], message: str) -> None:
    assert message in refuse("compare", *words)


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    instance = write(tmp_path / "tiny.toml")
    assert "is not empty" in refuse("compare", instance, "--out", tmp_path)


def test_instances_and_a_transcript_together_are_refused(tmp_path: Path) -> None:
    instance = write(tmp_path / "tiny.toml")
    assert "and not both" in refuse("compare", instance, "--release", tmp_path)
    assert "not both" not in refuse("compare")


def test_an_interruption_keeps_the_rows_that_are_done(tmp_path: Path) -> None:
    for number in range(20):
        write(tmp_path / "set" / f"case{number}.toml")
    results = tmp_path / "out" / "results.json"
    process = start(
        *("compare", tmp_path / "set", "--solvers", "local-search", "--seconds", 1, "--out", results.parent)
    )
    code, _, messages = stopped(process, results.exists)
    assert code == 130, messages
    kept = len(json.loads(results.read_text())["rows"])
    assert 1 <= kept < 20
    assert messages.splitlines()[-1] == f"interrupted after {kept} of 20 rows; they are kept in {results.parent}"
    assert sorted(path.name for path in results.parent.iterdir()) == FILES


def test_tables_mark_the_solvers_own_word_and_false_claims(capsys: pytest.CaptureFixture[str]) -> None:
    from dpopt.cli.reports.reports_compare import report_case, report_comparison

    report_case(comparison(), "first")
    text = capsys.readouterr().out
    good = next(line for line in text.splitlines() if " good " in line)
    assert [cell.strip() for cell in good.split("│")[2:8]] == ["50*", "100*", "100", "100", "104", "4"]
    assert "*: incumbents as the solver states them" in text
    assert "quick: FALSE: states the bound 90, and 100 is reached" in text
    report_case(comparison(), "second")
    assert "quick: failed: signal 11, at once" in capsys.readouterr().out
    report_comparison(comparison())
    assert "2 cases, 5 s each" in capsys.readouterr().out


@pytest.mark.parametrize("below", ["", "cmp", "deep/er"])
def test_the_release_folder_is_never_written_to(tmp_path: Path, below: str) -> None:
    small_release(tmp_path / "rel")
    instance = write(tmp_path / "tiny.toml")
    before = sorted(tmp_path.rglob("*"))
    for words in (["--release", tmp_path / "rel"], [instance]):
        assert "in the release folder" in refuse("compare", *words, "--out", tmp_path / "rel" / below)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_interruption_before_the_first_row_claims_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpopt.comparison.compare.run_comparison", interrupted)
    instance = write(tmp_path / "tiny.toml")
    result = call("compare", instance, "--solvers", "local-search", "--out", tmp_path / "out")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "interrupted before the first row was done: nothing is kept"
