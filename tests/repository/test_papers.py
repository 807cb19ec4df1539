"""Documents of experiments are what their results make; the papers' figures beside them are quoted, disagreements stated."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from tests.source_code import ROOT

if not (ROOT / "experiments").is_dir():
    pytest.skip("the experiments are not part of this copy", allow_module_level=True)

from experiments.__main__ import ANSWERS, QUOTED, documents, quoted
from experiments.documents import cell, rows, with_results
from experiments.papers import EXPERIMENTS, compared, report_of
from experiments.reproduce import NO_RESULT, main, measured, repeated

FOLDER = ROOT / "experiments"
TABLES = (
    "ablations", "approximate_degree", "audit", "decision_lists", "dpbench", "error_falls", "figure5", "front",
    "fuzz", "halfspaces", "hay_2010", "intervals", "killed_runs", "means", "models_and_solvers",
    "multiplicative_weights", "papers_sanitizer", "polynomial_release", "small_databases", "wide_data",
)  # fmt: skip
"""Experiments whose `markdown` makes the tables from results on file."""


def test_the_documents_are_those_that_results_make() -> None:
    """After new results: `python -m experiments`."""
    assert [document for document, text in documents() if document.read_text(encoding="utf-8") != text] == []


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_of_a_document_are_those_of_its_results(name: str) -> None:
    report = report_of(name)
    made = import_module(f"experiments.{name}.__main__").markdown(report)
    document = FOLDER / name / "README.md"
    text = document.read_text(encoding="utf-8")
    # One line on date, machine and runs stands above: that of the last command, which may have added runs to some rows only.
    line = next(line for line in text.splitlines() if line.startswith(f"{report['date']}: "))
    assert with_results(document, [line, "", *made]) == text


def test_every_experiment_has_its_answer_and_every_paper_is_compared() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/README.md")} == set(ANSWERS)
    assert {path.parent.name for path in FOLDER.glob("*/paper.py")} == set(EXPERIMENTS)


@pytest.mark.parametrize("document", QUOTED)
def test_the_figures_that_a_document_quotes_are_those_of_the_results(document: str) -> None:
    text = " ".join((ROOT / document).read_text(encoding="utf-8").split())
    assert [passage for passage in quoted(document) if passage not in text] == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_quotation_stands_in_the_paper(name: str, data_folder: Path) -> None:
    paper, found = compared(name)
    file = data_folder.parent / "papers" / paper.file
    if not file.exists():
        pytest.skip(f"the text of {paper.cited} is not here")
    text = file.read_text(encoding="utf-8")
    assert found
    assert [one.quote for one in found if one.quote not in text] == []


@pytest.mark.parametrize(
    ("name", "where", "what", "ours"),
    [
        ("wide_data", "Figure 3", "epsilon of eta", "1.86"),
        ("intervals", "Theorem 4.3", "as printed", "0 of 20"),
        ("hay_2010", "Figure 6", "over that of L~ at single bins", "below 1 in 0 of 12"),
        ("hay_2010", "Figure 5", "the error of sorting and rounding", "below 10 in 5 of 18"),
        ("figure5", "Figure 5", "as published", "smaller in 0 (0) of 50"),
    ],
)
def test_the_known_disagreements_are_stated_with_their_figures(name: str, where: str, what: str, ours: str) -> None:
    found = [one for one in compared(name)[1] if where in one.where and what in one.what]
    assert len(found) == 1
    assert found[0].agrees is False
    assert ours in found[0].ours


def test_everything_that_is_compared_has_a_name_of_its_own_and_known_parts() -> None:
    known = repeated()
    assert sum(len(one.kept) for one in known.values()) == sum(len(compared(name)[1]) for name in EXPERIMENTS)
    for name in EXPERIMENTS:
        parts = getattr(import_module(f"experiments.{name}.paper"), "PARTS", {})
        assert set(parts) <= {one.place for one in known.values() if one.experiment == name}
    assert known["dualquery:figure3"].options() == ["--figures", "3"]


@pytest.mark.parametrize("name", repeated())
def test_results_measured_in_full_are_set_beside_the_paper_as_those_on_file(name: str) -> None:
    """For a figure of wide_data its rows alone are new."""
    one = repeated()[name]
    fresh = report_of(one.experiment)
    if one.experiment == "wide_data":
        figure = int(one.options()[-1])
        fresh["results"] = [row for row in fresh["results"] if row["row"]["figure"] == figure]
    assert measured(one, fresh, full=True) == {kept.what: kept.ours for kept in one.kept}


def test_a_quick_run_states_no_figure_that_it_has_no_rows_for() -> None:
    one = repeated()["dualquery:figure3"]
    rows = [row for row in report_of("wide_data")["results"] if row["row"]["figure"] == 3]
    fewer = {"results": [row for row in rows if row["row"]["algorithm"] != "dualquery"]}
    assert measured(one, fewer, full=False) == {}
    with pytest.raises(LookupError):
        measured(one, fewer, full=True)


def test_a_name_that_nothing_has_is_told_with_those_that_are_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dualquery:figur3"]) == NO_RESULT
    assert "did you mean dualquery:figure3" in capsys.readouterr().out


def test_a_figure_is_read_off_the_one_row_that_has_it(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    table = "| name | n | error | error |\n|---|---|---|---|\n| one | 1 | .5 | |\n| one | 2 | .7 | .9 |"
    document.write_text(f"| n |\n|---|\n| 3 |\n<!-- results -->\n{table}\n<!-- end of results -->\n", encoding="utf-8")
    assert [row["error 2"] for row in rows(document)] == ["", ".9"]
    assert cell(document, ["one", "2"], "error") == ".7"
    for entries, title in ((["one"], "error"), (["2"], "error"), (["one", "2"], "errors")):
        with pytest.raises(ValueError, match="not one value"):
            cell(document, entries, title)
