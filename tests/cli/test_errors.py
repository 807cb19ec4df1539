from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dpopt.algorithms.registry import OPTIONS as ALGORITHMS
from dpopt.errors import PrivateDataError, SchemaError
from tests.cli.command_line import COMMAND, call, inputs, refuse, release_arguments, succeed, words

NAMED = ["--algorithm", "dualquery"]
OWNER = "(This message may quote the table: it is for its owner and is stored nowhere.)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "give the budget as --epsilon (with --delta, or without), or as --rho, and not both"),
        ("--epsilon 1 --delta 1e-06 --rho 1", "and not both"),
        ("--epsilon -1 --delta 1e-06", "epsilon of a budget: found -1.0"),
        ("--epsilon 1 --delta 1", "delta of a budget: found 1.0, expected a number between 0 and 1"),
        ("--epsilon 1 --delta 1.5", "delta of a budget: found 1.5"),
        ("--rho 1 --accountant pure", "found 'pure', expected 'zcdp'"),
        ("--rho 1 --accountant moments", "--accountant is one of"),
        ("--rho 1 --neighbours remove", "--neighbours is one of replace, add-remove; found 'remove'"),
        ("--rho 1 --algorithm dualquery --plan-by hand", "--plan-by is rule or bound"),
        ("--rho 1 --algorithm dualquery --free-attributes zero", "--free-attributes is one of"),
        ("--rho 1 --on-invalid keep", "found 'keep'"),
        ("--rho 1 --solver simplex", "there is no solver 'simplex'"),
        ("--rho 1 --solver highs:tight", "a formulation is one of aggregated, per-literal, clique; found 'tight'"),
        ("--rho 1 --algorithm mst", f"--algorithm is one of {', '.join(ALGORITHMS)}; found 'mst'"),
        ("--rho 1 --algorithm projetcion", "found 'projetcion'; did you mean 'projection'?"),
        ("--rho 1 --format xlsx", "the format is one of csv, parquet, npz, baskets; found 'xlsx'"),
        ("--rho 1 --rows 0", "the number of rows must be a whole number of at least 1, found 0"),
        ("--rho 1 --algorithm dualquery --work 0", "the work per round must be a whole number of at least 1"),
        ("--rho 1 --algorithm dualquery --seconds -1", "the seconds per round must be a finite number above 0"),
        ("--rho 1 --seed -1", "the seed must be a whole number of at least 0"),
        ("--rho 1 --algorithm dualquery --step x", "the step eta must be a decimal number"),
        ("--rho 1 --neighbours replace --n0 150", "n0 belongs to add-remove"),
        ("--rho 1 --workload marginals:9", "9-way queries were asked for"),
        ("--rho 1 --workload all", "'all'"),
        ("--rho 1 --workload none.json", "none.json"),
        ("--rho 1 --workload conjunctions:2,count=99999999999", "99,999,999,999 conjunctions"),
        ("--rho 1 --workload marginals:2,occurring", "the schema declares none"),
        ("--algorithm dualquery --rho 1e-09 --n0 200", "is too small for two rounds on n = 200 records"),
        (
            "--rho 0.001 --n0 200 --algorithm dualquery --rounds 99 --draws 99 --step 2",
            "T = 99, s = 99, eta = 2 cost epsilon",
        ),
    ],
)
def test_what_is_wrong_with_a_release_is_one_message_and_leaves_nothing_behind(
    tmp_path: Path, options: str, message: str
) -> None:
    table, schema = inputs(tmp_path)
    usual = ["--schema", schema, "--workload", "marginals:2", "--out", tmp_path / "out", "--no-predict"]
    text = refuse("release", table, *usual, *words(options))
    assert message in text
    assert text.splitlines()[-1].startswith("error: ")
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "schema.json"}


