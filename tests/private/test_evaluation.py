"""For the owner: errors against the truth, computed by hand, and rows that break rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dpopt.errors import SchemaError, WorkloadError
from dpopt.private import evaluation as module
from dpopt.private import evaluation as rule_report
from dpopt.private.engines.open_dataset import open_dataset
from dpopt.private.evaluation import (
    NonPrivateErrors,
    NonPrivateNumbers,
    broken_rows,
    non_private_errors,
    numeric_figures,
)
from dpopt.private.readers.read_binary_table import read_binary_table
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading, parse_on_invalid
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.associations import correlation
from dpopt.queries.counting.answers import Answers, RecordAnswers, UniformAnswers
from dpopt.queries.counting.binary_columns import SparseColumns
from dpopt.queries.counting.kernels import shares_on_records
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema import Attribute, AttributeKind, Rule, Schema, implies, literal
from dpopt.schema.domains import Domains
from dpopt.schema.rules.threshold_circuit import NO_RULES
from tests.marginals import marginal_sets, marginals_of
from tests.schema.rules.rule_examples import FORMS, RECORDS, decoded, obeys, schema_with
from tests.source_code import ROOT
from tests.tiny_runs import coded_schema
from tests.wide_tables import some_cells

SIZES = (3, 1, 4, 2, 5)
SCHEMA = coded_schema(*SIZES)


def records_of(seed: int, rows: int) -> NDArray[np.int32]:
    """Return records of which the later attributes follow the first, so that many cells are empty."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, 2, size=(rows, 1))
    records = (first + generator.integers(0, 2, size=(rows, len(SIZES)))) % np.array(SIZES)
    return np.asarray(records, dtype=np.int32)


def sources(seed: int) -> dict[str, Answers]:
    generator = np.random.default_rng(seed)
    return {
        "records": RecordAnswers(records_of(seed + 1, 9)),
        "weights": RecordAnswers(records_of(seed + 2, 9), generator.random(9) + 0.01),
        "uniform": UniformAnswers(),
    }


def dense(marginals: MarginalSet, given: Answers) -> NDArray[np.float64]:
    return given if isinstance(given, np.ndarray) else given.on(marginals, SCHEMA.sizes)


@given(marginal_sets(SIZES), st.integers(0, 2**31))
def test_errors_on_marginals_are_those_on_their_clauses(marginals: MarginalSet, seed: int) -> None:
    """Bit by bit: the whole is one group of cells, and the same numbers are subtracted and added."""
    records = records_of(seed, 40)
    dataset = PrivateDataset.from_codes(SCHEMA, list(records.T))
    answers = {name: dense(marginals, given) for name, given in sources(seed).items()}
    explicit = non_private_errors(dataset, marginals.clauses(), answers)
    assert non_private_errors(dataset, marginals, sources(seed)) == explicit
    assert non_private_errors(dataset, marginals, answers) == explicit
    exact = shares_on_records(marginals, records, SCHEMA.sizes)
    for name, array in answers.items():
        differences = np.abs(array - exact)
        worst = int(differences.argmax())
        expected = NonPrivateErrors(exact.size, differences[worst], differences.mean(), worst)
        assert explicit[name] == expected


@given(marginal_sets(SIZES), st.integers(0, 2**31), st.sampled_from([0, 1, 4, 12]))
def test_errors_do_not_depend_on_how_many_cells_go_together(marginals: MarginalSet, seed: int, cells: int) -> None:
    """Large marginals by the cells that hold a record alone: the largest error and its first place are the same."""
    dataset = PrivateDataset.from_codes(SCHEMA, list(records_of(seed, 25).T))
    arrays = {f"{name} array": dense(marginals, given) for name, given in sources(seed).items()}
    exact = dense(marginals, RecordAnswers(records_of(seed, 25)))
    answers: dict[str, Answers] = {**sources(seed), **arrays, "exact": exact}
    expected = non_private_errors(dataset, marginals, answers)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "CELLS", max(cells, 1))
        found = non_private_errors(dataset, marginals, answers)
    for name, errors in expected.items():
        assert found[name].max_error == errors.max_error
        assert found[name].worst_query == errors.worst_query
        assert found[name].mean_error == pytest.approx(errors.mean_error, rel=1e-12, abs=1e-16)


