"""Drafting a schema from the table itself: a start for the owner to correct, marked as a draft, never used as it is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.readers.domain_codes import has_leading_zero, parse_numbers
from dpopt.private.readers.encode import as_text
from dpopt.private.readers.open_table import AnyTable, open_table
from dpopt.private.readers.table_problems import NO_TEXT, counted, shown
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.tables.dataset import Progress
from dpopt.schema.schema import LARGEST_SIZE, Attribute, AttributeKind, Schema, Value

if TYPE_CHECKING:
    import pyarrow as pa

Edges = tuple[float, ...]

_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))
_CROWDED = 0.5  # share of the rows in one bin of equal width from which quantiles are used instead
_DIGITS = 2  # significant digits of edges at quantiles


def readable_edges(
    values: NDArray[np.float64], counts: NDArray[np.int64], bins: int, *, integer: bool
) -> Edges:
    """Return increasing edges that hold all values in about `bins` bins.

    Values that many rows share (the zeros of an income, say) are set aside first. The others decide between equal
    widths and quantiles. Then each whole number that 2/bins of all rows share gets a bin of its own.

    Parameters
    ----------
    values : (k,) float64
        Different finite values, increasing; k >= 1.
    counts : (k,) int64
        Rows with each value, positive.
    bins
        Number of bins aimed at, at least 2; a few more or fewer can come out.
    integer
        Whether the values are whole numbers; then every edge is one too.
    """
    shared = _shared_by_many(counts, bins)
    edges = _equal_widths(_decimal(values[0]), _decimal(values[-1]), bins, integer=integer)
    if not shared.all():
        others, rows = values[~shared], counts[~shared]
        places = np.clip(np.searchsorted(edges, others, side="right") - 1, 0, len(edges) - 2)
        if np.bincount(places, weights=rows).max() > _CROWDED * rows.sum():
            wanted = max(bins - 2 * int(np.count_nonzero(shared)), 2) if integer else bins
            edges = _quantiles(others, rows, wanted, _outer(values, integer=integer), integer=integer)
    if not integer:
        return edges
    own = {float(value) + step for value in values[counts * bins >= 2 * counts.sum()] for step in (0, 1)}
    first, last = edges[0], max(edges[-1], max(own, default=edges[0]))
    inner = sorted({edge for edge in own.union(edges) if max(first, float(values[0])) <= edge < last})
    return (*(inner if values[0] in own else sorted({first, *inner})), last)


def _shared_by_many(counts: NDArray[np.int64], bins: int) -> NDArray[np.bool_]:
    """Return which values hold 2/bins of the rows or more, counted again without those found before."""
    shared = np.zeros(counts.size, dtype=np.bool_)
    while np.count_nonzero(shared) < max(bins // 4, 1):
        rest = np.where(shared, 0, counts)
        largest = int(rest.argmax())
        if rest[largest] * bins < 2 * rest.sum() or not rest[largest]:
            break
        shared[largest] = True
    return shared


def _equal_widths(low: Decimal, high: Decimal, bins: int, *, integer: bool) -> Edges:
    span = (high - low) or max(abs(high) / 10, Decimal(1))
    raw = span / bins
    power = Decimal(1).scaleb(raw.adjusted())
    steps = [power * step for step in _STEPS]
    if integer:
        steps = [step for step in steps if step >= 1 and step == step.to_integral_value()] or [Decimal(1)]
    step = next((step for step in steps if step >= raw), steps[-1])
    first = (low / step).to_integral_value(ROUND_FLOOR)
    last = max((high / step).to_integral_value(ROUND_CEILING), first + 1)
    return tuple(sorted({float(number * step) for number in range(int(first), int(last) + 1)}))


def _quantiles(
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
    bins: int,
    outer: tuple[float, float],
    *,
    integer: bool,
) -> Edges:
    reached = np.cumsum(counts) / counts.sum()
    positions = np.searchsorted(reached, np.arange(1, bins) / bins)
    low, high = outer
    rounded = {_rounded(_decimal(value), ROUND_HALF_EVEN, integer=integer) for value in values[positions]}
    return (low, *sorted(edge for edge in rounded if low < edge < high), high)


def _outer(values: NDArray[np.float64], *, integer: bool) -> tuple[float, float]:
    low = _rounded(_decimal(values[0]), ROUND_FLOOR, integer=integer)
    high = _rounded(_decimal(values[-1]), ROUND_CEILING, integer=integer)
    return low, high


def _rounded(number: Decimal, rounding: str, *, integer: bool) -> float:
    if not number:
        return 0.0
    unit = Decimal(1).scaleb(number.adjusted() - _DIGITS + 1)
    if integer:
        unit = max(unit, Decimal(1))
    return float((number / unit).to_integral_value(rounding) * unit)


def _decimal(number: np.float64) -> Decimal:
    return Decimal(repr(float(number)))


_TOKENS_AMONG_NUMBERS = ("?", "NA", "N", "N/A", "NULL", "null", "None", "none", "#N/A", "-", ".")
_TOKENS_AMONG_TEXTS = ("?", "NA")
_PAIRS = (("no", "yes"), ("n", "y"), ("f", "t"))
_IDENTIFIER_SHARE = 0.9  # different values per row from which a text column is taken for an identifier
_EXACT = 2.0**53
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Guess:
    """A declaration, or None if the column should be left out, and what the owner should know."""

    attribute: Attribute | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The different values of a column (no nulls, no NaN) with their numbers of rows, and the rows without a value."""

    name: str
    values: pa.Array
    counts: NDArray[np.int64]
    missing_rows: int


