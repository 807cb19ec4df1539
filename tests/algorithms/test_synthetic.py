from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpopt
from dpopt.algorithms.after.reweighted_release import reweight_release
from dpopt.errors import PlanError, ReleaseFolderError, TranscriptError
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.releases.kept_records import COLUMNS
from dpopt.releases.records import SyntheticRecords, merged
from tests.algorithms.small_runs import ROWS, SCHEMA, Heard, dataset, small_release, write_table

RECORDS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=40)


def records_of(rows: list[tuple[int, ...]]) -> SyntheticRecords:
    return SyntheticRecords.of([np.array(row, dtype=np.int32) for row in rows])


@given(rows=RECORDS)
def test_equal_records_are_merged_with_their_number_and_weighed_by_it(rows: list[tuple[int, ...]]) -> None:
    records = records_of(rows)
    counted = Counter(rows)
    assert [tuple(row) for row in records.distinct.tolist()] == sorted(counted)
    assert records.multiplicity.tolist() == [counted[row] for row in sorted(counted)]
    assert records.distinct.dtype == np.int32
    assert records.weights.sum() == pytest.approx(1, abs=1e-12)
    assert np.array_equal(records.weights, records.multiplicity / len(rows))


@given(rows=RECORDS, number=st.integers(1, 500))
def test_rows_hold_each_record_as_often_as_its_weight_says(rows: list[tuple[int, ...]], number: int) -> None:
    """Systematic resampling: floor or ceiling of number times weight."""
    records = records_of(rows)
    taken = [tuple(row) for row in records.resampled(number).rows().tolist()]
    assert len(taken) == number
    counted = Counter(taken)
    for row, times in Counter(rows).items():
        exact = Fraction(number * times, len(rows))
        assert counted[row] in {exact.__floor__(), exact.__ceil__()}


@given(rows=RECORDS, times=st.integers(1, 5))
def test_a_multiple_of_the_rounds_is_exact(rows: list[tuple[int, ...]], times: int) -> None:
    records = records_of(rows)
    _, counts = np.unique(records.resampled(times * len(rows)).rows(), axis=0, return_counts=True)
    assert np.array_equal(counts, times * records.multiplicity)


def test_rows_come_in_a_public_random_order_that_stays_the_same() -> None:
    records = records_of([(code, 0) for code in range(100)])
    first = records.resampled(1000).rows()[:, 0]
    assert np.array_equal(first, records.resampled(1000).rows()[:, 0])
    assert len(set(first[:20].tolist())) > 10


def test_no_rows_and_no_records_are_refused() -> None:
    for number in (0, -1):
        with pytest.raises(PlanError, match=f"the number of rows must be at least 1, found {number}"):
            records_of([(0, 0)]).resampled(number)
    with pytest.raises(PlanError, match="ended without a single record"):
        SyntheticRecords.of([])


@given(rows=st.lists(st.tuples(*[st.integers(0, 1)] * 11), min_size=1, max_size=30), number=st.integers(1, 99))
def test_records_as_bits_are_the_same_records(rows: list[tuple[int, ...]], number: int) -> None:
    codes = records_of(rows)
    bits = SyntheticRecords.of([BitRecords.of(np.array([row])) for row in rows])
    assert isinstance(bits.held, BitRecords)
    assert len(bits) == len(codes) == len(codes.distinct)
    assert bits.distinct.dtype == np.int32
    assert np.array_equal(bits.distinct, codes.distinct)
    assert np.array_equal(bits.multiplicity, codes.multiplicity)
    some, others = codes.resampled(number), bits.resampled(number)
    assert np.array_equal(others.rows(), some.rows())
    assert np.array_equal(some.distinct[some.places()], some.rows())


def test_merging_says_where_each_record_went() -> None:
    rows = np.array([[1, 0], [0, 1], [1, 0], [0, 0]], dtype=np.int32)
    for given_records in (list(rows), [BitRecords.of(row[None, :]) for row in rows]):
        held, multiplicity, place = merged(given_records)
        assert multiplicity.tolist() == [1, 1, 2]
        assert place.tolist() == [2, 1, 2, 0]
        distinct = held.codes() if isinstance(held, BitRecords) else held
        assert np.array_equal(distinct[place], rows)


# A run is looked into where it lies, finished or not; its rounds are a table, and its problems are models.


