"""Mappings, implications, sums and orders that every row of a large table obeys. Proposed to the owner, never declared.

It may hold by chance, so it needs `_ROWS` rows. An implication needs `_CASES` rows that meet its condition,
`_EXCEPTIONS` of which would break it if the columns were unrelated; a mapping ten times as many. An order would break
in `_MIXED` of the rows if one column were shuffled; each term of a sum is not 0 in `_CASES` rows. Values in fewer than
`_RARE` rows are left open.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import SchemaError
from dpopt.private.readers.encode import ColumnEncoder
from dpopt.private.readers.read_lengths import numbers_in_file
from dpopt.private.readers.table_problems import shown
from dpopt.private.readers.table_reading import OnInvalid
from dpopt.private.readers.table_sources import TableSource
from dpopt.schema.dates import UNITS
from dpopt.schema.lengths import length
from dpopt.schema.schema import Attribute, AttributeKind, Schema, attribute_to_json

_ROWS, _CASES, _EXCEPTIONS, _RARE, _MIXED = 1_000, 300, 30, 5, 0.05
_PAIRS, _PROPOSALS, _DATES = 20_000, 200, 12
_CELLS, _TABLE = 6 * 10**6, 2**16  # cells of the table read at a time, and of the counts of a pair
_COLUMNS, _MOST_ROWS = 16, 2 * 10**6  # so few columns are read whole, up to so many rows
_SAMPLE, _PRECISION, _GOLDEN, _LEAST = 1_000, 1e-12, 0.6180339887498949, 50
_WORD = re.compile(r"[^\W\d_a-z]*[^\W\d_A-Z]+|[^\W\d_]+")
_OF_ANY_UNIT = {
    "num", "number", "nr", "no", "of", "total", "count", "sum", "mean", "avg", "min", "max", "code", "id",
}  # fmt: skip

_Codes = NDArray[np.int64]
_Numbers = NDArray[np.float64]
_Way = tuple[int, int]
_Changes = dict[str, dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Rules that the owner can declare too, since every row of the table obeys them. Not private."""

    says: str
    rules: tuple[dict[str, Any], ...] = ()
    """Rules in the form of a schema file."""
    columns: Mapping[str, dict[str, Any] | None] = field(default_factory=dict)
    """Attributes in the form of a schema file that take the place of drafted ones, by name; None leaves a column
    out."""

    def to_json(self, *, accept: bool = False) -> dict[str, Any]:
        """Return the entry in the list "proposed" of a schema file."""
        return {"accept": accept, "says": self.says, "rules": [*self.rules], "columns": {**self.columns}}


@dataclass(slots=True)
class _Column:
    one: Attribute
    codes: _Codes
    numbers: _Numbers | None = None  # lengths as lengths, NaN where missing
    seconds: _Numbers | None = None  # of dates

    @property
    def name(self) -> str:
        return self.one.name

    @property
    def bins(self) -> Attribute:
        """The attribute; of few different whole numbers a numeric one with a bin for each."""
        if self.one.kind is AttributeKind.NUMERIC:
            return self.one
        values = sorted(map(float, self.one.values))
        numeric: Any = {"kind": AttributeKind.NUMERIC, "edges": (*values, values[-1] + 1), "integer": True}
        return replace(self.one, values=(), other=None, occurring=None, **numeric)

    def as_bins(self) -> _Changes:
        return {} if self.bins is self.one else {self.name: attribute_to_json(self.bins)}

    @property
    def words(self) -> set[str]:
        """Words of the name that may name a unit, and the unit of a length."""
        found = _WORD.findall(f"{self.name} {self.one.unit or ''}")
        return {word.lower().removesuffix("s") for word in found if len(word) > 1} - _OF_ANY_UNIT

    def named(self, codes: Sequence[int] | _Codes) -> list[Any]:
        labels: Any = [{"bin": code} for code in range(self.one.size)] if self.one.edges else self.one.values
        return [None if code == self.one.missing_code else labels[code] for code in map(int, codes)]

    def said(self, codes: _Codes) -> str:
        more = f" or {len(codes) - 3} others" if len(codes) > 3 else ""
        return f"{shown(self.name)} is {' or '.join(self.one.label(int(code)) for code in codes[:3])}{more}"


