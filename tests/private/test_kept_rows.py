"""Which rows are counted: those that fit, and of each person the first K; the same with every engine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import PrivateDataError
from dpopt.private.engines import distributed_table
from dpopt.private.engines.distributed_table import DistributedTable
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.engines.streamed_table import StreamedTable
from dpopt.private.readers.batch_reader import FirstRowsOfPersons, Kept, RowsOfPart
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import OnInvalid, TableReading
from dpopt.queries import parse_workload
from dpopt.schema import Attribute, AttributeKind, Schema
from tests.boundary.defects.engines import WorkersHere
from tests.private.tables_in_files import small_batches

__all__ = ["small_batches"]  # a fixture

if TYPE_CHECKING:
    from dpopt.private.engines.dask_workers import DaskWorkers

VALUES = 6
SCHEMA = Schema(
    (
        Attribute("x", AttributeKind.CATEGORICAL, tuple(range(VALUES)), other=0),
        Attribute("id", AttributeKind.CATEGORICAL, ("a", "b"), other="b", missing=""),
    )
)
MARGINALS = parse_workload("marginals:2", SCHEMA).marginals
PERSONS = [*"abcde", "", None]

Row = tuple[str | None, int | str]
rows_of = st.lists(st.tuples(st.sampled_from(PERSONS), st.integers(0, VALUES - 1)), max_size=30)


def kept(rows: list[Row], most: int, policy: OnInvalid = OnInvalid.DROP) -> Counter[int]:
    """Return how many records with each value of x are counted."""
    frame = pd.DataFrame({"id": [row[0] for row in rows], "x": [row[1] for row in rows]}, dtype=object)
    reading = TableReading(on_invalid=policy, person="id", rows_per_person=most)
    data = read_table(frame, Schema(SCHEMA.attributes[:1]), reading)
    return Counter(data._columns[0].tolist())


def check_stability(rows: list[Row], own: list[Row], other: list[Row], places: list[int], most: int) -> None:
    """One person's rows, wherever they stand, change at most K records; those of another person change none of them."""

    def with_person(theirs: list[Row]) -> list[Row]:
        joined = list(rows)
        for place, row in zip(places, theirs, strict=False):
            joined.insert(place % (len(joined) + 1), row)
        return joined

    without, before, after = kept(rows, most), kept(with_person(own), most), kept(with_person(other), most)
    assert not without - before
    assert (before - without).total() <= most
    assert (before - after).total() <= most
    assert (after - before).total() <= most


theirs = st.lists(st.tuples(st.just("p"), st.integers(0, VALUES - 1) | st.just("?")), max_size=6)
lost = st.lists(st.tuples(st.sampled_from(["p", "", None]), st.integers(0, VALUES - 1)), max_size=6)


@pytest.mark.parametrize("most", [1, 2, 3])
@given(
    rows=rows_of, own=theirs | lost, other=theirs | lost, places=st.lists(st.integers(0, 40), min_size=6, max_size=6)
)
def test_a_person_changes_at_most_k_records(
    most: int, rows: list[Row], own: list[Row], other: list[Row], places: list[int]
) -> None:
    check_stability(rows, own, other, places, most)


def keep_one_more(patch: pytest.MonkeyPatch) -> None:
    begin = FirstRowsOfPersons.__init__
    patch.setattr(FirstRowsOfPersons, "__init__", lambda self, most: begin(self, most + 1))


def bound_rows_of_nobody_together(patch: pytest.MonkeyPatch) -> None:
    """Looks at others' rows: a row whose person cannot be read any more pushes out another's."""
    keep = FirstRowsOfPersons.keep

    def together(self: FirstRowsOfPersons, persons: pa.Array, candidates: Kept) -> Kept:
        return keep(self, pa.array([value.as_py() or "nobody" for value in persons], pa.string()), candidates)

    patch.setattr(FirstRowsOfPersons, "keep", together)


def keep_every_row_of_nobody(patch: pytest.MonkeyPatch) -> None:
    keep = FirstRowsOfPersons.keep

    def more(self: FirstRowsOfPersons, persons: pa.Array, candidates: Kept) -> Kept:
        nobody = np.array([value.as_py() in {None, ""} for value in persons])
        return keep(self, persons, candidates) | nobody  # type: ignore[no-any-return]

    patch.setattr(FirstRowsOfPersons, "keep", more)


def keep_the_first_rows_of_all(patch: pytest.MonkeyPatch) -> None:
    """Looks at others' rows: how many rows came before."""

    def first(self: FirstRowsOfPersons, persons: pa.Array, candidates: Kept) -> Kept:
        return np.asarray(candidates & (np.cumsum(candidates) <= self._most))

    patch.setattr(FirstRowsOfPersons, "keep", first)


def take_persons_by_a_short_hash(patch: pytest.MonkeyPatch) -> None:
    """Looks at others' rows: those with the same hash."""
    keep = FirstRowsOfPersons.keep

    def hashed(self: FirstRowsOfPersons, persons: pa.Array, candidates: Kept) -> Kept:
        texts = [None if not value.as_py() else f"{ord(value.as_py()[0]) % 3}" for value in persons]
        return keep(self, pa.array(texts, pa.string()), candidates)

    patch.setattr(FirstRowsOfPersons, "keep", hashed)


