"""Every algorithm from the command line: what is planned, what is said, and a release that evaluates and replays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpopt.algorithms.registry import OPTIONS as ALGORITHMS
from dpopt.cli.reports.reports import report_plan
from dpopt.releases.public_population.demo_population import demo_codes, demo_schema
from dpopt.releases.table_output import write_records
from tests.cli.command_line import call, inputs, refuse, statement, succeed, words

NAMED = [name for name in ALGORITHMS if name != "auto"]
BUDGET = ["--epsilon", 2, "--delta", 1e-6]
OPTIONS: dict[str, list[object]] = {
    "dualquery": ["--rounds", 20, "--draws", 10],
    "projection": ["--records", 500],
    "fem": ["--rounds", 10, "--draws", 20],
    "pmw": ["--workload", "marginals:2,count=3,seed=1", "--rounds", 30],
    "mwem": ["--workload", "marginals:2,count=3,seed=1"],
    "smalldb": ["--workload", "marginals:2,count=1,seed=1"],
}
ROWS = 2000


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Return table and options of 2,000 people of the demonstration."""
    folder = tmp_path_factory.mktemp("demonstration")
    demo_schema().write(folder / "schema.json")
    write_records(folder / "people.csv", demo_schema(), demo_codes()[:ROWS])
    return [folder / "people.csv", "--schema", folder / "schema.json", "--workload", "marginals:2", *BUDGET]


@pytest.mark.parametrize("algorithm", NAMED)
def test_every_algorithm_leaves_a_release_that_evaluates_and_replays(
    demonstration: list[object], tmp_path: Path, algorithm: str
) -> None:
    out = tmp_path / "out"
    more = OPTIONS.get(algorithm, [])
    text = succeed("release", *demonstration, "--algorithm", algorithm, *more, "--no-predict", "--out", out)
    found = statement(out)
    assert found["algorithm"] == algorithm
    assert found["chosen"] is None
    assert found["privacy"]["private"] is True
    assert 0 < found["privacy"]["epsilon"] <= 2
    assert f"spent:      epsilon = {found['privacy']['epsilon']:.4f} at delta = 1e-06" in text
    assert text.splitlines()[-2].startswith(f"next:       dpopt report {out} ")
    if algorithm == "noise":
        queries = found["workload"]["queries"]
        assert f"answers:    {queries:,} noisy answers in {out / 'answers.csv'}, no records" in text
        assert (out / "answers.csv").read_text().count("\n") == queries + 1
        assert not (out / "synthetic.csv").exists()
    else:
        assert f"{found['records']['rows']:,} rows in {out / 'synthetic.csv'}" in text
        assert (out / "synthetic.csv").read_text().count("\n") == found["records"]["rows"] + 1
    errors = json.loads(succeed("evaluate", out, demonstration[0], "--json"))
    assert 0 < errors["mean_error"] < errors["baselines"]["zeros"]["mean_error"]
    assert errors["mean_error"] <= errors["max_error"]
    assert "byte for byte" in succeed("replay", out, "-o", tmp_path / "again")


def test_a_release_says_which_algorithm_was_chosen_and_why(demonstration: list[object], tmp_path: Path) -> None:
    done = call("release", *demonstration, "--out", tmp_path / "out", "--details")
    assert done.exit_code == 0, done.output
    chosen = statement(tmp_path / "out")["chosen"]
    assert set(chosen["considered"]) == {"projection"}
    assert f"algorithm: {chosen['algorithm']}; {chosen['because']}" in done.stderr.splitlines()
    assert statement(tmp_path / "out")["algorithm"] == chosen["algorithm"]
    predicted = statement(tmp_path / "out")["accuracy"]["predicted"]
    assert predicted["mean_error"] == chosen["considered"][chosen["algorithm"]]["mean_error"]


def test_a_plan_prints_the_choice_and_what_was_considered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, schema = inputs(tmp_path)
    asked = ["plan", "--schema", schema, "--workload", "marginals:2", "--n", 500, *BUDGET]
    assert set(json.loads(succeed(*asked, "--json"))["chosen"]["considered"]) == {"projection"}
    asked.append("--compare")
    found = json.loads(succeed(*asked, "--json"))
    chosen = found["chosen"]
    assert found["plan"]["algorithm"] == chosen["algorithm"]
    assert set(chosen["considered"]) == set(ALGORITHMS) - {"auto"}
    report_plan("the plan", found)  # what the command prints without --json, of the same plan
    text = capsys.readouterr().out
    assert f"chosen:    {chosen['because']}" in text
    for name, errors in chosen["considered"].items():
        assert f"{name}: largest error {errors['max_error']:.4f}, mean error {errors['mean_error']:.6f}" in text


