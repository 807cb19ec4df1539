"""Conjunctions of a few literals as sets: their number, their order, and how many of them a record moves.

Literals come in groups, one for each attribute: a record satisfies at most one literal of a group (two values of one
attribute never hold together). A conjunction has at most one literal of each group; conjunctions of one size are
numbered in lexicographic order.

Which "attribute = value" of a schema are literals of a summary, and which of them a query in words names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import SchemaError, WorkloadError
from dpopt.files.json_files import json_object, refuse_unknown_keys, shown
from dpopt.schema.rules.builders import literal
from dpopt.schema.rules.code_sets import Columns
from dpopt.schema.rules.values import Named
from dpopt.schema.schema import Schema

LARGEST_SIZE = 16
MOST_CONJUNCTIONS = 2**28
"""Of one size, at most."""


@dataclass(frozen=True)
class LiteralGroups:
    """How many literals each group has."""

    sizes: tuple[int, ...]
    """Each at least 1."""

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1:
            raise WorkloadError(f"expected at least one group of literals and none empty, found sizes {self.sizes}")

    @property
    def literals(self) -> int:
        """How many there are."""
        return sum(self.sizes)

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """The group of each literal, (d,)."""
        return freeze(np.repeat(np.arange(len(self.sizes), dtype=np.int64), self.sizes))

    @cached_property
    def next_group(self) -> NDArray[np.int64]:
        """The first literal of the group after each literal's, (d,)."""
        return freeze(np.cumsum(self.sizes)[self.group].astype(np.int64))

    def conjunctions(self, size: int) -> int:
        """Return how many conjunctions of this size there are."""
        return self._from(0, size)

    def numbers(self, subsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each conjunction, (q,); literals (q, j) of increasing groups."""
        given = self.checked(subsets)
        found, begin = np.zeros(len(given), dtype=np.int64), np.zeros(len(given), dtype=np.int64)
        for place in range(given.shape[1]):
            chosen = given[:, place]
            before = self.before(given.shape[1] - place - 1)
            found += before[chosen] - before[begin]
            begin = self.next_group[chosen]
        return found

    def checked(self, subsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return conjunctions as they are, (q, j)."""
        given = np.asarray(subsets, dtype=np.int64)
        if given.ndim != 2 or (given.size and not 0 <= given.min() <= given.max() < self.literals):
            raise WorkloadError(
                f"expected literals from 0 to {self.literals - 1}, found an array of shape {given.shape}"
            )
        if (np.diff(self.group[given], axis=1) <= 0).any():
            raise WorkloadError("the literals of a conjunction are of different attributes, in their order")
        return given

    def before(self, rest: int) -> NDArray[np.int64]:
        """Return for each literal l the number of conjunctions of a first literal below l and `rest` more, (d + 1,)."""
        if self.conjunctions(rest + 1) > MOST_CONJUNCTIONS:
            raise WorkloadError(
                f"{self.literals:,} literals have {self.conjunctions(rest + 1):,} conjunctions of {rest + 1}; at most "
                f"{MOST_CONJUNCTIONS:,} are counted: take fewer columns, or a smaller degree"
            )
        each = [self._from(group + 1, rest) for group in range(len(self.sizes))]
        return freeze(
            np.concatenate(([0], np.cumsum(np.repeat(np.array(each, dtype=np.int64), self.sizes)))).astype(np.int64)
        )

    def sensitivity(self, size: int, *, replaced: bool) -> int:
        """Return the largest number of conjunctions of this size whose counts differ between neighbours, each by 1.

        Of W groups, s of them with a single literal: C(W, j) for a record added or removed; for one replaced, the
        largest over c of C(W, j) + C(W - s + c, j) - 2 C(c, j). Privacy: C8 in docs/privacy. Test:
        `tests/queries/test_literals.py`.
        """
        groups = len(self.sizes)
        every = comb(groups, size)
        if not replaced:
            return every
        single = sum(1 for size_of_group in self.sizes if size_of_group == 1)
        return max(
            every + comb(groups - single + shared, size) - 2 * comb(shared, size) for shared in range(single + 1)
        )

    def _from(self, group: int, size: int) -> int:
        if size > LARGEST_SIZE:
            raise WorkloadError(f"conjunctions of {size} literals; expected at most {LARGEST_SIZE}")
        return self._polynomials[group][size] if size <= len(self.sizes) - group else 0

    @cached_property
    def _polynomials(self) -> Sequence[Sequence[int]]:
        """For each group the elementary symmetric polynomials of the sizes from it on, by size up to the largest."""
        found: list[list[int]] = [[1]]
        for size in reversed(self.sizes):
            last = found[-1]
            found.append(
                [
                    (last[j] if j < len(last) else 0) + (size * last[j - 1] if j else 0)
                    for j in range(min(len(last), LARGEST_SIZE) + 1)
                ]
            )
        return found[::-1]


EVERY, POSITIVE = "all", "positive"
_CONDITION = re.compile(r"^\s*(?P<name>.+?)\s*(?P<relation>!=|<=|>=|=|<|>)\s*(?P<value>.*?)\s*$")


@dataclass(frozen=True, slots=True)
class Condition:
    """One part of a query."""

    text: str
    group: int
    true_by: tuple[int, ...] | None
    """It holds for a record exactly if one of these literals does, increasing; None if no set of literals decides it
    so."""
    false_by: tuple[int, ...] | None
    """It holds exactly if none of these does; None if no set of literals decides it so."""


class ChosenLiterals:
    """Literals of some attributes of a schema.

    The schema has the chosen attributes alone, in the order of the groups. Literals are "all", every value of each
    attribute, or "positive": of attributes with two values only the second one, such as 1 or true.
    """

    def __init__(self, schema: Schema, which: str) -> None:
        if which not in {EVERY, POSITIVE}:
            raise WorkloadError(f"found the literals {shown(which)}; expected {EVERY} or {POSITIVE}")
        self.schema, self.which = schema, which

    @classmethod
    def of(cls, schema: Schema, columns: Sequence[str] | None, which: str) -> ChosenLiterals:
        """Return the literals of these columns, of all columns if left out."""
        if columns is None:
            return cls(Schema(schema.attributes, schema.draft, reading=schema.reading), which)
        for place, name in enumerate(columns):
            if name not in schema.names:
                raise SchemaError(f"found no attribute {name!r}; the schema has {', '.join(schema.names[:8])}, ...")
            if name in columns[:place]:
                raise SchemaError(f"found the column {name!r} twice; name different ones")
        chosen = tuple(schema.attributes[schema.names.index(name)] for name in columns)
        return cls(Schema(chosen, schema.draft, reading=schema.reading), which)

    @cached_property
    def codes(self) -> tuple[tuple[int, ...], ...]:
        """The codes of each attribute that are literals."""
        return tuple(
            (1,) if self.which == POSITIVE and attribute.size == 2 else tuple(range(attribute.size))
            for attribute in self.schema.attributes
        )

    @cached_property
    def groups(self) -> LiteralGroups:
        """The literals, attribute by attribute."""
        return LiteralGroups(tuple(len(codes) for codes in self.codes))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Each literal in words."""
        return tuple(
            f"{attribute.name}={attribute.label(code)}"
            for attribute, codes in zip(self.schema.attributes, self.codes, strict=True)
            for code in codes
        )

    def conditions(self, text: str, predicate: str = "and") -> tuple[Condition, ...]:
        """Read conditions with commas between them, such as "smoker=yes,age>=50"; a comma in a value is written twice.

        Several conditions on one attribute are one: all of them hold for the values that each accepts (`predicate`
        "and"), some of them for the values that any accepts ("or").
        """
        texts: dict[int, list[str]] = {}
        accepted: dict[int, int] = {}
        for part in re.split(r"(?<!,),(?!,)", text):
            group, codes = self._read(part.replace(",,", ","))
            texts.setdefault(group, []).append(part.replace(",,", ",").strip())
            if group not in accepted:
                accepted[group] = codes
            elif predicate == "and":
                accepted[group] &= codes
            elif predicate == "or":
                accepted[group] |= codes
            else:
                raise WorkloadError(
                    f"found two conditions on {self.schema.names[group]!r} in {text!r}; with the predicate "
                    f"{predicate!r} each condition needs a column of its own"
                )
        return tuple(self._condition(texts[group], group, accepted[group]) for group in sorted(accepted))

    def _read(self, text: str) -> tuple[int, int]:
        matched = _CONDITION.match(text)
        if matched is None:
            raise WorkloadError(
                f"found {text!r}; expected attribute=value (or !=, <, <=, >, >=); a comma in a value is written twice"
            )
        return self._codes_of(matched["name"], matched["relation"], matched["value"])

    def _condition(self, texts: Sequence[str], group: int, accepted: int) -> Condition:
        codes, size = self.codes[group], self.schema.attributes[group].size
        self._refuse_trivial(" and ".join(texts), group, accepted)
        first = sum(self.groups.sizes[:group])
        held = tuple(first + place for place, code in enumerate(codes) if accepted >> code & 1)
        others = tuple(at for at in range(first, first + len(codes)) if at not in held)
        text = ",".join(texts)
        if len(codes) == size:
            return Condition(text, group, held, others)
        # A record with a code that is no literal satisfies none of the group: for it the condition holds, or does not.
        outside = next(code for code in range(size) if code not in codes)
        holds_outside = bool(accepted >> outside & 1)
        return Condition(text, group, None if holds_outside else held, others if holds_outside else None)

    def _refuse_trivial(self, text: str, group: int, accepted: int) -> None:
        name = self.schema.names[group]
        if accepted == (1 << self.schema.attributes[group].size) - 1:
            raise WorkloadError(f"{text} holds for every value of {name!r}; leave it out")
        if not accepted:
            raise WorkloadError(
                f"{text} holds for no value of {name!r}; no record satisfies it, so leave the query or the condition "
                f"out"
            )

    def _codes_of(self, name: str, relation: str, value: str) -> tuple[int, int]:
        columns, problem = Columns(self.schema.attributes, self.schema.index), None
        for meant in _readings(value):
            try:
                group, accepted = columns.literal(literal(name, relation, meant))
            except SchemaError as error:
                problem = error  # the last reading is the likeliest: a number, where the text is one
            else:
                self._refuse_trivial(f"{name}{relation}{value}", group, accepted)
                return group, accepted
        raise problem or WorkloadError(f"found the condition {name}{relation}{value}")

    def to_json(self) -> dict[str, Any]:
        """Return the literals as JSON."""
        return {"schema": self.schema.to_json(), "which": self.which}

    @classmethod
    def from_json(cls, given: object) -> ChosenLiterals:
        """Read the output of `to_json`."""
        stated = json_object(given, "literals", WorkloadError)
        refuse_unknown_keys(stated, ("schema", "which"), "literals", WorkloadError)
        return cls(
            Schema.from_json(json_object(stated.get("schema"), "schema", WorkloadError)), str(stated.get("which"))
        )


def _readings(value: str) -> list[Named]:
    """Return the values that a text can represent: itself, a number, a truth value."""
    found: list[Named] = [value]
    for kind in (int, float):
        try:
            found.append(kind(value))
        except ValueError:
            continue
        else:
            break
    if value.lower() in {"true", "false"}:
        found.append(value.lower() == "true")
    return found
