"""Programs built block by block, as a page writes them: variables, rows and squares, each under a symbol or label.

Nothing is named, looped over or copied variable by variable: a block knows how many it holds and makes their names when
somebody asks for them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.programs.conic import Cone, ConeBlock, ConicProgram, PointProgram
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram

Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
_Kind = TypeVar("_Kind", np.int64, np.float64, np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Rows  lower <= sum of value * variable <= upper,  entry by entry."""

    row: Indices
    """Shape (e,). Row of each entry, 0 .. r - 1; entries in any order. Entries of one variable in one row add up; 0 is
    left out."""
    column: Indices
    """Shape (e,). Variable of each entry."""
    value: Numbers
    """Shape (e,). Coefficient of each entry."""
    lower: Numbers
    upper: Numbers
    """Shape (r,). Bounds of each row."""

    @property
    def number_of_rows(self) -> int:
        """Number of rows r."""
        return self.lower.size


@dataclass(frozen=True, slots=True, eq=False)
class Variables:
    """Variables of a program: objective, bounds and which are whole, four arrays (n,)."""

    objective: Numbers
    lower: Numbers
    upper: Numbers
    integrality: Flags


def table_block(columns: Indices, values: Numbers, lower: Numbers, upper: Numbers) -> RowBlock:
    """Return the rows of a table: row i has the entries values[i, :] at columns[i, :], two arrays (r, k)."""
    rows, width = columns.shape
    return RowBlock(
        np.repeat(np.arange(rows, dtype=np.int64), width), columns.reshape(-1), values.reshape(-1), lower, upper
    )


def stacked(blocks: Sequence[RowBlock]) -> RowBlock:
    """Return the rows of all blocks, one block after the other."""
    firsts = np.cumsum([0, *(block.number_of_rows for block in blocks)])[:-1]
    return RowBlock(
        _joined([block.row + first for block, first in zip(blocks, firsts, strict=True)], np.int64),
        _joined([block.column for block in blocks], np.int64),
        _joined([block.value for block in blocks], np.float64),
        _joined([block.lower for block in blocks], np.float64),
        _joined([block.upper for block in blocks], np.float64),
    )


def _joined(parts: Sequence[NDArray[_Kind]], kind: type[_Kind]) -> NDArray[_Kind]:
    """Return the arrays one after the other; without any, an empty one of this kind."""
    return np.concatenate([np.zeros(0, dtype=kind), *parts])


def placed(blocks: Sequence[RowBlock], places: Sequence[Indices]) -> RowBlock:
    """Return the rows of all blocks, row i of a block at the place that stands for it; places are 0 .. r - 1 in all."""
    rows = stacked(blocks)
    place = _joined(places, np.int64)
    lower, upper = np.empty(place.size), np.empty(place.size)
    lower[place], upper[place] = rows.lower, rows.upper
    return RowBlock(place[rows.row], rows.column, rows.value, lower, upper)


def assembled(variables: Variables, blocks: Sequence[RowBlock], *, maximize: bool = True) -> MixedIntegerProgram:
    """Return the program with the objective of the variables over the rows of the blocks, in their order."""
    rows = stacked(blocks)
    row_starts, columns, coefficients = _by_row(rows, variables.objective.size)
    return MixedIntegerProgram(
        maximize=maximize,
        objective=freeze(variables.objective),
        row_starts=row_starts,
        columns=columns,
        coefficients=coefficients,
        row_lower=freeze(rows.lower),
        row_upper=freeze(rows.upper),
        lower=freeze(variables.lower),
        upper=freeze(variables.upper),
        integrality=freeze(variables.integrality),
    )


def _by_row(rows: RowBlock, size: int) -> tuple[Indices, NDArray[np.int32], Numbers]:
    """Return the entries row by row, by column within each: starts, columns, coefficients; equal places added up."""
    keys, values = rows.row * size + rows.column, rows.value
    if keys.size and (np.diff(keys) <= 0).any():
        order = np.argsort(keys, kind="stable")
        keys, values = keys[order], values[order]
        first = np.flatnonzero(np.concatenate((np.ones(1, dtype=np.bool_), np.diff(keys) > 0)))
        if first.size < keys.size:
            keys, values = keys[first], np.add.reduceat(values, first)
    kept = values != 0
    if not kept.all():
        keys, values = keys[kept], values[kept]
    row_of = keys // size if size else keys
    counts = np.bincount(row_of, minlength=rows.number_of_rows)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)))
    return freeze(starts), freeze((keys - row_of * size).astype(np.int32)), freeze(values)


