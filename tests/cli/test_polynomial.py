"""`dpopt polynomial`: from a predicate to a proof, a file, a picture and a table."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import pytest

from dpopt.polynomials import LeastDegree, Polynomial, Solution, verify
from dpopt.polynomials.minimax import read_solution
from tests.cli.command_line import refuse, succeed, told


def test_the_least_degree_is_printed_with_its_proof(tmp_path: Path) -> None:
    out, picture = tmp_path / "p.json", tmp_path / "p.png"
    command = ("polynomial", "--predicate", "or", "--k", 16, "--error", ".05", "--attributes", 20)
    text = succeed(*command, "-o", out, "--plot", picture)
    assert "degree:      8" in text
    assert "0.0267789 = 35/1307, at s = 1, 2, 3, 6, 8, 9, 11, 14, 15, 16" in text
    assert "proved in exact arithmetic: no polynomial of degree 8 has a smaller error" in text
    assert "all of degree 7 have an error of at least 0.053138 = 243/4573" in text
    for words in ("-15400/50973", "-0.91966335", "-1.4583241", "-0.16060529", "1047224"):
        assert words in text
    found = read_solution(out)
    assert isinstance(found, LeastDegree)
    assert found.degree == 8
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_least_error_of_a_degree_is_the_same_from_any_solver() -> None:
    own = succeed("polynomial --k 9 --degree 4")
    assert "no polynomial of degree at most 4" in own
    assert succeed("polynomial --k 9 --degree 4 --solver none") == own
    begun = succeed("polynomial --k 9 --degree 4 --solver highs").splitlines()
    said = [line for line in begun if line not in own.splitlines()]
    assert [line for line in begun if line not in said] == own.splitlines()
    assert len(said) == 2
    assert said[0].startswith("highs found a polynomial in ")


@pytest.mark.parametrize(
    "sought",
    [
        "--degree 3",
        "--error .2",
        "--degree 3 --free-constant",
        "--minimise coefficients --error .2 --attributes 9",
        "--minimise coefficients --coefficient-limit 1 --degree 3",
        "--minimise coefficients --coefficient-limit 1 --degree 3 --basis chebyshev",
        "--minimise noise --attributes 9 --n 10000 --rho .1",
    ],
)
def test_it_is_said_how_far_a_solver_is_from_the_proven_least(sought: str) -> None:
    """Judged anew here, from the fractions that are printed."""
    said = told("polynomial --k 7 --solver highs", *sought.split())
    answer = said["solver"]
    solution = said["solution"].get("best", said["solution"])
    polynomial = Polynomial(7, tuple(map(Fraction, answer["polynomial"]["coefficients"])))
    errors = [abs(polynomial.at(s) - (s > 0)) for s in range(8)]
    weights = map(Fraction, solution["problem"]["weights"])
    value = sum((w * abs(a) for w, a in zip(weights, polynomial.coefficients, strict=False)), start=Fraction(0))
    limit = solution["problem"]["error_limit"]
    breach = Fraction(0) if limit is None else max(Fraction(0), max(errors) - Fraction(limit))
    value += max(errors) if limit is None else 0
    assert Fraction(answer["objective"]) == value
    assert Fraction(answer["above_least"]) == value - Fraction(solution["objective"])
    assert breach <= Fraction(answer["breach"]) < Fraction(1, 10**6)
    assert abs(Fraction(answer["above_least"])) < Fraction(solution["objective"]) / 10**6
    if solution["problem"]["keeps_zero"]:
        assert errors[0] == 0


def test_json_holds_the_numbers_as_fractions() -> None:
    kept = told("polynomial --k 6 --degree 2 --attributes 6")
    free = told("polynomial --k 6 --degree 2 --free-constant")
    assert kept["proved_in_exact_arithmetic"]
    assert (kept["error"], free["error"]) == ("1/3", "1/4")
    assert len(kept["coefficients"]["monomial"]) == 3
    a = [Fraction(one) for one in kept["coefficients"]["binomial"]]
    assert Fraction(kept["sensitivities"]["binomial"]) == 6 * abs(a[1]) + 15 * abs(a[2])
    assert "sensitivities" not in free


def test_least_coefficients_and_least_noise_are_found(tmp_path: Path) -> None:
    small = ("polynomial", "--minimise", "coefficients", "--k", 8, "--attributes", 20, "--degree", 5)
    text = succeed(*small, "--error", 0.1)
    assert "degree at most 5, error at most 0.1 = 1/10" in text
    assert "smaller weighted sum of coefficients than 1345.29 = 9417/7" in text
    other = told(*small, "--error", 0.1, "--coefficient-weights", "deviation")
    assert Fraction(other["solution"]["objective"]) != Fraction(9417, 7)
    text = succeed("polynomial --minimise coefficients --k 8 --degree 4 --coefficient-limit 1")
    assert "monomial coefficients at most 1" in text
    assert "105/463" in text
    out = tmp_path / "p.json"
    noise = ("polynomial", "--minimise", "noise", "--k", 6, "--attributes", 20, "--n", 10_000, "--rho", 0.1)
    text = succeed(*noise, "-o", out, "--solver", "none")
    assert "degree:      3" in text
    assert "smaller objective (error and noise) than 0.203935" in text
    assert "noise:       0.0789353" in text
    assert "noise on each query of 6 attributes alone: 0.238688" in text
    found = read_solution(out)
    assert isinstance(found, Solution)
    verify(found)
    more = told(*noise, "--queries", 10, "--confidence", 0.5)
    assert Fraction(more["solution"]["objective"]) < found.objective


def test_any_table_of_values_will_do(tmp_path: Path) -> None:
    file = tmp_path / "values.txt"
    file.write_text("0, 1/2\n1 0.5 0\n")
    text = succeed("polynomial --degree 2", "--predicate", f"table:{file}")
    assert "table of k = 4" in text
    assert "no polynomial of degree at most 2" in text
    assert "leave --k out" in refuse("polynomial --k 5 --degree 1", "--predicate", f"table:{file}")
    file.write_bytes(b"\xff\xfe1")
    assert "not UTF-8 text" in refuse("polynomial --degree 1", "--predicate", f"table:{file}")
    file.write_text("0 yes")
    assert "value 1 is 'yes'" in refuse("polynomial --degree 1", "--predicate", f"table:{file}")


def test_constructions_are_compared(tmp_path: Path) -> None:
    picture = tmp_path / "p.svg"
    text = succeed("polynomial --k 8 --degree 5 --compare", "--plot", picture)
    for words in ("Chebyshev", "Sherstov", "least error", "0.04966", "0.04065", "proved in exact arithmetic"):
        assert words in text
    assert picture.read_bytes().startswith(b"<?xml")
    rows = told("polynomial --predicate atleast:2 --k 16 --compare --attributes 20")["rows"]
    assert {row["construction"] for row in rows} == {"Sherstov", "least error"}
    found = {(row["degree_limit"], row["construction"]): row for row in rows}
    assert found[12, "least error"]["error_as_float"] < 0.01 < found[12, "Sherstov"]["error_as_float"] < 0.1
    row = found[12, "Sherstov"]
    polynomial = Polynomial(16, tuple(map(Fraction, row["coefficients"]["binomial"])))
    assert Fraction(row["error"]) == max(abs(polynomial.at(s) - (s >= 2)) for s in range(17))
    assert row["largest_binomial"] == float(max(map(abs, polynomial.coefficients)))


def test_a_given_polynomial_is_certified(tmp_path: Path) -> None:
    file, picture = tmp_path / "mine.txt", tmp_path / "p.png"
    file.write_text("0, 1/2\n-1/20")
    text = succeed("polynomial --k 6 --attributes 9", "--given", file, "--plot", picture)
    assert "error:       0.55 = 11/20, at s = 1" in text
    assert "no polynomial of degree at most 2 has a smaller error than 0.333333 = 1/3" in " ".join(text.split())
    assert "your polynomial: 0.216667 = 13/60 above the least" in text
    assert "153/20" in text  # 9 * 9/20 + 36 * 1/10
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert told("polynomial --k 6", "--given", file)["above_least"] == "13/60"
    assert told("polynomial --k 6 --basis binomial", "--given", file)["error"] == "5/4"  # at 6: 3 - 15/20
    file.write_text("1/10 1/2")
    assert "--free-constant" in refuse("polynomial --k 6", "--given", file)
    assert told("polynomial --k 6 --free-constant", "--given", file)["error"] == "21/10"


def test_errors_count_by_weights(tmp_path: Path) -> None:
    file = tmp_path / "weights.txt"
    file.write_text("1 1 2 0 0 1 1")
    text = succeed("polynomial --k 6 --degree 2", "--point-weights", file, "--plot", tmp_path / "p.png")
    assert "with p(0) = 0, errors weighted" in text
    assert "0.307692 = 4/13, at s = 1, 2, 6" in text
    assert told("polynomial --k 6 --degree 2 --solver highs", "--point-weights", file)["error"] == "4/13"
    file.write_text("1 1 2")
    assert "--point-weights: expected 7 weights" in refuse("polynomial --k 6 --degree 2", "--point-weights", file)
    file.write_text("1 1 2 0 0 1 -1/2")
    refused = refuse("polynomial --k 6 --degree 2", "--point-weights", file)
    assert "none below 0 and not all 0; found 1, 1, 2, 0, 0, 1, -1/2" in refused
    assert "Target" not in refused
    for ignored in (("--point-weights", file), ("--given", file), ("--degree", 2)):
        refused = refuse("polynomial --k 6", *ignored, "--least-degrees", tmp_path / "degrees.csv")
        assert "leave --point-weights, --given and --degree out" in refused
    assert not (tmp_path / "degrees.csv").exists()


def test_tables_of_least_degrees_are_written(tmp_path: Path) -> None:
    file = tmp_path / "degrees.csv"
    text = succeed("polynomial --predicate or --k 12", "--least-degrees", file)
    assert "48 least degrees, each proved in exact arithmetic" in text
    rows = list(csv.DictReader(file.read_text().splitlines()))
    found = {(row["k"], row["error_limit"]): row for row in rows}
    assert found["10", "1/2"]["degree"] == "2"
    assert found["10", "1/2"]["chebyshev_degree"] == "3"
    assert found["4", "1/2"]["least_error"] == "1/5"
    assert found["4", "1/2"]["points_below"] == "0 1 4"
    succeed("polynomial --predicate atleast:3 --k 9 --error 0.1", "--least-degrees", file)
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["k"] for row in rows] == ["3", "4", "5", "6", "7", "8", "9"]
    assert rows[5]["degree"] == "7"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--k 0 --error .1", "from 1 to 256"),
        ("--error .1", "give --k"),
        ("--k 5", "give --error (the least degree is found) or --degree"),
        ("--k 5 --error .1 --degree 2", "give --error (the least degree is found) or --degree"),
        ("--k 5 --error -1", "expected 0 or more"),
        ("--k 5 --error x", "expected a number such as 0.05"),
        ("--k 5 --degree 6", "from 0 to k = 5"),
        ("--k 5 --degree 2 --predicate xor", "expected 'or', 'and' or 'atleast:R'"),
        ("--k 5 --degree 2 --predicate atleast:6", "at least 6 of 5"),
        ("--k 5 --degree 2 --predicate table:nothing-there.txt", "No such file"),
        ("--k 5 --degree 2 --solver cp-sat", "takes no linear programs"),
        ("--k 5 --degree 2 --solver hihgs", "did you mean 'highs'"),
        ("--k 5 --degree 2 --attributes 4", "at least k = 5"),
        ("--k 5 --degree 2 -o nothing-there/p.json", "there is no folder"),
        ("--k 5 --degree 2 --minimise variance", "--minimise is one of error, coefficients, noise"),
        ("--k 5 --minimise noise --attributes 9", "needs --attributes, --n and --rho"),
        ("--k 5 --minimise noise --error .1", "chooses error and degree itself"),
        ("--k 5 --minimise noise --attributes 9 --n 9 --rho 0", "rho above 0"),
        ("--k 5 --minimise coefficients", "needs --error"),
        ("--k 5 --minimise coefficients --error .1", "needs --attributes"),
        ("--k 5 --minimise coefficients --error .1 --attributes 9 --coefficient-weights x", "sensitivity or deviation"),
        ("--k 5 --minimise coefficients --coefficient-limit 1 --basis x", "monomial or chebyshev"),
        (
            "--k 5 --minimise coefficients --error .001 --degree 2 --attributes 9",
            "no polynomial of degree 2 has an error of at most 0.001 (proved in exact arithmetic)",
        ),
        ("--k 5 --degree 2 --rho 1", "are for --minimise noise; found --minimise error"),
        ("--k 5 --degree 2 --coefficient-limit 1", "is for --minimise coefficients; found --minimise error"),
        ("--k 5 --compare --error .1", "leave out --error"),
        ("--k 5 --compare -o p.json", "leave out --error, --minimise, --given and --out"),
        ("--k 97 --compare", "with k to 96"),
        ("--k 5 --given t.txt --degree 2", "--given has its own degree"),
        ("--k 5 --given t.txt --basis x", "--basis binomial, monomial, chebyshev"),
        ("--k 5 --given nothing-there.txt", "No such file"),
        ("--least-degrees t.csv", "--least-degrees needs --k"),
        ("--least-degrees t.csv --k 2 --predicate atleast:3", "no k of at least 3"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(words: str, message: str) -> None:
    assert message in refuse("polynomial", *words.split())


MANY = "9" * 23
"""Numbers of conjunctions of so many attributes are beyond all floats."""


@pytest.mark.parametrize(
    "words",
    [
        "--k 5 --minimise coefficients --coefficient-limit 1e400",
        "--k 5 --minimise coefficients --error 1e400 --attributes 8",
        f"--k 20 --minimise coefficients --error .2 --attributes {MANY}",
        "--predicate table:{huge} --degree 1 --solver highs",
        "--predicate table:{huge} --degree 1 --plot {folder}/p.png",
        "--k 2 --given {huge} --plot {folder}/p.png",
        "--k 5 --minimise coefficients --error .2 --attributes 8 --degree 2147483648",
    ],
)
def test_numbers_beyond_floats_are_refused_where_a_solver_or_a_picture_needs_them(words: str, tmp_path: Path) -> None:
    (tmp_path / "huge").write_text("0 1e400 1")
    message = refuse("polynomial", *words.format(huge=tmp_path / "huge", folder=tmp_path).split())
    assert "beyond 1e308" in message or "found degree 2147483648; expected" in message
    assert [one.name for one in tmp_path.iterdir()] == ["huge"]


@pytest.mark.parametrize(
    "words",
    [
        "--predicate table:{huge} --degree 1",
        "--k 2 --given {huge}",
        "--k 5 --minimise coefficients --error 1e400 --attributes 8 --solver none",
        f"--k 20 --degree 2 --attributes {MANY}",
        f"--k 20 --minimise noise --attributes {MANY} --n 1000 --rho 1",
    ],
)
def test_exact_arithmetic_goes_beyond_floats(words: str, tmp_path: Path) -> None:
    (tmp_path / "huge").write_text("0 1e400 1")
    assert "degree:" in succeed("polynomial", *words.format(huge=tmp_path / "huge").split())
