from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpopt.accounting.accountants import COMPARED
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.registry import OPTIONS as ALGORITHMS
from tests.cli.command_line import call, inputs, refuse, succeed, words

NAMED = ["--algorithm", "dualquery"]
SMALL = [*NAMED, "--n", 5000, "--epsilon", 1, "--delta", 1e-6, "--no-predict"]


@pytest.fixture
def public(tmp_path: Path) -> list[object]:
    """Return the options for a small public schema and workload."""
    _, schema = inputs(tmp_path)
    return ["--schema", schema, "--workload", "marginals:2"]


def planned(public: list[object], *more: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(succeed("plan", *public, *more, "--json"))
    return found


def test_a_plan_is_printed_as_json(public: list[object]) -> None:
    found = planned(public, *SMALL)
    assert set(found) == set(
        words(
            "plan queries workload_fingerprint neighbours unit epsilon delta rho accountants accuracy chosen memory "
            "protects like_a_sample_of"
        )
    )
    assert found["chosen"] is None
    assert [row["accountant"] for row in found["accountants"]] == [one.value for one in COMPARED]
    assert {*found["accountants"][0]} == {"accountant", "delta", "epsilon", "refused", "used", "theorem"}
    assert [row["accountant"] for row in found["accountants"] if row["used"]] == ["zcdp"]
    made = DualQueryPlan.from_json(found["plan"])
    stated = made.budget.guaranteed(made.charges())  # the size is measured: the whole budget
    assert (found["epsilon"], found["rho"]) == (stated.epsilon, stated.rho)
    assert 0.9 < found["epsilon"] <= 1
    assert found["queries"] == 53
    assert found["accuracy"]["predicted"] is None
    assert found["accuracy"]["proven"]["kind"] == "proven bound on the largest error"


def test_a_plan_is_printed_for_people(public: list[object]) -> None:
    text, found = succeed("plan", *public, *SMALL), planned(public, *SMALL)
    made = found["plan"]
    assert f"T = {made['rounds']} rounds, s = {made['draws']} draws each, step eta = 1.4" in text
    assert "53 queries; one record more or less (add-remove), size 5,000" in text
    assert "zcdp (this plan's)" in text
    assert f"{found['epsilon']:.4f}" in text
    assert f"rho (zCDP): {found['rho']:.6f}" in text
    assert "no informative bound" in text
    assert "predicted:" not in text


def test_errors_are_predicted_unless_they_are_not_wanted(public: list[object]) -> None:
    found = planned(public, *SMALL[:-1])
    predicted = found["accuracy"]["predicted"]
    assert predicted["kind"] == "prediction by simulation on public synthetic data, not a bound"
    assert 0 < predicted["mean_error"] < predicted["max_error"] < 1
    assert predicted["runs"] == 2
    assert f"predicted: largest error {predicted['max_error']:.4f}" in succeed("plan", *public, *SMALL[:-1])


def test_trivial_data_sets_stand_beside_a_prediction(public: list[object]) -> None:
    found = planned(public, *SMALL[:-1])["accuracy"]["predicted"]
    zeros, uniform = found["baselines"]["zeros"], found["baselines"]["uniform"]
    text = call("plan", *public, *SMALL[:-1]).stdout
    assert (
        f"without data, largest and mean error there: zeros {zeros['max_error']:.4f} and {zeros['mean_error']:.5f}; "
        f"uniform {uniform['max_error']:.4f} and {uniform['mean_error']:.5f}"
    ) in text
    assert found["verdict"] is None


def test_a_plan_of_residuals_has_an_interval_and_independent_columns_beside_it(public: list[object]) -> None:
    asked = ["--workload", "marginals:2", "--n", 5000, "--epsilon", 1, "--delta", 1e-9, "--algorithm", "projection"]
    found = json.loads(succeed("plan", *public, *asked, "--json"))["accuracy"]["predicted"]
    text = succeed("plan", *public, *asked)
    assert (
        f"mean error {found['mean_error']:.2g} ({found['low']:.2g} to {found['high']:.2g}), distance of marginals"
        in text
    )
    assert "no rules, no bound)" in text
    independent = found["baselines"]["independence"]
    assert (
        "with noisy columns taken as independent, largest and mean error there: independence "
        f"{independent['max_error']:.4f} and {independent['mean_error']:.5f}"
    ) in text


def test_a_wide_sparse_plan_says_where_zeros_cannot_be_beaten(tmp_path: Path) -> None:
    items = tmp_path / "items.txt"
    items.write_text("\n".join(map(str, range(3000))), encoding="utf-8")
    asked = ["--binary-columns", 3000, "--n", 30_000, "--epsilon", 1, "--delta", 1e-6, "--density", 0.002]
    positive = ["--workload", f"popular:3,count=2000,ranks={items},positive", *asked]
    found: dict[str, Any] = json.loads(succeed("plan", *positive, "--json"))
    assert found["plan"]["algorithm"] == "dualquery"
    assert found["declared"] == {"density": 0.002}
    predicted = found["accuracy"]["predicted"]
    assert predicted["kind"].endswith("a public population of zeros and ones")
    assert predicted["verdict"].endswith("ask signed queries, more popular items, or use a larger budget")
    result = call("plan", *positive)
    assert result.stderr.count(f"warning: {predicted['verdict']}") == 1
    assert predicted["verdict"] not in result.stdout
    signed = ["--workload", f"popular:3,count=2000,ranks={items}", *asked]
    assert json.loads(succeed("plan", *signed, "--json"))["accuracy"]["predicted"]["verdict"] is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--rounds 20", {"rounds": 20}),
        ("--draws 20", {"draws": 20}),
        ("--step 0.30", {"step": "0.30"}),
        ("--rounds 7 --draws 5 --step 1", {"rounds": 7, "draws": 5, "step": "1", "chosen_by": "given"}),
        ("--plan-by bound", {"chosen_by": "least proven bound"}),
        ("--free-attributes random", {"free_attributes": "random"}),
    ],
)
def test_what_is_fixed_stays_fixed(public: list[object], options: str, expected: dict[str, object]) -> None:
    made = planned(public, *SMALL, *words(options))["plan"]
    assert {name: made[name] for name in expected} == expected


