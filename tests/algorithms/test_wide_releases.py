"""Releases of wide tables of zeros and ones: from every kind of table, in every format, resumed and replayed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dpopt
from dpopt.algorithms.after.reweighted_release import reweight_release
from dpopt.algorithms.multiplicative_weights import learner as multiplicative_learner
from dpopt.algorithms.multiplicative_weights.learner import Learner
from dpopt.algorithms.release import read_again, release, resume
from dpopt.algorithms.replay import differing_files, load, replay
from dpopt.errors import DpoptError, PlanError, PrivateDataError, SchemaError, WorkloadError
from dpopt.private.readers.read_binary_table import read_binary_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.queries.workloads.workload import parse_workload, workload_from_json
from dpopt.schema.binary_attributes import BinaryAttributes
from dpopt.schema.schema import Schema
from tests.algorithms.small_runs import SCHEMA
from tests.wide_tables import FILES, IN_MEMORY, cells_of, some_cells, write_baskets, write_pairs

WIDTH = 1100  # records of so many columns are kept as bits
CELLS = some_cells(50, WIDTH, share=0.02)
BINARY = Schema.binary(WIDTH)
WORKLOAD = "conjunctions:2,count=300,seed=1"
USUAL: dict[str, Any] = {
    "algorithm": "dualquery", "epsilon": 1e5, "delta": 1e-6, "rounds": 5, "draws": 20, "predict": False,
}  # fmt: skip


def matrix() -> sp.csr_array:
    return sp.csr_array(CELLS)


def written_cells(folder: Path) -> np.ndarray[Any, Any]:
    return np.asarray(sp.load_npz(folder / "synthetic.npz").toarray())


@pytest.mark.parametrize("name", ["csr", "packed mtx", "baskets from 1", "bits"])
def test_a_file_is_released_read_again_and_replayed(tmp_path: Path, name: str) -> None:
    reading = FILES[name](tmp_path / "table", CELLS)
    out, again = tmp_path / "out", tmp_path / "again"
    share: dict[str, Any] = {"density": 0.5} if name == "bits" else {}
    finished = release(tmp_path / "table", BINARY, WORKLOAD, out=out, reading=reading, **share, **USUAL)
    replay(out, again)
    assert differing_files(out, again) == []
    held = read_again(load(out).job, tmp_path / "table")
    np.testing.assert_array_equal(cells_of(held), CELLS)
    errors = dpopt.evaluate(out, held)
    assert errors.queries == 300
    assert errors.max_error <= 1
    published = "".join(path.read_text() for path in out.iterdir() if path.suffix == ".json")
    assert str(tmp_path) not in published
    how = json.loads((out / "plan.json").read_text())["statement"]["reading"]
    assert how["layout"] == {"csr": "npz", "packed mtx": "mtx", "baskets from 1": "baskets", "bits": "bits"}[name]
    assert how["first_item"] == (1 if name == "baskets from 1" else None)
    assert finished.statement["records"]["file"] == "synthetic.npz"
    assert finished.statement["records"]["rows"] == finished.job.plan.size
    np.testing.assert_array_equal(written_cells(out), finished.written.rows())


@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_table_in_memory_is_released_and_read_again(tmp_path: Path, name: str) -> None:
    table: Any = IN_MEMORY[name](CELLS)
    share: dict[str, Any] = {"density": 0.5} if name == "bit table" else {}
    release(table, BINARY, WORKLOAD, out=tmp_path / "out", **share, **USUAL)
    np.testing.assert_array_equal(cells_of(read_again(load(tmp_path / "out").job, table)), CELLS)


def test_pairs_are_read_again_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "pairs"
    reading = write_pairs(path, CELLS, separator="\t", header=False)
    release(path, BINARY, WORKLOAD, out=tmp_path / "out", reading=reading, **USUAL)
    assert cells_of(read_again(load(tmp_path / "out").job, path)).sum() == CELLS.sum()


def test_a_run_that_was_cut_off_is_continued_with_the_table_as_it_was_read(tmp_path: Path) -> None:
    path, out = tmp_path / "baskets", tmp_path / "out"
    reading = write_baskets(path, CELLS, first=1)
    whole = release(path, BINARY, WORKLOAD, out=out, reading=reading, **USUAL)
    lines = (out / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    records = [number for number, line in enumerate(lines) if b'"kind":"record"' in line]
    (out / "transcript.jsonl").write_bytes(b"".join(lines[: records[2] + 1]))
    (out / "release.json").unlink()
    continued = resume(out, path)
    assert len(continued.played) == 5
    for before, after in zip(whole.played[:3], continued.played[:3], strict=True):
        assert before.sampled.to_json() == after.sampled.to_json()
        assert before.to_json() == after.to_json()
    replay(out, tmp_path / "again")
    assert differing_files(out, tmp_path / "again") == []


@pytest.mark.parametrize("rows", [None, 12])
@pytest.mark.parametrize("form", ["npz", "baskets"])
def test_a_file_of_records_is_read_back_to_the_same_ones(tmp_path: Path, form: str, rows: int | None) -> None:
    schema, out = Schema.binary(WIDTH, [f"item {number}" for number in range(WIDTH)]), tmp_path / "out"
    finished = release(matrix(), schema, WORKLOAD, out=out, format=form, rows=rows, weights=rows is None, **USUAL)
    path = out / {"npz": "synthetic.npz", "baskets": "synthetic.txt"}[form]
    expected = finished.records.distinct if rows is None else finished.written.rows()
    found = read_binary_table(path, schema, TableReading(form))
    np.testing.assert_array_equal(cells_of(found), expected.astype(np.bool_))
    sparse, weights = finished.to_sparse()
    np.testing.assert_array_equal(sparse.toarray(), expected)
    assert (weights is None) == (rows is not None)
    if weights is not None:
        on_file = np.load(path)["weights"] if form == "npz" else np.loadtxt(out / "weights.txt")
        assert on_file.tolist() == weights.tolist() == finished.records.weights.tolist()
    elif form == "npz":
        assert "weights" not in np.load(path)
    else:
        assert not (out / "weights.txt").exists()
    assert finished.statement["records"]["rows"] == len(expected)
    replay(out, tmp_path / "again")
    assert differing_files(out, tmp_path / "again") == []


def test_answers_alone_need_no_room_for_records(tmp_path: Path) -> None:
    made = release(
        matrix(),
        BINARY,
        WORKLOAD,
        out=tmp_path / "out",
        algorithm="noise",
        neighbours="replace",
        epsilon=1.0,
        delta=1e-6,
        predict=False,
    )
    taken = sum(path.stat().st_size for path in (tmp_path / "out").iterdir())
    assert taken < made.job.expected_bytes() < 5_000_000
    wide = Schema.binary(2**20)
    job = replace(made.job, schema=wide, workload=parse_workload(WORKLOAD, wide))
    assert job.expected_bytes() == made.job.expected_bytes()


def test_small_wide_tables_may_be_written_as_csv(tmp_path: Path) -> None:
    finished = release(matrix(), BINARY, WORKLOAD, out=tmp_path / "out", format="csv", weights=True, **USUAL)
    head = (tmp_path / "out" / "synthetic.csv").read_text().splitlines()[0].split(",")
    assert head == [*BINARY.names, "weight"]
    assert finished.to_pandas().shape == (len(finished.records), WIDTH + 1)


def test_fitted_records_of_a_wide_table_are_kept_as_bits(tmp_path: Path) -> None:
    out = tmp_path / "out"
    budget: dict[str, Any] = {"epsilon": 10.0, "delta": 1e-6}
    made = release(matrix(), BINARY, WORKLOAD, out=out, algorithm="projection", predict=False, records=20, **budget)
    lines = (out / "transcript.jsonl").read_text().splitlines()
    entries = [json.loads(line)["entry"] for line in lines if '"records":' in line]
    assert [entry["kind"] for entry in entries] == ["records", "rows"]
    for record in (record for entry in entries for record in entry["records"]):
        assert set(record) < {"columns", "ones", "bits"}
    np.testing.assert_array_equal(written_cells(out), made.written.rows())
    assert len(made.written.rows()) == made.job.plan.size
    replay(out, tmp_path / "again")
    assert differing_files(out, tmp_path / "again") == []


def test_a_projection_of_a_wide_table_counts_all_single_columns_at_once_and_ends_in_time(tmp_path: Path) -> None:
    out = tmp_path / "out"
    budget: dict[str, Any] = {"epsilon": 10.0, "delta": 1e-6, "n0": 50, "predict": False}
    made = release(matrix(), BINARY, WORKLOAD, out=out, algorithm="projection", fit_seconds=1e-9, **budget)
    plan = json.loads((out / "plan.json").read_text())
    single, workload = plan["measurements"]
    assert (single["name"], single["attributes"], single["sensitivity"]) == ("one-way marginals", [], WIDTH)
    assert workload["attributes"] is None
    transcript = (out / "transcript.jsonl").read_text()
    assert transcript.count('"kind":"measurement"') == 2
    # No time at all: the records of the start, and one snapshot of them in place of ten.
    assert plan["fit"]["snapshots"] == 10
    assert made.records.weights.sum() == pytest.approx(1)
    assert '"stopped":"time is up"' in transcript
    assert len(made.records) <= plan["fit"]["records"]


REFUSED: dict[str, tuple[dict[str, Any], type[DpoptError], str]] = {
    "csv": ({"format": "csv"}, PlanError, "format='csv' would write 20,000 columns, more than the 10,000"),
    "parquet": ({"format": "parquet"}, PlanError, "take npz"),
    "npz of answers": ({"format": "npz", "algorithm": "noise"}, PlanError, "this run releases answers"),
    "clip": ({"on_invalid": "clip"}, PlanError, "keep the items that are known"),
    "person": ({"person": "a", "rows_per_person": 1, "neighbours": "add-remove", "n0": 3}, PlanError, "leave person="),
    "names": ({"column_names": ["a"]}, PlanError, "no columns by name"),
    "rows": ({"rows": 10**8, "rounds": 5, "draws": 20}, PlanError, "ones, more than the 1,000,000,000"),
    "engine": ({"engine": "stream"}, PlanError, "use engine='memory'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_suit_a_wide_table_is_refused_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    changes, kind, message = REFUSED[name]
    usual = {
        key: value for key, value in USUAL.items() if changes.get("algorithm") is None or key in ("epsilon", "delta")
    }
    table = sp.csr_array((3, 20_000), dtype=np.uint8)
    with pytest.raises(kind, match=message):
        release(table, Schema.binary(20_000), WORKLOAD, out=tmp_path / "out", **{**usual, **changes})
    assert list(tmp_path.iterdir()) == []


def test_names_without_a_sign_to_separate_them_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    schema = Schema.binary(3, ["a b", "c,d", "e\tf"])
    with pytest.raises(SchemaError, match="nothing is left to separate items"):
        release(sp.eye_array(3), schema, "marginals:1", out=tmp_path / "out", format="baskets", **USUAL)
    assert list(tmp_path.iterdir()) == []


def test_what_is_for_wide_tables_is_refused_for_others(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("colour,age,smoker,town\nred,30,true,north\n")
    for changes, message in (
        ({"format": "npz"}, "format='npz' is for wide tables"),
        ({"format": "baskets"}, "format='baskets' is for wide tables"),
        ({"reading": TableReading("baskets")}, "layout=: for wide tables"),
    ):
        with pytest.raises(PlanError, match=message):
            release(table, SCHEMA, "marginals:1", **USUAL, **changes)
    with pytest.raises(PlanError, match="to_sparse is for wide tables"):
        release(table, SCHEMA, "marginals:1", **USUAL).to_sparse()


def test_a_workload_of_other_columns_is_refused() -> None:
    other = parse_workload(WORKLOAD, Schema.binary(WIDTH + 1))
    with pytest.raises(WorkloadError, match="1,101 binary columns, and the schema has 1,100, or their names"):
        release(matrix(), BINARY, other, **USUAL)


def test_a_table_that_does_not_fit_is_refused_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(PrivateDataError, match="1,100 columns, and 1,099 are declared"):
        release(matrix(), Schema.binary(1099), WORKLOAD, out=tmp_path / "out", **USUAL)
    assert list(tmp_path.iterdir()) == []


def test_a_frame_of_very_many_columns_is_refused() -> None:
    table = sp.csr_array((np.ones(3), ([0, 1, 2], [5, 19_999, 7])), shape=(3, 20_000))
    finished = release(table, Schema.binary(20_000), WORKLOAD, **USUAL)
    with pytest.raises(PlanError, match="to_sparse"):
        finished.to_pandas()
    assert finished.to_sparse()[0].shape == (finished.job.plan.size, 20_000)


def test_maximum_likelihood_weights_are_written_in_the_same_format(tmp_path: Path) -> None:
    release(matrix(), BINARY, WORKLOAD, out=tmp_path / "out", **USUAL)
    reweighted = reweight_release(tmp_path / "out", tmp_path / "weighted")
    np.testing.assert_array_equal(written_cells(tmp_path / "weighted"), reweighted.records.distinct)


@pytest.mark.parametrize("algorithm", ["noise", "projection"])
def test_other_algorithms_release_wide_tables(tmp_path: Path, algorithm: str) -> None:
    cells = some_cells(300, 30)
    fitted: dict[str, Any] = {} if algorithm == "noise" else {"records": 300}
    finished = release(
        sp.csr_array(cells), Schema.binary(30), "marginals:2", out=tmp_path / "out",
        algorithm=algorithm, epsilon=1e4, delta=1e-6, predict=False, **fitted,
    )  # fmt: skip
    errors = dpopt.evaluate(finished, read_binary_table(sp.csr_array(cells), Schema.binary(30)))
    assert errors.mean_error < 0.05
    name = "answers.csv" if algorithm == "noise" else "synthetic.npz"
    assert (tmp_path / "out" / name).exists()


@pytest.mark.parametrize("algorithm", ["mwem", "pmw"])
def test_records_of_multiplicative_weights_are_bits_on_file_and_the_same_codes(
    tmp_path: Path, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few attributes that queries name, and random codes of all others."""
    pairs = (("item3", "item500"), ("item500", "item1099"), ("item3", "item1099"))
    asked = [[[one, "=", 1], [other, "!=", 1]] for one, other in pairs]
    workload = workload_from_json({"dpopt_workload": 1, "queries": asked}, BINARY)
    plan: dict[str, Any] = {"algorithm": algorithm, "epsilon": 1e3, "delta": 1e-6, "predict": False, "weights": True}
    finished = release(matrix(), BINARY, workload, out=tmp_path / "out", **plan)
    assert isinstance(finished.records.held, BitRecords)
    lines = (tmp_path / "out" / "transcript.jsonl").read_text().splitlines()
    (entry,) = [line for line in lines if '"multiplicity"' in line]
    assert len(entry) < len(finished.records) * WIDTH / 4 + 1_000
    written = sum(path.stat().st_size for path in (tmp_path / "out").iterdir())
    expected = finished.job.expected_bytes() - 4_000_000
    assert written < expected < finished.job.plan.transcript_bytes(3, WIDTH)
    again = load(tmp_path / "out")
    assert np.array_equal(again.records.distinct, finished.records.distinct)
    replay(tmp_path / "out", tmp_path / "again")
    assert differing_files(tmp_path / "out", tmp_path / "again") == []
    learner = Learner(finished.job.plan, workload)  # type: ignore[arg-type]
    p = np.random.default_rng(1).dirichlet(np.ones(learner.universe.cells))
    bits, weights = learner.records(p)
    monkeypatch.setattr(multiplicative_learner, "kept_as_bits", lambda schema: False)
    codes, same = learner.records(p)
    assert isinstance(bits, BitRecords)
    assert isinstance(codes, np.ndarray)
    assert np.array_equal(bits.codes(), codes)
    assert np.array_equal(weights, same)