def guess_attribute(column: ColumnValues, bins: int, max_values: int, decimal: str = ".") -> Guess:
    """Return a declaration that all values of the column fit, or none with the reason."""
    import pyarrow as pa

    kind = column.values.type
    missing = "" if column.missing_rows else None
    if not len(column.values):
        return _left_out(column.name, "holds no value at all")
    if pa.types.is_boolean(kind):
        return Guess(Attribute(column.name, AttributeKind.BOOLEAN, missing=missing))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = np.array([float(value) for value in column.values.to_pylist()])
        return _numeric(column.name, numbers, column.counts, missing, bins)
    return _text(column, bins, max_values, decimal)


def _text(column: ColumnValues, bins: int, max_values: int, decimal: str) -> Guess:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = as_text(column.values)
    tokens = pc.is_in(texts, value_set=pa.array(["", *_TOKENS_AMONG_NUMBERS])).to_numpy(zero_copy_only=False)
    numbers, readable = parse_numbers(texts, decimal)
    absent = tokens | (readable & np.isnan(numbers))
    present = [text for text in texts.filter(pa.array(tokens)).to_pylist() if text]
    if readable[~absent].any() and readable[~absent].all() and not has_leading_zero(texts)[~absent].any():
        if len(present) > 1:
            named = " and ".join(map(shown, present))
            reason = f"holds numbers and several marks of missing values ({named}); use one mark in the table"
            return _left_out(column.name, reason)
        missing = present[0] if present else "" if absent.any() or column.missing_rows else None
        return _numeric(column.name, numbers[~absent], column.counts[~absent], missing, bins)
    return _categorical(column, texts.to_pylist(), max_values)


def _categorical(column: ColumnValues, texts: list[str], max_values: int) -> Guess:
    if column.missing_rows or "" in texts:
        missing: str | None = ""
    else:
        missing = next((token for token in _TOKENS_AMONG_TEXTS if token in texts), None)
    values = sorted(text for text in texts if text != missing)
    if not values:
        return _left_out(column.name, f"holds nothing but {shown(missing or '')}")
    rows = int(column.counts.sum())
    if len(values) > max_values:
        if len(values) >= _IDENTIFIER_SHARE * rows:
            return _left_out(
                column.name,
                f"has {len(values):,} different texts in {counted(rows, 'row')} and looks like an identifier or free "
                "text; drop the column",
            )
        return _left_out(
            column.name,
            f"has {len(values):,} different texts, more than {max_values}; group them, or allow more values",
        )
    pair = _truth_pair(values)
    if pair is not None:
        return Guess(Attribute(column.name, AttributeKind.BOOLEAN, values=pair, missing=missing))
    return _with_note_if_single(
        Attribute(column.name, AttributeKind.CATEGORICAL, values=tuple(values), missing=missing)
    )


