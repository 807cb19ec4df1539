"""`dpopt summary` from a plan to answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpopt.synopses.summaries.summary import Summary
from tests.algorithms.small_runs import ROWS, SCHEMA, codes, write_table
from tests.cli.command_line import flat, people, refuse, succeed, told
from tests.tiny_runs import bits_schema


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, its schema, and a summary at a large budget."""
    folder = tmp_path_factory.mktemp("summary")
    write_table(folder)
    SCHEMA.write(folder / "schema.json")
    release(folder, folder / "summary.npz", "--n0", ROWS)
    return folder


def release(folder: Path, out: Path, *more: object, epsilon: float = 1e6, width: int = 3) -> str:
    return succeed("summary release", *people(folder), "--k", width, "--epsilon", epsilon, "-o", out, *more)


def plan(folder: Path, *more: object) -> str:
    return succeed("summary plan", "--schema", folder / "schema.json", *more)


ALTERNATIVES = {"guaranteed_error_of_marginals_and_projection", "marginals_of", "least"}


def test_a_plan_needs_no_table(folder: Path) -> None:
    text = flat(plan(folder, "--k", 2, "--n0", 10000, "--epsilon", 1))
    assert "measured with Laplace noise" in text
    assert "queries of 2 conditions (and): within" in text
    assert "separate noise on each" in text
    assert "records fitted to noisy counts" in text
    assert "--small-queries 0 keeps none" in text
    alone = plan(folder, "--k", 2, "--n0", 10000, "--epsilon", 1, "--small-queries", 0, "--json")
    assert json.loads(alone)["sizes"] == [2]
    assert json.loads(alone)["predicted"] <= json.loads(alone)["direct"]
    assert "the summary is the best of these" in flat(
        plan(folder, "--k", 3, "--n0", 300, "--epsilon", 1, "--predicate", "or")
    )
    found = json.loads(
        plan(folder, "--k", 2, "--n0", 10000, "--rho", 0.5, "--predicate", "or", "--columns", "smoker, age", "--json")
    )
    assert found["gaussian"]
    assert found["conjunctions"] == [5, 6]
    assert found["direct"] is None
    assert 0 < found["approximation"] + found["predicted"] < 1


def test_queries_are_answered_as_they_are_true(folder: Path) -> None:
    """At a large budget, conditions of all kinds; `--json` has each answer with its bound."""
    queries = ["smoker=true", "colour=red,age>=20", "colour!=red,smoker=false,town=north"]
    found = told("summary answer", folder / "summary.npz", *(part for query in queries for part in ("--query", query)))
    colour, age, smoker, town = codes().T
    truths = [smoker == 1, (colour == 0) & (age >= 1), (colour != 0) & (smoker == 0) & (town == 0)]
    assert [one["query"] for one in found["answers"]] == queries
    for one, truth in zip(found["answers"], truths, strict=True):
        assert one["value"] == pytest.approx(truth.mean(), abs=2e-3)
        assert abs(one["value"] - truth.mean()) <= one["bound"]
        assert one["confidence"] == 0.95
    some = told("summary answer --predicate atleast:2 --query smoker=true,age>=20,colour=red", folder / "summary.npz")
    at_least_two = ((smoker == 1) * 1 + (age >= 1) + (colour == 0)) >= 2
    assert some["predicate"] == "atleast:2"
    assert some["answers"][0]["value"] == pytest.approx(at_least_two.mean(), abs=2e-3)


def test_a_solver_that_is_named_plans_the_same_and_says_what_it_proved(folder: Path) -> None:
    shared = ("--k", 3, "--n0", 300, "--rho", 0.3, "--predicate", "or", "--json")
    own, other = (json.loads(plan(folder, *shared, *more)) for more in ((), ("--solver", "glop")))
    assert other["sizes"] == own["sizes"]
    assert other["predicted"] == pytest.approx(own["predicted"])
    query = ("--query", "smoker=true,age>=20", folder / "summary.npz")
    own, other = (told("summary answer", *more, *query)["answers"][0] for more in ((), ("--solver", "glop")))
    assert (other["low"], other["high"]) == pytest.approx((own["low"], own["high"]))
    assert own["note"] == ""
    assert "consistent_records by glop: the share is between" in other["note"]
    assert "consistent_records by glop" in flat(succeed("summary answer --solver glop", *query))


