from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from dpopt.cli.reports.progress import TerminalProgress
from dpopt.files.written_files import whole_file
from dpopt.schema.schema import Schema
from tests.algorithms.small_runs import SCHEMA, WITH_BUCKETS, codes, write_table
from tests.cli.command_line import (
    call,
    demonstration,
    flat,
    inputs,
    refuse,
    release_arguments,
    statement,
    succeed,
    words,
)


def test_a_release_says_what_was_spent_and_where_it_is(tmp_path: Path) -> None:
    text = succeed(*release_arguments(tmp_path))
    privacy = statement(tmp_path / "out")["privacy"]
    assert f"spent:      epsilon = {privacy['epsilon']:.4f} at delta = 1e-06" in text
    assert "for one record. An attacker who is wrong about 5 % of outsiders" in text
    assert f"{privacy['public_size']:,} rows in {tmp_path / 'out' / 'synthetic.csv'}" in text
    assert "with weights" not in text
    lines = text.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["verdict", "records", "spent"]
    assert lines[-2].startswith(f"next:       dpopt report {tmp_path / 'out'} ")
    assert lines[-3].startswith("to publish: first check the ten points")


def test_progress_goes_to_standard_error_one_line_per_stage(tmp_path: Path) -> None:
    result = call(*release_arguments(tmp_path, "--details"))
    reported = dict.fromkeys(line.split(":")[0] for line in result.stderr.splitlines())  # long stages tell more
    assert list(reported) == [
        "warning", "note", "reading the table", "counting records", "planning", "counting exact answers",
        "playing rounds", "writing records",
    ]  # fmt: skip


@pytest.mark.parametrize(("epsilon", "said"), [(1, []), (1e5, ["warning"])])
def test_a_quiet_release_says_only_what_warns_of_privacy(tmp_path: Path, epsilon: float, said: list[str]) -> None:
    result = call(*release_arguments(tmp_path, "--quiet", "--epsilon", epsilon, "--n0", 200))
    assert (result.stdout, [line.split(":")[0] for line in result.stderr.splitlines()]) == ("", said)
    assert (tmp_path / "out" / "release.json").exists()


def test_a_name_with_brackets_and_colons_is_printed_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "[bold]x :smile: [i"
    place.mkdir()
    assert str(place) in succeed(*release_arguments(place))


def test_columns_that_the_schema_does_not_name_are_pointed_out(tmp_path: Path) -> None:
    arguments = release_arguments(tmp_path)
    table = tmp_path / "people.csv"
    pd.read_csv(table, dtype=str, keep_default_na=False).assign(note="x").to_csv(table, index=False)
    assert "ignored columns, which the schema does not name: note" in call(*arguments).stderr


def test_timings_go_to_the_file_that_the_owner_names_and_nowhere_else(tmp_path: Path) -> None:
    succeed(*release_arguments(tmp_path, "--timings", tmp_path / "timings.json"))
    seconds = json.loads((tmp_path / "timings.json").read_text())["seconds"]
    assert list(seconds) == [
        "reading the table", "counting records", "planning", "counting exact answers", "playing rounds",
        "writing records",
    ]  # fmt: skip
    assert all(value >= 0 for value in seconds.values())
    for path in (tmp_path / "out").iterdir():
        assert "seconds" not in path.read_text().replace('"seconds": null', "")


def test_a_release_stands_where_a_disk_is_full_for_its_timings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def full(self: TerminalProgress, path: Path) -> None:
        with monkeypatch.context() as disk:
            disk.setattr(os, "fsync", no_space)
            with whole_file(path, private=True) as file:
                file.write(b"{}")

    monkeypatch.setattr(TerminalProgress, "write_timings", full)
    done = call(*release_arguments(tmp_path, "--timings", tmp_path / "timings.json"))
    assert done.exit_code == 0
    assert "warning: " in done.stderr
    assert "timings.json cannot be written: No space left on device" in flat(done.stderr)
    assert "to publish:" in done.stdout
    assert (tmp_path / "out" / "release.json").exists()


def test_timings_are_refused_where_they_would_be_published_or_lost(tmp_path: Path) -> None:
    arguments = release_arguments(tmp_path)
    inside = refuse(*arguments, "--timings", tmp_path / "out" / "timings.json")
    assert "lies in the release folder, which may be published" in inside
    assert "cannot be written" in refuse(*arguments, "--timings", tmp_path / "nowhere" / "timings.json")
    assert "cannot be written" in refuse(*arguments, "--timings", tmp_path)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("suffix", "expected"), [("csv", "csv"), ("parquet", "parquet"), ("pq", "parquet")])