Names = Callable[[], Iterable[object]]
"""The texts between the brackets of a block's names, in order: made on demand."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive variables, rows or squares of one symbol or label."""

    symbol: str
    """As on the page: `x`, `IR-3`."""
    first: int
    """Number of the first one in the program."""
    shape: tuple[int, ...]
    """How many there are along each index; () for a single one without an index."""
    start: int = 1
    """The first index, if `inside` is left out."""
    inside: Names | None = None
    """The text between the brackets of each name; left out: the indices."""
    full: bool = False
    """Whether `inside` gives names as they are, without symbol and brackets."""

    @property
    def size(self) -> int:
        """How many there are."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Their numbers in the program, in the shape of the block."""
        return np.arange(self.first, self.first + self.size, dtype=np.int64).reshape(self.shape)

    def names(self) -> list[str]:
        """Return their names, such as `s[1]`, in order."""
        if not self.shape:
            return [self.symbol]
        if self.inside is None:
            ranges = (range(self.start, self.start + length) for length in self.shape)
            inside: list[str] = [",".join(map(str, index)) for index in itertools.product(*ranges)]
        else:
            inside = [str(one) for one in self.inside()]
        if len(inside) != self.size:
            raise ProgramError(
                f"the block {self.symbol} holds {self.size:,} and was given {len(inside):,} names; give one for each"
            )
        return inside if self.full else [f"{self.symbol}[{one}]" for one in inside]


def names_of(blocks: Sequence[Block], prefix: str, size: int) -> list[str]:
    """Return the names of all variables or rows, in order; without blocks, the prefix and their numbers."""
    if not blocks:
        return [f"{prefix}{number}" for number in range(size)]
    names = (name for block in blocks for name in block.names())
    return [name.encode("utf-8", "backslashreplace").decode() for name in names]  # libraries refuse half signs


SMALLEST = 1e-15
"""Entries of a dense matrix below are rounding errors of zeros."""

Entries = tuple[ArrayLike, ArrayLike, ArrayLike]
"""Row (within its block), variable and coefficient of each entry; shorter arrays are broadcast."""


def dense(matrix: NDArray[np.float64], columns: ArrayLike, first: int = 0) -> Entries:
    """Return the entries of a matrix (r, k) in variables (k,), from a row on, without those that are 0 up to rounding."""
    row, place = np.nonzero(np.abs(matrix) >= SMALLEST)
    return row + first, np.asarray(columns)[place], matrix[row, place]


