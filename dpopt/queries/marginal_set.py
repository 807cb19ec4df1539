"""Sets of marginals as shapes, the conjunctions of their cells in parts, and queries over their attributes.

Shapes say which cells there are, without a clause for each of them.

Attributes that queries name are renumbered from 0: all that counting on a wide table needs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import Rebuilt, freeze, frozen
from dpopt.errors import WorkloadError
from dpopt.public_random import permutation, public_stream
from dpopt.queries.clauses import LARGEST_WIDTH, Clauses
from dpopt.schema.domains import Domains

STEP = 1 << 21  # cells written at a time: bounds the temporary arrays
FEW = 16  # marginals in one step that are written one after the other: scalars divide faster than arrays do
LARGE = 256  # so are marginals with as many cells each on average: calling numpy for each of them is then worth it
SHAPES_VERSION = 1


def cell_clauses(marginals: MarginalSet, begin: int, end: int) -> Clauses:
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


def cells_fingerprint(marginals: MarginalSet) -> str:
    """Return the SHA-256 digest (hexadecimal) of the conjunctions of all cells, as `Clauses.fingerprint` does.

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


def shapes_fingerprint(marginals: MarginalSet) -> str:
    """Return a SHA-256 digest (hexadecimal) of the marginals and of the codes that their cells can name."""
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


def _in_part(marginals: MarginalSet, part: slice) -> tuple[int, NDArray[np.int64]]:
    """Return the first marginal with a cell in the part, and how many cells it and each of the next ones have there."""
    starts = marginals.starts
    first = int(np.searchsorted(starts, part.start, side="right")) - 1
    stop = int(np.searchsorted(starts, part.stop, side="left"))
    ends = np.clip(starts[first : stop + 1], part.start, part.stop)
    return first, ends[1:] - ends[:-1]


def _repeated(
    marginals: MarginalSet, rows: NDArray[np.generic], part: slice
) -> NDArray[np.generic]:  # one row of `rows` per marginal
    """Return the row of its marginal for each cell of the part."""
    first, cells = _in_part(marginals, part)
    return np.repeat(rows[first : first + cells.size], cells, axis=0)


def _values(marginals: MarginalSet, part: slice) -> NDArray[np.int32]:
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
    marginals: MarginalSet, marginal: int | NDArray[np.int64], rest: NDArray[np.int64], values: NDArray[np.int32]
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


LARGEST_WRITTEN = 50_000_000  # cells that are written out as clauses, or hashed as such


