"""Wide public records of zeros and ones to bytes: a sparse matrix in an npz file, or baskets as text.

The counterpart of `read_binary_table`: what is written reads back to the same codes. No more than some blocks of rows
is in memory, and nothing of records times columns.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError
from dpopt.files.written_files import whole_file
from dpopt.private.readers.binary.item_files import Items
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.releases.job import Job
from dpopt.releases.records import SyntheticRecords

if TYPE_CHECKING:
    import pyarrow as pa

BASKETS, WEIGHTS = "synthetic.txt", "weights.txt"


def write_wide(folder: Path, job: Job, records: SyntheticRecords) -> dict[str, Any]:
    """Write wide records into a folder as a job's output asks for; return the entry of the files in release.json.

    Each file appears whole or not at all; the same records give the same bytes.
    """
    places = None if job.rows is None else records.places()
    weights = records.weights if places is None else None
    ones, width = ones_of(records.held), len(job.schema)
    described: dict[str, Any] = {"rows": len(records) if places is None else len(places)}
    if job.output["format"] == "npz":
        name = "synthetic.npz"
        with whole_file(folder / name) as stream:
            write_npz(stream, width, ones, places, weights)
        return {"file": name, **described, "weight_column": None if weights is None else "weights"}
    items = job.items()
    with whole_file(folder / BASKETS) as stream:
        write_baskets(stream, ones, places, items)
    by = f"number, from {items.first}" if items.names is None else "name"
    described = {"file": BASKETS, **described, "items_by": by, "weight_column": None}
    if weights is not None:
        with whole_file(folder / WEIGHTS) as stream:
            write_weights(stream, weights)
        described["weight_file"] = WEIGHTS
    return described


_BLOCK_ONES = 2**22
_ROWS_AT_ONCE = 64
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # the least time that a zip archive can say

Ones = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Rows as lists of their ones: starts (r + 1,), and the attributes of row j, increasing, at items[starts[j]:starts[j + 1]]."""


def ones_of(records: NDArray[np.int32] | BitRecords) -> Ones:
    """Return records of zeros and ones (r, d) as lists of their ones."""
    counts, items = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
    for begin in range(0, len(records), _ROWS_AT_ONCE):
        part = slice(begin, begin + _ROWS_AT_ONCE)
        codes: NDArray[Any] = (
            np.unpackbits(records.octets[part], axis=1, count=records.width)
            if isinstance(records, BitRecords)
            else records[part]
        )
        rows, places = np.nonzero(codes)
        counts.append(np.bincount(rows, minlength=len(codes)))
        items.append(places.astype(np.int32))
    starts = np.concatenate(([0], np.cumsum(np.concatenate(counts)))).astype(np.int64)
    return starts, np.concatenate(items)


def write_npz(
    stream: IO[bytes], width: int, ones: Ones, places: NDArray[np.int64] | None, weights: NDArray[np.float64] | None
) -> None:
    """Write rows as a sparse matrix (CSR) for `scipy.sparse.load_npz`, with weights (r,) as another array of the file.

    The bytes are a function of the arguments alone: nothing is compressed, and the archive says no time. `width` is the
    number of columns d, and `places` (r,) say which of the `ones` stands in each row; without it each stands there
    once.
    """
    starts, rows = ones[0], np.arange(len(ones[0]) - 1) if places is None else places
    lengths = (starts[1:] - starts[:-1])[rows]
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    total = int(bounds[-1])
    if total > np.iinfo(np.int32).max:
        raise PlanError(f"{total:,} ones are more than an npz file of 32-bit numbers takes; ask for fewer rows")
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        _write_array(archive, "indices", (total,), np.int32, _gathered(ones, rows, lengths))
        _write_array(archive, "indptr", (len(bounds),), np.int32, iter((bounds,)))
        _write_array(archive, "format", (), "S3", iter((np.array(b"csr"),)))
        _write_array(archive, "shape", (2,), np.int64, iter((np.array([len(rows), width]),)))
        _write_array(archive, "data", (total,), np.uint8, _repeated_one(total))
        if weights is not None:
            _write_array(archive, "weights", weights.shape, np.float64, iter((weights,)))


def write_baskets(stream: IO[bytes], ones: Ones, places: NDArray[np.int64] | None, items: Items) -> None:
    """Write rows as baskets: on each line the items of a record, by number or by name.

    Parameters as for `write_npz`; the bytes are a function of the arguments alone.
    """
    import pyarrow as pa

    cells, width = _cells(items), items.width
    starts, held = ones
    lengths = np.maximum(starts[1:] - starts[:-1], 1)  # an empty record is one cell, the end of its line
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    last = bounds[1:] - 1
    filled = starts[1:] > starts[:-1]
    codes = np.full(int(bounds[-1]), 2 * width, dtype=np.int64)
    inner = np.ones(codes.size, dtype=np.bool_)
    inner[last[~filled]] = False
    codes[inner] = held
    codes[last[filled]] += width
    rows = np.arange(lengths.size) if places is None else places
    for block in _gathered((bounds, codes), rows, lengths[rows]):
        taken = cells.take(pa.array(block))
        ends = np.frombuffer(taken.buffers()[1], dtype=np.int64)
        stream.write(memoryview(taken.buffers()[2])[: ends[len(taken)]])


def write_weights(stream: IO[bytes], weights: NDArray[np.float64]) -> None:
    """Write weights as text, one on each line, in the shortest form that reads back exactly."""
    stream.writelines(f"{weight!r}\n".encode() for weight in weights.tolist())


def _cells(items: Items) -> pa.Array:
    """Return the texts to write: d items with the separator, d items with the end of the line, the end alone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.large_string()
    if items.names is None:
        texts = pc.cast(pa.array(np.arange(items.first, items.first + items.width)), kind)
    else:
        texts = pa.array(items.names, kind)
    nothing = pa.scalar("", kind)
    parts = [
        pc.binary_join_element_wise(texts, pa.scalar(sign, kind), nothing) for sign in (items.separators()[0], "\n")
    ]
    return pa.concat_arrays([*parts, pa.array(["\n"], kind)])


def _write_array(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], kind: Any, parts: Iterator[NDArray[Any]]
) -> None:
    member = zipfile.ZipInfo(f"{name}.npy", date_time=_BEGINNING)
    member.create_system, member.external_attr = 3, 0o600 << 16
    dtype = np.dtype(kind).newbyteorder("<")
    head = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    with archive.open(member, "w", force_zip64=True) as stream:
        np.lib.format.write_array_header_1_0(stream, head)
        for part in parts:
            stream.write(part.astype(dtype).tobytes())


def _gathered(
    ones: tuple[NDArray[np.int64], NDArray[Any]], rows: NDArray[np.int64], lengths: NDArray[np.int64]
) -> Iterator[NDArray[Any]]:
    """Yield the ones of the rows, some rows at a time."""
    starts, items = ones
    longest = max(int(lengths.max(initial=1)), 1)
    step = max(1, _BLOCK_ONES // longest)
    for begin in range(0, len(rows), step):
        of, each = starts[rows[begin : begin + step]], lengths[begin : begin + step]
        before = np.cumsum(each) - each
        yield items[np.arange(int(each.sum())) + np.repeat(of - before, each)]


def _repeated_one(total: int) -> Iterator[NDArray[np.uint8]]:
    for begin in range(0, total, _BLOCK_ONES):
        yield np.ones(min(_BLOCK_ONES, total - begin), dtype=np.uint8)
