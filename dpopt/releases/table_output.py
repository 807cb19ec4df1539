"""Public records and noisy answers as CSV and Parquet files.

The counterpart of `read_table`: records that are written read back to the same codes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError, SchemaError
from dpopt.files.written_files import whole_file
from dpopt.releases.job import Job
from dpopt.releases.records import RowBlock
from dpopt.schema.dates import NANOSECONDS, TICKS, date_number, has_time, has_years
from dpopt.schema.lengths import add_lengths, arrow_of, as_in_files, ends_in_files
from dpopt.schema.schema import Attribute, AttributeKind, Schema, Value, value_text
from dpopt.threads import one_ahead

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def write_records(
    path: str | os.PathLike[str],
    schema: Schema,
    records: NDArray[np.int32],
    *,
    weights: NDArray[np.float64] | None = None,
    format: str = "csv",  # noqa: A002  the plainest word
) -> str | None:
    """Write records so that `read_table` gives the same codes again; return the name that weights were given, if any.

    The file appears whole or not at all: it is written under another name in the same folder, flushed to disk and
    renamed, in place of one that is there. The same arguments give the same bytes (Parquet: with the same version of
    pyarrow).

    Parameters
    ----------
    records : (r, d) int32
        One row of codes per record.
    weights : (r,) float64, optional
        Finite weights of the records, written as the last column (`weight_name`).
    format
        "csv": UTF-8, commas; a missing value is the missing text. "parquet": text, int64, double, bool, date, timestamp
        and duration columns; a missing value is null.
    """
    written = write_blocks(path, schema, [RowBlock(records, weights)], weighted=weights is not None, format=format)
    return written["weight_column"]  # type: ignore[no-any-return]


def write_blocks(
    path: str | os.PathLike[str],
    schema: Schema,
    blocks: Iterable[RowBlock],
    *,
    weighted: bool,
    format: str,  # noqa: A002
) -> dict[str, Any]:
    """Write a block of records after the other, as `write_records` writes one; return the entry of the file in release.json.

    No more than two blocks are in memory: one is written while the next is made.
    """
    write = {"csv": write_csv, "parquet": write_parquet}.get(format)
    if write is None:
        raise SchemaError(f"the format {format!r} is not known; expected 'csv' or 'parquet'")
    name, rows, unordered = weight_name(schema) if weighted else None, 0, 0

    def checked() -> Iterator[RowBlock]:
        nonlocal rows, unordered
        for block in blocks:
            _check(schema, block.codes, block.weights)
            rows, unordered = rows + len(block.codes), unordered + block.unordered
            yield block

    with whole_file(path) as stream:
        write(stream, schema, checked(), name)
    by_rules = {} if not unordered else {"rows_at_representatives_by_rules": unordered}
    return {"file": Path(path).name, "rows": rows, "weight_column": name, **by_rules}


def _check(schema: Schema, records: NDArray[np.int32], weights: NDArray[np.float64] | None) -> None:
    if records.dtype != np.int32 or records.ndim != 2 or records.shape[1] != len(schema):
        raise SchemaError(
            f"expected records of shape (r, {len(schema)}) and type int32, found {records.shape} and {records.dtype}"
        )
    bad = (records < 0) | (records >= schema.sizes)
    if bad.any():
        row, position = (int(index) for index in np.argwhere(bad)[0])
        attribute = schema.attributes[position]
        raise SchemaError(
            f"record {row} has code {records[row, position]} in {attribute.name!r}; the codes are 0 .. "
            f"{attribute.size - 1}"
        )
    if weights is None:
        return
    if weights.dtype != np.float64 or weights.shape != records.shape[:1]:
        raise SchemaError(
            f"expected {len(records)} weights of type float64, found shape {weights.shape} and {weights.dtype}"
        )
    if not np.isfinite(weights).all():
        raise SchemaError(f"weight {int(np.argmin(np.isfinite(weights)))} is not finite; weights are finite numbers")


def weight_name(schema: Schema) -> str:
    """Return the name of the column of weights: "weight", or "dpopt_weight" where an attribute has that name."""
    names = chain(("weight", "dpopt_weight"), map("dpopt_weight_{}".format, count(2)))
    return next(name for name in names if name not in schema.names)


_BATCH_ROWS = 2**16

_QUOTED = frozenset(',"\n\r\ufeff')  # with a byte order mark in quotes, the file does not start with one

_EXACT = 2**53


def write_csv(stream: IO[bytes], schema: Schema, blocks: Iterable[RowBlock], weight_column: str | None) -> None:
    """Write records as CSV in UTF-8: a header line, then one line per record; values that need it are in quotes.

    The bytes are a function of the arguments alone. The last column is that of weights, if it is given a name.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = [*schema.names, *([] if weight_column is None else [weight_column])]
    stream.write((",".join(map(_cell, names)) + "\n").encode())
    kind, last = pa.large_string(), len(names) - 1
    separator = pa.scalar("", kind)

    def cells(place: int, _: Attribute | None, values: _Written) -> pa.Array:
        """Return values as texts with the sign that follows each, so that the cells of a row only need to be joined."""
        end = "\n" if place == last else ","
        if {*map(type, values)} <= {int, float}:
            return pa.array([repr(value) + end for value in values], kind)
        texts = ("" if value is None else value_text(value) for value in values)
        return pa.array([_cell(text, alone=last == 0) + end for text in texts], kind)

    for block, columns in one_ahead(_columns(schema, blocks, cells)):
        if block.weights is not None:
            different, places = np.unique(block.weights, return_inverse=True)
            columns.append(partial(_taken, cells(last, None, different.tolist()), pa.array(places.astype(np.int32))))
        for start in range(0, len(block.codes), _BATCH_ROWS):
            parts = [column(slice(start, start + _BATCH_ROWS)) for column in columns]
            lines = pc.binary_join_element_wise(*parts, separator)
            ends = np.frombuffer(lines.buffers()[1], dtype=np.int64)
            stream.write(memoryview(lines.buffers()[2])[: ends[len(lines)]])


