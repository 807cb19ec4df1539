"""README.txt: true of the files beside it, plain text, and made by the same public facts again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpopt.algorithms.replay import replay
from dpopt.algorithms.run_release import run_release
from dpopt.private.readers.table_reading import TableReading
from dpopt.releases.descriptions.description import described
from dpopt.releases.descriptions.readme import README, readme_of
from dpopt.releases.run import Sources
from dpopt.reports.report import report
from tests.algorithms.small_runs import dataset, job, seeded, small_release


def text_of(folder: Path, **how: Any) -> str:
    small_release(folder, **how)
    return (folder / README).read_text(encoding="utf-8")


@pytest.mark.parametrize("output", [{}, {"rows": 7}, {"format": "parquet"}])
def test_it_names_every_file_beside_it_and_no_other(tmp_path: Path, output: dict[str, Any]) -> None:
    folder = tmp_path / "release"
    text = text_of(folder, output=output)
    listed = text.split("FILES\n\n")[1].split("\n\nHOW TO LOAD IT")[0]
    named = {line.split()[0] for line in listed.splitlines() if not line.startswith("   ")}
    assert named == {path.name for path in folder.iterdir()} - {README}
    assert max(map(len, text.splitlines())) <= 78


def test_what_it_says_of_loading_loads(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    text = text_of(folder, output={"rows": 7})
    (line,) = (line for line in text.splitlines() if line.startswith("  Python"))
    assert 'records = pandas.read_csv("synthetic.csv")' in line
    assert len(pd.read_csv(folder / "synthetic.csv")) == 7
    assert "weights" not in text
    assert 'weights=records["weight"]' in " ".join(text_of(tmp_path / "weighted").split())


def test_a_run_with_seeded_draws_says_that_nothing_may_be_published(tmp_path: Path) -> None:
    text = text_of(tmp_path / "release")
    assert text.startswith("SYNTHETIC RECORDS, NOT PRIVATE\n")
    assert "Nothing. Some draws came from a seeded or scripted source" in text


def test_a_private_release_states_its_guarantee_and_a_draft_that_nobody_reviewed() -> None:
    statement = dict(small_release().statement)
    statement["privacy"] = {**statement["privacy"], "private": True, "epsilon": 0.5, "delta": 1e-9}
    statement["records"] = {**statement["records"], "file": "synthetic.csv", "rows": 3, "weight_column": None}
    text = readme_of(statement)
    assert text.startswith("SYNTHETIC RECORDS, DIFFERENTIALLY PRIVATE WITH EPSILON = 0.5 AND DELTA = 1E-09")
    assert "Every file of this folder, at the stated cost." in text
    assert "not reviewed" not in text
    statement["schema"] = {**statement["schema"], "drafted_from_private_data_and_not_reviewed": True}
    assert "Review schema.json" in readme_of(statement)
    assert described(statement).citation.startswith("Synthetic records, differentially private with epsilon = 0.5")


def test_it_says_what_became_of_values_that_do_not_fit_and_never_of_how_many(tmp_path: Path) -> None:
    """What is said is a function of the declared reading: the same whether the table has such values or not."""
    texts = []
    for repair in ("error", "clip", "clip,drop"):
        asked = job(output={"rows": 7})
        reading = TableReading(on_invalid=repair).to_json()
        asked = replace(asked, statement={**asked.statement, "reading": reading})
        run_release(dataset(), asked, tmp_path / repair, sources=Sources(sampler=seeded()))
        texts.append(" ".join((tmp_path / repair / README).read_text(encoding="utf-8").split()))
    clipped, dropped = "outside the range that schema.json gives", "were not counted"
    assert [(clipped in text, dropped in text) for text in texts] == [(False, False), (True, False), (True, True)]
    assert clipped in report(tmp_path / "clip")


def test_a_replay_writes_the_same_bytes(tmp_path: Path) -> None:
    text = text_of(tmp_path / "release")
    replay(tmp_path / "release", tmp_path / "again")
    assert (tmp_path / "again" / README).read_text(encoding="utf-8") == text
