"""`dpopt halfspaces` from a plan to answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.cli.command_line import flat, refuse, succeed, told
from tests.synopses.halfspaces.small_halfspaces import points, queries

SHAPE = ("--projected-to", 2, "--projections", 40, "--directions", 8)
POINTS = points(1500)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, and a release at a large budget."""
    folder = tmp_path_factory.mktemp("halfspaces")
    np.savetxt(folder / "t.csv", POINTS, delimiter=",", header="a,b,c,d", comments="")
    np.save(folder / "t.npy", POINTS)
    release(folder, folder / "r.npz", "--normalise", "--n0", 1500)
    return folder


def release(folder: Path, out: Path, *more: object, table: str = "t.csv") -> str:
    return succeed("halfspaces release --margin 0.45 --epsilon 1000000.0", folder / table, *SHAPE, "-o", out, *more)


def test_a_plan_needs_no_table_and_shows_the_theorem() -> None:
    text = flat(succeed("halfspaces plan --attributes 10 --n0 100000 --margin 0.5 --rho 0.1", *SHAPE))
    assert "measured with Gaussian noise" in text
    assert "1,000 queries of margin 0.5: within" in text
    assert "separate noise on each" in text
    assert "theorem (printed), error 0.1: T = 5,609" in text
    assert "|U| = 10^15,579" in text
    assert text.count("not practical") == 2
    found = told("halfspaces plan --n0 1000 --margin 0.5 --epsilon 1 --queries 5", *SHAPE, "--columns", "a, b,c")
    assert found["columns"]["names"] == ["a", "b", "c"]
    assert found["canonical_directions"] == 8
    assert found["prediction"]["queries"] == 5
    assert found["theory"]["printed"]["dimension"] == 5609


def test_queries_are_answered_as_they_are_true(folder: Path) -> None:
    asked = queries()[:6]
    texts = [",".join(map(str, row)) for row in asked.tolist()]
    found = told("halfspaces answer", folder / "r.npz", *(part for text in texts for part in ("--query", text)))
    truth = (POINTS @ asked.T > 0).mean(axis=0)
    assert found["columns"] == ["a", "b", "c", "d"]
    for one, text, true in zip(found["answers"], texts, truth, strict=True):
        assert one["query"] == text
        assert abs(one["value"] - true) <= one["bound"] < 0.2
        assert one["margin"] == 0.45
    shown = flat(succeed("halfspaces answer --estimate average", folder / "r.npz", "--query", texts[0]))
    assert "a share of 0 at most with |<x, y>| below 0.45: this is not checked" in shown


def test_queries_come_from_a_file_too(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("d,c,b,a\n4,3,2,1\n", encoding="utf-8")
    (tmp_path / "plain.csv").write_text("1,2,3,4\n", encoding="utf-8")
    answers = [
        told("halfspaces answer", folder / "r.npz", *more)["answers"][0]["value"]
        for more in (
            ("--query", "1,2,3,4"),
            ("--query-file", tmp_path / "q.csv"),
            ("--query-file", tmp_path / "plain.csv"),
        )
    ]
    assert answers[0] == pytest.approx(answers[1])
    assert answers[0] == pytest.approx(answers[2])
    for text, message in (
        ("a,b\n1,2\n", "expected a, b, c, d"),
        ("1,2,3\n", "line 1"),
        ("1,2,3,4\n1,2,3,x\n", "line 2"),
        ("", "holds no query"),
        ("0,0,0,0\n", "a vector of a length"),
    ):
        (tmp_path / "q.csv").write_text(text, encoding="utf-8")
        refused(message, "halfspaces answer", folder / "r.npz", "--query-file", tmp_path / "q.csv")


def refused(message: str, *arguments: object) -> None:
    assert message in flat(refuse(*arguments))


def test_replace_one_and_arrays(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.npz"
    release(folder, out, "--normalise", "--neighbours", "replace", table="t.npy")
    found = told("halfspaces answer --query 1,1,1,1", out)
    assert abs(found["answers"][0]["value"] - (POINTS.sum(axis=1) > 0).mean()) < 0.1


def test_bounds_come_from_an_option_or_from_a_schema(folder: Path, tmp_path: Path) -> None:
    edges = (-5.0, 5.0)
    Schema(tuple(Attribute(name, AttributeKind.NUMERIC, edges=edges, integer=False) for name in "abcd")).write(
        tmp_path / "s.json"
    )
    for more in (("--bounds", "-5:5"), ("--schema", tmp_path / "s.json")):
        out = tmp_path / f"{more[0]}.npz"
        release(folder, out, *more, "--n0", 1500)
        found = told("halfspaces answer --query 1,1,1,1 --margin 0.45", out)
        assert abs(found["answers"][0]["value"] - (POINTS.sum(axis=1) > 0).mean()) < 0.1
    refused("no numeric attribute", f"halfspaces release --columns a,e --margin 0.4 --epsilon 1 --n0 9 {folder / 't.csv'}",
            "--schema", tmp_path / "s.json", "-o", tmp_path / "o.npz")  # fmt: skip


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "is not of length 1; normalise the rows"),
        ("--bounds 0:5", "outside its bounds 0 to 5"),
        ("--bounds 5", "two numbers with a colon"),
        ("--bounds 0:5 --normalise", "more than one scaling"),
        ("--normalise --columns a,x", "lacks 1 column"),
        ("--normalise --columns a", "two or more different ones"),
        ("--normalise --directions 7", "expected an even number"),
        ("--normalise --copies 64", "expected 1 to 63"),
        ("--normalise --margin 1.5", "the margin"),
        ("--normalise --margin 1e-320", "1e-06"),
        ("--normalise --projections 1000000", "expected 1 to 20,000 in all"),
    ],
)
def test_refusals_leave_nothing_behind(folder: Path, tmp_path: Path, more: str, message: str) -> None:
    command = "halfspaces release --margin 0.45 --epsilon 1 --n0 1500"
    refused(message, command, folder / "t.csv", *SHAPE, *more.split(), "-o", tmp_path / "o.npz")
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_named(folder: Path) -> None:
    answer = f"halfspaces answer {folder / 'r.npz'}"
    refused("expected 2 to 65,536", "halfspaces plan --attributes 2147483648 --n0 10 --margin 0.4 --epsilon 1")
    refused(
        "alpha from 1e-06", "halfspaces plan --attributes 3 --n0 10 --margin 0.4 --epsilon 1 --error 1e-320", *SHAPE
    )
    refused("no budget", "halfspaces plan --attributes 3 --n0 10 --margin 0.4")
    refused("how many coordinates", "halfspaces plan --n0 10 --margin 0.4 --epsilon 1")
    refused("together, or none", "halfspaces plan --attributes 3 --n0 10 --margin 0.4 --epsilon 1 --projections 5")
    refused("found no query", answer)
    refused("--estimate is one of", f"{answer} --query 1,2,3,4 --estimate best")