def test_records_are_written_in_the_format_of_the_table(tmp_path: Path, suffix: str, expected: str) -> None:
    arguments = release_arguments(tmp_path)
    write_table(tmp_path, name="people.parquet").rename(tmp_path / "people.pq")
    write_table(tmp_path, name="people.parquet")
    arguments[1] = tmp_path / f"people.{suffix}"
    succeed(*arguments)
    assert (tmp_path / "out" / f"synthetic.{expected}").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_records_of_a_folder_are_written_like_its_files(tmp_path: Path, kind: str) -> None:
    arguments = release_arguments(tmp_path)
    arguments[1] = parts = tmp_path / "parts"
    parts.mkdir()
    for name in ("a", "b"):
        write_table(parts, name=f"{name}.{kind}")
    succeed(*arguments)
    assert (tmp_path / "out" / f"synthetic.{kind}").exists()


def test_rows_and_format_are_those_asked_for(tmp_path: Path) -> None:
    succeed(*release_arguments(tmp_path, "--rows", 17, "--format", "parquet"))
    table = pq.read_table(tmp_path / "out" / "synthetic.parquet")
    assert (table.num_rows, table.column_names) == (17, list(SCHEMA.names))


@pytest.mark.parametrize("zipped", [False, True])
def test_a_table_without_a_header_line(tmp_path: Path, zipped: bool) -> None:
    arguments = release_arguments(tmp_path, "--no-header")
    table = tmp_path / "people.csv"
    body = table.read_text().split("\n", 1)[1]
    if zipped:
        arguments[1] = tmp_path / "people.csv.gz"
        (tmp_path / "people.csv.gz").write_bytes(gzip.compress(body.encode()))
    else:
        table.write_text(body)
    succeed(*arguments)
    assert statement(tmp_path / "out")["privacy"]["public_size"] == len(codes())
    found = json.loads(succeed("evaluate", tmp_path / "out", arguments[1], "--json"))
    assert found["queries"] == 53


def test_unknown_values_are_clipped_and_put_into_the_declared_bucket(tmp_path: Path) -> None:
    arguments = release_arguments(tmp_path)
    with (tmp_path / "people.csv").open("a") as file:
        file.write("red,99,true,Atlantis\n")
    assert "'Atlantis' is not a declared value" in refuse(*arguments)
    wanting = refuse(*arguments, "--on-invalid", "other")
    assert "99 lies outside" in wanting
    assert "Atlantis" not in wanting  # its column alone has a bucket
    assert "--on-invalid drop: what a row holds" in refuse(
        *arguments, "--on-invalid", "drop", "--neighbours", "replace"
    )
    WITH_BUCKETS.write(tmp_path / "schema.json")
    succeed(*arguments, "--on-invalid", "clip,other", "--neighbours", "replace")
    assert statement(tmp_path / "out")["privacy"]["public_size"] == len(codes()) + 1
    # How the table was read is on file, so that it is read in the same way again.
    evaluated = succeed("evaluate", tmp_path / "out", tmp_path / "people.csv", "--json")
    assert json.loads(evaluated)["private"] is False


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.solver(name)) for name in ("cp-sat", "highs", "cbc", "local-search")]
)
def test_a_run_ends_with_each_solver(tmp_path: Path, name: str) -> None:
    succeed(*release_arguments(tmp_path, "--solver", name, "--seconds", 20))
    certificates = statement(tmp_path / "out")["certificates"]
    assert (certificates["rounds"], certificates["fallbacks"]) == (5, 0)


def test_a_drafted_schema_is_refused_until_it_is_accepted_or_reviewed(tmp_path: Path) -> None:
    arguments = release_arguments(tmp_path)
    draft = tmp_path / "draft.json"
    drafted = call("schema", "infer", tmp_path / "people.csv", "-o", draft)
    assert drafted.exit_code == 0
    assert 'then set "draft": false.' in drafted.stdout
    arguments[3] = draft
    assert "the schema is a draft made from private data and not reviewed" in refuse(*arguments)
    assert not (tmp_path / "out").exists()
    succeed(*arguments, "--accept-draft")
    assert statement(tmp_path / "out")["schema"]["draft_accepted"] is True
    draft.write_text(draft.read_text().replace('"draft": true', '"draft": false'))
    arguments[arguments.index("--out") + 1] = tmp_path / "second"
    succeed(*arguments)
    assert statement(tmp_path / "second")["schema"]["draft_accepted"] is False