def _truth_pair(values: list[str]) -> tuple[Value, ...] | None:
    """Return the values for false and true if the texts look like them."""
    if {value.lower() for value in values} <= {"true", "false"} and (
        set(values) <= {"true", "false"}
        or set(values) <= {"True", "False"}
        or set(values) <= {"TRUE", "FALSE"}
    ):
        return (False, True)
    if len(values) == 2:
        no, yes = values
        if (no.lower(), yes.lower()) in _PAIRS:
            return (no, yes)
    return None


def _numeric(
    name: str, numbers: NDArray[np.float64], counts: NDArray[np.int64], missing: str | None, bins: int
) -> Guess:
    if not (np.abs(numbers) <= _LARGEST).all():
        return _left_out(
            name, f"holds infinite numbers, or numbers beyond {_LARGEST:g}; replace them in the table"
        )
    values, places = np.unique(numbers + 0.0, return_inverse=True)  # "1" and "1.0" are one number, -0 is 0
    rows = np.bincount(places, weights=counts).astype(np.int64)
    integer = bool((values == np.floor(values)).all())
    if integer and np.abs(values).max() > _EXACT:
        return _left_out(
            name, "holds whole numbers beyond 2^53 and looks like an identifier; drop the column"
        )
    if integer and values.size <= bins:
        wholes = tuple(int(value) for value in values)
        kind = AttributeKind.BOOLEAN if wholes == (0, 1) else AttributeKind.CATEGORICAL
        return _with_note_if_single(Attribute(name, kind, values=wholes, missing=missing))
    notes: tuple[str, ...] = ()
    if integer and rows.max() == 1:
        if values[-1] - values[0] + 1 == values.size:
            return _left_out(name, "numbers the rows and looks like an identifier; drop the column")
        notes = (
            f"column {name!r}: no number occurs twice; if it is an identifier, remove it from the schema",
        )
    edges = readable_edges(values, rows, bins, integer=integer)
    return Guess(Attribute(name, AttributeKind.NUMERIC, edges=edges, integer=integer, missing=missing), notes)


def _with_note_if_single(attribute: Attribute) -> Guess:
    if len(attribute.values) > 1:
        return Guess(attribute)
    return Guess(
        attribute, (f"column {attribute.name!r}: a single value occurs; add the others that are possible",)
    )


def _left_out(name: str, reason: str) -> Guess:
    return Guess(None, (f"column {name!r} is left out: it {reason}",))


_BASKETS = (
    "If each line lists the items of a record (baskets), there is no schema to draft: declare their number by "
    "--binary-columns, with --layout baskets"
)
_MERGED_AT = 32  # batches of value counts that are kept before they are added up