def write_parquet(stream: IO[bytes], schema: Schema, blocks: Iterable[RowBlock], weight_column: str | None) -> None:
    """Write records as Parquet, a group of rows for each block; parameters as for `write_csv`.

    The bytes are a function of the arguments and the version of pyarrow.
    """
    import pyarrow.parquet as pq

    tables = records_tables(schema, blocks, weight_column)
    first = next(tables)
    with pq.ParquetWriter(stream, first.schema) as writer:
        for table in chain((first,), tables):
            writer.write_table(table)


def records_tables(schema: Schema, blocks: Iterable[RowBlock], weight_column: str | None) -> Iterator[pa.Table]:
    """Yield blocks as columns of the declared types, or of text, int64, double, bool, dates, timestamps, durations.

    Missing values are null. All blocks have the same types. Parameters as for `write_csv`.
    """
    import pyarrow as pa

    attributes, names = schema.attributes, [*schema.names, *([] if weight_column is None else [weight_column])]
    types = [arrow_of(attributes, place) or "" for place in range(len(attributes))]

    def typed(place: int, attribute: Attribute, values: _Written) -> pa.Array:
        return _typed(_arrow_values(attribute, values), types[place])

    def numbers(place: int, attribute: Attribute, drawn: NDArray[np.float64]) -> pa.Array:
        return _typed(_arrow_numbers(attribute, drawn, ends_in_files(attributes, place)), types[place])

    for block, columns in one_ahead(_columns(schema, blocks, typed, numbers)):
        arrays = [column(slice(None)) for column in columns]
        yield pa.table(arrays if block.weights is None else [*arrays, pa.array(block.weights)], names=names)