def propose(
    source: TableSource, attributes: Sequence[Attribute], dates: Mapping[str, Attribute], rows: int
) -> tuple[Proposal, ...]:
    """Return the rules that every row of a table obeys, the most useful first.

    A large table is read thinned first, then again with the columns for which anything was found, until all rows are.
    Pairs of columns that stand near each other are tried first. `dates`: attributes drafted as lengths, as they were
    before.
    """
    if rows < _ROWS or len(attributes) < 2:
        return ()
    few = len(attributes) <= _COLUMNS
    thin = 1 + (rows // _MOST_ROWS if few else rows * len(attributes) // _CELLS)
    columns, step = _columns_of(source, attributes, dates, thin), 1 if few else thin
    sums, changed = _sums(columns, step)
    columns = [one for one in columns if one.name not in changed]
    mappings, implications, mapped = _of_codes(columns, step)
    orders = _orders(columns, mapped, step)
    alike, others = ([one for same, one in orders if same == kind] for kind in (True, False))
    made = [*sums, *mappings, *alike, *implications, *others]
    named, most = set[str](), len(attributes) if step == 1 else max(_COLUMNS, len(attributes) // 2)
    for text in (json.dumps(one.to_json()) for one in made[: 5 * _PROPOSALS]):
        here = {one.name for one in attributes if json.dumps(one.name) in text or shown(one.name) in text}
        here |= {one.after for one in attributes if one.after and one.name in here}
        named |= here if len(named | here) <= most else set()
    kept = [one for one in attributes if one.name in named]
    if step > 1:
        return propose(source, kept, dates, rows)
    declared = {"dpopt_schema": 1, "attributes": [attribute_to_json(one) for one in kept]}
    return tuple(islice((one for one in made if _is_usable(one, declared)), _PROPOSALS))


def _is_usable(one: Proposal, declared: dict[str, Any]) -> bool:
    try:
        Schema.from_json({**declared, "proposed": [one.to_json(accept=True)]})
    except SchemaError:
        return False
    return True


def _columns_of(
    source: TableSource, attributes: Sequence[Attribute], dates: Mapping[str, Attribute], step: int
) -> list[_Column]:
    parts: list[list[Any]] = [[] for _ in attributes]
    for index, array in source.pieces([source.names.index(one.name) for one in attributes], None):
        one, thin = attributes[index], array.take(np.arange(0, len(array), step))
        if one.kind is AttributeKind.NUMERIC:
            parts[index].append(numbers_in_file(thin, dates.get(one.name, one), source.decimal))
        else:
            encoder = ColumnEncoder(one, OnInvalid.OTHER, decimal=source.decimal)
            encoder.add(thin)
            parts[index].append(encoder.codes())
    found = {one.name: np.concatenate(part) for one, part in zip(attributes, parts, strict=True)}
    columns = []
    for one in attributes:
        read, form = found[one.name], dates.get(one.name, one).date_format
        if one.kind is not AttributeKind.NUMERIC:
            whole = one.kind is AttributeKind.CATEGORICAL and all(type(value) is int for value in one.values)
            numbers = np.array([*map(float, one.values), np.nan])[read] if whole else None
            columns.append(_Column(one, read.astype(np.int64), numbers))
            continue
        numbers = read if one.after is None else length(found[one.after], read, form, one.unit)
        codes = np.searchsorted(np.array(one.edges[1:-1]), numbers, side="right")
        codes[np.isnan(numbers)] = len(one.edges) - 1
        columns.append(_Column(one, codes, None if one.date_format else numbers, read if form else None))
    return columns


def _near(count: int) -> _Codes:
    """Return pairs of places, those of neighbours first, (p, 2)."""
    gaps = ((place, place + gap) for gap in range(1, count) for place in range(count - gap))
    return np.array(list(islice(gaps, _PAIRS)), dtype=np.int64).reshape(-1, 2)


def _of_codes(columns: Sequence[_Column], step: int) -> tuple[list[Proposal], list[Proposal], list[set[str]]]:
    """Return mappings; implications, most expected exceptions first; and which columns have a mapping."""
    mappings, implied = list[Proposal](), dict[_Way, list[tuple[float, Proposal]]]()
    mapped, known = list[set[str]](), defaultdict[int, set[int]](set)  # what follows from a column
    for one, other in _near(len(columns)).tolist():
        first, second = columns[one], columns[other]
        shape = (first.one.size, second.one.size)
        if min(shape) == 1 or shape[0] * shape[1] > _TABLE:
            continue
        cells = np.bincount(first.codes * shape[1] + second.codes, minlength=shape[0] * shape[1])
        table = cells.reshape(shape)
        ways = (((one, other), first, second, table), ((other, one), second, first, table.T))
        found = [way for way in ways if _determines(way[3], step)]
        for (since, then), left, right, counts in found:
            mapped.append({first.name, second.name})
            if then not in known[since]:
                mappings.append(_mapping(left, right, counts))
                for place in [since, *(place for place in known if since in known[place])]:
                    known[place] |= {then} | known[then]
        for way, left, right, counts in ways if not found else ():  # the two say the same of most cells
            if said := list(_implications(left, right, counts, step)):
                implied[way] = said
                break

    def follows(one: int, then: int) -> bool:
        return any((by, then) in implied and (one not in known[by] or by < one) for by in {*known[one]})

    rest = [pair for way, said in implied.items() if not follows(*way) for pair in said]
    return mappings, [one for _, one in sorted(rest, key=lambda pair: -pair[0])], mapped


def _determines(table: _Codes, step: int) -> bool:
    """Return whether each code in the rows has one partner, which would rarely be if the columns were unrelated."""
    if (table.max(1) < (rows := table.sum(1))).any():
        return False
    others = 1 - table.sum(0)[table.argmax(1)] / table.sum()
    return bool(np.maximum(rows - 1, 0) @ others >= 10 * _EXCEPTIONS / step)  # a first row breaks nothing


def _mapping(first: _Column, second: _Column, table: _Codes) -> Proposal:
    closed, partner = table.sum(1) >= _RARE, table.argmax(1)
    pairs = [
        [first.named(np.flatnonzero(closed & (partner == code))), second.named([code])]
        for code in np.unique(partner[closed]).tolist()
    ]
    says = f"{shown(first.name)} determines {shown(second.name)} in all {table.sum():,} rows"
    if (opened := np.flatnonzero(~closed)).size:
        pairs.append([first.named(opened), second.named(range(second.one.size))])
        says += f"; {opened.size} of its values, each in fewer than {_RARE} rows, are left open"
    return Proposal(says, ({"determines": [first.name, second.name], "mapping": pairs},))


def _implications(first: _Column, second: _Column, table: _Codes, step: int) -> Iterator[tuple[float, Proposal]]:
    """Yield the codes of the first column that determine one code of the second."""
    rows, share = table.sum(1)[:, None], table.sum(0) / table.sum()
    only = (table == rows) & (rows >= _CASES / step) & (rows * (1 - share) >= _EXCEPTIONS / step)
    for code in np.flatnonzero(only.any(0)):
        codes, then = np.flatnonzero(only[:, code]), np.array([code])
        count = int(rows[codes].sum())
        says = f"if {first.said(codes)}, then {second.said(then)}, in all {count:,} rows"
        rule = {"if": [first.name, "in", first.named(codes)], "then": [second.name, "in", second.named(then)]}
        yield count * (1 - share[code]), Proposal(says, (rule,))


def _sums(every: Sequence[_Column], step: int) -> tuple[list[Proposal], set[str]]:
    """Return numbers that are the sum of two others, or by which two dates are apart; and the columns that these change."""
    dates = [(one, one.seconds) for one in every if one.seconds is not None][:_DATES]
    pool = [(one, unit or None, seconds / size) for one, seconds in dates for unit, size in UNITS.items()]
    pool += [(one, None, one.numbers) for one in every if one.numbers is not None and not one.one.after]
    if not pool:
        return [], set()
    sample = np.array([_some(numbers) for *_, numbers in pool])
    whole_rows = np.isfinite(sample).all(0)
    sample = np.nan_to_num(sample[:, whole_rows] if whole_rows.sum() >= _LEAST else sample)
    useful = (sample != 0).mean(1) > 0.02
    seen = sample @ (np.arange(1, sample.shape[1] + 1) * _GOLDEN % 1 - 0.5)
    made, changed = list[Proposal](), set[str]()
    for one, other in _near(len(pool)).tolist():
        (first, unit, since), (last, unit_of_last, until) = pool[one], pool[other]
        if unit_of_last or not (useful[one] and useful[other]):
            continue
        wanted = seen[one] + seen[other]  # a projection of the sample
        for place in np.flatnonzero(useful & (np.abs(seen - wanted) <= 1e-9 * (1 + np.abs(wanted)))):
            whole, of_whole, total = pool[place]
            names, rows = {whole.name, first.name, last.name}, np.isfinite(since + until + total)
            few = min(((part != 0) & rows).sum() for part in (since, until)) < _CASES / step
            unlike = np.abs(since + until - total) > _PRECISION * (1 + np.abs(total))
            kinds = {one.one.duration for one in (whole, first, last)} - {None, unit}
            if few or kinds or of_whole != unit or len(names - changed) < 3 or unlike.any():
                continue
            name, of_first, of_last = (shown(one.name) for one in (whole, first, last))
            says = f"{name} is {of_first} + {of_last}"
            if unit:
                says = f"{of_last} is {name} less {of_first} in {unit}"
            says += f" in all {rows.sum():,} rows: declare {name} as a length after {of_first}, and leave {of_last} out"
            changes, missing = _Changes({last.name: None}), dict[str, None]()
            for one_of in (whole, first, last):
                missing |= dict.fromkeys(one_of.one.missing_texts)
            if unit is None or (whole.one.after, whole.one.unit) != (first.name, unit):
                after = {"name": whole.name, "after": first.name, "unit": unit, "representatives": (), "arrow": None}
                after |= {"missing": next(iter(missing), None), "also_missing": tuple(missing)[1:]}
                changes |= first.as_bins() | {whole.name: attribute_to_json(replace(last.bins, **after))}
            changed |= changes.keys()
            made.append(Proposal(says, (), changes))
    return made, changed


def _orders(every: Sequence[_Column], mapped: list[set[str]], step: int) -> list[tuple[bool, Proposal]]:
    """Return orders of numbers, and whether both have one unit by their names; else one is a length of time."""
    columns = [(one, one.numbers, one.words) for one in every if one.numbers is not None]
    sample, found = [_some(numbers) for _, numbers, _ in columns], dict[_Way, tuple[bool, Proposal]]()
    for less, more in (way for pair in _near(len(columns)).tolist() for way in (pair, pair[::-1])):
        (low, lows, words), (high, highs, others) = columns[less], columns[more]
        units, alike = {low.one.unit, high.one.unit}, low.one.kind == high.one.kind and bool(words & others)
        related = alike or (None in units and len(units) > 1)
        related = related and (low.one.duration == high.one.duration or bool(low.one.after or high.one.after))
        if not related or {low.name, high.name} in mapped or (sample[less] > sample[more]).any():
            continue
        apart = sample[less] - sample[more][np.argsort(np.arange(sample[more].size) * _GOLDEN % 1)]
        rows, crossing = np.isfinite(lows - highs).sum(), (apart > 0).sum()
        least = max(1, _MIXED * np.isfinite(apart).sum())
        if rows < _ROWS / step or crossing < least or (lows > highs).any():
            continue
        says = f"{shown(low.name)} is at most {shown(high.name)} in all {rows:,} rows that have both"
        rule = {"ordered": [low.name, high.name], "by": "representative"}
        found[less, more] = alike, Proposal(says, (rule,), low.as_bins() | high.as_bins())
    between = {(less, most) for less, more in found for middle, most in found if more == middle}
    return [one for way, one in found.items() if way not in between]


def _some(numbers: _Numbers) -> _Numbers:
    return numbers[np.unique(np.linspace(0, numbers.size - 1, _SAMPLE).astype(np.int64))]