def damaged(text: str, damage: str) -> str:
    """Return a table of four attributes, damaged."""
    header, first, second, *rest = text.splitlines()
    lines = {
        "value": [header, first, second.replace(second.split(",")[0], "mauve"), *rest],
        "number": [header, first, second.replace(second.split(",")[1], "77"), *rest],
        "column": [",".join(line.split(",")[:3]) for line in (header, first, second, *rest)],
        "empty": [header],
        "nothing": [],
        "short row": [header, first, "red,10", *rest],
        "long row": [header, first, second + ",more", *rest],
        "quotation": [header, first, '"red,10,true,north', *rest],
    }[damage]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("damage", "messages"),
    [
        ("value", ["column 'colour': 1 row does not fit", "line 3: 'mauve' is not a declared value"]),
        ("number", ["column 'age'", "line 3: 77 lies outside [0, 60]", "--on-invalid clip"]),
        ("column", ["'town'"]),
        ("empty", ["has no rows; expected at least one record"]),
        ("nothing", ["people.csv"]),
        ("short row", ["line 3"]),
        ("long row", ["line 3"]),
        ("quotation", ["people.csv"]),
    ],
)
def test_a_table_that_does_not_fit_is_explained_to_its_owner(tmp_path: Path, damage: str, messages: list[str]) -> None:
    arguments = release_arguments(tmp_path)
    table = tmp_path / "people.csv"
    table.write_text(damaged(table.read_text(), damage))
    text = refuse(*arguments)
    assert [message for message in messages if message not in text] == []
    assert OWNER in text
    assert not (tmp_path / "out").exists()


def test_files_that_are_not_there_or_no_files_are_named(tmp_path: Path) -> None:
    arguments = release_arguments(tmp_path)
    assert "there is no file" in refuse("release", tmp_path / "peple.csv", *arguments[2:])
    assert "did you mean 'people.csv'?" in refuse("release", tmp_path / "peple.csv", *arguments[2:])
    (tmp_path / "folder").mkdir()
    assert "holds no Parquet files" in refuse("release", tmp_path / "folder", *arguments[2:])
    arguments[3] = tmp_path / "none.json"
    assert "none.json' cannot be read: No such file or directory" in refuse(*arguments)
    arguments[3] = tmp_path / "peple.csv"
    assert "did you mean 'people.csv'?" in refuse(*arguments)
    arguments[3] = tmp_path
    assert "cannot be read: Is a directory" in refuse(*arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON: line 1"),
        ("[]", "schema"),
        ('{"dpopt_schema": 2, "attributes": []}', "2"),
        ('{"dpopt_schema": 1, "attributes": []}', "at least one attribute"),
        ('{"dpopt_schema": 1, "attributes": [{"name": "x", "type": "colour"}]}', "colour"),
        ('{"dpopt_schema": 1, "attributes": [{"name": "x", "type": "boolean", "sort": 1}]}', "sort"),
    ],
)
def test_a_schema_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    arguments = release_arguments(tmp_path)
    (tmp_path / "schema.json").write_text(text)
    assert message in refuse(*arguments)
    assert message in refuse("plan", *arguments[2:6], "--n", 9, "--rho", 1)


def test_an_out_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    arguments = release_arguments(tmp_path)
    arguments[arguments.index("--out") + 1] = tmp_path
    assert "is not empty. Choose a new folder" in refuse(*arguments)
    arguments[arguments.index("--out") + 1] = tmp_path / "people.csv"
    assert "Choose a folder that can be written" in refuse(*arguments)
    arguments[arguments.index("--out") + 1] = tmp_path / "people.csv" / "out"
    assert "Not a directory" in refuse(*arguments)


def test_folders_that_are_no_releases_are_refused_by_each_command(tmp_path: Path) -> None:
    table, _ = inputs(tmp_path)
    for asked in (["resume", tmp_path, table], ["evaluate", tmp_path, table], ["replay", tmp_path, "-o", "x"]):
        assert "is not a release folder: it has no file plan.json" in refuse(*asked)


def test_a_finished_run_is_not_resumed_and_its_table_is_not_even_opened(tmp_path: Path) -> None:
    succeed(*release_arguments(tmp_path))
    assert "has ended; there is nothing to resume" in refuse("resume", tmp_path / "out", tmp_path / "none.csv")


def test_a_run_that_has_not_ended_is_neither_replayed_nor_evaluated(tmp_path: Path) -> None:
    arguments = release_arguments(tmp_path)
    succeed(*arguments)
    transcript = tmp_path / "out" / "transcript.jsonl"
    (tmp_path / "out" / "release.json").unlink()
    transcript.write_text("".join(transcript.read_text().splitlines(keepends=True)[:5]))
    hint = f"has not ended; continue it with 'dpopt resume {tmp_path / 'out'} TABLE'"
    assert hint in refuse("replay", tmp_path / "out", "-o", tmp_path / "again")
    assert hint in refuse("evaluate", tmp_path / "out", tmp_path / "people.csv")
    assert not (tmp_path / "again").exists()
    succeed("resume", tmp_path / "out", tmp_path / "people.csv", "--quiet")
    succeed("replay", tmp_path / "out", "-o", tmp_path / "again")


