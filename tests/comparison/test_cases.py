from __future__ import annotations

from pathlib import Path

import pytest

from dpopt.algorithms.replay import load
from dpopt.comparison.compare import cases_from_instances, cases_of_rounds
from dpopt.errors import PlanError, ProgramError, TranscriptError
from dpopt.programs import MaxCsp
from tests.algorithms.small_runs import small_release

INSTANCE = """
optimum = 3
how_known = "by eye"
[problem]
sizes = [2, 2]
clauses = [{weight = 3, literals = [[0, "=", 1]]}, {weight = -2, literals = [[1, "!=", 0]]}]
"""


def write(path: Path, text: str = INSTANCE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_file_and_a_folder_give_their_instances(tmp_path: Path) -> None:
    one = write(tmp_path / "one.toml")
    write(tmp_path / "more" / "b.toml")
    write(tmp_path / "more" / "deep" / "a.toml")
    write(tmp_path / "more" / "a.mps", "no instance")
    cases = cases_from_instances([one, tmp_path / "more"])
    assert [case.name for case in cases] == ["one", "b", "a"]
    assert (cases[0].best_known, cases[0].bound) == (3, 3)
    assert isinstance(cases[0].problem, MaxCsp)
    assert len(cases[0].problem.clauses) == 2


def test_an_instance_of_the_catalogue_is_taken_by_name_unless_a_file_has_it(tmp_path: Path) -> None:
    (case,) = cases_from_instances([Path("worked-example")])
    assert (case.name, case.best_known) == ("worked-example", 2)
    with pytest.raises(PlanError, match="worked-exampel does not exist; name instances of the catalogue"):
        cases_from_instances([Path("worked-exampel")])


def test_instances_of_one_name_are_distinguished_by_their_folders(tmp_path: Path) -> None:
    write(tmp_path / "a" / "x" / "one.toml")
    write(tmp_path / "b" / "x" / "one.toml")
    cases = cases_from_instances([tmp_path])
    assert [case.name for case in cases] == ["one", "x/one"]


def test_a_file_in_a_folder_that_is_no_instance_is_left_out_and_reported(tmp_path: Path) -> None:
    write(tmp_path / "one.toml")
    other = write(tmp_path / "other.toml", "[problem]\nrows = 3\n")
    claimed: list[str] = []
    assert [case.name for case in cases_from_instances([tmp_path], note=claimed.append)] == ["one"]
    assert len(claimed) == 1
    assert claimed[0].startswith(f"left out: {other}")
    with pytest.raises(ProgramError, match="problem: missing the key sizes"):
        cases_from_instances([other])


@pytest.mark.parametrize(
    ("places", "message"),
    [(["nowhere"], "does not exist"), (["empty"], "no instances were found"), (["one.toml"] * 2, "is named twice")],
)
def test_places_without_instances_and_files_twice_are_refused(tmp_path: Path, places: list[str], message: str) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "one.toml")
    with pytest.raises(PlanError, match=message):
        cases_from_instances([tmp_path / place for place in places])


def test_rounds_of_a_run_are_cases_with_their_records_as_known(tmp_path: Path) -> None:
    finished = small_release(tmp_path / "release")
    cases = cases_of_rounds(load(tmp_path / "release"), "2,4-5")
    assert [case.name for case in cases] == ["round 2", "round 4", "round 5"]
    for case, number in zip(cases, (2, 4, 5), strict=True):
        done = finished.played[number - 1]
        assert isinstance(case.problem, MaxCsp)
        assert case.best_known == done.certificate.objective == case.problem.objective(done.record)
        assert case.bound is None


def test_rounds_that_are_not_there_are_refused(tmp_path: Path) -> None:
    small_release(tmp_path / "release")
    with pytest.raises(PlanError, match="names no rounds"):
        cases_of_rounds(load(tmp_path / "release"), "7")
    (tmp_path / "release" / "transcript.jsonl").write_text("")
    with pytest.raises(TranscriptError):
        cases_of_rounds(load(tmp_path / "release"), "all")


def test_broken_files_in_a_folder_are_left_out_and_the_others_run(tmp_path: Path) -> None:
    write(tmp_path / "one.toml")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "link.toml").symlink_to(tmp_path / "nothing")
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    write(tmp_path / "deep.toml", f"a = {'[' * 5000}{']' * 5000}")
    write(tmp_path / "heavy.toml", INSTANCE.replace("weight = 3", f"weight = {2**70}"))
    write(tmp_path / "long.toml", INSTANCE.replace("[2, 2]", f"[2, {2**40}]"))
    claimed: list[str] = []
    assert [case.name for case in cases_from_instances([tmp_path], note=claimed.append)] == ["one"]
    assert len(claimed) == 6
    for name in ("folder", "link", "loop", "deep", "heavy", "long"):
        assert sum(f"{name}.toml" in text for text in claimed) == 1
