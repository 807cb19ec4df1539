"""Encoded records: what fits the schema, what is refused, and what may be known of them in public."""

from __future__ import annotations

import copy
import operator
import pickle
import pprint
from collections.abc import Callable

import numpy as np
import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivacyBoundaryError, PrivateDataError, SchemaError
from dpopt.private.curators.door import Door, is_trusted
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.measurements.conjunction_measurement import ConjunctionTable
from dpopt.private.mechanisms.net.net_boxes import BoxSampler
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.mechanisms.randomness import SeededWords, SystemWords
from dpopt.private.readers.read_numbers import HalfspacePoints
from dpopt.private.selections.query_selection import QuerySelection
from dpopt.private.selections.query_weights import ExactSampler
from dpopt.private.selections.selection import CandidateScores
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.closed import Closed, StaysHere
from dpopt.private.tables.dataset import PrivateDataset, check_schema, least_dtype, public_size
from dpopt.private.tables.list_table import PrivateLists
from dpopt.queries.counting.binary_columns import SparseColumns
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema import Attribute, AttributeKind, Schema
from tests.scripted import ScriptedNoise, ScriptedSampler

SCHEMA = Schema(
    (
        Attribute("sex", AttributeKind.CATEGORICAL, ("F", "M"), missing="?"),
        Attribute("code", AttributeKind.CATEGORICAL, tuple(range(300))),
    )
)


def dataset() -> PrivateDataset:
    return PrivateDataset.from_codes(SCHEMA, [np.array([0, 2, 1]), np.array([299, 0, 7])])


def test_columns_are_kept_in_the_least_unsigned_type_and_read_only() -> None:
    columns = dataset()._columns
    assert [column.dtype for column in columns] == [np.uint8, np.uint16]
    assert [column.tolist() for column in columns] == [[0, 2, 1], [299, 0, 7]]
    assert not any(column.flags.writeable for column in columns)
    assert dataset()._rows == 3
    assert dataset()._schema is SCHEMA


@pytest.mark.parametrize(("size", "dtype"), [(1, np.uint8), (256, np.uint8), (257, np.uint16), (65_535, np.uint16)])
def test_the_least_type_holds_the_last_code(size: int, dtype: type) -> None:
    assert least_dtype(size) == dtype


def test_arrays_of_the_caller_are_copied_unless_they_are_read_only() -> None:
    writable = np.array([0, 1], dtype=np.uint8)
    kept = np.array([0, 1], dtype=np.uint16)
    kept.flags.writeable = False
    made = PrivateDataset.from_codes(SCHEMA, [writable, kept])
    writable[0] = 2
    assert made._columns[0].tolist() == [0, 1]
    assert made._columns[1] is kept
    assert writable.flags.writeable


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([[0]], "1 columns of codes for the 2 attributes"),
        ([[0, 1], [5]], "'code' has 1 codes, column 'sex' has 2"),
        ([[0, 3], [0, 0]], r"'sex', row 2: code 3 is none of 0 .. 2"),
        ([[0, -1], [0, 0]], r"'sex', row 2: code -1 is none of 0 .. 2"),
        ([[[0]], [[0]]], "2 dimensions"),
        ([[0.5], [0.5]], "float64"),
    ],
)
def test_codes_that_do_not_fit_the_schema_are_refused(columns: list[list[int]], message: str) -> None:
    arrays = [np.array(column, dtype=None if column else np.int32) for column in columns]
    with pytest.raises(PrivateDataError, match=message):
        PrivateDataset.from_codes(SCHEMA, arrays)


@pytest.mark.parametrize(
    "attempt",
    [
        np.asarray,
        np.array,
        list,
        tuple,
        iter,
        reversed,
        len,
        bool,
        operator.not_,
        lambda data: data[0],
        lambda data: data["sex"],
        lambda data: 0 in data,
        lambda data: np.add(data, 1),
        lambda data: format(data, ">80"),
        lambda data: setattr(data, "_rows", 5),
        lambda data: delattr(data, "_rows"),
        copy.copy,
        copy.deepcopy,
        copy.replace if hasattr(copy, "replace") else copy.copy,
        pickle.dumps,
        lambda data: pickle.dumps(data, protocol=0),
        lambda data: data.__reduce__(),
        lambda data: data.__getstate__(),
        lambda _: PrivateDataset(),
        lambda _: PrivateDataset(SCHEMA, []),
    ],
)
def test_every_way_out_is_refused(attempt: Callable[[PrivateDataset], object]) -> None:
    with pytest.raises((PrivacyBoundaryError, TypeError)):
        attempt(dataset())


def kinds_of(base: type) -> set[type]:
    """Return all types of the package that inherit from one."""
    found: list[type] = base.__subclasses__()
    below = {kind for kind in found if kind.__module__.startswith("dpopt.")}
    return below.union(*map(kinds_of, below))


def test_no_holder_of_records_or_exact_answers_opens_what_its_base_closes() -> None:
    holders, workers = kinds_of(Closed), kinds_of(StaysHere)
    assert {BinCounts, HalfspacePoints, PrivateLists, PrivateDataset, ConjunctionTable} <= holders
    assert {BoxSampler, CandidateScores, QuerySelection, Door} <= workers
    refusals = {name for name, value in vars(Closed).items() if name.startswith("__") and callable(value)}
    assert {"__array__", "__iter__", "__len__", "__reduce_ex__", "__repr__"} <= refusals
    for kind in holders:
        assert not refusals & set(vars(kind)), kind
    for kind in workers:
        assert not {"__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__", "__getstate__"} & set(vars(kind))