def test_a_plan_under_add_remove_and_in_rho(public: list[object]) -> None:
    sized = ["--neighbours", "add-remove", "--n0", 4000]
    options = ["--algorithm", "dualquery", *sized, "--rho", 0.01, "--no-predict"]
    found = planned(public, *options)
    assert found["neighbours"] == "one record more or less (add-remove)"
    assert found["plan"]["size"] == 4000
    budget = {"epsilon": None, "delta": 1e-9, "rho": 0.01, "accountant": "zcdp"}
    assert budget.items() <= found["plan"]["budget"].items()
    assert 0.009 < found["rho"] <= 0.01
    assert "one record more or less (add-remove), size 4,000" in succeed("plan", *public, *options)


def test_estimated_marginals_leave_accountants_without_a_figure(public: list[object]) -> None:
    found = planned(public, *SMALL, "--free-attributes", "estimated")
    refused = {row["accountant"]: row["refused"] for row in found["accountants"]}
    assert refused["zcdp"] is None
    assert "no theorem for a concentrated charge" in refused["gdp"]
    assert found["plan"]["one_way"]["gaussian"] is True
    assert "no theorem" in succeed("plan", *public, *SMALL, "--free-attributes", "estimated")


def test_the_paper_s_parameters_for_a_wanted_accuracy(public: list[object]) -> None:
    asked = ["--n", 5000, "--error", 0.2, "--confidence", 0.9]
    found = planned(public, *asked)
    assert set(found) == set(
        words(
            "accuracy confidence theorem rounds draws step solver_gap_allowed size neighbours "
            " epsilon_wanted accountants sharpened_bound_of_the_same_parameters"
        )
    )
    assert (found["epsilon_wanted"], found["step"]) == (1.0, "0.05")
    assert all(row["size_needed"] > 5000 for row in found["accountants"])
    text = succeed("plan", *public, *asked)
    assert "largest error 0.2 with probability 0.9 by DualQuery Theorem 4.6" in text
    assert f"T = {found['rounds']:,}, s = {found['draws']:,}, eta = 0.05" in text
    assert f"epsilon = 1 needs n = {found['accountants'][3]['size_needed']:,}" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--epsilon 1 --delta 1e-06", "the plan needs a number of records: give --n"),
        ("--neighbours replace --n 9 --n0 9", "--n0 is for add-remove"),
        ("--n 9 --n0 9", "found --n and --n0"),
        ("--n 0 --rho 1", "the public size must be a whole number of at least 1, found 0"),
        ("--n 9", "give the budget as --epsilon (with --delta, or without), or as --rho, and not both"),
        ("--n 9 --epsilon 1 --delta 1e-06 --rho 1", "and not both"),
        ("--n 9 --epsilon -1 --delta 1e-06", "epsilon of a budget: found -1.0"),
        ("--n 9 --epsilon 1 --delta 1", "delta of a budget: found 1.0"),
        ("--n 9 --epsilon nan --delta 1e-06", "epsilon of a budget: found nan"),
        ("--n 9 --epsilon 1 --delta 1e-12 --accountant gdp", "expected at least 1e-9 with the accountant 'gdp'"),
        ("--n 9 --rho 1 --accountant renyi", "--accountant is one of pure, zcdp, gdp; found 'renyi'"),
        ("--n 9 --epsilon 1 --delta 1e-6 --accountant theorem", "found accountant 'theorem', removed"),
        ("--n 9 --rho 1 --neighbours swap", "--neighbours is one of replace, add-remove"),
        ("--n 9 --rho 1 --algorithm dualquery --plan-by luck", "--plan-by is rule or bound"),
        ("--n 9 --rho 1 --algorithm mst", f"--algorithm is one of {', '.join(ALGORITHMS)}; found 'mst'"),
        ("--n 9 --rho 1 --algorithm dualqury", "; did you mean 'dualquery'?"),
        ("--n 9 --rho 1 --density 1", "--density, the public share of ones in the table"),
        ("--n 9 --rho 1 --density 0.1", "--density is the share of ones in a table of zeros and ones"),
        ("--n 9 --rho 1 --algorithm dualquery --step big", "the step eta must be a decimal number such as 1.4"),
        ("--n 9 --rho 1 --algorithm dualquery --rounds 0", "the number of rounds must be a whole number of at least 1"),
        ("--algorithm dualquery --n0 100 --rho 1e-12", "is too small for two rounds on n = 100 records"),
        ("--n 100 --rho 0", "found 0, which allows nothing to be learned"),
        ("--n 100 --epsilon=-1", "found -1.0, expected a finite number above 0. Give --epsilon 1"),
        ("--n 100 --epsilon 1 --delta 1", "found 1.0, expected a number between 0 and 1"),
        ("--n 100 --epsilon 1,5", "found '1,5', expected a number such as 1.5:"),
        ("--n 45.000 --epsilon 1", "write 45000"),
        ("--n 100 --epsilons 0,5", "did you mean 0.5?"),
        (
            "--algorithm dualquery --n 100 --rho 0.01 --rounds 90 --draws 90 --step 2",
            "T = 90, s = 90, eta = 2 cost epsilon =",
        ),
        ("--n 9 --error 0.1 --rho 1", "--error goes with --epsilon and --delta"),
        ("--n 9 --error 0.1 --rounds 5", "--error fixes rounds, draws and step"),
        ("--n 9 --error 2", "the largest error allowed: found 2.0"),
        ("--n 9 --error 0.1 --confidence 95", "the failure probability"),
        ("--n 9 --error 0.001", "more than the 1,000,000 rounds that are possible"),
        ("--n 9 --error 0.1 --delta 2", "delta of a budget: found 2.0"),
    ],
)
def test_a_plan_that_cannot_be_made_is_refused(public: list[object], options: str, message: str) -> None:
    assert message in refuse("plan", *public, *words(options))


