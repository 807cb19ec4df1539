"""README.txt: true of the files beside it, plain text, and made by the same public facts again."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.algorithms.replay import replay
from dpopt.algorithms.run_release import run_release
from dpopt.private.readers.table_reading import TableReading
from dpopt.releases.descriptions.description import described, guarantee
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


# Warnings: each stands in README.txt, in the report, in `repr`, and is raised once.

AGES = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=tuple(range(0, 101, 10)))
SCHEMA = dpopt.Schema((AGES, dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN)))
TABLE = pd.DataFrame({"age": np.arange(100) % 100, "smoker": ["true", "false"] * 50})
LARGE: dict[str, Any] = {"epsilon": 500.0, "n0": 100, "algorithm": "noise", "predict": False}
WARNED: dict[str, tuple[dict[str, Any], str, str]] = {
    "delta": ({**LARGE, "delta": 0.1}, "delta = 0.1 is not below 1/n", "delta not below 1/n"),
    "declared size": ({**LARGE, "n0": 1000}, "the released values contradict it", "n0=1,000 contradicted: about 100"),
    "noisy size": (
        {"epsilon": 5.0, "algorithm": "noise", "predict": False, "delta": 1e-6},
        "the number of records, [0-9]+, is private too",
        "measured with much noise",
    ),
    "trivial answers": (
        {**LARGE, "epsilon": 1e-3, "predict": True},
        "on the public population, one record of first values",
        "trivial answers are predicted to be as good",
    ),
}


@pytest.mark.parametrize("case", WARNED)
def test_a_warning_is_raised_once_and_stands_everywhere(case: str, tmp_path: Path) -> None:
    terms, text, brief = WARNED[case]
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        made = dpopt.release(TABLE, SCHEMA, "marginals:1", out=tmp_path / "out", **terms)
    assert len([one for one in raised if re.search(text, str(one.message))]) == 1
    readme = " ".join((tmp_path / "out" / README).read_text(encoding="utf-8").split())
    sentence = re.sub("^(the number|on the) ", lambda first: first[0].capitalize(), text)
    for shown in (readme, " ".join(dpopt.report(made).split())):
        assert len(re.findall(sentence, shown)) == 1
    assert brief in repr(made)


def test_a_release_without_a_cause_is_not_warned_of() -> None:
    made = dpopt.release(TABLE, SCHEMA, "marginals:1", delta=1e-6, **LARGE)
    assert not any(brief in repr(made) for _, _, brief in WARNED.values())


def test_a_pure_release_says_so(tmp_path: Path) -> None:
    made = dpopt.release(TABLE, SCHEMA, "marginals:1", out=tmp_path / "out", delta=0, **LARGE)
    assert "EPSILON = 500 (PURE) FOR ONE RECORD" in (tmp_path / "out" / README).read_text(encoding="utf-8")
    assert "(pure)" in repr(made)
    assert "(pure)" in guarantee(made.statement["privacy"])


# A script that a started process reads again does not release a second time, whatever started the process.

SCRIPT = """
import multiprocessing, pandas, dpopt
age = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 18, 65))
dpopt.sorted_counts(pandas.DataFrame({"age": [8, 30]}), dpopt.Schema((age,)), "age", epsilon=1)
print("released")
started = multiprocessing.get_context("spawn").Process(target=print)
started.start()
started.join()
"""


def test_what_stands_outside_the_main_block_is_released_once(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "released\n"
    assert "BudgetError: a started process reads this script again" in done.stderr
