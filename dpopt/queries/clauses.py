"""Clauses: many small queries on records, as four arrays.

A clause is a list of literals "attribute = value" or "attribute != value" over distinct attributes, and a bit mask of
the accepted numbers of true literals. It is true of a record exactly when the number of its literals that are true of
the record is accepted. With w literals a conjunction accepts {w}, its negation {0 .. w-1}, a disjunction {1 .. w}, a
parity the odd (or the even) numbers, and "r of w" accepts {r .. w}.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import Hash, Rebuilt, freeze
from dpopt.constraints import constrain
from dpopt.errors import WorkloadError
from dpopt.schema.schema import Schema

LARGEST_WIDTH = 31
WIDEST = 8  # literals of a clause whose set of attributes gets a table of sensitivities: 2^8 terms per clause
ODD, EVEN = 0xAAAAAAAA, 0x55555555  # masks of the odd and of the even numbers of true literals


class ClauseArrays(NamedTuple):
    """The arrays of `Clauses` as compiled loops take them."""

    attributes: NDArray[np.int32]
    values: NDArray[np.int32]
    signs: NDArray[np.bool_]
    accepted: NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Clauses(Rebuilt):
    """m clauses of at most k literals each, in a fixed order.

    Arrays are kept read-only and C-contiguous; writable input is copied.
    """

    attributes: NDArray[np.int32]
    """Shape (m, k). Position of the attribute of each literal; -1 is padding, only at the end of a row. 1 <= k <=
    31."""
    values: NDArray[np.int32]
    """Shape (m, k). Code of each literal, >= 0; 0 in padding."""
    signs: NDArray[np.bool_]
    """Shape (m, k). True: attribute = value. False: attribute != value; False in padding."""
    accepted: NDArray[np.uint32]
    """Shape (m,). Bit j is set: the clause is true when exactly j of its literals are true. No bit above the clause's
    width."""

    def __post_init__(self) -> None:
        constrain(self, WorkloadError)
        self._check_shapes()
        self._check_padding()
        self._check_accepted()
        self._check_distinct()

    @classmethod
    def conjunctions(cls, attributes: ArrayLike, values: ArrayLike, signs: ArrayLike) -> Clauses:
        """Return conjunctions: clauses that are true when all of their literals are. Arguments as for the class."""
        positions = np.asarray(attributes)
        if positions.ndim != 2:
            raise WorkloadError(f"clauses: 'attributes' must have 2 dimensions (m, k), found shape {positions.shape}")
        widths = np.count_nonzero(positions >= 0, axis=1)
        accepted = freeze(np.left_shift(np.uint32(1), np.minimum(widths, LARGEST_WIDTH).astype(np.uint32)))
        return cls(attributes, values, signs, accepted)  # type: ignore[arg-type]  # converted in __post_init__

    def __len__(self) -> int:
        """Return the number of clauses."""
        return int(self.attributes.shape[0])

    @property
    def width(self) -> int:
        """Number of literals of the widest row that the arrays can hold (k)."""
        return int(self.attributes.shape[1])

    def widths(self) -> NDArray[np.int64]:
        """Return the number of literals of each clause, shape (m,)."""
        return np.asarray(np.count_nonzero(self.attributes >= 0, axis=1), dtype=np.int64)

    def arrays(self, part: slice = slice(None)) -> ClauseArrays:
        """Return the arrays of some of the clauses, without a copy."""
        return ClauseArrays(self.attributes[part], self.values[part], self.signs[part], self.accepted[part])

    def take(self, indices: ArrayLike) -> Clauses:
        """Return the clauses at these positions, in this order; a position may occur more than once."""
        chosen = np.asarray(indices)
        if chosen.size == 0:
            chosen = chosen.astype(np.int64)
        taken = object.__new__(Clauses)  # each row has been checked already
        for name in ("attributes", "values", "signs", "accepted"):
            object.__setattr__(taken, name, freeze(getattr(self, name)[chosen]))
        taken._check_shapes()
        return taken

    def negated(self) -> Clauses:
        """Return the negations: the same literals with the complement of each mask over 0 .. width."""
        return Clauses(
            self.attributes,
            self.values,
            self.signs,
            freeze(self.accepted ^ full_masks(self.widths()).astype(np.uint32)),
        )

    def check_against(self, sizes: NDArray[np.integer]) -> None:
        """Check that every literal names one of d attributes and one of its `sizes` (d,) codes."""
        bounds = np.asarray(sizes, dtype=np.int64)
        for column in range(self.width):
            positions, values = self.attributes[:, column], self.values[:, column]
            beyond = positions >= bounds.size
            if beyond.any():
                row = int(np.argmax(beyond))
                raise WorkloadError(
                    f"clause {row} names attribute number {int(positions[row])}; "
                    f"there are {bounds.size} attributes, numbered from 0"
                )
            beyond = (values >= bounds[positions]) & (positions >= 0)
            if beyond.any():
                row = int(np.argmax(beyond))
                raise WorkloadError(
                    f"clause {row} asks for code {int(values[row])} of attribute number {int(positions[row])}, "
                    f"which has the codes 0 .. {int(bounds[positions[row]]) - 1}"
                )

    def as_bits(self, schema: Schema) -> Clauses:
        """Return the same clauses over `schema.as_bits()`: the literal (a, v) becomes (offsets[a] + v, 1)."""
        self.check_against(schema.sizes)
        used = self.attributes >= 0
        flat = np.where(used, schema.offsets[self.attributes] + self.values, -1)
        return Clauses(freeze(flat.astype(np.int32)), freeze(used.astype(np.int32)), self.signs, self.accepted)

    def describe(self, i: int, schema: Schema) -> str:
        """Return clause i in words, such as "age = [20, 30) and sex != F"."""
        literals = []
        for position, value, sign in zip(self.attributes[i], self.values[i], self.signs[i], strict=True):
            if position >= 0:
                attribute = schema.attributes[int(position)]
                literals.append(f"{attribute.name} {'=' if sign else '!='} {attribute.label(int(value))}")
        mask, width = int(self.accepted[i]), len(literals)
        full = (2 << width) - 1
        if mask in {0, full}:
            return "always" if mask else "never"
        if mask == 1 << width:
            return " and ".join(literals)
        if mask == full ^ (1 << width):
            return f"not ({' and '.join(literals)})"
        if mask == full ^ 1:
            return " or ".join(literals)
        return f"{_numbers(mask, width)}: {'; '.join(literals)}"

    def update(self, digest: Hash) -> None:
        """Add the clauses to a hash: shape and arrays, little-endian, the same on every machine."""
        digest.update(memoryview(f"dpopt clauses {len(self)} {self.width};".encode("ascii")))
        for array, dtype in (
            (self.attributes, "<i4"),
            (self.values, "<i4"),
            (self.signs, "u1"),
            (self.accepted, "<u4"),
        ):
            digest.update(array.astype(dtype, copy=False).reshape(-1).view(np.uint8).data)

    def fingerprint(self) -> str:
        """Return the SHA-256 digest (hexadecimal) of the clauses in their order."""
        digest = hashlib.sha256()
        self.update(digest)
        return digest.hexdigest()

    def _check_shapes(self) -> None:
        shape = self.attributes.shape
        if len(shape) != 2 or not 1 <= shape[1] <= LARGEST_WIDTH:
            raise WorkloadError(
                f"clauses: 'attributes' must have shape (m, k) with 1 <= k <= {LARGEST_WIDTH}, found {shape}"
            )
        for name, expected in (("values", shape), ("signs", shape), ("accepted", shape[:1])):
            found = getattr(self, name).shape
            if found != expected:
                raise WorkloadError(f"clauses: '{name}' must have shape {expected}, found {found}")

    def _check_padding(self) -> None:
        used = self.attributes >= 0
        if self.attributes.size and int(self.attributes.min()) < -1:
            raise WorkloadError("clauses: an attribute number is below -1; -1 is padding, attributes count from 0")
        if self.values.size and int(self.values.min()) < 0:
            raise WorkloadError("clauses: a code is negative; codes count from 0")
        if used.all():
            return
        _refuse(~used[:, :-1] & used[:, 1:], "has a literal after padding; padding (-1) stands at the end of a row")
        _refuse(~used & ((self.values != 0) | self.signs), "has padding with a value or a sign; use 0 and False there")

    def _check_accepted(self) -> None:
        beyond = self.accepted & ~full_masks(self.widths()).astype(np.uint32)
        _refuse(beyond[:, None] != 0, "accepts more true literals than it has; clear the mask's bits above its width")

    def _check_distinct(self) -> None:
        wide = self.width > 4  # then equal ones are brought together first
        ordered = np.sort(self.attributes, axis=1) if wide else self.attributes
        for left in range(self.width - 1):
            twice = np.zeros(len(self), dtype=np.bool_)
            for right in range(left + 1, left + 2 if wide else self.width):
                twice |= ordered[:, left] == ordered[:, right]
            twice &= ordered[:, left] >= 0
            _refuse(twice[:, None], "names an attribute twice; merge its two literals, or drop the clause")


def _refuse(wrong: NDArray[np.bool_], problem: str) -> None:
    if wrong.any():
        raise WorkloadError(f"clause {int(np.argmax(wrong.any(axis=1)))} {problem}")


def _numbers(mask: int, width: int) -> str:
    """Return in words which numbers of true literals a mask of bits 0 .. width accepts; neither all nor none."""
    full = (2 << width) - 1
    low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
    if mask in (full & ODD, full & EVEN):
        return "an odd number of" if mask & 2 else "an even number of"
    if mask == 1:
        return "none of"
    if mask == full >> low << low:
        return f"at least {low} of"
    if mask == (2 << high) - 1:
        return f"at most {high} of"
    if low == high:
        return f"exactly {low} of"
    numbers = ", ".join(str(number) for number in range(width + 1) if mask >> number & 1)
    return f"number of true literals in {{{numbers}}} of"


def full_masks(widths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the mask that accepts every number of true literals, for each width, (m,)."""
    return (np.int64(2) << widths) - 1
