"""`dpopt lists` from a plan to answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dpopt.synopses.decision_lists.list_summary import ListSummary
from tests.cli.command_line import flat, refuse, succeed, told
from tests.tiny_lists import Row, family_of, output_at, points_of, rows_of, text_of

NUMBER = 400
FAMILY = family_of(4, 3)


def rows() -> list[Row]:
    every = rows_of(FAMILY)
    return [every[number] for number in np.random.default_rng(6).integers(0, len(every), NUMBER)]


def shares() -> list[float]:
    return [float(np.mean([output_at(row, point) for row in rows()])) for point in points_of(FAMILY)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with rows, and a summary at a large budget."""
    folder = tmp_path_factory.mktemp("lists")
    (folder / "rows.txt").write_text("\n".join(text_of(FAMILY, row) for row in rows()) + "\n")
    release(folder, folder / "lists.npz", "--n0", NUMBER)
    return folder


def release(folder: Path, out: Path, *more: object, epsilon: float = 1e6) -> str:
    return succeed(
        "lists release --variables x1..x4 --k 3", folder / "rows.txt", "--epsilon", epsilon, "-o", out, *more
    )


def test_a_plan_needs_no_table() -> None:
    text = flat(succeed("lists plan --variables a,b,c,d --k 2 --n0 10000 --epsilon 1"))
    assert "measured with Laplace noise" in text
    assert "all points within" in text
    assert "with probability 95 %" in text
    found = told(
        "lists plan --variables x1..x9 --k 4 --n 10000 --rho 0.5 --kind disjunctions --largest 3 --queries 50",
        "--neighbours",
        "replace",
    )
    assert found["gaussian"]
    assert found["conjunctions"] == [1, 18, 144, 672]
    assert found["points"] == 50
    assert found["coefficients"]["family"]["kind"] == "disjunctions"
    assert 0 < found["approximation"] < found["predicted"] < 1


def test_points_are_answered_as_they_are_true(folder: Path, tmp_path: Path) -> None:
    """At a large budget, all 16 points: by digits, by names, from files."""
    asked = ["".join(map(str, point)) for point in points_of(FAMILY)]
    found = told("lists answer", folder / "lists.npz", *(part for one in asked for part in ("--query", one)))
    assert [one["query"] for one in found["answers"]] == asked
    assert [one["value"] for one in found["answers"]] == pytest.approx(shares(), abs=2e-3)
    assert found["bound"] < 2e-3
    assert found["variables"] == list(FAMILY.variables)
    named = succeed("lists answer --json", folder / "lists.npz", "--query", "x4=1, x1=0,x2=1,x3=0")
    assert json.loads(named)["answers"] == [found["answers"][5]]
    lines = ["x1,x2,x3,x4", *(",".join(one) for one in asked)]
    (tmp_path / "points.csv").write_text("\n".join(lines) + "\n")
    np.save(tmp_path / "points.npy", np.array(points_of(FAMILY)))
    for name in ("points.csv", "points.npy"):
        text = succeed("lists answer --json", folder / "lists.npz", "--query-file", tmp_path / name)
        assert json.loads(text) == found


def test_answers_are_printed_as_a_table(folder: Path) -> None:
    text = succeed("lists answer --query 0101 --confidence 0.999", folder / "lists.npz")
    assert "0101" in text
    assert f"{shares()[5]:.3f}" in text
    assert "99.9%" in flat(text)


def test_the_release_is_what_was_planned(folder: Path, tmp_path: Path) -> None:
    declared = {"variables": FAMILY.variables, "k": FAMILY.length, "kind": FAMILY.kind.value, "changes": FAMILY.changes}
    (tmp_path / "declared.json").write_text(json.dumps(declared))
    shared = ["--variables", tmp_path / "declared.json", "--rho", 0.3, "--queries", 7, "--largest", 2]
    planned = told("lists plan --n0 300", *shared)
    text = succeed("lists release --n0 300", folder / "rows.txt", *shared, "-o", tmp_path / "s.npz")
    kept = ListSummary.read(tmp_path / "s.npz")
    assert kept.plan.to_json() == planned
    counted = sum(noisy.size for noisy in kept.noisy)
    assert f"{counted:,} noisy counts; 7 points within {kept.plan.predicted:.4g}" in flat(text)