def test_a_table_of_half_a_million_columns_leaves_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file grows with the columns, and neither release nor evaluation makes an attribute for each of them."""
    width, made = 500_000, 0
    attribute = BinaryAttributes.__getitem__

    def counted(self: BinaryAttributes, index: Any) -> Any:
        nonlocal made
        made += 1
        return attribute(self, index)

    monkeypatch.setattr(BinaryAttributes, "__getitem__", counted)
    places = (np.arange(2_000) * 7_919) % width
    table = sp.csr_array((np.ones(2_000), (np.arange(2_000) % 40, places)), shape=(40, width))
    schema = Schema.binary(width)
    finished = release(table, schema, WORKLOAD, out=tmp_path / "out", **USUAL)
    assert sum(path.stat().st_size for path in (tmp_path / "out").iterdir()) < 100_000
    replay(tmp_path / "out", tmp_path / "again")
    assert differing_files(tmp_path / "out", tmp_path / "again") == []
    assert dpopt.evaluate(finished, read_binary_table(table, schema)).queries == 300
    assert 0 < made < width / 10


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None)
def test_nothing_of_the_folder_before_the_first_draw_depends_on_the_records(one: int, other: int) -> None:
    """Two tables of the same size: the same plan, schema and workload, byte for byte."""
    jobs = []
    for seed in (one, other):
        table = sp.csr_array(some_cells(20, 30, seed=seed))
        jobs.append(release(table, Schema.binary(30), "conjunctions:2,count=50,seed=1", **USUAL).job.fingerprint())
    assert jobs[0] == jobs[1]