class Builder:
    """A program in the making.

    Examples
    --------
    The nearest rising sequence to 3, 1:

    >>> import numpy as np
    >>> build = Builder()
    >>> s = build.variables("s", 2, lower=-np.inf)
    >>> build.squares("IR-1", 2, ([0, 1], s, 1.0), targets=[3.0, 1.0])
    >>> build.rows("IR-3", 1, (0, s[1:], 1.0), (0, s[:-1], -1.0), lower=0.0)
    >>> build.program().evaluate(np.array([2.0, 2.0]))
    1.0
    """

    def __init__(self, *, maximize: bool = False) -> None:
        self._maximize = maximize
        self._columns: list[Variables] = []
        self._rows: list[RowBlock] = []
        self._squares: list[tuple[RowBlock, Numbers]] = []
        self._cones: list[tuple[ConeBlock, RowBlock]] = []
        self.variable_blocks: dict[str, Block] = {}
        self.row_blocks: dict[str, Block] = {}
        self.square_blocks: dict[str, Block] = {}
        self.cone_blocks: dict[str, Block] = {}

    def variables(
        self,
        symbol: str,
        *shape: int,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        objective: ArrayLike = 0.0,
        whole: ArrayLike = False,
        start: int = 1,
        inside: Names | None = None,
    ) -> Indices:
        """Add variables, and return their numbers in the given shape (a single one: a number without dimensions).

        Parameters
        ----------
        lower, upper, objective, whole
            Bounds, coefficient in the objective, whether it is whole; numbers, or arrays of the shape.
        start, inside
            What names are made from; see `Block`.
        """
        block = self._added(self.variable_blocks, symbol, shape, start, inside)
        self._columns.append(
            Variables(
                _numbers(objective, shape),
                _numbers(lower, shape),
                _numbers(upper, shape),
                np.broadcast_to(np.asarray(whole, dtype=np.bool_), shape).ravel(),
            )
        )
        return block.numbers

    def rows(
        self,
        label: str,
        number: int,
        *entries: Entries,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        start: int = 1,
        inside: Names | None = None,
        single: bool = False,
    ) -> None:
        """Add rows  lower <= sum of coefficient * variable <= upper;  entries of one variable in one row add up.

        Parameters
        ----------
        entries
            Row, variable and coefficient, broadcast against each other.
        lower, upper
            Bounds: numbers, or arrays (number,).
        start, inside
            What names are made from; see `Block`.
        single
            Whether the one row has the label for its name, without an index.
        """
        self._added(self.row_blocks, label, () if single else (number,), start, inside)
        self._rows.append(_row_block(number, entries, lower, upper))

    def squares(
        self,
        label: str,
        number: int,
        *entries: Entries,
        targets: ArrayLike,
        weights: ArrayLike = 1.0,
        inside: Names | None = None,
    ) -> None:
        """Add  weight / 2 (sum of coefficient * variable - target)^2  to the objective; parameters as of `rows`."""
        self._added(self.square_blocks, label, (number,), 1, inside)
        weighed = np.broadcast_to(np.asarray(weights, dtype=np.float64), (number,))
        self._squares.append((_row_block(number, entries, targets, np.inf), weighed))

    def cones(
        self,
        label: str,
        kind: Cone,
        number: int,
        size: int,
        *entries: Entries,
        constants: ArrayLike = 0.0,
        start: int = 1,
        inside: Names | None = None,
    ) -> None:
        """Add cones of one kind; member m of cone c is the sum of its entries, which name it c * size + m, plus a constant.

        Parameters
        ----------
        kind, number, size
            Kind, how many cones, and members of each; the order of the members is that of `Cone`.
        entries
            Member, variable and coefficient, broadcast against each other.
        constants
            A number, or an array (number * size,).
        start, inside
            What names of cones are made from; see `Block`.
        """
        self._added(self.cone_blocks, label, (number,), start, inside)
        self._cones.append((ConeBlock(kind, number, size), _row_block(number * size, entries, constants, np.inf)))

    def products(
        self,
        label: str,
        first: Sequence[Entries],
        second: Sequence[Entries],
        least: ArrayLike,
        *,
        constants: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        inside: Names | None = None,
    ) -> None:
        """Add cones that say  first * (second + constant) >= least > 0,  both factors from 0 up.

        Parameters
        ----------
        first, second
            The two factors: cone, variable and coefficient of each entry.
        least : (number,) array
            What the product is at least.
        constants
            Added to the second factor; a number, or an array (number,).
        scale
            About the ratio of the factors, first to second: the second one is handed over multiplied by it, since
            solvers like members of one size. It changes nothing else; a number, or an array (number,).
        inside
            What names of cones are made from; see `Block`.
        """
        floor = np.asarray(least, dtype=np.float64)
        number = floor.size
        sizes, added = np.broadcast_to(scale, (number,)), np.broadcast_to(constants, (number,))
        members = np.zeros((number, 3))
        members[:, 1], members[:, 2] = added * sizes, np.sqrt(floor * sizes)
        one = [(np.asarray(row) * 3, column, value) for row, column, value in first]
        two = [
            (np.asarray(row) * 3 + 1, column, np.asarray(value) * sizes[np.asarray(row)])
            for row, column, value in second
        ]
        self.cones(label, Cone.ROTATED, number, 3, *one, *two, constants=members.ravel(), inside=inside)

    def program(self) -> PointProgram:
        """Return the program: one with cones if such were added, a quadratic one if squares were."""
        columns = Variables(
            _joined([one.objective for one in self._columns], np.float64),
            _joined([one.lower for one in self._columns], np.float64),
            _joined([one.upper for one in self._columns], np.float64),
            _joined([one.integrality for one in self._columns], np.bool_),
        )
        linear = assembled(columns, self._rows, maximize=self._maximize)
        if not self._squares and not self._cones:
            return linear
        squares = stacked([block for block, _ in self._squares])
        starts, variables, coefficients = _by_row(squares, columns.objective.size)
        weights = _joined([weights for _, weights in self._squares], np.float64)
        quadratic = QuadraticProgram(linear, starts, variables, coefficients, squares.lower, weights)
        if not self._cones:
            return quadratic
        members = stacked([block for _, block in self._cones])
        entries = _by_row(members, columns.objective.size)
        return ConicProgram(quadratic, tuple(block for block, _ in self._cones), *entries, members.lower)

    def _added(
        self, blocks: dict[str, Block], symbol: str, shape: tuple[int, ...], start: int, inside: Names | None
    ) -> Block:
        if symbol in blocks:
            raise ProgramError(f"the program has a block {symbol} already; name each once")
        first = sum(block.size for block in blocks.values())
        blocks[symbol] = Block(symbol, first, tuple(map(int, shape)), start, inside)
        return blocks[symbol]


def _row_block(number: int, entries: Sequence[Entries], lower: ArrayLike, upper: ArrayLike) -> RowBlock:
    parts = [np.broadcast_arrays(*(np.asarray(one) for one in entry)) for entry in entries]
    row, column, value = (np.concatenate([np.zeros(0), *(part[place].ravel() for part in parts)]) for place in range(3))
    return RowBlock(
        row.astype(np.int64), column.astype(np.int64), value, _numbers(lower, (number,)), _numbers(upper, (number,))
    )


def _numbers(values: ArrayLike, shape: tuple[int, ...]) -> Numbers:
    return np.broadcast_to(np.asarray(values, dtype=np.float64), shape).ravel()
