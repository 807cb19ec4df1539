"""`dpopt model`: list, show, export and solve, from examples, files, rounds and released histograms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpopt.cli.model_source import BEST_RESPONSES
from dpopt.models.catalogue import CATALOGUE
from tests.cli.command_line import inputs, refuse, release_arguments, succeed, words
from tests.models.catalogue import instance_files

INSTANCE = next(path for path in instance_files() if path.parent.parent.name == "best_response")


def test_every_model_is_listed_once() -> None:
    lines = succeed("model", "list").splitlines()
    assert [line.split()[0] for line in lines] == [*BEST_RESPONSES, *CATALOGUE]
    listed = json.loads(succeed("model", "list", "--json"))["models"]
    assert {one["name"] for one in listed if one["own_method"] == "closed-form"} == set(
        words("isotonic_regression tree_consistency interval_partition")
    )


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_example_is_shown_and_exported(name: str, tmp_path: Path) -> None:
    shown = json.loads(succeed("model", "show", name, "--json"))
    assert shown["variables"]
    assert shown["rows"]
    text = succeed("model", "show", name)
    symbols = {block["symbol"] for block in shown["variables"] + shown["rows"]} - {"clauses"}  # named one by one
    assert all(symbol in text for symbol in symbols)
    assert len(succeed("model", "show", name, "--all").splitlines()) >= len(shown["formulas"])
    for ending in ("lp", "mps"):
        export = ["model", "export", name, "-o", tmp_path / f"model.{ending}"]
        if shown["cones"]:
            assert "use to_cvxpy()" in refuse(*export)
            continue
        succeed(*export)
        assert (tmp_path / f"model.{ending}").stat().st_size > 0


def test_a_model_is_solved_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "counts.json").write_text('{"values": [14, 9, 10, 15], "total": 52}')
    solve = ["model", "solve", "isotonic_regression", "--data", tmp_path / "counts.json", "--json"]
    found = json.loads(succeed(*solve))
    assert found["solver"] == "closed-form"
    assert found["values"]["s"] == [12, 12, 12, 16]
    assert found["proven_bound"] == found["objective"] == 9
    assert json.loads(succeed(*solve, "--solver", "osqp"))["objective"] == pytest.approx(9)


def test_an_instance_and_a_round_are_models(tmp_path: Path) -> None:
    assert "BR-2[0]" in succeed("model", "show", "best_response", "--data", INSTANCE)
    by_name = succeed("model", "show", "best_response", "--instance", INSTANCE.stem)
    assert by_name == succeed("model", "show", "best_response", "--data", INSTANCE)
    succeed(*release_arguments(tmp_path))
    source = ["best_response", "--release", tmp_path / "out", "--round", 2]
    assert "x[colour=" in succeed("model", "show", *source)
    found = json.loads(succeed("model", "solve", *source, "--solver", "highs", "--seconds", 10, "--json"))
    assert found["termination"] == "optimal"
    succeed("model", "export", *source, "--formulation", "aggregated", "-o", tmp_path / "round.pbtxt")
    assert "found round 9; this release of dualquery has" in refuse(
        "model", "show", "best_response", "--release", tmp_path / "out", "--round", 9
    )


@pytest.mark.parametrize("name", BEST_RESPONSES)
def test_every_kind_of_best_response_has_its_name_and_labels(name: str, tmp_path: Path) -> None:
    """Nobody finds a round of parities under the labels of thresholds, in print or in a file."""
    label = {"best_response": "BR-3", "best_response_parities": "PA-3", "best_response_thresholds": "TH-1"}.get(
        name, "RU-2"
    )
    text = succeed("model", "show", name, "--all")
    assert f"{label}[0" in text
    assert succeed("model", "show", name).startswith(f"{name}: maximize")
    succeed("model", "export", name, "-o", tmp_path / "model.opb")
    export = ["model", "export", name, "-o", tmp_path / "model.wcnf"]
    if name == "best_response_with_rules":
        assert "adds up numbers" in refuse(*export)
    else:
        succeed(*export)
    assert json.loads(succeed("model", "solve", name, "--solver", "highs", "--json"))["termination"] == "optimal"


def test_a_released_histogram_is_a_model(tmp_path: Path) -> None:
    table, schema = inputs(tmp_path)
    archive = tmp_path / "ages.npz"
    succeed("histogram", "release", table, "--schema", schema, "--column", "age", "--epsilon", 1, "-o", archive)
    found = json.loads(succeed("model", "solve", "tree_consistency", "--histogram", archive, "--json"))
    assert found["solver"] == "closed-form"
    assert found["objective"] - found["proven_bound"] < 1e-6


@pytest.mark.parametrize(
    ("arguments", "keyword"),
    [
        (["show", "isotonic"], "no model"),
        (["show", "best_response_parities", "--instance", "worked-example"], "this is a best_response, not a"),
        (["show", "best_response", "--instance", "none"], "no instance 'none'"),
        (["show", "best_response", "--round", 1], "go together"),
        (["show", "isotonic_regression", "--round", 1], "belongs to best_response"),
        (["show", "isotonic_regression", "--histogram", "x.npz"], "belongs to tree_consistency"),
        (["show", "isotonic_regression", "--data", "absent.json"], "absent.json"),
        (["solve", "isotonic_regression", "--solver", "highs"], "quadratic"),
        (["solve", "minimax_polynomial", "--solver", "closed-form"], "no closed form"),
        (["export", "isotonic_regression", "-o", "model.pbtxt"], "squares"),
        (["export", "isotonic_regression", "-o", "model.xyz"], ".lp, .mps, .pbtxt, .opb or .wcnf"),
    ],
)
def test_what_does_not_fit_is_refused(
    arguments: list[object], keyword: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert keyword in " ".join(refuse("model", *arguments).split())
    assert list(tmp_path.iterdir()) == []