def infer_schema(
    table: AnyTable,
    *,
    bins: int = 20,
    max_values: int = 100,
    reading: TableReading | None = None,
    progress: Progress | None = None,
) -> tuple[Schema, list[str]]:
    """Guess a schema that the whole table fits.

    The result depends on private data (values that occur, ranges), so it is marked `draft=True` and is not private:
    the owner replaces what only the data show by what is publicly known, then removes the mark.

    Truth values, 0/1 and yes/no become boolean; texts and few different whole numbers categorical; other numbers
    numeric with readable edges, of equal width or, if most rows would share a bin, at rounded quantiles. Empty
    cells, "?" and "NA" become missing values; among numbers also "N", "N/A", "null", "-" and the like.

    Parameters
    ----------
    table, reading, progress
        As for `read_table`.
    bins
        Number of bins aimed at for a numeric column, and most whole numbers that make a categorical one.
    max_values
        Most texts that make a categorical attribute; columns with more are left out.

    Returns
    -------
    schema
        The draft.
    notes
        Columns that were left out and why, and what else to look at. Like the draft, for the owner only.

    Raises
    ------
    PrivateDataError
        If the table cannot be read, has no rows, or no column can be used.
    SchemaError
        If `bins` or `max_values` is out of range.
    """
    for name, number in (("bins", bins), ("max_values", max_values)):
        if not 2 <= number < LARGEST_SIZE // 2:
            raise SchemaError(
                f"{name} is {number}; expected a whole number from 2 to {LARGEST_SIZE // 2 - 1:,}"
            )
    source = open_table(table, reading)
    from_file = isinstance(table, str | os.PathLike) and (reading is None or reading.column_names is None)
    single = source.names[0] if from_file and len(source.names) == 1 else None
    if single is not None and re.fullmatch(r"\d+([ \t]+\d+)+", single):
        raise PrivateDataError(
            f"{source.title} begins with {shown(single)} where names of columns are expected. {_BASKETS}"
        )
    counts = [_ValueCounts(name) for name in source.names]
    for index, array in source.pieces(range(len(counts)), progress):
        counts[index].add(array)
    faults = source.faults()
    if faults:
        raise PrivateDataError(f"{source.title} cannot be read\n" + "\n".join([*faults, f"  {_BASKETS}"]))
    if not counts or counts[0].rows == 0:
        raise PrivateDataError(f"{source.title} has no rows; a schema cannot be drafted from it")
    attributes, notes = [], [] if single is None else [f"there is one column, {shown(single)}. {_BASKETS}"]
    for number, column in enumerate(counts):
        if not column.name:
            notes.append(f"column number {number + 1} is left out: it has no name")
            continue
        guess = guess_attribute(column.result(), bins, max_values, source.decimal)
        notes.extend(guess.notes)
        if guess.attribute is not None:
            attributes.append(guess.attribute)
    if not attributes:
        raise PrivateDataError(f"{source.title} has no column for a schema:\n  " + "\n  ".join(notes))
    return Schema(tuple(attributes), draft=True), notes


class _ValueCounts:
    """Different values of one column and their numbers of rows, added up batch by batch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = 0
        self._parts: list[pa.Table] = []

    def add(self, array: pa.Array) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            counted = pc.value_counts(array)
            values = _plain_values(counted.field("values"))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
            raise PrivateDataError(
                f"column {self.name!r} has the type {array.type}, which cannot be read ({problem}); drop the column, "
                "or convert it to text, numbers or truth values"
            ) from problem
        self.rows += len(array)
        self._parts.append(pa.table({"value": values, "rows": counted.field("counts")}))
        if len(self._parts) == _MERGED_AT:
            self._merge()

    def result(self) -> ColumnValues:
        import pyarrow.compute as pc

        self._merge()
        merged = self._parts[0].combine_chunks().sort_by("value")
        absent = pc.is_null(merged["value"])
        present = merged.filter(pc.invert(absent))
        return ColumnValues(
            self.name,
            present["value"].combine_chunks(),
            np.array(present["rows"].to_numpy(), dtype=np.int64),
            int(pc.sum(merged.filter(absent)["rows"]).as_py() or 0),
        )

    def _merge(self) -> None:
        import pyarrow as pa

        from dpopt.private.readers.encode import as_text

        if len({part.schema.field("value").type for part in self._parts}) > 1:
            self._parts = [
                part.set_column(0, "value", as_text(part["value"].combine_chunks())) for part in self._parts
            ]
        whole = (
            pa.concat_tables(self._parts).group_by("value", use_threads=False).aggregate([("rows", "sum")])
        )
        self._parts = [pa.table({"value": whole["value"], "rows": whole["rows_sum"]})]


def _plain_values(values: pa.Array) -> pa.Array:
    """Return values as truth values, whole numbers, floats (null instead of NaN) or texts.

    Raises pyarrow.ArrowInvalid or ArrowNotImplementedError if one has no text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from dpopt.private.readers.encode import as_text, clean

    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return values
    texts = clean(as_text(values))
    strange = texts.filter(pc.starts_with(texts, NO_TEXT))
    if len(strange):
        raise pa.ArrowInvalid(strange[0].as_py().removeprefix(NO_TEXT))
    return texts