def test_answers_are_printed_as_a_table(folder: Path) -> None:
    text = succeed("summary answer --query smoker=true --confidence 0.999", folder / "summary.npz")
    assert "smoker=true" in text
    assert f"{(codes()[:, 2] == 1).mean():.4f}" in text
    assert "99.9%" in flat(text)


def test_the_release_is_what_was_planned(folder: Path, tmp_path: Path) -> None:
    shared = ["--columns", "age,town", "--literals", "positive", "--predicate", "or"]
    planned = json.loads(plan(folder, "--k", 2, "--n0", 300, "--rho", 0.3, *shared, "--json"))
    text = succeed("summary release --k 2 --rho 0.3 --n0 300", *people(folder), *shared, "-o", tmp_path / "s.npz")
    made = Summary.read(tmp_path / "s.npz")
    counted = sum(noisy.size for noisy in made.noisy)
    assert f"{counted:,} noisy counts; queries of 2 conditions within {made.plan.predicted:.4g}" in flat(text)
    kept = made.plan.to_json()
    assert {key: kept[key] for key in planned if key in kept} == {
        key: value for key, value in planned.items() if key not in ALTERNATIVES
    }
    assert [one["name"] for one in kept["literals"]["schema"]["attributes"]] == ["age", "town"]


RELEASES = [
    (["--k", 2, "--n0", 0, "--epsilon", 1], "the public size must be a whole number of at least 1, found 0"),
    (["--k", 5, "--n0", 10, "--epsilon", 1], "found k = 5; expected 1 to 4"),
    (["--k", 0, "--n0", 10, "--epsilon", 1], "found k = 0; expected 1 to 4"),
    (["--k", 2, "--n0", 10, "--epsilon", 1, "--columns", "age"], "found k = 2; expected 1 to 1"),
    (["--k", 1, "--n0", 10, "--epsilon", 1, "--columns", "shoe"], "found no attribute 'shoe'"),
    (["--k", 1, "--n0", 10, "--epsilon", 1, "--columns", "age,age"], "'age' twice"),
    (["--k", 1, "--n0", 10, "--epsilon", 1, "--columns", ""], "found no attribute ''"),
    (["--k", 2, "--n0", 10, "--epsilon", 1, "--literals", "some"], "expected all or positive"),
    (["--k", 2, "--n0", 10, "--epsilon", 1, "--predicate", "nand"], "expected 'or', 'and' or 'atleast:R'"),
    (["--k", 2, "--n0", 10, "--epsilon", 1, "--predicate", "atleast:3"], "at least 3 of 2"),
    (["--k", 2, "--n0", 10, "--epsilon", 1, "--neighbours", "replace"], "Leave n0 out"),
    (["--k", 2, "--n0", 10, "--epsilon", 1, "--error", 0], "expected a share of the records above 0"),
    (["--k", 2, "--n0", 10, "--epsilon", 1, "--small-queries", 1], "expected 0 to below 1"),
    (["--k", 2, "--n0", 10, "--epsilon", 1, "--on-invalid", "guess"], "guess"),
    (["--k", 2, "--n0", 10, "--epsilon", 1, "--solver", "cp-sat"], "takes no linear programs"),
    (["--k", 2, "--n0", 10, "--epsilon", 1, "--solver", "glopp"], "did you mean 'glop'"),
]


