"""Figures with intervals that every release shows: in README.txt, in reports and, for the owner, beside the table's."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.answers.questions import MOST_FIGURES, default_questions, parse_question
from dpopt.html_pages.shown import answer_in_words
from dpopt.releases.descriptions.readme import README
from tests.cli.command_line import flat, succeed, told

KINDS = dpopt.AttributeKind
ODD = ("share", 'a "by" b', " where ", "it's (an) `age`", "mean(x)", "≥ 3")
SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("smoker", KINDS.BOOLEAN),
        dpopt.Attribute("education", KINDS.CATEGORICAL, ("low", "mid", "high"), missing="?"),
        dpopt.Attribute("age", KINDS.NUMERIC, edges=(0, 20, 40, 60)),
    )
)
NUMBERS = np.arange(3000)
TABLE = pd.DataFrame(
    {
        "smoker": NUMBERS % 3 == 0,
        "education": np.array(["low", "mid", "high", "?"])[NUMBERS % 4],
        "age": np.where(NUMBERS % 2 == 0, 15, 250),  # counted as 50, the representative of the last bin
    }
)
ASKED = [
    "share of smoker = true",
    "share of education",
    "mean(age)",
    "mean(age) by education",
    "share of smoker = true by education",
]
TRUTH = [1 / 3, 1 / 3, 1 / 3, 1 / 3, 30.0, 10.0, 50.0, 10.0, 50.0, 1 / 3]


def released(table: pd.DataFrame = TABLE, *, epsilon: float = 50, **more: Any) -> dpopt.SyntheticRelease:
    how: dict[str, Any] = {"n0": len(table), "predict": False, "on_invalid": "clip", **more}
    return dpopt.release(table, SCHEMA, "marginals:2", epsilon=epsilon, **how)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("figures") / "release"
    released(out=place, algorithm=dpopt.Projection(measure="counts"))
    return place


def test_readme_and_report_show_the_answers_and_a_replay_the_same(folder: Path, tmp_path: Path) -> None:
    made = dpopt.replay(folder, tmp_path / "again")
    figures = made.figures()
    assert list(dict.fromkeys(one["question"] for one in figures)) == ASKED[:4]
    assert [one["estimate"] for one in figures] == made.answer(ASKED[:4])["estimate"].tolist()
    text, page = (folder / README).read_text(encoding="utf-8"), dpopt.report(folder)
    for row in figures:
        name, estimate, interval, outer = answer_in_words(row)
        assert " ".join(f"{name} {estimate} {interval} {outer}".split()) in " ".join(text.split())
        assert all(f">{one}<" in page for one in (name, estimate, interval) if "=" not in one)
    assert (tmp_path / "again" / README).read_text(encoding="utf-8") == text
    assert "standard errors from the rows" in " ".join(text.split())
    assert "standard errors from the rows" in page


@pytest.mark.parametrize("algorithm", ["dualquery", "fem", "smalldb"])
def test_where_nothing_was_measured_no_figure_is_shown_and_a_sentence_says_so(algorithm: str, tmp_path: Path) -> None:
    how: dict[str, Any] = {"dualquery": dpopt.DualQuery(rounds=5, draws=5, step=0.5), "fem": dpopt.FEM(rounds=3)}
    more: dict[str, Any] = {"delta": 0} if algorithm == "smalldb" else {}
    made = released(epsilon=4, algorithm=how.get(algorithm, algorithm), out=tmp_path / "out", **more)
    text = " ".join((tmp_path / "out" / README).read_text(encoding="utf-8").split())
    assert made.figures() == []
    for shown in (text, made.report()):
        assert "so its figures have no intervals" in shown
        assert "standard errors from the rows" in shown
    assert dpopt.evaluate(made, TABLE).intervals is None


def test_noisy_answers_without_records_show_no_figures(tmp_path: Path) -> None:
    made = released(algorithm="noise", out=tmp_path / "out")
    assert made.figures() == []
    assert "FIGURES" not in (tmp_path / "out" / README).read_text(encoding="utf-8")
    assert 'id="figures"' not in made.report()


def test_the_owner_sees_the_figures_of_the_table_as_counted(folder: Path, tmp_path: Path) -> None:
    """Ages of 250 are counted as 50, and missing values are left out, as the release did. Another table is found out."""
    found = dpopt.evaluate(folder, TABLE).intervals
    assert found is not None
    shares = 1 / 3, 1 / 4 / (3 / 4), 1 / 3, 1 / 3, 30.0
    assert [one["real"] for one in found["figures"][:5]] == pytest.approx(shares)
    by = {one["education"]: one["real"] for one in found["figures"] if "education" in one}
    assert by == pytest.approx({"low": 10.0, "mid": 50.0, "high": 10.0, "missing": 50.0})
    other = TABLE.assign(smoker=True)
    missed = dpopt.evaluate(folder, other).intervals
    assert missed is not None
    assert next(one["question"] for one in missed["figures"] if not one["held"]) == ASKED[0]
    assert "missed: share of smoker = true, 1 in the table" in missed["words"]
    file = tmp_path / "table.csv"
    other.to_csv(file, index=False)
    said = flat(succeed("evaluate", folder, file))
    assert said.index("NOT private") < said.index(missed["words"])
    assert told("evaluate", folder, file)["intervals"]["words"] == missed["words"]
    page, public = unescape(dpopt.report(folder, other)), dpopt.report(folder)
    assert missed["words"] in page
    assert "the table (not private)" in page
    assert "the table (not private)" not in public
    assert "contain the table" not in public


def test_intervals_hold_the_figure_of_the_table_as_often_as_they_say() -> None:
    """40 releases with 10 figures each; figures of one release are dependent, so that a release counts once.

    With a true coverage of 95 %, the mean over 40 releases, whose share of held figures deviates by at most 0.22 (all
    figures held together or not), lies above 0.95 - 3.3 * 0.22 / sqrt(40) = 0.835 but for 1 in 1,000. Intervals of half
    the width cover 67 %, and are found with a probability above 99 %.
    """
    held = []
    for _ in range(40):
        found = dpopt.evaluate(released(epsilon=1, algorithm=dpopt.Projection(measure="counts")), TABLE).intervals
        assert found is not None
        held.append(np.mean([one["held"] for one in found["figures"]]))
    assert np.mean(held) > 0.835


def test_questions_are_chosen_by_columns_and_can_be_read_whatever_they_are_called() -> None:
    """Names and values that hold words, quotes and blanks of the language; figures stay within their limit."""
    values = {name: ("of", "a or b", 'say "x"', "1") if place % 2 else ("no", "it's") for place, name in enumerate(ODD)}
    columns = [dpopt.Attribute(name, KINDS.CATEGORICAL, some) for name, some in values.items()]
    numbers = dpopt.Attribute("x by y", KINDS.NUMERIC, edges=(0, 1, 2))
    schema = dpopt.Schema((*columns, numbers))
    table = pd.DataFrame({name: [some[0], some[1]] * 200 for name, some in values.items()} | {"x by y": [0.5] * 400})
    how: dict[str, Any] = {"algorithm": dpopt.Projection(measure="counts"), "predict": False}
    made = dpopt.release(table, schema, "marginals:2", epsilon=5, n0=400, **how)
    measured = made.measured()
    assert measured is not None
    asked = default_questions(schema, measured)
    named = [parse_question(text, schema) for text in asked]
    assert {one.column for one in named if one.measure == "mean"} == {"x by y"}
    assert [one.by for one in named if one.by] == [("≥ 3",)]
    assert len(made.figures()) == MOST_FIGURES