@pytest.mark.parametrize(
    ("codes", "released", "worst"),
    [([0, 1], [0, 1], 0), ([1, 3], [3, 1], 0), ([0, 0, 1, 2], [0, 0, 3, 2], 1), ([0, 0, 1, 2], [3, 0, 2, 1], 0)],
)
def test_of_equal_errors_the_first_is_named(
    monkeypatch: pytest.MonkeyPatch, codes: list[int], released: list[int], worst: int
) -> None:
    """Uniform shares of 1/4 are off by 1/4 where half of the records are, and where none is; the first cell is such a one."""
    monkeypatch.setattr(module, "CELLS", 1)
    schema = Schema((Attribute("x", AttributeKind.CATEGORICAL, tuple(range(4))),))
    found = non_private_errors(
        PrivateDataset.from_codes(schema, [np.array(codes)]),
        marginals_of([range(4)], [[0]]),
        {"uniform": UniformAnswers(), "release": RecordAnswers(np.array(released, dtype=np.int32)[:, None])},
    )
    assert (found["uniform"].worst_query, found["release"].worst_query) == (0, worst)
    assert found["uniform"].max_error == 0.25


def test_a_marginal_of_a_billion_cells_is_compared() -> None:
    """By hand: two records of four are right, one is missing and one is new."""
    schema = Schema(tuple(Attribute(name, AttributeKind.CATEGORICAL, tuple(range(1000))) for name in "abc"))
    marginals = marginals_of([range(1000)] * 3, [[0, 1, 2], [0]])
    true = np.array([[1, 2, 3], [1, 2, 3], [7, 7, 7], [9, 9, 9]], dtype=np.int32)
    released = np.array([[1, 2, 3], [0, 0, 1], [7, 7, 7], [1, 2, 3]], dtype=np.int32)
    dataset = PrivateDataset.from_codes(schema, list(true.T))
    shares: list[float] = []
    found = non_private_errors(
        dataset, marginals, {"release": RecordAnswers(released), "uniform": UniformAnswers()}, progress=shares.append
    )
    release = found["release"]
    assert release.queries == 10**9 + 1000
    assert (release.max_error, release.worst_query) == (0.25, 1)
    assert release.mean_error == pytest.approx(4 * 0.25 / release.queries)
    assert found["uniform"].worst_query == 1_002_003
    assert found["uniform"].max_error == pytest.approx(0.5 - 1e-9)
    assert shares[-1] == 1
    with pytest.raises(WorkloadError, match=r"have the shape \(3,\); expected one for each of 1,000,001,000"):
        non_private_errors(dataset, marginals, {"release": np.zeros(3)})


def test_of_a_wide_table_only_the_columns_of_a_large_marginal_are_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    cells, schema, made = some_cells(40, 300), Schema.binary(300), []
    marginals = MarginalSet(Domains.of(schema, occurring=False), np.array([[7, 2], [299, 0]], dtype=np.int32))
    table = read_binary_table(csr_array(cells), schema)
    expected = non_private_errors(table, marginals, {"uniform": UniformAnswers()})
    dense = SparseColumns.dense

    def noted(self: SparseColumns, column: int) -> NDArray[np.uint8]:
        made.append(column)
        return dense(self, column)

    monkeypatch.setattr(SparseColumns, "dense", noted)
    monkeypatch.setattr(module, "CELLS", 1)
    found = non_private_errors(table, marginals, {"uniform": UniformAnswers()})
    assert sorted(made) == [0, 2, 7, 299]
    assert found["uniform"].max_error == pytest.approx(expected["uniform"].max_error)
    assert found["uniform"].mean_error == pytest.approx(expected["uniform"].mean_error)


