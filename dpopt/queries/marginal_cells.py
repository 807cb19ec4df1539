"""The conjunctions of the cells of marginals, some at a time: their arrays and their fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.queries.clauses import Clauses
from dpopt.schema.domains import Domains

STEP = 1 << 21  # cells written at a time: bounds the temporary arrays
FEW = 16  # marginals in one step that are written one after the other: scalars divide faster than arrays do
LARGE = 256  # so are marginals with as many cells each on average: calling numpy for each of them is then worth it
SHAPES_VERSION = 1


class Shapes(Protocol):
    """What this file needs of a `dpopt.queries.marginal_set.MarginalSet`."""

    @property
    def domains(self) -> Domains:
        """The codes that cells may name."""
        ...

    @property
    def attributes(self) -> NDArray[np.int32]:
        """Positions of the attributes of each marginal, (M, k)."""
        ...

    @property
    def strides(self) -> NDArray[np.int64]:
        """By how much a cell moves with each attribute's code, (M, k)."""
        ...

    @property
    def starts(self) -> NDArray[np.int64]:
        """First cell of each marginal, (M + 1,)."""
        ...

    @property
    def number_of_cells(self) -> int:
        """Number of cells of all marginals."""
        ...


def cell_clauses(marginals: Shapes, begin: int, end: int) -> Clauses:
    """Return the conjunctions of the cells begin .. end - 1 in the flat order of all cells."""
    values = np.zeros((end - begin, marginals.attributes.shape[1]), dtype=np.int32)
    for part in _parts(begin, end):
        values[part.start - begin : part.stop - begin] = _values(marginals, part)
    whole = slice(begin, end)
    return Clauses.conjunctions(
        freeze(_repeated(marginals, marginals.attributes, whole)),
        freeze(values),
        freeze(_repeated(marginals, marginals.attributes >= 0, whole)),
    )


def cells_fingerprint(marginals: Shapes) -> str:
    """Return the SHA-256 digest (hexadecimal) of the conjunctions of all cells, the one that `Clauses.fingerprint` gives.

    The arrays are written part by part, one after the other; they are never held whole.
    """
    digest = hashlib.sha256()
    total, used = marginals.number_of_cells, marginals.attributes >= 0
    digest.update(f"dpopt clauses {total} {marginals.attributes.shape[1]};".encode("ascii"))
    accepted = np.left_shift(np.uint32(1), used.sum(axis=1).astype(np.uint32)).astype("<u4")
    for part in _parts(0, total):
        digest.update(_repeated(marginals, marginals.attributes.astype("<i4", copy=False), part).data)
    for part in _parts(0, total):
        digest.update(_values(marginals, part).astype("<i4", copy=False).data)
    for part in _parts(0, total):
        digest.update(_repeated(marginals, used.view(np.uint8), part).data)
    for part in _parts(0, total):
        digest.update(_repeated(marginals, accepted, part).data)
    return digest.hexdigest()


def shapes_fingerprint(marginals: Shapes) -> str:
    """Return a SHA-256 digest (hexadecimal) of which marginals there are and which codes their cells may name."""
    digest = hashlib.sha256()
    rows, width = marginals.attributes.shape
    domains = marginals.domains
    digest.update(f"dpopt marginals {SHAPES_VERSION} {rows} {width} {domains.counts.size};".encode("ascii"))
    digest.update(np.ascontiguousarray(marginals.attributes, dtype="<i4").data)
    digest.update(np.ascontiguousarray(domains.counts, dtype="<i8").data)
    digest.update(np.ascontiguousarray(domains.codes, dtype="<i4").data)
    return digest.hexdigest()


def _parts(begin: int, end: int) -> Iterator[slice]:
    return (slice(start, min(start + STEP, end)) for start in range(begin, end, STEP))


def _in_part(marginals: Shapes, part: slice) -> tuple[int, NDArray[np.int64]]:
    """Return the first marginal with a cell in the part, and how many cells it and each of the next ones have there."""
    starts = marginals.starts
    first = int(np.searchsorted(starts, part.start, side="right")) - 1
    stop = int(np.searchsorted(starts, part.stop, side="left"))
    ends = np.clip(starts[first : stop + 1], part.start, part.stop)
    return first, ends[1:] - ends[:-1]


def _repeated(
    marginals: Shapes, rows: NDArray[np.generic], part: slice
) -> NDArray[np.generic]:  # one row of `rows` per marginal
    """Return the row of its marginal for each cell of the part."""
    first, cells = _in_part(marginals, part)
    return np.repeat(rows[first : first + cells.size], cells, axis=0)


def _values(marginals: Shapes, part: slice) -> NDArray[np.int32]:
    """Return the codes that the cells of the part name, (cells, k); 0 in padding."""
    first, cells = _in_part(marginals, part)
    values = np.zeros((part.stop - part.start, marginals.attributes.shape[1]), dtype=np.int32)
    if cells.size > FEW and part.stop - part.start < LARGE * cells.size:
        marginal = np.repeat(np.arange(first, first + cells.size), cells)
        _write(marginals, marginal, np.arange(part.start, part.stop) - marginals.starts[marginal], values)
        return values
    ends = np.cumsum(cells)
    for place, (number, end) in enumerate(zip(cells.tolist(), ends.tolist(), strict=True)):
        begin = part.start + end - number - int(marginals.starts[first + place])
        _write(marginals, first + place, np.arange(begin, begin + number), values[end - number : end])
    return values


def _write(
    marginals: Shapes,
    marginal: int | NDArray[np.int64],
    rest: NDArray[np.int64],
    values: NDArray[np.int32],
) -> None:
    """Write the codes of cells, numbered from 0 in each marginal; one marginal for all cells, or one for each."""
    domains = marginals.domains
    for literal in reversed(range(values.shape[1])):
        attribute = marginals.attributes[marginal, literal]
        used = attribute >= 0
        if not np.any(used):
            continue
        count = np.where(used, domains.counts[attribute], 1)[()]  # a scalar stays one
        quotient = rest // count
        codes = domains.codes[np.where(used, domains.starts[attribute], 0)[()] + (rest - quotient * count)]
        values[:, literal] = np.where(used, codes, 0) if np.ndim(used) else codes
        rest = quotient
