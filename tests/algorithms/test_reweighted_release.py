"""A DualQuery release with maximum-likelihood weights: the same records, no privacy, the release untouched."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dpopt.algorithms.after import reweighted_release
from dpopt.algorithms.after.reweighted_release import REWEIGHTING, ReweightedRelease, reweight_release
from dpopt.algorithms.evaluate import evaluate
from dpopt.algorithms.run_release import run_release
from dpopt.errors import PlanError, ProgramError, ReleaseFolderError
from tests.algorithms.measured_runs import measured_job, noiseless
from tests.algorithms.small_runs import codes, dataset, small_release
from tests.lying_solvers import POINTS, Lying
from tests.strategies import naive_truth


def test_weights_belong_to_released_records_and_make_the_transcript_likelier() -> None:
    finished = small_release()
    reweighted = ReweightedRelease.of(finished)
    released = {tuple(record) for record in finished.records.distinct.tolist()}
    assert {tuple(record) for record in reweighted.records.distinct.tolist()} <= released
    assert reweighted.records.multiplicity.sum() == 1_000_000
    assert reweighted.found.after > reweighted.found.before
    assert reweighted.found.gap <= 1e-3
    assert np.ptp(reweighted.records.weights) > 0.01


@pytest.mark.solver("clarabel")
def test_a_solver_finds_weights_as_likely_and_says_so(tmp_path: Path) -> None:
    small_release(tmp_path / "release")
    own = reweight_release(tmp_path / "release")
    found = reweight_release(tmp_path / "release", tmp_path / "weighted", solver="clarabel", seconds=60)
    assert found.found.before == own.found.before
    assert found.found.after == pytest.approx(own.found.after, abs=own.found.gap + found.found.gap)
    assert 0 <= found.found.gap <= 1e-2
    stated = json.loads((tmp_path / "weighted" / REWEIGHTING).read_text())
    assert stated["solver"] == found.found.solver
    assert stated["solver"].startswith("clarabel")
    assert "steps" not in stated


@pytest.mark.parametrize("lie", POINTS)
def test_weights_of_a_solver_that_lies_are_refused(lie: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="found no answer to reweighting"):
        reweight_release(small_release(), tmp_path / "weighted", solver=Lying(POINTS[lie]))
    assert not (tmp_path / "weighted").exists()


def test_what_no_solver_takes_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError, match="osqp does not take convex programs with .* cones; .*clarabel"):
        reweight_release(tmp_path / "nothing", solver="osqp")
    monkeypatch.setattr("dpopt.models.records.reweighting.MOST_EXPONENTIALS", 10)
    with pytest.raises(ProgramError, match="a model holds 10 at most"):
        reweight_release(small_release(), solver="clarabel")


def test_errors_are_those_of_the_weighted_records_counted_by_hand() -> None:
    finished = small_release()
    reweighted = ReweightedRelease.of(finished)
    before, after = reweighted.errors(dataset())
    clauses = finished.job.workload.clauses
    exact = naive_truth(clauses, codes()).mean(axis=1)
    answers = naive_truth(clauses, reweighted.records.distinct) @ reweighted.records.weights
    differences = np.abs(answers - exact)
    assert (after.max_error, after.mean_error) == pytest.approx((differences.max(), differences.mean()))
    assert before == evaluate(finished, dataset())


def test_a_folder_of_its_own_holds_records_and_where_they_come_from(tmp_path: Path) -> None:
    small_release(tmp_path / "release")
    before = {path.name: path.read_bytes() for path in (tmp_path / "release").iterdir()}
    reweighted = reweight_release(tmp_path / "release", tmp_path / "weighted")
    assert {path.name: path.read_bytes() for path in (tmp_path / "release").iterdir()} == before
    stated = json.loads((tmp_path / "weighted" / REWEIGHTING).read_text())
    assert stated["inputs_of_the_release"] == reweighted.release.job.fingerprint()
    assert stated["privacy"] == {
        **reweighted.release.statement["privacy"],
        "cost_of_the_weights": "none: weights are a function of the release alone",
    }
    header, *lines = (tmp_path / "weighted" / "synthetic.csv").read_text().splitlines()
    assert header == "colour,age,smoker,town,weight"
    assert stated["records"] == {
        "distinct": len(lines),
        "file": "synthetic.csv",
        "rows": len(lines),
        "weight_column": "weight",
    }
    assert sum(float(line.rsplit(",", 1)[1]) for line in lines) == pytest.approx(1)


def test_rows_without_weights_follow_the_weights(tmp_path: Path) -> None:
    """Systematic resampling: a record of weight w gets floor or ceil of 50 w rows."""
    reweighted = reweight_release(small_release(), tmp_path / "rows", rows=50)
    reweighted.write(tmp_path / "weights")
    lines = (tmp_path / "rows" / "synthetic.csv").read_text().splitlines()[1:]
    weighted = (tmp_path / "weights" / "synthetic.csv").read_text().splitlines()[1:]
    assert len(lines) == 50
    assert len(weighted) == reweighted.distinct
    for line in weighted:
        record, weight = line.rsplit(",", 1)
        assert abs(lines.count(record) - 50 * float(weight)) < 1


def test_other_algorithms_are_refused_by_name() -> None:
    finished = run_release(dataset(), measured_job("projection"), None, sources=noiseless())
    with pytest.raises(PlanError, match="expected a release of dualquery, found one of projection"):
        reweight_release(finished)


@pytest.mark.parametrize("rows", [0, -3, 2.5, True])
def test_rows_that_cannot_be_written_are_refused_before_any_work(rows: int, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="number of rows"):
        reweight_release(tmp_path / "nothing", tmp_path / "weighted", rows=rows)
    assert not (tmp_path / "weighted").exists()


def test_a_folder_that_holds_something_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(ReleaseFolderError, match="not empty"):
        reweight_release(tmp_path / "nothing", tmp_path)
    assert (tmp_path / "note.txt").read_text() == "mine"


def test_more_answers_than_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reweighted_release, "MOST_ANSWERS", 100)
    with pytest.raises(PlanError, match="found 6 rounds and"):
        reweight_release(small_release())