def test_answers_on_clauses_are_arrays() -> None:
    marginals = marginals_of([range(size) for size in SIZES], [[0]])
    dataset = PrivateDataset.from_codes(SCHEMA, list(records_of(0, 5).T))
    with pytest.raises(WorkloadError, match="given as an array, found UniformAnswers"):
        non_private_errors(dataset, marginals.clauses(), {"uniform": UniformAnswers()})


SCHEMAS = ROOT / "experiments" / "schemas"
REAL = {
    "adult-rules.json": ("adult/adult-train.csv.gz", "adult/adult-test.csv.gz"),
    "nist-acs-rules.json": ("constrained/nist-acs-national2019.csv.gz",),
    "tic-tac-toe.json": ("constrained/tic-tac-toe.csv.gz",),
}


@given(st.lists(FORMS, min_size=1, max_size=3), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_broken_rows_are_counted_one_by_one_in_blocks_of_any_size(forms, rows, seed) -> None:  # type: ignore[no-untyped-def]
    records = np.random.default_rng(seed).choice(RECORDS, rows)
    schema = schema_with(*(Rule(form, f"rule {number}") for number, form in enumerate(forms)))
    dataset = PrivateDataset.from_codes(schema, list(records.T))
    wrong = np.array([[not obeys(form, decoded(record)) for form in forms] for record in records])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule_report, "_BLOCK_BYTES", 500)
        report = broken_rows(dataset, schema.circuit())
    assert report == broken_rows(dataset, schema.circuit())
    assert report.names == schema.circuit().names
    assert report.broken == tuple(wrong.sum(axis=0).tolist())
    assert report.rows == rows
    assert report.rows_breaking_any == wrong.any(axis=1).sum()
    first = [int(np.argmax(column)) + 1 if column.any() else None for column in wrong.T]
    assert report.first_rows == tuple(first)


def test_the_first_row_is_counted_from_the_start_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_report, "_BLOCK_BYTES", 500)
    records = np.zeros((300, RECORDS.shape[1]), dtype=np.int32)
    records[[199, 250, 299], 0] = 1
    schema = schema_with(Rule(literal("colour", "=", "red")), Rule(literal("colour", "!=", 3)))
    report = broken_rows(PrivateDataset.from_codes(schema, list(records.T)), schema.circuit())
    assert (report.broken, report.first_rows, report.rows_breaking_any) == ((3, 0), (200, None), 3)


def test_without_rules_no_row_breaks_any() -> None:
    report = broken_rows(PrivateDataset.from_codes(schema_with(), list(RECORDS.T)), NO_RULES)
    assert (report.names, report.broken, report.rows_breaking_any) == ((), (), 0)
    assert report.rows == len(RECORDS)


def test_rules_of_another_schema_are_refused() -> None:
    other = Schema(schema_with().attributes[::-1], rules=(Rule(literal("colour", "=", "red")),))
    with pytest.raises(SchemaError, match="codes"):
        broken_rows(PrivateDataset.from_codes(schema_with(), list(RECORDS.T)), other.circuit())


@pytest.mark.parametrize("name", sorted(REAL))
def test_published_tables_obey_their_declared_rules(name: str, data_folder: Path) -> None:
    if not SCHEMAS.is_dir():
        pytest.skip("the experiments are not part of this copy")
    schema = Schema.read(SCHEMAS / name)
    assert len(schema.rules) >= 5
    for table in REAL[name]:
        report = broken_rows(read_table(data_folder / table, schema), schema.circuit())
        assert dict(zip(report.names, report.broken, strict=True)) == dict.fromkeys(report.names, 0)
        assert report.rows_breaking_any == 0


def test_the_near_misses_of_adult_are_found(data_folder: Path) -> None:
    if not SCHEMAS.is_dir():
        pytest.skip("the experiments are not part of this copy")
    schema = Schema.read(SCHEMAS / "adult-rules.json")
    near = tuple(
        Rule(implies(literal("relationship", "=", who), literal("sex", "=", sex)), who)
        for who, sex in (("Husband", "Male"), ("Wife", "Female"))
    )
    schema = replace(schema, rules=(*schema.rules, *near))
    broken = np.zeros(len(schema.rules), dtype=np.int64)
    for table in REAL["adult-rules.json"]:
        broken += broken_rows(read_table(data_folder / table, schema), schema.circuit()).broken
    assert broken.tolist() == [0] * 6 + [1, 3]