def test_a_solver_that_is_named_says_how_good_its_coefficients_are() -> None:
    shared = ("lists plan --variables x1..x4 --k 2 --n0 300 --epsilon 1", "--solver")
    for name in ("highs", "glop"):
        text = flat(succeed(*shared, name))
        assert f"model decision_lists by {name}: optimal, objective" in text
        assert told(*shared, name, "--json")["model_decision_lists"].startswith(f"{name}: optimal")
    assert "there is no solver" in flat(refuse(*shared, "nobody"))


@pytest.mark.parametrize("kind", ["disjunctions", "conjunctions"])
def test_other_kinds_of_rows_are_released(kind: str, tmp_path: Path) -> None:
    family = family_of(3, 2, kind)
    every = [row for row in rows_of(family) if row[0]]
    (tmp_path / "rows.txt").write_text("\n".join(text_of(family, row) for row in every) + "\n")
    command = f"lists release --variables x1,x2,x3 --k 2 --kind {kind} --epsilon 1e6 --neighbours replace"
    succeed(command, tmp_path / "rows.txt", "-o", tmp_path / "s.npz")
    found = told("lists answer --query 101", tmp_path / "s.npz")
    truth = np.mean([output_at(row, (1, 0, 1)) for row in every])
    assert found["answers"][0]["value"] == pytest.approx(float(truth), abs=2e-3)


NAMES = ["--variables", "x1..x4"]
RELEASES = [
    ([*NAMES, "--k", 3, "--n0", 0, "--epsilon", 1], "the public size must be a whole number of at least 1, found 0"),
    ([*NAMES, "--n0", 10, "--epsilon", 1], "give --k"),
    ([*NAMES, "--k", 5, "--n0", 10, "--epsilon", 1], "found k = 5; expected 1 to 4"),
    ([*NAMES, "--k", 3, "--n0", 10, "--epsilon", 1, "--kind", "trees"], "expected one of lists"),
    ([*NAMES, "--k", 3, "--n0", 10, "--epsilon", 1, "--changes", 4], "found 4 changes"),
    ([*NAMES, "--k", 3, "--n0", 10, "--epsilon", 1, "--largest", 4], "expected 1 to 3"),
    (
        [*NAMES, "--k", 3, "--n0", 10, "--epsilon", 1, "--queries", 0],
        "number of points must be a whole number of at least 1",
    ),
    ([*NAMES, "--k", 3, "--n0", 10, "--epsilon", 1, "--solver", "cp-sat"], "takes no linear programs"),
    ([*NAMES, "--k", 3, "--n0", 10, "--epsilon", 1, "--neighbours", "replace"], "Leave n0 out"),
    (["--variables", "x1,x1", "--k", 1, "--n0", 10, "--epsilon", 1], "'x1' is declared twice"),
    (["--variables", "x1..x3", "--k", 3, "--n0", 10, "--epsilon", 1], "is not part of a row"),
    ([*NAMES, "--k", 2, "--n0", 10, "--epsilon", 1], "in a row of more than 2 literals"),
    ([*NAMES, "--k", 3, "--n0", 10, "--epsilon", 1, "--changes", 1], "at most 1 are declared"),
]


@pytest.mark.parametrize(("arguments", "message"), RELEASES)
def test_releases_that_cannot_be_made_say_what_to_do_and_spend_nothing(
    folder: Path, tmp_path: Path, arguments: list[object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is counted or drawn, and no file is left."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a curator was made")

    monkeypatch.setattr("dpopt.synopses.release.CountingCurator", refused)
    text = refuse("lists release", folder / "rows.txt", "-o", tmp_path / "new.npz", *arguments)
    assert message in flat(text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected points: --query once or more, or --query-file"),
        (["--query", "0101", "--query-file", "p.csv"], "not both"),
        (["--query", "010"], "found 3 bits; a point has 4"),
        (["--query", "x1=1"], "3 variables have no value"),
        (["--query", "0101", "--confidence", 95], "between 0 and 1"),
        (["--query-file", "none.csv"], "the file 'none.csv' cannot be read: No such file"),
    ],
)
def test_points_that_are_none_say_what_to_do(folder: Path, arguments: list[object], message: str) -> None:
    assert message in flat(refuse("lists answer", folder / "lists.npz", *arguments))