@pytest.mark.parametrize(("arguments", "message"), RELEASES)
def test_releases_that_cannot_be_made_say_what_to_do_and_spend_nothing(
    folder: Path, tmp_path: Path, arguments: list[object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is counted or drawn, and no file is left."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a curator was made")

    monkeypatch.setattr("dpopt.synopses.release.CountingCurator", refused)
    text = refuse("summary release", *people(folder), "-o", tmp_path / "new.npz", *arguments)
    assert message in flat(text)
    assert list(tmp_path.iterdir()) == []


def test_tables_that_do_not_fit_are_refused(folder: Path, tmp_path: Path) -> None:
    some = ["--schema", folder / "schema.json", "--k", 1, "--epsilon", 1, "--n0", 10]
    strange = tmp_path / "strange.csv"
    strange.write_text((folder / "people.csv").read_text().replace("red", "pink"))
    assert "pink" in flat(refuse("summary release", strange, *some, "-o", tmp_path / "s.npz"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["strange.csv"]


def test_a_draft_is_refused_unless_it_is_accepted(folder: Path, tmp_path: Path) -> None:
    schema = json.loads((folder / "schema.json").read_text())
    (tmp_path / "draft.json").write_text(json.dumps({**schema, "draft": True}))
    some = ["summary", "release", folder / "people.csv", "--schema", tmp_path / "draft.json", "--k", 1, "--epsilon", 1,
            "--n0", 10, "-o", tmp_path / "s.npz"]  # fmt: skip
    assert "draft" in flat(refuse(*some))
    assert not (tmp_path / "s.npz").exists()
    succeed(*some, "--accept-draft")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--query", "smoker=true,age>=20,colour=red,town=north"], "with --k 4"),
        (["--query", "smoker=maybe"], "maybe"),
        (["--query", "shoe=1"], "shoe"),
        (["--query", "smoker"], "expected attribute=value"),
        (["--query", "age>=25"], "age"),
        (["--query", "age>=0"], "holds for every value of 'age'; leave it out"),
        (["--query", "smoker=true", "--predicate", "nand"], "expected 'or', 'and' or 'atleast:R'"),
        (["--query", "smoker=true", "--predicate", "atleast:2"], "at least 2 of 1"),
        (["--query", "smoker=true", "--confidence", 95], "between 0 and 1, found 95.0"),
        (["--query", "smoker=true", "--query", "smoker=true,smoker=false"], "holds for no value of 'smoker'"),
        (["--query", "smoker=true,age>=20", "--estimate", "best"], "expected consistent or polynomial"),
    ],
)
def test_queries_that_cannot_be_answered_say_what_to_do(folder: Path, arguments: list[object], message: str) -> None:
    assert message in flat(refuse("summary answer", folder / "summary.npz", *arguments))


def test_conditions_of_both_signs_are_answered_by_a_positive_summary(tmp_path: Path) -> None:
    bits_schema(2).write(tmp_path / "schema.json")
    (tmp_path / "table.csv").write_text("a,b\n" + "true,false\nfalse,false\n" * 50)
    command = "summary release --k 2 --epsilon 1e6 --literals positive --neighbours replace"
    succeed(command, tmp_path / "table.csv", "--schema", tmp_path / "schema.json", "-o", tmp_path / "s.npz")
    for query in ("a=false,b=false", "a=true,b=false"):
        for estimate in ("polynomial", "consistent"):
            text = succeed("summary answer", tmp_path / "s.npz", "--query", query, "--estimate", estimate)
            assert "0.5000" in text
            assert estimate in text


def test_a_range_of_bins_is_two_conditions(folder: Path) -> None:
    (answer,) = told("summary answer --query age>=20,age<40,smoker=true", folder / "summary.npz")["answers"]
    age, smoker = codes()[:, 1], codes()[:, 2]
    truth = ((age == 1) & (smoker == 1)).mean()
    assert answer["low"] <= truth <= answer["high"]
    assert answer["value"] == pytest.approx(truth, abs=2e-3)


def test_an_error_that_is_not_reached_is_refused_with_what_would_do_before_the_table_is_read(
    folder: Path, tmp_path: Path
) -> None:
    """There is no such table: it is not looked for."""
    some = ["--schema", folder / "schema.json", "--k", 2, "--epsilon", 1, "--error", 0.01]
    for text in (
        refuse("summary plan --n0 300", *some),
        refuse("summary release --n0 300", tmp_path / "none.csv", *some, "-o", tmp_path / "s.npz"),
    ):
        assert "n = 300 is too small for the error 0.01" in flat(text)
        assert "is sufficient at this budget; or epsilon = " in flat(text)
    refused = refuse("summary release --neighbours replace", folder / "people.csv", *some, "-o", tmp_path / "s.npz")
    assert f"n = {ROWS:,} is too small" in flat(refused)
    assert list(tmp_path.iterdir()) == []
