"""Rows of a release: as many as the public size, nearer to the weighted records than resampled ones, on file and read again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.algorithms.options import COUNTS
from dpopt.algorithms.release import release
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.replay import differing_files, load, replay
from dpopt.algorithms.request import Terms
from dpopt.algorithms.run_release import job_of, run_release
from dpopt.algorithms.stating import prepare, remarks_on
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError, TranscriptError
from dpopt.queries.counting.kernels import shares_on_records
from dpopt.releases.job import MOST_CELLS, WEIGHTS_BECAUSE
from dpopt.releases.measured_size import PublicSize
from dpopt.releases.progress import Progress
from dpopt.releases.run import Sources
from tests.algorithms.measured_runs import measured_job
from tests.algorithms.small_runs import SCHEMA, dataset, write_table
from tests.algorithms.test_measured_runs import Entries, forged
from tests.algorithms.test_release_with_rules import RULED, obeys
from tests.noises import NoNoise

SIZE = 137  # no multiple of the 30 records of a fit


def small(
    folder: Path | None = None, *, rows: int | None = SIZE, searched: bool = True, **how: Any
) -> SyntheticRelease:
    """Return a projection, and rows of it, from counts without noise."""
    output = {"format": "csv", "rows": rows, **({"searched": True} if searched else {})}
    job = replace(measured_job(COUNTS, **how), output=output)
    return run_release(dataset(), job, folder, sources=Sources(noise=NoNoise()))


def away(made: SyntheticRelease) -> float:
    """Return the sum of squares by which the rows' answers differ from those of the weighted records."""
    records = made.records
    wanted = shares_on_records(made.job.workload.queries, records.held, made.job.schema.sizes, records.weights)
    return float(((made.answers() - wanted) ** 2).sum())


@pytest.mark.parametrize("text", ["marginals:2", "conjunctions:2,count=20,seed=3"])
@pytest.mark.parametrize("rows", [7, SIZE])
def test_rows_answer_like_the_weighted_records(tmp_path: Path, rows: int, text: str) -> None:
    made = small(tmp_path / "out", rows=rows, text=text)
    resampled = small(rows=rows, text=text, searched=False)
    assert len(made.written.rows()) == len(resampled.written.rows()) == rows
    assert np.array_equal(made.records.distinct, resampled.records.distinct)
    assert away(made) <= away(resampled)
    if rows == 7:
        assert away(made) < 0.8 * away(resampled)
    stated = made.statement["records"]["rows_chosen"]
    found = rows * np.sqrt(away(made) / len(made.job.workload))
    assert stated["distance_per_query"] == pytest.approx(found, rel=1e-6)
    assert stated["least_distance_per_query"] <= found + 1e-9
    assert replay(tmp_path / "out", tmp_path / "again").written.rows().tolist() == made.written.rows().tolist()
    assert differing_files(tmp_path / "out", tmp_path / "again") == []


def test_rows_obey_the_rules() -> None:
    made = small(schema=RULED)
    assert obeys(RULED, made.written.distinct)
    assert made.statement["records"]["records_that_obey_the_rules"] == len(made.written)


def test_weights_that_are_whole_numbers_of_rows_need_no_search(tmp_path: Path) -> None:
    total = int(small().records.multiplicity.sum())
    made = small(tmp_path / "out", rows=2 * total)
    assert np.array_equal(made.written.multiplicity, 2 * made.records.multiplicity)
    assert '"kind":"rows"' not in (tmp_path / "out" / "transcript.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("change", ["fewer", "other codes", "nothing"])
def test_damaged_rows_are_refused(tmp_path: Path, change: str) -> None:
    small(tmp_path / "out")

    def damage(entries: Entries) -> None:
        entry = next(one for one in entries if one["kind"] == "rows")
        if change == "fewer":
            entry["multiplicity"][0] += 1
        elif change == "other codes":
            entry["records"][0] = [9, 9, 9, 9]
        else:
            del entry["records"]

    with pytest.raises(TranscriptError, match="rows are on file|does not fit|damaged"):
        load(forged(tmp_path / "out", tmp_path / "copy", damage))


def _terms(**given: Any) -> Terms:
    return Terms.of("projection", rho=0.5, predict=False, **given)


@pytest.mark.parametrize(
    ("given", "rows"), [({}, 200), ({"rows": 12}, 12), ({"weights": True}, None), ({"n0": 150}, 150)]
)
def test_so_many_rows_are_written(tmp_path: Path, given: dict[str, Any], rows: int | None) -> None:
    given = {"n0": 200, **given}
    made = release(
        write_table(tmp_path), SCHEMA, "marginals:2", out=tmp_path / "out", algorithm="projection", rho=0.5, predict=False,
        **given,
    )  # fmt: skip
    frame = made.to_pandas()
    assert read_job(tmp_path / "out").rows == rows
    assert made.statement["records"]["weight_column"] == (None if rows else "weight")
    assert list(frame.columns) == [*SCHEMA.names, *([] if rows else ["weight"])]
    assert len(frame) == (rows or len(made.records))


def test_measured_sizes_are_the_number_of_rows(tmp_path: Path) -> None:
    made = release(write_table(tmp_path), SCHEMA, "marginals:2", algorithm="projection", rho=0.5, predict=False)
    assert len(made.to_pandas()) == made.job.plan.size


def test_rows_with_weights_are_refused() -> None:
    with pytest.raises(PlanError, match="found rows=5 and weights="):
        _terms(rows=5, weights=True).check()


def test_more_rows_than_are_written_at_once_become_weights_unless_they_are_asked_for() -> None:
    size = MOST_CELLS // len(SCHEMA) + 1
    asked = prepare(_terms(n0=size), SCHEMA, "marginals:2", Progress())
    job = job_of(asked, PublicSize(size, asked.terms.budget()), Progress())
    assert job.rows is None
    assert "Ask for fewer by rows=" in job.statement[WEIGHTS_BECAUSE]
    assert any(
        "distinct records with weights are written" in str(one)
        for one in remarks_on(job.plan, job.statement, job.schema)
    )
    asked = prepare(_terms(n0=size, rows=size), SCHEMA, "marginals:2", Progress())
    with pytest.raises(PlanError, match="more than the"):
        job_of(asked, PublicSize(size, asked.terms.budget()), Progress())


def test_rows_that_are_searched_and_not_asked_for_are_refused() -> None:
    with pytest.raises(PlanError, match="rows are searched where there are rows"):
        small(rows=None)


def test_whole_copies_are_not_written_again(tmp_path: Path) -> None:
    """Of many rows fewer are searched than there are distinct records."""
    made = small(tmp_path / "out", rows=3001)
    lines = (tmp_path / "out" / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
    (entry,) = [one for line in lines if (one := json.loads(line)["entry"])["kind"] == "rows"]
    assert 0 < sum(entry["multiplicity"]) < len(made.records)
    assert int(made.written.multiplicity.sum()) == 3001