def test_a_schema_is_never_overwritten_by_a_draft(tmp_path: Path) -> None:
    table, schema = inputs(tmp_path)
    before = schema.read_bytes()
    assert "exists already; choose another name" in refuse("schema", "infer", table, "-o", schema)
    assert schema.read_bytes() == before
    succeed("schema", "infer", table, "-o", tmp_path / "draft.json", "--bins", 3, "--max-values", 50)
    assert Schema.read(tmp_path / "draft.json").draft
    assert "bins is 1" in refuse("schema", "infer", table, "-o", tmp_path / "other.json", "--bins", 1)
    assert "there is no file" in refuse("schema", "infer", tmp_path / "none.csv", "-o", tmp_path / "o.json")
    assert "No such file or directory" in refuse("schema", "infer", table, "-o", tmp_path / "no" / "o.json")


def test_a_release_is_replayed_byte_for_byte(tmp_path: Path) -> None:
    succeed(*release_arguments(tmp_path, "--free-attributes", "estimated"))
    text = succeed("replay", tmp_path / "out", "-o", tmp_path / "again")
    assert text.startswith("5 rounds certified again")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {path.name for path in (tmp_path / "again").iterdir()}
    for name in names:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    assert "is not empty. Choose a new folder" in refuse("replay", tmp_path / "out", "-o", tmp_path / "again")
    assert "is not a release folder" in refuse("replay", tmp_path, "-o", tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_an_evaluation_is_printed_as_json_and_for_people(tmp_path: Path) -> None:
    succeed(*release_arguments(tmp_path))
    found = json.loads(succeed("evaluate", tmp_path / "out", tmp_path / "people.csv", "--json"))
    expected = "private note queries max_error mean_error worst_query baselines columns changed differences marginals "
    expected += "weakest dependence intervals scores unseen"
    assert set(found) == set(words(expected))
    assert set(found["baselines"]) == {"zeros", "uniform"}
    assert set(found["baselines"]["zeros"]) == {"max_error", "mean_error"}
    text = succeed("evaluate", tmp_path / "out", tmp_path / "people.csv")
    assert text.startswith("NOT private: ")
    head = [*found["weakest"]["words"], found["weakest"]["advice"]]
    assert text.splitlines()[1 : 1 + len(head)] == head
    assert f"by {100 * found['max_error']:.2g} % at most: {found['worst_query']}" in text


def test_the_solvers_are_listed_as_json_and_for_people() -> None:
    from dpopt.solvers.registry import solver_names

    rows = json.loads(succeed("solvers", "--json"))["solvers"]
    assert [row["name"] for row in rows] == list(solver_names())
    for row in rows:
        assert set(row) == {"name", "available", "status", "explanation", "capabilities"}
    text = succeed("solvers")
    assert all(name in text for name in solver_names())


def test_the_demonstration_does_the_whole_job_and_keeps_it() -> None:
    text, folder = demonstration()
    assert "the same release byte for byte: yes" in text
    assert "spent:      epsilon = " in text
    assert "counts: off by" in text
    assert text.splitlines()[-1].startswith(f"kept in {folder}")
    kept = {path.name for path in folder.iterdir()}
    assert kept == {"people.csv", "schema.json", "release", "again"}
    assert statement(folder / "release")["privacy"]["private"] is True
    assert "is not empty" in refuse("demo", "--keep", folder)


def test_the_demonstration_says_that_nothing_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[Path] = []
    monkeypatch.setattr("dpopt.cli.commands.demo._demonstrate", places.append)
    assert "Nothing was kept; 'dpopt demo --keep FOLDER' keeps" in succeed("demo")
    assert not places[0].exists()


def test_a_replay_says_which_file_was_changed(tmp_path: Path) -> None:
    succeed(*release_arguments(tmp_path))
    assert "byte for byte" in succeed("replay", tmp_path / "out", "-o", tmp_path / "again")
    file = tmp_path / "out" / "release.json"
    file.write_text(file.read_text().replace('"epsilon": ', '"epsilon":  ', 1))
    assert "release.json in" in refuse("replay", tmp_path / "out", "-o", tmp_path / "third")


def test_a_replay_says_which_file_is_absent_and_succeeds(tmp_path: Path) -> None:
    succeed(*release_arguments(tmp_path))
    (tmp_path / "out" / "synthetic.csv").unlink()
    text = " ".join(succeed("replay", tmp_path / "out", "-o", tmp_path / "again").split())
    assert "README.txt and release.json are the same byte for byte" in text
    assert "synthetic.csv: not in" in text
    for name in ("README.txt", "release.json"):
        (tmp_path / "out" / name).unlink()
    text = " ".join(succeed("replay", tmp_path / "out", "-o", tmp_path / "third").split())
    assert "README.txt, release.json and synthetic.csv: not in" in text
    assert "byte for byte" not in text


def test_a_delta_that_allows_to_publish_whole_records_is_warned_of(tmp_path: Path) -> None:
    done = call(*release_arguments(tmp_path, "--delta", 0.5))
    assert done.exit_code == 0
    assert "delta = 0.5 is not below 1/n" in done.stderr