@pytest.mark.parametrize("algorithm", NAMED)
def test_a_named_algorithm_is_planned(tmp_path: Path, algorithm: str) -> None:
    _, schema = inputs(tmp_path)
    asked = ["plan", "--schema", schema, *words("--workload marginals:2 --n 5000"), *BUDGET, "--algorithm", algorithm]
    found = json.loads(succeed(*asked, "--no-predict", "--json"))
    assert found["plan"]["algorithm"] == algorithm
    assert found["chosen"] is None
    assert 0 < found["epsilon"] <= 2
    text = succeed(*asked, "--no-predict")
    assert text.splitlines()[0].lower().startswith(algorithm)
    assert "chosen:" not in text
    assert f"{found['epsilon']:.4f}" in text


def test_a_reason_against_an_algorithm_is_printed(tmp_path: Path) -> None:
    _, schema = inputs(tmp_path)
    asked = ["plan", "--schema", schema, "--workload", "conjunctions:2,count=20,seed=1", "--n", 5000, *BUDGET]
    assert "projection: no: --algorithm projection measures with Gaussian noise" in succeed(
        *asked, "--accountant", "gdp", "--details"
    )


@pytest.mark.parametrize(
    ("typo", "meant"), [("projecton", "projection"), ("dualqury", "dualquery"), ("nois", "noise"), ("atuo", "auto")]
)
def test_a_typo_is_answered_with_what_was_meant(tmp_path: Path, typo: str, meant: str) -> None:
    table, schema = inputs(tmp_path)
    public = ["--schema", schema, "--workload", "marginals:2", *BUDGET, "--algorithm", typo]
    for asked in (["release", table, *public, "--out", tmp_path / "out"], ["plan", *public, "--n", 50]):
        text = refuse(*asked)
        assert f"--algorithm is one of {', '.join(ALGORITHMS)}; found '{typo}'" in text
        assert f"; did you mean '{meant}'?" in text
    assert not (tmp_path / "out").exists()


REFUSED = {
    "--algorithm projection --measure selected --workload conjunctions:2,count=9,seed=1": "this workload has none",
    "--algorithm projection --accountant gdp": "--accountant zcdp",
    "--algorithm projection --smoothing 3 --column-generation 5": "set one of the two to 0",
    "--algorithm projection --records 0": "the number of records must be a whole number",
    "--algorithm projection --smoothing -1": "smoothing must be a finite number of at least 0, found -1",
    "--algorithm projection --fit-seconds 0": "the seconds of a fit must be a finite number above 0",
    "--algorithm projection --selections 0": "the number of selections must be a whole number of at least 1",
    "--algorithm projection --rounds 5": "dualquery, fem, mwem, pmw, and not of projection",
    "--algorithm dualquery --records 5": "--records is an option of projection",
    "--algorithm noise --rows 5": "--rows is for algorithms that release records",
    "--algorithm projection --plan-by bound": "--plan-by is an option of dualquery, pmw, and not",
    "--rounds 5": "--rounds is an option of dualquery, fem, mwem, pmw, and not of auto",
    "--algorithm mwem --solver cp-sat": "does not take convex programs with second-order and exponential cones",
    "--algorithm dualquery --fit-seconds 5": "--fit-seconds is an option of projection",
    "--algorithm projection --selections 3 --records 2000000 --n0 200": "at most 1,048,575",
}


@pytest.mark.parametrize("options", REFUSED)
def test_what_cannot_be_is_refused_before_anything_is_spent(tmp_path: Path, options: str) -> None:
    table, schema = inputs(tmp_path)
    usual = ["--schema", schema, "--workload", "marginals:2", *BUDGET, "--out", tmp_path / "out", "--no-predict"]
    assert REFUSED[options] in refuse("release", table, *usual, *words(options))
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "schema.json"}


def test_progress_names_measuring_and_fitting(demonstration: list[object], tmp_path: Path) -> None:
    done = call("release", *demonstration, "--algorithm", "projection", "--selections", 2, "--records", 200,
                "--no-predict", "--out", tmp_path / "out")  # fmt: skip
    assert done.exit_code == 0, done.output
    stages = [line.split(":")[0] for line in done.stderr.splitlines()]
    assert [stage for stage in stages if stage in {"measuring", "fitting records", "writing records"}] == [
        "measuring",
        "fitting records",
        "writing records",
    ]


def test_a_fit_that_ran_out_of_time_is_reported(demonstration: list[object], tmp_path: Path) -> None:
    usual = ["release", *demonstration, "--algorithm", "projection", "--records", 20, "--no-predict"]
    short = succeed(*usual, "--fit-seconds", 1e-9, "--out", tmp_path / "short")
    assert statement(tmp_path / "short")["certificate"]["stopped"] == "time is up"
    note = "note: the fit reached --fit-seconds before it was finished"
    assert note in " ".join(short.split())
    whole = succeed(*usual, "--fit-seconds", 600, "--out", tmp_path / "whole")
    assert statement(tmp_path / "whole")["certificate"]["stopped"] == "all sweeps done"
    assert note not in " ".join(whole.split())