def frame_of(rows: Iterable[Mapping[str, Any]], types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return public rows of figures as a table; `types` names its columns where they are known beforehand."""
    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=None if types is None else [*types])
    return frame if types is None else frame.astype(types)


def as_frame(table: pa.Table, schema: Schema) -> pd.DataFrame:
    """Return a table as a DataFrame: declared whole numbers and truth values that may be missing by pandas' own types."""
    import pandas as pd

    def own(kind: pa.DataType) -> Any:
        name = str(kind).replace("int", "Int").replace("uI", "UI").replace("bool", "boolean")
        return pd.api.types.pandas_dtype(name) if re.fullmatch("U?Int.*|boolean", name) else None

    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    for one in schema.attributes:
        if one.arrow is not None and one.missing is not None and one.name in frame:
            frame[one.name] = table[one.name].to_pandas(types_mapper=own, date_as_object=False)
    return frame


def as_polars(table: pa.Table, schema: Schema) -> pl.DataFrame:
    """Return a table as a DataFrame of polars, ordered categories as an Enum."""
    try:
        import polars as pl
    except ImportError:
        raise PlanError("to_polars needs polars, which is not installed; run: pip install 'dpopt[polars]'") from None
    ordered = {one.name: one.values for one in schema.attributes if one.arrow == "ordered category"}
    found = pl.DataFrame(table)
    enums = {name: pl.Enum([value_text(value) for value in values]) for name, values in ordered.items()}
    return found.cast(enums) if enums else found  # type: ignore[arg-type]  # its types are a union of classes


_Written: TypeAlias = Sequence[Value | None]
"""Values of a column as files hold it; that of missing last."""
_Column: TypeAlias = "Callable[[slice], pa.Array]"
"""Returns the values of a part of a block's records."""


def _columns(
    schema: Schema,
    blocks: Iterable[RowBlock],
    make: Callable[[int, Attribute, _Written], pa.Array],
    numbers: Callable[[int, Attribute, NDArray[np.float64]], pa.Array] | None = None,
) -> Iterator[tuple[RowBlock, list[_Column]]]:
    """Yield each block with its columns.

    `make` makes an array of the values of an attribute at a position: once of all declared ones, and of drawn numbers, each
    once, in every block; or `numbers` makes an array of the numbers of all records.
    """
    import pyarrow as pa

    attributes, declared = schema.attributes, dict[int, pa.Array]()
    in_files = [as_in_files(attributes, place) for place in range(len(attributes))]
    for block in blocks:
        columns, drawn = list[_Column](), add_lengths(attributes, block.codes, block.numbers)
        for place, attribute in enumerate(in_files):
            if place not in drawn:
                if place not in declared:
                    declared[place] = make(place, attribute, attribute.decoded())
                codes = pa.array(np.ascontiguousarray(block.codes[:, place]))
                columns.append(partial(_taken, declared[place], codes))
                continue
            own = drawn[place] + 0.0  # no number is -0.0
            if numbers is not None and attribute.quantity == "numbers":
                columns.append(numbers(place, attribute, own).__getitem__)
            else:
                values, places = _different(attribute, own)
                columns.append(partial(_taken, make(place, attribute, values), places))
        yield block, columns


def _taken(values: pa.Array, places: pa.Array, part: slice) -> pa.Array:
    """Return the values at some of the places, which are none but theirs."""
    import pyarrow.compute as pc

    return pc.take(values, places[part], boundscheck=False)


def _different(attribute: Attribute, numbers: NDArray[np.float64]) -> tuple[_Written, pa.Array]:
    """Return different values of a column, that of missing last, and which of them each record has."""
    import pyarrow as pa

    encoded = pa.array(numbers, from_pandas=True).dictionary_encode()
    write: Callable[[float], Value] = int if attribute.integer else float
    if attribute.date_format is not None:
        write = attribute.number_text
    found: list[Value | None] = list(map(write, encoded.dictionary.to_pylist()))
    if attribute.missing is not None:
        found.append(attribute.missing or None)
    return found, encoded.indices.fill_null(len(found) - 1)


def _cell(text: str, *, alone: bool = False) -> str:
    """Return a text as a cell of CSV; the only cell of a line is never left empty, since blank lines do not count."""
    if _QUOTED.isdisjoint(text) and (text or not alone):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _typed(usual: pa.Array, name: str) -> pa.Array:
    """Return values of an attribute in the Arrow type of this name; or of the usual one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if name.endswith("category"):
        places = pa.array([None if value is None else code for code, value in enumerate(usual.to_pylist())], pa.int32())
        return pa.DictionaryArray.from_arrays(places, usual.drop_null(), ordered=name.startswith("ordered"))
    kind, _, details = name.partition("[" if "[" in name else "(")
    if kind == "decimal128":
        digits, scale = map(int, details[:-1].split(", "))
        return pc.round(usual.cast(pa.float64()), scale).cast(pa.decimal128(digits, scale))
    if not name or kind == "duration":  # these have it already
        return usual
    unit, _, zone = details[:-1].partition(", tz=")
    return usual.cast(pa.timestamp(unit, zone or None) if kind == "timestamp" else pa.type_for_alias(name))


def _arrow_numbers(attribute: Attribute, numbers: NDArray[np.float64], ends: tuple[float, float]) -> pa.Array:
    """Return numbers between these ends as int64 or double, null for NaN."""
    import pyarrow as pa

    missing = np.isnan(numbers)
    whole = attribute.integer and ends[0] >= -(2**63) and ends[1] < 2**63
    return pa.array(np.where(missing, 0, numbers).astype(np.int64) if whole else numbers, mask=missing)


def _arrow_values(attribute: Attribute, written: Sequence[Value | None]) -> pa.Array:
    """Return values of an attribute, that of missing last, as an Arrow array, null for missing."""
    import pyarrow as pa

    if attribute.missing is not None:
        written = [*written[:-1], None]
    if (unit := attribute.duration) is not None:
        tick = (attribute.arrow or ("[ns]" if unit == "nanoseconds" else "[us]")).partition("[")[2][:-1]
        size = NANOSECONDS[unit] / TICKS[tick]
        ticks = [None if number is None else round(float(number) * size) for number in written]
        return pa.array(ticks, pa.int64()).cast(pa.duration(tick))
    form = attribute.date_format
    if form is not None and has_years(form):
        seconds = [None if text is None else int(date_number(str(text), form)) for text in written]
        moments = pa.array(seconds, pa.int64()).cast(pa.timestamp("s"))
        return moments if has_time(form) else moments.cast(pa.date32(), safe=False)
    values = [value for value in written if value is not None]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if all(isinstance(value, bool) for value in values) and form is None:
        return pa.array(written, pa.bool_())
    if len(numbers) == len(values) and form is None:  # times of day are texts
        if all(isinstance(number, int) and -(2**63) <= number < 2**63 for number in numbers):
            return pa.array(written, pa.int64())
        exact = all(isinstance(number, float) or abs(number) <= _EXACT for number in numbers)
        if attribute.kind is AttributeKind.NUMERIC or (exact and len(set(map(float, numbers))) == len(numbers)):
            return pa.array([None if value is None else float(value) for value in written], pa.float64())
    return pa.array([None if value is None else value_text(value) for value in written], pa.string())


def write_answers(folder: Path, job: Job, answers: NDArray[np.float64]) -> dict[str, Any]:
    """Write the answers (m,) as shares of the public size, each in the shortest form that reads back exactly.

    Returns the entry of the file in release.json. The file appears whole or not at all, and the same answers give the same
    bytes (Parquet: with the same version of pyarrow).
    """
    file_format = str(job.output.get("format", "csv"))
    name = f"answers.{file_format}"
    with whole_file(folder / name) as stream:
        if file_format == "csv":
            stream.write(b"query,answer\n")
            stream.writelines(f"{query},{answer!r}\n".encode() for query, answer in enumerate(answers.tolist()))
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.table({"query": np.arange(len(answers)), "answer": answers}), stream)
    return {
        "file": name,
        "queries": len(answers),
        "meaning": "column 'answer' is the noisy count of query number 'query' of workload.json, divided by the public size",
    }