def test_a_run_is_not_resumed_with_another_table(tmp_path: Path) -> None:
    succeed(*release_arguments(tmp_path, "--neighbours", "replace"))
    (tmp_path / "out" / "release.json").unlink()
    lines = (tmp_path / "people.csv").read_text().splitlines(keepends=True)
    (tmp_path / "shorter.csv").write_text("".join(lines[:-1]))
    text = refuse("resume", tmp_path / "out", tmp_path / "shorter.csv")
    assert "the table has 199 records but the plan was made for n = 200" in text
    assert OWNER in text


def raising(error: BaseException) -> Any:
    def function(*_: object, **__: object) -> None:
        raise error

    return function


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (SchemaError("bad schema"), 2, "error: bad schema\n"),
        (PrivateDataError("bad value"), 2, f"error: bad value\n{OWNER}\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (MemoryError(), 2, "error: not enough memory; take a smaller workload, or more memory\n"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "f"), 2, "error: No space left on device: f\n"),
        (OSError("odd"), 2, "error: odd\n"),
    ],
)
def test_every_error_of_a_command_is_one_message(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    monkeypatch.setattr("dpopt.solvers.registry.solver_names", raising(error))
    result = call("solvers")
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", message)


def test_a_defect_is_reported_without_what_it_saw_unless_the_owner_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    defect = ZeroDivisionError("division of the private value 17")
    monkeypatch.setattr("dpopt.solvers.registry.solver_names", raising(defect))
    result = call("solvers")
    assert result.exit_code == 2
    assert "internal error (ZeroDivisionError). This is a defect of dpopt" in result.stderr
    assert "17" not in result.stderr
    monkeypatch.setenv("DPOPT_TRACEBACK", "1")
    assert call("solvers").exception is defect


def test_a_reader_that_goes_away_is_no_error_worth_a_traceback(tmp_path: Path) -> None:
    _, schema = inputs(tmp_path)
    planned = [*COMMAND, "plan", "--schema", str(schema), "--workload", "marginals:2", "--n", "5000"]
    budget = ["--rho", "1", "--algorithm", "projection", "--no-predict", "--json"]
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([*planned, *budget], stdout=write_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write_end)
    assert "Traceback" not in done.stderr
    assert done.returncode != 0


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_outputs_that_cannot_encode_a_name_show_escapes(tmp_path: Path, encoding: str) -> None:
    """Tables, lines, progress and errors of every command; files are UTF-8 all the same."""
    towns = ["北京", "上海", "广州"]
    table, draft, out = tmp_path / "t.csv", tmp_path / "草稿.json", tmp_path / "out"
    table.write_text("城市,n\n" + "".join(f"{towns[row % 3]},{row % 40}\n" for row in range(400)), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}

    def run(*arguments: object) -> subprocess.CompletedProcess[bytes]:
        found = subprocess.run(
            [*COMMAND, *map(str, arguments)], env=environment, capture_output=True, check=False, timeout=300
        )
        assert b"internal error" not in found.stderr, found.stderr
        assert b"Traceback" not in found.stderr, found.stderr
        found.stdout.decode(encoding)
        return found

    drafted = run("schema", "infer", table, "-o", draft)
    assert drafted.returncode == 0
    assert b"\\u57ce\\u5e02" in drafted.stdout
    schema = json.loads(draft.read_text(encoding="utf-8"))
    assert set(schema["attributes"][0]["values"]) == set(towns)
    draft.write_text(json.dumps(schema | {"draft": False}, ensure_ascii=False), encoding="utf-8")
    arguments = (table, "--schema", draft, "--epsilon", 1, "--n0", 400, "--no-predict", "--details")
    assert run("release", *arguments, "--out", out).returncode == 0
    assert (out / "synthetic.csv").read_text(encoding="utf-8").startswith("城市,n\n")
    evaluated = run("evaluate", out, table)
    assert evaluated.returncode == 0
    assert b"\\u57ce\\u5e02" in evaluated.stdout
    table.write_text("城市,n\n东京,1\n", encoding="utf-8")
    refused = run("schema", "check", table, "--schema", draft)
    assert refused.returncode == 2
    assert b"\\u4e1c\\u4eac" in refused.stderr
