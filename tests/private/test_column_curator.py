"""Noisy sums over finer bins of numeric columns: what is counted, by any engine, and what is refused."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix

from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.engines.fine_counts import count_columns
from dpopt.private.engines.open_dataset import open_dataset
from dpopt.private.measurements.bin_measurement import ColumnSums
from dpopt.private.readers.table_reading import TableReading, parse_on_invalid
from dpopt.private.readers.table_sources import WatchedFiles
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.schema import Attribute, AttributeKind, Schema
from dpopt.schema.finer import finer
from tests.exact_counts_loss import AMPLE, Watching
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal

SCHEMA = Schema(
    (
        Attribute("town", AttributeKind.CATEGORICAL, ("north", "south"), other="south"),
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 4, 10), integer=True, missing="?"),
        Attribute("pay", AttributeKind.NUMERIC, edges=(-2, 0, 1000), other=4.5),
    )
)
ROWS = ["north,0,-2", "south,3,-0.5", "south,?,0", "north,10,1000", "south,9,7.25", "north,4,7.5"]


def table_of(folder: Path, rows: list[str]) -> Path:
    path = folder / "people.csv"
    path.write_text("\n".join(["town,age,pay", *rows, ""]))
    return path


def intervals(starts: list[int], stops: list[int], columns: int = 2) -> ColumnSums:
    return ColumnSums("halves", 4.0, True, np.array(starts), np.array(stops), columns)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_each_number_is_counted_in_its_finer_bin(engine: str, tmp_path: Path) -> None:
    """Against a count by hand, over every cell; a value that the schema repairs is counted as it was repaired."""
    reading = TableReading(on_invalid=parse_on_invalid("clip,other"))
    path = table_of(tmp_path, [*ROWS, "west,99,nonsense"])
    fine = [finer(attribute) for attribute in SCHEMA.attributes[1:]]
    held = count_columns(open_dataset(path, SCHEMA, reading, engine=engine), fine)
    counts = np.diff(held._sums)
    ages, pays = np.split(counts, held._public[:1])
    expected = [np.zeros(len(attribute.edges) - 1) for attribute in fine]
    numbers: tuple[tuple[float, ...], ...] = (0, 3, 10, 9, 4, 10), (-2, -0.5, 0, 1000, 7.25, 7.5, 4.5)
    for column, attribute, own in zip(expected, fine, numbers, strict=True):
        for number in own:
            column[min(bisect_right(attribute.edges, number), column.size) - 1] += 1
    assert ages.tolist() == expected[0].tolist()
    assert pays.tolist() == expected[1].tolist()
    assert ages.size == 10  # 0 to 8 alone, 9 and 10 together: the last bin is closed


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_what_is_charged_are_the_columns_that_were_planned(relation: NeighbouringRelation, tmp_path: Path) -> None:
    dataset = open_dataset(table_of(tmp_path, ROWS), SCHEMA)
    held = count_columns(dataset, [finer(attribute) for attribute in SCHEMA.attributes[1:]])
    moved = 2 if relation is ADD_REMOVE else 4
    for starts, stops in (([0, 4], [4, 9]), ([2, 10], [3, 12])):
        what = intervals(starts, stops)
        charge = what.charge(held._public, relation)
        assert charge.parameter == pytest.approx(moved / (2 * 16.0))
        ledger = Ledger(AMPLE[True], relation)
        ledger.reserve([charge])
        curator = CountingCurator(held, ledger, EventJournal([]), size=6, noise=Watching())
        noisy = curator.measure(what)
        assert noisy.values.tolist() == [held._sums[b] - held._sums[a] for a, b in zip(starts, stops, strict=True)]


@pytest.mark.parametrize(
    ("starts", "stops", "columns", "message"),
    [
        ([8], [11], 2, "ends beyond its column"),
        ([10], [9_999], 2, "ends beyond its column"),
        ([9_999], [10_000], 2, "ends beyond its column"),
        ([0, 10], [1, 11], 1, "more than 1 columns"),
    ],
)
def test_intervals_that_cost_more_than_is_charged_are_refused(
    starts: list[int], stops: list[int], columns: int, message: str, tmp_path: Path
) -> None:
    dataset = open_dataset(table_of(tmp_path, ROWS), SCHEMA)
    held = count_columns(dataset, [finer(attribute) for attribute in SCHEMA.attributes[1:]])
    with pytest.raises(PlanError, match=message):
        intervals(starts, stops, columns).charge(held._public, ADD_REMOVE)


@pytest.mark.parametrize(("starts", "stops"), [([0, 1], [2, 3]), ([1], [1]), ([], []), ([-1], [1]), ([3, 0], [4, 1])])
def test_intervals_that_share_a_cell_are_no_measurement(starts: list[int], stops: list[int]) -> None:
    with pytest.raises(PlanError, match="intervals of cells in order"):
        intervals(starts, stops)


def test_codes_alone_have_no_finer_bins() -> None:
    dataset = PrivateDataset.from_codes(SCHEMA, [np.zeros(3, dtype=np.uint8)] * 3)
    with pytest.raises(PrivateDataError, match="codes alone"):
        count_columns(dataset, [finer(SCHEMA.attributes[1])])


@pytest.mark.parametrize("kind", ["DataFrame", "array", "sparse matrix", "file"])
def test_a_table_that_changes_between_two_passes_is_not_counted_as_another(kind: str, tmp_path: Path) -> None:
    """It is refused, if only its size and times are the same; or the change does not reach what pandas keeps (from 3 on)."""
    schema = Schema((SCHEMA.attributes[1],))
    fine = [finer(schema.attributes[0])]
    ages, named = np.array([[0], [3], [10], [9]]), TableReading(column_names=("age",))
    path = tmp_path / "ages.csv"
    path.write_text("0\n3\n10\n9\n")
    kinds: dict[str, Any] = {
        "DataFrame": pd.DataFrame(ages),
        "array": ages,
        "sparse matrix": csc_matrix(ages),
        "file": path,
    }
    dataset = open_dataset(kinds[kind], schema, named)
    before = count_columns(dataset, fine)._sums.tolist()
    kinds["DataFrame"].iloc[1, 0] = ages[1, 0] = kinds["sparse matrix"].data[0] = 4
    path.write_text("0\n4\n10\n9\n")
    reaches = kind in {"sparse matrix", "file"} or int(pd.__version__.split(".")[0]) < 3
    refused = pytest.raises(PrivateDataError, match="Nothing was spent but on the number") if reaches else nullcontext()
    with mock.patch.object(WatchedFiles, "check"), refused:
        assert count_columns(dataset, fine)._sums.tolist() == before