def test_a_plan_on_file_is_what_a_release_takes(tmp_path: Path) -> None:
    table, schema = inputs(tmp_path)
    asked = ["--schema", schema, "--n0", 200, "--epsilon", 1, "--algorithm", "projection", "--no-predict"]
    plan, out = tmp_path / "plan.json", tmp_path / "out"
    shown = succeed("plan", *asked, "-o", plan)
    succeed("release", table, "--plan", plan, "-o", out)
    made = json.loads((out / "plan.json").read_text(encoding="utf-8"))
    kept = json.loads(plan.read_text(encoding="utf-8"))["planned"]
    assert {key: made[key] for key in kept["plan"]} == kept["plan"]
    assert made["budget"]["delta"] == 1e-6
    assert f"{kept['queries']:,} queries" in shown
    assert "the plan fixes --epsilon" in refuse("release", table, "--plan", plan, "--epsilon", 2, "-o", tmp_path / "no")
    assert "give either --schema" in refuse("release", table, "--epsilon", 2, "-o", tmp_path / "no")


def test_several_epsilons_are_a_table_and_a_picture(public: list[object], tmp_path: Path) -> None:
    asked = [*public, "--n", 5000, "--epsilons", "3 ,.3"]
    shown = call("plan", *asked, "-o", tmp_path / "errors.svg")
    assert shown.stderr.startswith("epsilons 3 and 0.3\n")
    text = shown.stdout
    made = json.loads(succeed("plan", *asked, "--json"))
    rows, recommended = made["epsilons"], made["recommended"]
    assert [row["epsilon"] for row in rows] == [0.3, 3]
    for row in rows:
        assert f"{row['mean_error']:.2g}" in text
        assert f"{row['found_of_100']:.3g}" in text
        assert f"at most {row['found_of_100']:.3g} % of the people" in row["protects"]
    assert recommended["epsilon"] == 0.3
    assert rows[0]["like_a_sample_of"] >= 500  # a tenth of the records
    assert rows[1]["found_of_100"] > 50 > rows[0]["found_of_100"]
    assert " ".join(recommended["because"].split()) in " ".join(text.split())
    assert "errors predicted for projection of 53 counts, on public data" in text
    assert "<svg" in (tmp_path / "errors.svg").read_text(encoding="utf-8")
    assert "ends with .svg, .png or .pdf" in refuse("plan", *asked, "-o", tmp_path / "errors.json")
    for unclear in ("many", "0,5"):  # a decimal comma
        assert f"found '{unclear}'" in refuse("plan", *public, "--n", 5000, "--epsilons", unclear)
    assert "--epsilons replaces --epsilon and --rho" in refuse("plan", *asked, "--epsilon", 1)