@dataclass(frozen=True, slots=True, eq=False)
class MarginalSet(Rebuilt):
    """M marginals, each over up to k attributes, and the place of every cell in one flat array.

    The cells of a marginal are the combinations of the codes that its attributes may take (`domains`), the last
    attribute running fastest; marginals follow one another. A record lies in exactly one cell of each marginal, or in
    none where it has a code that `domains` leaves out.
    """

    domains: Domains
    """The codes that cells may name, for every attribute of the schema."""
    attributes: NDArray[np.int32]
    """Shape (M, k). Positions of the attributes of each marginal, distinct within a row; -1 is padding at the end of a
    row."""
    strides: NDArray[np.int64] = field(init=False)
    """Shape (M, k). By how much the cell moves when the position of that attribute's code in its domain grows by one; 0
    in padding."""
    starts: NDArray[np.int64] = field(init=False)
    """Shape (M + 1,). First cell of each marginal; the last entry is the number of all cells."""

    def __post_init__(self) -> None:
        attributes = frozen(self.attributes, np.int32)
        object.__setattr__(self, "attributes", attributes)
        if attributes.ndim != 2 or not 1 <= attributes.shape[1] <= LARGEST_WIDTH:
            raise WorkloadError(
                f"marginals: 'attributes' must have shape (M, k) with 1 <= k <= {LARGEST_WIDTH}, found "
                f"{attributes.shape}"
            )
        used = attributes >= 0
        ordered = np.sort(attributes, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        wrong = ~used[:, 0] | (used[:, 1:] & ~used[:, :-1]).any(axis=1) | twice.any(axis=1)
        if wrong.any() or int(attributes.max(initial=-1)) >= self.domains.counts.size:
            raise WorkloadError(
                "marginals: each needs at least one attribute, no attribute twice, padding (-1) at its end only, and "
                f"attributes below {self.domains.counts.size}"
            )
        shapes = np.where(used, self.domains.counts[attributes], 1)
        if float(np.prod(shapes.astype(np.float64), axis=1).sum()) >= 2.0**62:
            raise WorkloadError("marginals: there are 2^62 cells or more; use fewer or smaller marginals")
        after = np.cumprod(shapes[:, ::-1], axis=1)[:, ::-1]  # product of this and all later shapes
        cells = after[:, 0]
        strides = np.where(used, after // shapes, 0)
        object.__setattr__(self, "strides", freeze(strides.astype(np.int64)))
        object.__setattr__(self, "starts", freeze(np.concatenate(([0], np.cumsum(cells, dtype=np.int64)))))

    def __len__(self) -> int:
        """Return the number of marginals M."""
        return int(self.attributes.shape[0])

    @property
    def number_of_cells(self) -> int:
        """Number of cells of all marginals."""
        return int(self.starts[-1])

    def cells(self) -> NDArray[np.int64]:
        """Return the number of cells of each marginal, (M,)."""
        return np.diff(self.starts)

    def widths(self) -> NDArray[np.int64]:
        """Return the number of attributes of each marginal, (M,)."""
        return np.asarray(np.count_nonzero(self.attributes >= 0, axis=1), dtype=np.int64)

    def attributes_of(self, marginal: int) -> tuple[int, ...]:
        """Return the positions of the attributes of one marginal."""
        return tuple(int(a) for a in self.attributes[marginal] if a >= 0)

    def take(self, marginals: NDArray[np.integer] | list[int]) -> MarginalSet:
        """Return the marginals at these positions, in this order."""
        return MarginalSet(self.domains, freeze(self.attributes[np.asarray(marginals, dtype=np.int64)]))

    @staticmethod
    def joined(sets: Sequence[MarginalSet]) -> MarginalSet:
        """Return the marginals of one or more sets over the same domains, one after the other."""
        width = max(one.attributes.shape[1] for one in sets)
        rows = [
            np.pad(one.attributes, ((0, 0), (0, width - one.attributes.shape[1])), constant_values=-1) for one in sets
        ]
        return MarginalSet(sets[0].domains, freeze(np.concatenate(rows)))

    def check_against(self, sizes: NDArray[np.integer]) -> None:
        """Check that the domains name d attributes and some of their `sizes` (d,) codes."""
        counts, codes = self.domains.counts, self.domains.codes
        if counts.size != len(sizes):
            raise WorkloadError(f"the marginals are over {counts.size} attributes; the schema has {len(sizes)}")
        bounds = np.repeat(np.asarray(sizes, dtype=np.int64), counts)
        wrong = (codes < 0) | (codes >= bounds)
        if wrong.any():
            place = int(np.argmax(wrong))
            raise WorkloadError(
                f"the marginals name code {int(codes[place])} of attribute number "
                f"{int(np.repeat(np.arange(counts.size), counts)[place])}, which has the codes 0 .. "
                f"{int(bounds[place]) - 1}"
            )

    def clauses(self) -> Clauses:
        """Return one conjunction per cell, in the order of the cells; for large sets that is a lot of memory."""
        if self.number_of_cells > LARGEST_WRITTEN:
            raise WorkloadError(
                f"{self.number_of_cells:,} cells of marginals were to be written out one by one, more than the "
                f"{LARGEST_WRITTEN:,} that are possible; choose an algorithm that works with whole marginals, or fewer "
                f"or smaller marginals"
            )
        return cell_clauses(self, 0, self.number_of_cells)

    def clause_of(self, cell: int) -> Clauses:
        """Return the conjunction of one cell, as clauses of length 1."""
        if not 0 <= cell < self.number_of_cells:
            raise WorkloadError(f"cell {cell} was asked for; there are {self.number_of_cells:,}, numbered from 0")
        return cell_clauses(self, cell, cell + 1)

    def fingerprint(self) -> str:
        """Return a SHA-256 digest (hexadecimal) that identifies these cells.

        Up to 50 million cells it is that of `clauses()`, part by part; beyond, that of the domains and attributes.
        """
        return cells_fingerprint(self) if self.number_of_cells <= LARGEST_WRITTEN else shapes_fingerprint(self)

    def position_tables(self, sizes: NDArray[np.integer] | None = None) -> list[NDArray[np.int32]]:
        """Return for each attribute the position of every code in its domain, -1 for codes that the domain leaves out.

        `sizes` (d,) are the numbers of codes of each attribute; up to the largest code of the domain if left out.
        """
        tables = []
        for attribute, (start, count) in enumerate(
            zip(self.domains.starts.tolist(), self.domains.counts.tolist(), strict=True)
        ):
            codes = self.domains.codes[start : start + count]
            size = int(codes.max(initial=-1)) + 1 if sizes is None else int(sizes[attribute])
            table = np.full(size, -1, dtype=np.int32)
            table[codes] = np.arange(count, dtype=np.int32)
            tables.append(freeze(table))
        return tables


Queries = TypeVar("Queries", MarginalSet, Clauses, MarginalSet | Clauses)


def over_named(queries: Queries, sizes: NDArray[np.integer]) -> tuple[NDArray[np.int64], Queries]:
    """Return the attributes that queries name, in order, and the same queries over these alone.

    Of m clauses, or marginals with m cells, over d attributes with so many codes each: the attributes, (k,), increasing
    (attribute 0 if none is named, so that there is one), and the queries in their order; attribute j is the one that
    was attributes[j].
    """
    queries.check_against(sizes)
    named = np.zeros(len(sizes), dtype=np.bool_)
    named[queries.attributes[queries.attributes >= 0]] = True
    attributes = np.flatnonzero(named) if named.any() else np.zeros(1, dtype=np.int64)
    return attributes, over(attributes, queries, len(sizes))


def over(attributes: NDArray[np.int64], queries: Queries, number: int) -> Queries:
    """Return queries over these of `number` attributes alone, (k,) increasing: at least all that they name."""
    place = np.full(number + 1, -1, dtype=np.int32)  # the last one is for padding, which is -1
    place[attributes] = np.arange(attributes.size, dtype=np.int32)
    moved = freeze(place[queries.attributes])
    if isinstance(queries, MarginalSet):
        domains = queries.domains
        own = Domains(domains.counts[attributes], domains.starts[attributes], domains.codes)
        return MarginalSet(own, moved)
    return Clauses(moved, queries.values, queries.signs, queries.accepted)


def some_of(marginals: MarginalSet, most: int, fewest: int = 1) -> MarginalSet:
    """Return the marginals, or a public random part of them: at most `most` cells, but at least one per marginal."""
    if marginals.number_of_cells <= most:
        return marginals
    order = permutation(public_stream(0, "marginals of baselines"), len(marginals))
    few = int(np.searchsorted(np.cumsum(marginals.cells()[order]), most, side="right"))
    return marginals.take(np.sort(order[: max(fewest, few)]))