PEOPLE = Schema(
    (
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 20, 40, 60), integer=True, missing="?"),
        Attribute("pay", AttributeKind.NUMERIC, edges=(-1.5, 0, 10, 1000), other=4.5),
        Attribute("town", AttributeKind.CATEGORICAL, ("north", "south")),
    )
)
WITH_OTHER = Schema((*PEOPLE.attributes[:2], replace(PEOPLE.attributes[2], other="south")))
ROWS_OF_PEOPLE = [("3", "-1.5", "north"), ("?", "1e1", "south"), ("60", "7.25", "south"), ("17", "1000", "north")]


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_numbers_of_columns_are_those_of_the_table_and_not_of_bins(engine: str, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("\n".join(map(",".join, [("age", "pay", "town"), *ROWS_OF_PEOPLE])) + "\n")
    found = numeric_figures(open_dataset(table, PEOPLE, engine=engine)).columns
    assert list(found) == ["age", "pay"]
    assert (found["age"].mean, found["age"].quartiles, found["age"].missing) == (80 / 3, (3, 17, 60), 0.25)
    assert (found["pay"].mean, found["pay"].quartiles) == (1015.75 / 4, (-1.5, 7.25, 10.0))


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_numbers_are_those_in_the_file_of_the_rows_that_are_counted_and_beside_them_what_was_counted(
    engine: str, tmp_path: Path
) -> None:
    rows = [*ROWS_OF_PEOPLE, ("90", "5000", "north"), ("1", "nonsense", "south")]
    table = tmp_path / "people.csv"
    table.write_text("\n".join(map(",".join, [("age", "pay", "town"), *rows])) + "\n")
    dropped, clipped, repaired = (
        numeric_figures(open_dataset(table, schema, TableReading(on_invalid=parse_on_invalid(how)), engine=engine))
        for how, schema in (("drop", PEOPLE), ("clip,drop", PEOPLE), ("clip,other", WITH_OTHER))
    )
    assert (dropped.columns["age"].mean, dropped.changed, dropped.rows, dropped.counted) == (80 / 3, {}, 6, 4)
    for found, age in (clipped, 170 / 4), (repaired, 171 / 5):
        assert (found.columns["age"].mean, found.columns["pay"].mean) == (age, (1015.75 + 5000) / 5)
    assert clipped.changed == {"age": (1, 140 / 4), "pay": (1, (1015.75 + 1000) / 5)}
    paid = pytest.approx((1015.75 + 1000 + 4.5) / 6)
    assert repaired.changed == {"age": (1, 141 / 5), "pay": (2, paid)}


def test_numbers_of_a_data_frame_are_read_too_and_of_codes_there_are_none() -> None:
    frame = pd.DataFrame({"age": [3, None, 60], "pay": [0.5, 2.5, 3.0], "town": ["north"] * 3})
    assert numeric_figures(read_table(frame, PEOPLE)).columns["pay"].mean == 2.0
    wide = tuple(Attribute(name, AttributeKind.NUMERIC, edges=(0, 1, 1e300)) for name in ("age", "pay"))
    huge = pd.DataFrame({"age": [0, 1e300, 2e299], "pay": [1e300, 0.0, 0.0]})
    found = numeric_figures(read_table(huge, Schema(wide)), [("age", "pay")])
    assert found.columns["age"].sampling == pytest.approx(1e300 * np.std([0, 1, 0.2]) / 3**0.5)
    assert found.correlations == {("age", "pay"): None}  # squares overflow, and nothing is made up
    assert correlation(wide[0], wide[1], np.eye(2) / 2) == pytest.approx(1)
    codes = PrivateDataset.from_codes(PEOPLE, [np.zeros(3, dtype=np.uint8)] * 3)
    assert numeric_figures(codes) == NonPrivateNumbers()