def test_a_refusal_says_where_answers_come_from() -> None:
    with pytest.raises(PrivacyBoundaryError, match=r"number of records is not public.*curator"):
        len(dataset())


def test_no_attribute_dictionary_shows_the_records() -> None:
    with pytest.raises(TypeError):
        vars(dataset())
    assert operator.length_hint(dataset(), 17) == 17


@pytest.mark.parametrize("show", [repr, str, format, pprint.pformat, "{}".format, "%s".__mod__])
def test_printing_shows_neither_values_nor_numbers(show: Callable[[PrivateDataset], str]) -> None:
    text = show(dataset())
    assert text == "<PrivateDataset: contents refused>"
    assert not any(character.isdigit() for character in text)


def test_two_data_sets_are_equal_only_if_they_are_the_same_object() -> None:
    one, other = dataset(), dataset()
    assert one == one  # noqa: PLR0124
    assert one != other
    assert len({one, other}) == 2


def test_columns_of_zeros_and_ones_are_taken_as_they_are_and_stay_closed() -> None:
    columns = SparseColumns(5, np.array([0, 2, 2, 3]), np.array([1, 4, 0], dtype=np.uint32))
    dataset = PrivateDataset.from_binary(Schema.binary(3), columns)
    workload = parse_workload("conjunctions:2,count=40,seed=1", Schema.binary(3))
    listed = PrivateDataset.from_codes(workload.schema, list(columns))
    assert np.array_equal(exact_counts(dataset, workload.clauses), exact_counts(listed, workload.clauses))
    cells = parse_workload("marginals:2", Schema.binary(3)).queries
    assert np.array_equal(exact_counts(dataset, cells), exact_counts(listed, cells))
    for refused in (len, iter, np.asarray, pickle.dumps):
        with pytest.raises(PrivacyBoundaryError):
            refused(dataset)
    assert "5" not in repr(dataset)


def test_columns_of_zeros_and_ones_need_their_schema_and_no_record() -> None:
    columns = SparseColumns(5, np.array([0, 2, 2, 3]), np.array([1, 4, 0], dtype=np.uint32))
    for schema in (Schema.binary(4), Schema.binary(2), Schema(tuple(Schema.binary(3).attributes))):
        with pytest.raises(PrivateDataError, match="binary attributes"):
            PrivateDataset.from_binary(schema, columns)
    empty = SparseColumns(0, np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.uint32))
    assert PrivateDataset.from_binary(Schema.binary(3), empty)._rows == 0


TWO_CODES = Schema((Attribute("a", AttributeKind.CATEGORICAL, ("x", "y")),))
OTHER = Schema((Attribute("a", AttributeKind.CATEGORICAL, ("y", "x")),))
DATASET = PrivateDataset.from_codes(TWO_CODES, [np.array([0, 1, 1])])
REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE


def test_the_size_is_read_off_the_table_under_replace_one_only() -> None:
    assert public_size(DATASET, REPLACE, None) == 3
    assert public_size(DATASET, ADD_REMOVE, 10) == 10


def test_a_declared_size_belongs_to_add_remove() -> None:
    with pytest.raises(PlanError, match="n0 belongs to add-remove"):
        public_size(DATASET, REPLACE, 10)
    with pytest.raises(PlanError, match="needs a fixed public n0"):
        public_size(DATASET, ADD_REMOVE, None)


def test_a_table_read_by_another_schema_is_refused() -> None:
    check_schema(DATASET, TWO_CODES)
    check_schema(DATASET, Schema(TWO_CODES.attributes, draft=True))
    with pytest.raises(SchemaError, match="read by another schema"):
        check_schema(DATASET, OTHER)


# Trust.


class ClaimingWords(SeededWords):
    """A seeded source that says of itself that it is private."""

    is_private = True


class ClaimingSampler(ScriptedSampler):
    """A scripted sampler that says the same."""

    is_private = True
    reads_the_system = True


class ClaimingNoise(ScriptedNoise):
    """Scripted noise that says the same."""

    is_private = True


def test_the_defaults_and_the_systems_generator_are_trusted() -> None:
    assert is_trusted(None, None)
    assert is_trusted(ExactSampler(SystemWords()), OpendpNoise())


@pytest.mark.parametrize(
    "sampler", [ExactSampler(SeededWords(1)), ExactSampler(ClaimingWords(1)), ScriptedSampler([]), ClaimingSampler([])]
)
def test_a_sampler_is_not_believed(sampler: ExactSampler | ScriptedSampler) -> None:
    assert not is_trusted(sampler, None)


def test_noise_is_not_believed() -> None:
    assert not is_trusted(None, ScriptedNoise([]))
    assert not is_trusted(None, ClaimingNoise([]))


class ClaimingSystemWords(SystemWords):
    """A kind of the system's words, and so perhaps of other words."""


def test_words_are_not_believed() -> None:
    assert is_trusted(None, None, SystemWords())
    for words in (SeededWords(1), ClaimingWords(1), ClaimingSystemWords()):
        assert not is_trusted(None, None, words)
