"""The file of certified rounds and the summary: figures follow from the rounds, and strangers' files are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpopt.algorithms.after.certify import (
    CertifiedRound,
    check_target,
    parse_rounds,
    read_rounds,
    report,
    summary,
    write_rounds,
)
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError, ReleaseFolderError
from tests.algorithms.small_runs import small_release


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run") / "release"


@pytest.fixture(scope="module")
def finished(folder: Path) -> SyntheticRelease:
    return small_release(folder, solver="local-search")


def certified(finished: SyntheticRelease, number: int, proven: int, reported: int | None) -> CertifiedRound:
    """Return a round whose gaps are as given."""
    objective = finished.played[number - 1].certificate.objective
    assert objective is not None
    bound = None if reported is None else objective + reported
    return CertifiedRound(number, objective, objective + proven, "because", bound, "s", "time limit", None, None, 0.1)


@pytest.mark.parametrize(
    ("text", "rounds"), [("all", [1, 2, 3, 5]), ("2", [2]), ("1,3-5", [1, 3, 5]), (" 5 , 1-2,2", [1, 2, 5])]
)
def test_rounds_are_named_by_numbers_and_ranges(text: str, rounds: list[int]) -> None:
    assert parse_rounds(text, [1, 2, 3, 5]) == rounds


NO_NUMBERS = "numbers and ranges such as 1,5-9"
NOT_PLAYED = "names no rounds of this run; it has the rounds 1 to 3"


@pytest.mark.parametrize(
    ("text", "message"),
    [(text, NO_NUMBERS) for text in ("", "one", "1-", "-2", "1--2", "1.5", "all,1", "1,,2", "²")]
    + [(text, NOT_PLAYED) for text in ("0", "4", "2-9", "3-1", "1-99999999999999999999")],
)
def test_other_texts_name_no_rounds(text: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        parse_rounds(text, [1, 2, 3])


def test_a_file_in_the_release_folder_or_that_cannot_be_written_is_refused(
    folder: Path, finished: SyntheticRelease, tmp_path: Path
) -> None:
    inside = [folder / "bounds.json", folder / ".." / "release" / "release.json", folder / "new" / "b.json"]
    nowhere = [tmp_path, tmp_path / "missing" / "bounds.json"]
    for targets, message in ((inside, "lies in the release folder"), (nowhere, "name a file in a folder that exists")):
        for target in targets:
            with pytest.raises(ReleaseFolderError, match=message):
                check_target(target, folder)
    check_target(tmp_path / "bounds.json", folder)


def test_what_is_written_is_read_again(folder: Path, finished: SyntheticRelease, tmp_path: Path) -> None:
    target = tmp_path / "bounds.json"
    assert read_rounds(target, folder) == []
    rounds = [certified(finished, 1, 3, 1), certified(finished, 4, 0, None)]
    write_rounds(target, folder, finished, rounds)
    assert read_rounds(target, folder) == rounds
    assert json.loads(target.read_text()) == json.loads(json.dumps(report(folder, finished, rounds)))
    assert [path.name for path in tmp_path.iterdir()] == ["bounds.json"]


def test_a_file_of_another_kind_or_run_is_refused(folder: Path, finished: SyntheticRelease, tmp_path: Path) -> None:
    target = tmp_path / "bounds.json"
    for text in ('{"rounds": []}', '{"dpopt_certify": 1, "rounds": 3}'):
        target.write_text(text)
        with pytest.raises(PlanError, match="is not a file of certified rounds"):
            read_rounds(target, folder)
    small_release(tmp_path / "other", rounds=2)
    write_rounds(target, tmp_path / "other", finished, [])
    with pytest.raises(PlanError, match="belongs to another run"):
        read_rounds(target, folder)


def test_the_summary_is_that_of_the_gaps_by_third_of_the_run(finished: SyntheticRelease) -> None:
    rounds = [certified(finished, 1, 4, 2), certified(finished, 2, 8, None), certified(finished, 6, 0, 0)]
    found = summary(finished, rounds)
    draws = 8
    assert (found["rounds_played"], found["rounds_certified"], found["rounds_proven_optimal"]) == (6, 3, 1)
    assert found["proven_gap_over_draws"] == {"mean": 12 / (3 * draws), "largest": 1.0}
    assert found["reported_gap_over_draws"] == {"mean": 10 / (3 * draws), "largest": 1.0}
    values = [one.objective for one in rounds]
    assert min(values) > 0
    shares = [gap / value for gap, value in zip((4, 8, 0), values, strict=True)]
    assert found["proven_gap_over_value"] == pytest.approx({"mean": sum(shares) / 3, "largest": max(shares)})
    shares[0] /= 2
    assert found["reported_gap_over_value"] == pytest.approx({"mean": sum(shares) / 3, "largest": max(shares)})
    worthless = [replace(rounds[1], objective=0, proven_bound=8)]
    assert summary(finished, [rounds[0], *worthless])["proven_gap_over_value"]["mean"] == 4 / values[0]
    assert summary(finished, worthless)["proven_gap_over_value"] is None
    assert [third["rounds"] for third in found["by_third"]] == ["1-2", "3-4", "5-6"]
    assert [third["rounds_certified"] for third in found["by_third"]] == [2, 0, 1]
    assert [third["proven_gap_over_draws"] for third in found["by_third"]] == [
        {"mean": 12 / (2 * draws), "largest": 1.0},
        None,
        {"mean": 0.0, "largest": 0.0},
    ]


def test_rounds_that_were_not_certified_enter_the_theorem_as_the_release_has_them(finished: SyntheticRelease) -> None:
    own = [done.certificate.proven_gap for done in finished.played]
    assert None not in own
    figures = [gap for gap in own if gap is not None]
    released = finished.statement["accuracy"]["certified"]["by_proven_bounds"]
    assert summary(finished, [])["accuracy"]["by_proven_bounds"] == released
    better = summary(finished, [certified(finished, 1, 0, None)])["accuracy"]["by_proven_bounds"]
    assert better["mean_gap_over_draws"] == sum(figures[1:]) / (6 * 8)


def test_better_records_are_counted(finished: SyntheticRelease) -> None:
    one = certified(finished, 1, 4, 2)
    better = replace(one, better_objective=one.objective + 1, better_record=(0, 0, 0, 0))
    assert summary(finished, [better])["rounds_with_a_better_record"] == 1