def interrupt(folder: Path, entries: int) -> None:
    """Leave of a finished run what a kill after so many entries leaves: the last one torn."""
    for name in ("release.json", "README.txt", "synthetic.csv"):
        (folder / name).unlink()
    transcript = folder / "transcript.jsonl"
    lines = transcript.read_bytes().splitlines(keepends=True)
    transcript.write_bytes(b"".join(lines[: entries + 1])[:-9])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_release(tmp_path / "run")
    return tmp_path / "run"


def test_the_rounds_of_a_release_are_a_table_of_what_its_certificates_say(folder: Path) -> None:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    found = dpopt.read_release(folder)
    assert found.ended
    frame = found.rounds
    assert list(frame.columns) == [*COLUMNS]
    for row, played in zip(frame.itertuples(index=False), found.played, strict=True):
        assert (row.round, row.draws, row.value) == (played.sampled.round, 8, played.certificate.objective)
        assert row.proven_bound == played.certificate.proven_bound
        assert row.gap == played.certificate.proven_gap  # a local search states no smaller bound
        assert row.answered_by == played.solver
    assert frame.seconds.isna().all()  # a release holds no times
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files


def test_a_run_of_this_process_knows_its_seconds_and_reported_bounds() -> None:
    frame = small_release(solver="cp-sat", seconds=5.0).rounds
    assert (frame.seconds > 0).all()
    stated = frame[frame.reported_bound.notna()]
    assert (stated.gap == stated[["proven_bound", "reported_bound"]].min(axis=1) - stated.value).all()


def test_a_run_that_has_not_ended_shows_its_rounds_and_its_problems(folder: Path) -> None:
    whole = dpopt.read_release(folder)
    interrupt(folder, 1 + 3 * 3 + 1)  # a reservation, three rounds of three entries, a charge, a torn draw
    found = dpopt.read_release(folder)
    assert not found.ended
    pd.testing.assert_frame_equal(found.rounds, whole.rounds.head(3))
    assert found.ledger.guaranteed() == whole.ledger.guaranteed()
    assert "not ended, 3 rounds so far" in repr(found)
    assert repr(found).startswith("SyntheticRelease: The run has not ended, and has no records yet")
    solved = found.best_response(2).solve("highs", seconds=5)
    assert solved.objective >= found.rounds.value[1]
    bounds = dpopt.certify(found, [1, 3], solver="none")
    assert bounds.rounds["round"].tolist() == [1, 3]
    assert (bounds.rounds.proven_bound.to_numpy() <= whole.rounds.proven_bound[[0, 2]].to_numpy()).all()
    assert (bounds.rounds.seconds > 0).all()
    assert dpopt.compare(found, "local-search", rounds=[3], seconds=0.2).rows[0].case == "round 3"


def test_what_needs_a_finished_run_is_refused(folder: Path, tmp_path: Path) -> None:
    interrupt(folder, 4)
    found = dpopt.read_release(folder)
    refused: list[Any] = [
        found.to_pandas,
        lambda: found.save(tmp_path / "copy"),
        found.report,
        lambda: dpopt.evaluate(found, dataset()),
        lambda: found.best_response(9),
    ]
    for function in refused:
        with pytest.raises(PlanError, match="has not ended|found round 9"):
            function()
    assert not (tmp_path / "copy").exists()
    for call in (lambda: dpopt.replay(folder, tmp_path / "copy"), lambda: dpopt.report(folder)):
        with pytest.raises(TranscriptError, match="has not ended"):
            call()
    assert not (tmp_path / "copy").exists()


def test_a_run_without_a_plan_is_refused(folder: Path) -> None:
    (folder / "plan.json").rename(folder / "request.json")
    with pytest.raises(ReleaseFolderError, match="has no plan yet"):
        dpopt.read_release(folder)


def test_other_algorithms_have_no_rounds(tmp_path: Path) -> None:
    asked: Any = {"epsilon": 5, "n0": ROWS, "algorithm": "projection", "predict": False}
    made = dpopt.release(write_table(tmp_path), SCHEMA, "marginals:1", **asked)
    assert made.rounds.empty
    assert list(made.rounds.columns) == [*COLUMNS]
    with pytest.raises(PlanError, match="no rounds of dualquery"):
        dpopt.compare(made, "local-search", seconds=0.2)


def test_reweighting_tells_how_far_it_is(folder: Path) -> None:
    heard = Heard()
    reweight_release(folder, progress=heard)
    assert heard.stages == ["reading the release", "re-weighting"]
    assert heard.shares == sorted(heard.shares)
    assert all(0 <= share <= 1 for share in heard.shares)
    assert len(heard.shares) > 1
