"""The public values of a table of decision lists: the variables, the longest list, and how its output changes.

A decision list "if x3 then 1; if not x7 then 0; else 1" gives a bit at each point y of {0,1}^m: that of its first
literal that is true there, or the last one. A disjunction of literals is a list all of whose literals give 1, with 0 at
the end; a conjunction is one whose negated literals give 0, with 1 at the end. A query is a point; its answer is the
share of the rows that give 1 there.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import WorkloadError

LARGEST_LENGTH = 12
"""Literals of a list: all 2^13 ways in which the output may change are looked at."""
MOST_VARIABLES = 4096
ELSE = "else"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_RANGE = re.compile(r"([A-Za-z_][A-Za-z_.\-]*)(\d{1,6})\.\.\1(\d{1,6})")
_SHOWN = 5


class RowKind(enum.Enum):
    """The type of the rows."""

    LISTS = "lists"
    DISJUNCTIONS = "disjunctions"
    CONJUNCTIONS = "conjunctions"


@dataclass(frozen=True, slots=True)
class DeclaredRows:
    """A person's declaration of the rows in JSON; see `ListFamily.of`."""

    variables: str | tuple[str, ...]
    k: int
    kind: str = RowKind.LISTS.value
    changes: int | None = None


@dataclass(frozen=True)
class ListFamily:
    """All rows that a table may hold. Public."""

    variables: tuple[str, ...]
    """The m variables."""
    length: int
    """k: the most literals of a row, from 1 to 12 and to m."""
    kind: RowKind
    changes: int
    """How often the output changes at most along a row, from 1 to k; 1 for disjunctions and conjunctions."""

    def __post_init__(self) -> None:
        _check_names(self.variables)
        most = min(LARGEST_LENGTH, len(self.variables))
        if not 1 <= self.length <= most:
            raise WorkloadError(
                f"found k = {self.length}; expected 1 to {most}: a row asks of each variable once, and of at most "
                f"{LARGEST_LENGTH}"
            )
        largest = self.length if self.kind is RowKind.LISTS else 1
        if not 1 <= self.changes <= largest:
            raise WorkloadError(
                f"found {self.changes} changes of the output; expected 1 to {largest} for {self.kind.value} of up to "
                f"{self.length} literals"
            )

    @classmethod
    def of(
        cls,
        variables: str | Sequence[str],
        length: int,
        rows: str | RowKind = RowKind.LISTS,
        changes: int | None = None,
    ) -> ListFamily:
        """Return the family for names as a person gives them.

        In a text, names of variables have commas between them, and x1..x30 is a range. `rows` are "lists",
        "disjunctions" or "conjunctions", with as many changes as can be if left out.
        """
        try:
            kind = RowKind(rows)
        except ValueError:
            kinds = ", ".join(one.value for one in RowKind)
            raise WorkloadError(f"found the rows {rows!r}; expected one of {kinds}") from None
        names = _names(variables) if isinstance(variables, str) else tuple(variables)
        if changes is None:
            changes = length if kind is RowKind.LISTS else 1
        return cls(names, length, kind, changes)

    @cached_property
    def patterns(self) -> NDArray[np.int64]:
        """The ways in which the output may go along a row of k literals, (r, k + 1): b_1, ..., b_{k+1}.

        A shorter row is one whose output does not change any more.
        """
        numbers = np.arange(2 ** (self.length + 1), dtype=np.int64)
        bits = (numbers[:, None] >> np.arange(self.length + 1)) & 1
        changes = np.count_nonzero(np.diff(bits, axis=1), axis=1)
        kept = changes <= self.changes
        if self.kind is not RowKind.LISTS:
            kept &= bits[:, 0] == int(self.kind is RowKind.DISJUNCTIONS)
        return freeze(np.ascontiguousarray(bits[kept]))

    def point(self, text: str) -> NDArray[np.uint8]:
        """Return a point, (m,), of "x1=1,x2=0,..." that names every variable, or of m digits 0 and 1."""
        given = text.strip()
        if re.fullmatch("[01]+", given):
            if len(given) != len(self.variables):
                raise WorkloadError(f"found {len(given)} bits; a point has {len(self.variables)}")
            return np.frombuffer(given.encode(), dtype=np.uint8) - np.uint8(ord("0"))
        found: dict[str, int] = {}
        for part in given.split(","):
            name, _, value = (one.strip() for one in part.partition("="))
            if name not in self._numbers:
                raise WorkloadError(f"{part.strip()!r} names no variable; expected {self._examples()}")
            if value not in {"0", "1"} or name in found:
                reason = "the variable has a value already" if name in found else "the value is neither 0 nor 1"
                raise WorkloadError(f"{part.strip()!r}: {reason}; expected each variable once, as in x1=1,x2=0")
            found[name] = int(value)
        missing = [name for name in self.variables if name not in found]
        if missing:
            raise WorkloadError(
                f"{len(missing)} variables have no value: {', '.join(missing[:_SHOWN])}"
                f"{', ...' if len(missing) > _SHOWN else ''}; a point has a value of each"
            )
        return np.array([found[name] for name in self.variables], dtype=np.uint8)

    def checked(self, points: NDArray[Any]) -> NDArray[np.uint8]:
        """Return points as they are, (q, m), row by row."""
        given = np.asarray(points)
        if given.ndim != 2 or given.shape[1] != len(self.variables):
            raise WorkloadError(
                f"found points of shape {given.shape}; expected one row for each and {len(self.variables)} columns"
            )
        if not np.isin(given, (0, 1)).all():
            raise WorkloadError("found a value that is neither 0 nor 1; a point holds bits")
        return np.ascontiguousarray(given.astype(np.uint8))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.variables)}

    def _examples(self) -> str:
        shown = ", ".join(self.variables[:_SHOWN])
        return f"{shown}, ..." if len(self.variables) > _SHOWN else shown


def _check_names(names: tuple[str, ...]) -> None:
    if not 1 <= len(names) <= MOST_VARIABLES:
        raise WorkloadError(f"found {len(names)} variables; expected 1 to {MOST_VARIABLES:,}")
    for name in names:
        if _NAME.fullmatch(name) is None or name == ELSE:
            raise WorkloadError(
                f"{name!r} is not a name of a variable: letters, digits, _, . and -, a letter or _ first; not {ELSE!r}"
            )
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise WorkloadError(f"the variable {twice!r} is declared twice")


def _names(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for part in text.split(","):
        given = part.strip()
        span = _RANGE.fullmatch(given)
        if span is None and ".." not in given:
            found.append(given)
            continue
        first, last = (int(span[2]), int(span[3])) if span is not None else (1, 0)
        if span is None or not 0 <= last - first < MOST_VARIABLES:
            raise WorkloadError(f"{given!r} is not a range of variables; expected one such as x1..x30")
        found += [f"{span[1]}{number}" for number in range(first, last + 1)]
    return tuple(found)