@pytest.mark.parametrize(
    "plant",
    [
        keep_one_more,
        bound_rows_of_nobody_together,
        keep_every_row_of_nobody,
        keep_the_first_rows_of_all,
        take_persons_by_a_short_hash,
    ],
)
def test_a_planted_defect_breaks_the_stability(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Row] = [("a", 0), ("s", 3), ("d", 1), ("d", 2), ("", 4), (None, 5)]
    neighbours: list[tuple[list[Row], list[Row]]] = [
        ([("p", 1)] * 3, []),
        ([("p", 1)] * 3, [("", 1), (None, 2), ("", 3)]),
        ([("", 1)] * 3, [("p", 5)] * 3),
    ]

    def checks() -> None:
        for most in (1, 2, 3):
            for own, other in neighbours:
                check_stability(rows, own, other, [0] * 3, most)

    checks()
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        checks()


@given(
    rows=st.lists(st.tuples(st.sampled_from(PERSONS), st.booleans()), max_size=60),
    most=st.integers(1, 3),
    cut=st.integers(1, 9),
    dictionary=st.booleans(),
)
def test_rows_are_kept_as_plain_python_keeps_them(
    rows: list[tuple[str | None, bool]], most: int, cut: int, dictionary: bool
) -> None:
    seen: Counter[str] = Counter()
    expected = []
    for person, candidate in rows:
        expected.append(bool(candidate and person and seen[person] < most))
        if person and candidate:
            seen[person] += 1
    persons, noted = FirstRowsOfPersons(most), RowsOfPart()
    for start in range(0, len(rows), cut):
        some = rows[start : start + cut]
        array = pa.array([row[0] for row in some], pa.string())
        noted.add(persons.keep(array.dictionary_encode() if dictionary else array, np.array([row[1] for row in some])))
    found = noted.result()
    assert found.rows == len(rows)
    assert found.number == sum(expected)
    for begin in range(0, len(rows), cut):
        assert found.part(begin, min(begin + 7, len(rows))).tolist() == expected[begin : begin + 7]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, 1, None, 2]),
        pa.array([1.0, 1.0, float("nan"), 2.5]),
        pa.array([b"a", b"a", b"\xff", b"b"]),
        pa.array(["a", "a", None, "b"], pa.large_string()).dictionary_encode(),
    ],
    ids=lambda array: str(array.type),
)
def test_persons_are_values_of_any_type_with_texts(array: pa.Array) -> None:
    assert FirstRowsOfPersons(1).keep(array, np.ones(4, np.bool_)).tolist() == [True, False, False, True]


def test_persons_without_texts_are_refused() -> None:
    with pytest.raises(PrivateDataError, match="person column: it has the type list"):
        FirstRowsOfPersons(1).keep(pa.array([[1]]), np.ones(1, np.bool_))


READINGS = {
    "other": TableReading(on_invalid=OnInvalid.OTHER),
    "drop": TableReading(on_invalid=OnInvalid.DROP),
    "person": TableReading(on_invalid=OnInvalid.OTHER, person="who", rows_per_person=2),
    "person in the schema": TableReading(on_invalid=OnInvalid.DROP, person="id", rows_per_person=40),
    "both": TableReading(on_invalid=OnInvalid.DROP, person="who", rows_per_person=1),
}


def frame(rows: int = 2_500) -> pd.DataFrame:
    random = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "who": random.choice([f"p{number}" for number in range(400)] + ["", ""], rows),
            "x": random.choice([*map(str, range(VALUES)), "7", "", "b"], rows),
            "id": random.choice(["a", "b", "c", ""], rows),
        }
    )


def tables(folder: Path, table: pd.DataFrame) -> dict[str, Path]:
    """Write a table as files of every kind."""
    for name in ("csvs", "parquets"):
        (folder / name).mkdir()
    for number, part in enumerate((table[:700], table[700:700], table[700:])):
        part.to_csv(folder / "csvs" / f"{number}.csv", index=False)
        pq.write_table(pa.Table.from_pandas(part), folder / "parquets" / f"{number}.parquet", row_group_size=300)
    table.to_csv(folder / "t.csv.gz", index=False)
    return {"csv": folder / "t.csv.gz", "csvs": folder / "csvs", "parquets": folder / "parquets"}


@pytest.fixture
def small_parts(small_batches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed_table, "FEWEST_ROWS", 300)


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize("rows", [2_500, 0])
def test_every_engine_keeps_the_same_rows(tmp_path: Path, reading: TableReading, rows: int, small_parts: None) -> None:
    assert MARGINALS is not None
    table = frame(rows)
    held = read_table(table, SCHEMA, reading)
    expected = exact_counts(held, MARGINALS).tolist()
    assert rows == 0 or 0 < held._rows <= rows
    assert sum(expected) == held._rows
    assert exact_counts(read_table(pa.Table.from_pandas(table), SCHEMA, reading), MARGINALS).tolist() == expected
    here = cast("DaskWorkers", WorkersHere())
    first = parse_workload("conjunctions:1,count=5", SCHEMA).clauses
    for kind, path in tables(tmp_path, table).items():
        engines = [read_table(path, SCHEMA, reading), StreamedTable.open(path, SCHEMA, reading)]
        if kind != "csv":
            engines.append(DistributedTable.open(path, SCHEMA, lambda: here, reading))
        for data in engines:
            assert data._rows == held._rows
            assert exact_counts(data, MARGINALS).tolist() == expected
            assert exact_counts(data, first).tolist() == exact_counts(held, first).tolist()


def test_rows_that_changed_under_a_mask_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,id\n1,a\n2,b\n")
    data = StreamedTable.open(path, SCHEMA, READINGS["drop"])
    monkeypatch.setattr("dpopt.private.readers.table_sources.WatchedFiles.check", lambda *_: None)
    for text in ("x,id\n1,a\n9,b\n", "x,id\n1,a\n2,b\n3,a\n", "x,id\n1,a\n"):
        path.write_text(text)
        with pytest.raises(PrivateDataError, match="same rows as before|as many rows as before"):
            exact_counts(data, MARGINALS)  # type: ignore[arg-type]
