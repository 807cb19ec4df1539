"""Answers of releases of every family, in Python and from the shell, from the folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.algorithms.measured.known import Known
from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.algorithms.replay import load
from dpopt.answers.answer import BY_ROWS, MEASURED
from dpopt.answers.questions import read_questions
from dpopt.errors import QuestionError
from tests.cli.command_line import flat, refuse, succeed, told

TABLE = pd.DataFrame({"smoker": [True, False] * 600, "ill": [True, False, False] * 400, "age": [15, 25, 25, 45] * 300})
SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),
        dpopt.Attribute("ill", dpopt.AttributeKind.BOOLEAN),
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60)),
    )
)
QUESTIONS = ["count where smoker = true", "share of ill by smoker", "mean(age)"]
FAMILIES: dict[str, dict[str, Any]] = {
    "residuals": {"algorithm": dpopt.Projection(measure="residuals")},
    "counts": {"algorithm": dpopt.Projection(measure="counts")},
    "pure counts": {"algorithm": dpopt.Projection(measure="counts"), "delta": 0},
    "selected": {"algorithm": dpopt.Projection(measure="selected", selections=3)},
    "mwem": {"algorithm": dpopt.MWEM(rounds=6)},
    "dualquery": {"algorithm": dpopt.DualQuery(rounds=20, draws=20, step=0.5)},
    "fem": {"algorithm": dpopt.FEM(rounds=4)},
    "smalldb": {"algorithm": "smalldb", "delta": 0},
}
ROWS_ALONE = {"dualquery", "fem", "smalldb"}


def released(family: str, **more: Any) -> dpopt.SyntheticRelease:
    how: dict[str, Any] = {"epsilon": 4, "n0": 1200, "predict": False, **FAMILIES[family], **more}
    return dpopt.release(TABLE, SCHEMA, "marginals:2", **how)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_answers_alike_everywhere(family: str, tmp_path: Path) -> None:
    """What was measured has intervals, which hold the truth but for one in 10^6; DualQuery, FEM and nets have their rows."""
    made = released(family, out=tmp_path / "release")
    found = made.answer(QUESTIONS, confidence=1 - 1e-6)
    assert list(found.columns)[:2] == ["question", "smoker"]
    assert len(found) == 1 + 4 + 1
    if family in ROWS_ALONE:
        assert found.how.str.startswith(BY_ROWS).all()
        assert found.low.isna().all()
    else:
        truth = [600, 2 / 3, 1 / 3, 2 / 3, 1 / 3, 30.0]  # ages as representatives of their bins
        known = (found.how == MEASURED).to_numpy()
        assert known[0]
        inside = (found.low <= np.array(truth) + 1e-9) & (np.array(truth) - 1e-9 <= found.high)
        assert inside[known].all()
    again = dpopt.answer(tmp_path / "release", QUESTIONS, confidence=1 - 1e-6)
    pd.testing.assert_frame_equal(found, again)
    rows = told("answer", tmp_path / "release", *QUESTIONS, "--confidence", str(1 - 1e-6))["answers"]
    assert [row["estimate"] for row in rows] == pytest.approx(found.estimate.tolist())
    assert [row["how"] for row in rows] == found.how.tolist()


def test_answers_are_functions_of_the_folder(tmp_path: Path) -> None:
    """A replayed release answers the same, and knows no table."""
    made = released("residuals", out=tmp_path / "release")
    again = dpopt.replay(tmp_path / "release", tmp_path / "again")
    pd.testing.assert_frame_equal(made.answer(QUESTIONS), again.answer(QUESTIONS))
    pd.testing.assert_frame_equal(made.regression("age ~ smoker"), again.answer("age ~ smoker"))


def test_the_first_measurement_of_a_residual_answers_alone() -> None:
    """A later one is as precise as the first noise made it seem worth; what rows are fitted to takes both together."""
    job = released("residuals").job
    known = Known(job, MeasuredPlan.of(job.plan))
    factors = np.array([50] * 3 + [0] * 3)
    first, second = (np.arange(len(known.residuals(factors))) * sign for sign in (1_000, -9_000))
    known.add(factors, first, 100.0)
    alone = known.measured()
    known.add(2 * factors, second, 100.0)
    known.add(np.array([0] * 5 + [10]), np.arange(9)[: len(known.residuals(np.array([0] * 5 + [10])))], 100.0)
    both = known.measured()
    known_cells = np.repeat(factors > 0, known.sets.cells())
    assert both.estimates[known_cells] == pytest.approx(alone.estimates[known_cells])
    assert both.variances[:3] == pytest.approx(alone.variances[:3])
    assert np.isfinite(both.variances).tolist() == [True] * 3 + [False] * 2 + [True]
    assert np.abs(known.estimates - both.estimates).max() > 0.01


def test_a_measured_number_of_records_has_its_noise() -> None:
    made = released("residuals", n0=None)
    found = made.answer("count")
    assert found.standard_error.tolist()[0] > 0
    assert found.estimate.tolist() == [made.job.plan.size]


def test_releases_of_one_table_are_taken_together() -> None:
    several = [released("residuals", epsilon=1) for _ in range(2)]
    alone, both = (
        dpopt.answer(one, "count where smoker = true").standard_error.tolist() for one in (several[:1], several)
    )
    assert both[0] < 0.8 * alone[0]
    other = dpopt.release(TABLE[["ill"]], dpopt.Schema(SCHEMA.attributes[1:2]), n0=1200, epsilon=1, predict=False)
    with pytest.raises(QuestionError, match="other columns"):
        dpopt.answer([several[0], other], "count")


def test_shrunken_answers_stand_beside_in_python_and_from_the_shell(tmp_path: Path) -> None:
    """Of what was measured alone, and the same everywhere; a regression has none."""
    made = released("residuals", epsilon=1, out=tmp_path / "release")
    asked = ["share of ill by smoker", "ill ~ smoker"]
    found, plain = made.answer(asked, shrunken=True), made.answer(asked)
    pd.testing.assert_frame_equal(found.drop(columns=["shrunken", "shrunken_low", "shrunken_high"]), plain)
    known = found.how.eq(MEASURED) & found.term.isna()
    assert known.tolist() == [True] * 4 + [False] * 2
    assert (found.shrunken_low < found.shrunken)[known].all()
    assert ((found.shrunken_high - found.shrunken_low) < (found.high - found.low))[known].all()
    assert found.shrunken[~known].isna().all()
    rows = told("answer", tmp_path / "release", *asked, "--shrunken")["answers"]
    assert [row["shrunken"] for row in rows[:4]] == pytest.approx(found.shrunken[known].tolist())
    assert "shrunken low" in succeed("answer", tmp_path / "release", *asked, "--shrunken")
    assert "leave --shrunken or --population out" in flat(
        refuse("answer", tmp_path / "release", "count", "--shrunken", "--population")
    )


def test_persons_have_no_error_of_sampling() -> None:
    table = TABLE.assign(person=np.arange(len(TABLE)) // 2)
    made = dpopt.release(table, SCHEMA, "marginals:2", epsilon=4, predict=False, person="person", rows_per_person=2)
    assert len(made.answer("count")) == 1
    with pytest.raises(QuestionError, match="persons"):
        made.answer("count", population=True)
    with pytest.raises(QuestionError, match="rows per person"):
        dpopt.answer([released("residuals"), made], "count")


def test_the_shell_reads_files_and_writes_tables(tmp_path: Path) -> None:
    released("residuals", out=tmp_path / "release")
    (tmp_path / "questions.txt").write_text(
        "# two questions\ncount where ill = true\nmedian(age) by smoker # of each\n"
    )
    asked = ["answer", tmp_path / "release", "--file", tmp_path / "questions.txt", "--regress", "age ~ smoker"]
    shown = succeed(*asked)
    assert "count where ill = true (measured)" in shown
    assert "age ~ smoker (measured)" in shown
    assert "for the table as counted" in shown
    assert "for the population" in succeed("answer", tmp_path / "release", "count where ill = true", "--population")
    succeed(*asked, "-o", tmp_path / "answers.csv")
    found = pd.read_csv(tmp_path / "answers.csv")
    asked_for = ["count where ill = true", *["median(age) by smoker"] * 2, *["age ~ smoker"] * 2]
    assert found.question.tolist() == asked_for
    assert found.term.dropna().tolist() == ["constant", "smoker = true"]
    assert "answers.csv" in refuse(*asked, "-o", tmp_path / "answers.csv")
    assert "--json > FILE" in flat(refuse(*asked, "-o", tmp_path / "answers.json", "--json"))
    assert len(told("answer", tmp_path / "release", "count", "count ")["answers"]) == 1


def test_a_release_and_its_copy_are_not_two(tmp_path: Path) -> None:
    made = released("residuals", out=tmp_path / "release")
    again = dpopt.replay(tmp_path / "release", tmp_path / "again")
    with pytest.raises(dpopt.DpoptError, match="the same noisy values twice"):
        dpopt.answer([made, again], "count where ill = true")
    assert len(dpopt.answer([made, released("residuals")], "count where ill = true")) == 1


def test_columns_named_as_those_of_answers_are_groups_all_the_same() -> None:
    names = ("value", "how", "question")
    schema = dpopt.Schema(tuple(dpopt.Attribute(name, dpopt.AttributeKind.BOOLEAN) for name in names))
    table = pd.DataFrame({name: [True, False] * 300 for name in names})
    found = dpopt.answer(
        dpopt.release(table, schema, n0=600, epsilon=50, predict=False), "share of value by how, question"
    )
    assert list(found.columns)[:4] == ["question", "how (group)", "question (group)", "value"]
    assert found["how (group)"].tolist() == ["false"] * 4 + ["true"] * 4
    assert set(found.question) == {"share of value by how, question"}


def test_the_shell_keeps_the_names_of_columns(tmp_path: Path) -> None:
    schema = dpopt.Schema(tuple(dpopt.Attribute(name, dpopt.AttributeKind.BOOLEAN) for name in ("is_ill", "PAY_0")))
    table = pd.DataFrame({"is_ill": [True, False] * 300, "PAY_0": [True, False] * 300})
    dpopt.release(table, schema, n0=600, epsilon=50, predict=False, out=tmp_path / "release")
    shown = succeed("answer", tmp_path / "release", "share of is_ill by PAY_0")
    assert "PAY_0" in shown
    assert "PAY 0" not in shown
    assert "standard error" in shown


def test_a_remark_begins_behind_a_space_and_outside_quotes(tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text("# all\ncount where lang = C# # of C#\ncount where lang = 'D # E'\n")
    assert read_questions(path) == ("count where lang = C#", "count where lang = 'D # E'")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["nowhere", "count"], "found no release at 'nowhere'"),
        (["release"], "found no question"),
        (["release", "count were ill = true"], "at 'were ill = true'"),
        (["release", "count", "--confidence", "1"], "the confidence must be"),
    ],
)
def test_wrong_input_is_said_in_one_message(given: list[str], said: str, tmp_path: Path) -> None:
    released("residuals", out=tmp_path / "release")
    assert said in flat(refuse("answer", *[tmp_path / one if one == "release" else one for one in given]))


def test_a_folder_that_is_read_is_a_release(tmp_path: Path) -> None:
    made = released("residuals", out=tmp_path / "release")
    assert load(tmp_path / "release").answer("count").equals(made.answer("count"))
