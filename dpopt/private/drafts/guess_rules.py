"""What holds in every row of a large table: mappings, implications, orders, sums. Proposed to the owner, never declared.

It may hold by chance, so it needs `_ROWS` rows. An implication needs `_CASES` rows that meet its condition, `_EXCEPTIONS` of
which would break it if the columns were unrelated; a mapping ten times as many. An order would break in `_MIXED` of the rows
if one column were shuffled; each term of a sum is not 0 in `_CASES` rows. Values in fewer than `_RARE` rows are left open.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
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
_PAIRS, _PROPOSALS, _RUN, _DATES = 20_000, 200, 24, 12  # most pairs, proposals, terms, dates
_CELLS, _TABLE = 6 * 10**6, 2**16  # cells of the table read at a time, and of the counts of a pair
_COLUMNS, _MOST_ROWS = 16, 2 * 10**6  # so few columns are read whole, up to so many rows
_SAMPLE, _PRECISION, _GOLDEN = 1_000, 1e-9, 0.6180339887498949

_Numbers = NDArray[np.float64]
_Changes = dict[str, dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the owner may declare besides, since every row of the table has it so. Not private.

    Attributes
    ----------
    says : str
    rules : tuple of dict
        Rules in the form of a schema file.
    columns : dict
        Attributes in the form of a schema file that take the place of drafted ones, by name; None leaves a column out.
    """

    says: str
    rules: tuple[dict[str, Any], ...] = ()
    columns: Mapping[str, dict[str, Any] | None] = field(default_factory=dict)

    def to_json(self, *, accept: bool = False) -> dict[str, Any]:
        """Return the entry in the list "proposed" of a schema file."""
        return {"accept": accept, "says": self.says, "rules": [*self.rules], "columns": {**self.columns}}


@dataclass(slots=True)
class _Column:
    one: Attribute
    codes: NDArray[np.int64]
    numbers: _Numbers | None = None  # lengths as lengths, NaN where missing
    raw: _Numbers | None = None  # of dates: seconds
    form: str | None = None

    @property
    def name(self) -> str:
        return self.one.name

    @property
    def numeric(self) -> Attribute:
        """The attribute; of few different whole numbers a numeric one with a bin for each."""
        if self.one.kind is AttributeKind.NUMERIC:
            return self.one
        edges = (*sorted(map(float, self.one.values)), max(map(float, self.one.values)) + 1)
        return Attribute(
            self.name, AttributeKind.NUMERIC, edges=edges, integer=True, missing=self.one.missing
        )

    def literal(self, codes: Sequence[int] | NDArray[Any]) -> list[Any]:
        if [*codes] == [self.one.missing_code]:
            return [self.name, "is", "missing"]
        return [self.name, "in", self.named(codes)]

    def named(self, codes: Sequence[int] | NDArray[Any]) -> list[Any]:
        bins = self.one.kind is AttributeKind.NUMERIC
        return [
            None if code == self.one.missing_code else {"bin": code} if bins else self.one.values[code]
            for code in map(int, codes)
        ]

    def words(self, codes: Sequence[int] | NDArray[Any]) -> str:
        more = f" or {len(codes) - 3} others" if len(codes) > 3 else ""
        return f"{shown(self.name)} is {' or '.join(self.one.label(int(code)) for code in codes[:3])}{more}"


def propose(
    source: TableSource, attributes: Sequence[Attribute], dates: Mapping[str, Attribute], rows: int
) -> tuple[Proposal, ...]:
    """Return what holds in every row of a table, the most useful first.

    A large table is read thinned first, then again with the columns for which anything was found, until all rows are. Pairs
    of columns that stand near each other are tried first. `dates`: attributes drafted as lengths, as they were before.
    """
    if rows < _ROWS or len(attributes) < 2:
        return ()
    few = len(attributes) <= _COLUMNS
    thin = 1 + (rows // _MOST_ROWS if few else rows * len(attributes) // _CELLS)
    columns, step = _columns_of(source, attributes, dates, thin), 1 if few else thin
    of_numbers, changed = _of_numbers(columns, step)
    made = of_numbers + _of_codes([one for one in columns if one.name not in changed], step)
    named, most = set[str](), len(attributes) if step == 1 else max(_COLUMNS, len(attributes) // 2)
    for text in (json.dumps(one.to_json()) for one in made[: 5 * _PROPOSALS]):
        here = {one.name for one in attributes if json.dumps(one.name) in text}
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
        columns.append(
            _Column(one, codes, None if one.date_format else numbers, read if form else None, form)
        )
    return columns


def _near(count: int, most: int) -> NDArray[np.int64]:
    """Return pairs of places, those of neighbours first, up to a number, (p, 2)."""
    gaps = ((place, place + gap) for gap in range(1, count) for place in range(count - gap))
    return np.array(list(islice(gaps, most)), dtype=np.int64).reshape(-1, 2)


def _of_codes(columns: Sequence[_Column], step: int) -> list[Proposal]:
    """Return mappings; then implications, the ones with the most expected exceptions first."""
    mapped: dict[tuple[int, int], Proposal] = {}
    implied: dict[tuple[int, int], list[tuple[float, Proposal]]] = {}
    for one, other in _near(len(columns), _PAIRS):
        first, second = columns[one], columns[other]
        shape = (first.one.size, second.one.size)
        if min(shape) == 1 or shape[0] * shape[1] > _TABLE:
            continue
        counts = np.bincount(first.codes * shape[1] + second.codes, minlength=shape[0] * shape[1])
        table = counts.reshape(shape)
        both, back = (int(one), int(other)), (int(other), int(one))
        ways = ((both, first, second, table), (back, second, first, table.T))
        found = {
            way: _mapping(left, right, cells) for way, left, right, cells in ways if _determines(cells, step)
        }
        mapped |= found
        for way, left, right, cells in ways if not found else ():
            if said := list(_implications(left, right, cells, step)):
                implied[way] = said
                break  # the other way round says the same of most cells
    for one, other in [way for way in mapped if way[0] < way[1] and way[::-1] in mapped]:
        reverse = mapped.pop((other, one))
        mapped[one, other] = replace(mapped[one, other], rules=mapped[one, other].rules + reverse.rules)
        for way in [way for way in (*mapped, *implied) if other in way and way != (one, other)]:
            mapped.pop(way, None)
            implied.pop(way, None)

    def follows(way: tuple[int, int], known: Mapping[tuple[int, int], object]) -> bool:
        return any(one == way[0] and known.get((by, way[1])) for one, by in mapped)

    rest = [one for way, found in implied.items() if not follows(way, implied) for one in found]
    direct = [one for way, one in mapped.items() if not follows(way, mapped)]
    return [*direct, *(one for _, one in sorted(rest, key=lambda pair: -pair[0]))]


def _determines(table: NDArray[np.int64], step: int) -> bool:
    """Return whether each code in the rows has one partner, which would rarely be if the columns were unrelated."""
    rows = table.sum(1)
    if (table.max(1) < rows).any():
        return False
    share = table.sum(0) / table.sum()
    expected = np.maximum(rows - 1, 0) @ (
        1 - share[table.argmax(1)]
    )  # the first row of a code breaks nothing
    return bool(expected >= 10 * _EXCEPTIONS / step)


def _mapping(first: _Column, second: _Column, table: NDArray[np.int64]) -> Proposal:
    closed, partner = table.sum(1) >= _RARE, table.argmax(1)
    pairs = [
        [first.named(np.flatnonzero(closed & (partner == code))), second.named([code])]
        for code in np.unique(partner[closed]).tolist()
    ]
    opened = np.flatnonzero(~closed)
    if opened.size:
        pairs.append([first.named(opened), second.named(range(second.one.size))])
    says = f"{shown(first.name)} determines {shown(second.name)} in all {table.sum():,} rows"
    says += (
        f"; {opened.size} of its values, each in fewer than {_RARE} rows, are left open"
        if opened.size
        else ""
    )
    return Proposal(says, ({"determines": [first.name, second.name], "mapping": pairs},))


def _implications(
    first: _Column, second: _Column, table: NDArray[np.int64], step: int
) -> Iterator[tuple[float, Proposal]]:
    """Yield what follows from codes of the first column: one code of the second, or that it is given."""
    rows, missing, least = table.sum(1), second.one.missing_code, _EXCEPTIONS / step
    often = rows >= _CASES / step
    if not (often & ((table.max(1) == rows) | (table[:, -1] == 0))).any():
        return
    share = table.sum(0) / table.sum()
    only = (table == rows[:, None]) & often[:, None] & (rows[:, None] * (1 - share) >= least)
    for code in np.flatnonzero(only.any(0)).tolist():
        codes = np.flatnonzero(only[:, code])
        count, then = int(rows[codes].sum()), second.literal([code])
        says = f"if {first.words(codes)}, then {second.words([code])}, in all {count:,} rows"
        rule: dict[str, Any] = {"if": first.literal(codes), "then": then}
        if code == missing and not table[~only[:, code], code].any():
            says, rule = f"exactly {says}", {"iff": [first.literal(codes), then]}
        yield count * (1 - share[code]), Proposal(says, (rule,))
    if missing is not None:
        given = often & (table[:, missing] == 0) & (rows * share[missing] >= least)
        codes = np.flatnonzero(given & ~only.any(1))
        if codes.size and table[~given, missing].sum() != table[~given].sum():  # else "exactly if" says it
            then = [second.name, "is", "given"]
            says = f"if {first.words(codes)}, then {shown(second.name)} is given, in all {rows[codes].sum():,} rows"
            yield (
                float(rows[codes].sum() * share[missing]),
                Proposal(says, ({"if": first.literal(codes), "then": then},)),
            )


def _of_numbers(every: Sequence[_Column], step: int) -> tuple[list[Proposal], set[str]]:
    """Return lengths, sums and orders, and the names of the columns that these lengths and sums change."""
    columns = [one for one in every if one.numbers is not None]
    if not columns:
        return [], set()
    made, changed = list[Proposal](), set[str]()
    numbers = [np.asarray(one.numbers) for one in columns]
    chosen = np.unique(np.linspace(0, numbers[0].size - 1, _SAMPLE).astype(np.int64))
    sample, pairs = np.array([one[chosen] for one in numbers]), _near(len(columns), _PAIRS)

    def add(says: str, changes: _Changes, names: Sequence[str]) -> None:
        if not changed & {*names}:
            changed.update(changes)
            made.append(Proposal(says, (), changes))

    for span in _spans([one for one in every if one.raw is not None], columns, sample, chosen, step):
        number, since, until, unit, rows = span
        changes: _Changes = {number.name: None}
        if (until.one.after, until.one.unit) != (since.name, unit):
            changes[until.name] = _length_after(number.numeric, until.one, since.one, unit)
        says = f"{shown(number.name)} is {shown(until.name)} less {shown(since.name)} in {unit} in all {rows:,} rows"
        says += f": take {shown(until.name)} as this length, and leave {shown(number.name)} out"
        add(says, changes, [number.name, until.name, since.name])
    for total, terms in _sums(sample, pairs):
        parts = [numbers[place] for place in terms]
        rows = np.isfinite(sum(parts) + numbers[total])
        often = min(((one != 0) & rows).sum() for one in parts) >= _CASES / step
        if often and not _differ(sum(parts), numbers[total]):
            whole, *others = (columns[place] for place in (total, *terms))
            said = " + ".join(shown(one.name) for one in others)
            says, changes = _sum_changes(whole, others)
            says = f"{shown(whole.name)} is {said} in all {rows.sum():,} rows: {says}"
            add(says, changes, [whole.name, *(one.name for one in others)])
    orders = _orders(numbers, sample, pairs, step)
    for less, more in [pair for pair in orders if pair[0] < pair[1] and pair[::-1] in orders]:
        names = [columns[less].name, columns[more].name]
        if names[1] not in {one.one.after for one in every}:
            says = f"{shown(names[1])} is the same number as {shown(names[0])} in all {orders[less, more]:,} rows"
            add(f"{says}: leave it out", {names[1]: None}, names)
    free = {place for place, one in enumerate(columns) if one.name not in changed}
    known = {pair: rows for pair, rows in orders.items() if free.issuperset(pair)}
    for (less, more), rows in known.items():
        if not any((less, middle) in known and (middle, more) in known for middle in free):
            low, high = columns[less], columns[more]
            again = {
                one.name: attribute_to_json(one.numeric) for one in (low, high) if one.numeric is not one.one
            }
            says = f"{shown(low.name)} is at most {shown(high.name)} in all {rows:,} rows that have both"
            rule = {"ordered": [low.name, high.name], "by": "representative"}
            made.append(Proposal(says, (rule,), again))
    return made, changed


def _sum_changes(whole: _Column, terms: Sequence[_Column]) -> tuple[str, _Changes]:
    """Return a sum of two columns as a length after one of them, whose bins are those of the other; of more, without it."""
    first, last = terms[0], terms[-1]
    if len(terms) > 2 or whole.one.after or first.one.after or last.one.after:
        return "leave it out", {whole.name: None}
    changes: _Changes = {} if first.numeric is first.one else {first.name: attribute_to_json(first.numeric)}
    changes |= {whole.name: _length_after(last.numeric, whole.one, first.one, None), last.name: None}
    return f"declare it as a length after {shown(first.name)}, and leave {shown(last.name)} out", changes


def _spans(
    dates: Sequence[_Column],
    columns: Sequence[_Column],
    sample: _Numbers,
    chosen: NDArray[np.int64],
    step: int,
) -> Iterator[tuple[_Column, _Column, _Column, str, int]]:
    """Yield columns of numbers that are a length between two dates: the column, the two dates, the unit, the rows."""
    for since, until in permutations(dates[:_DATES], 2):
        for unit in UNITS if since.form == until.form else ():
            apart = length(np.asarray(since.raw), np.asarray(until.raw), since.form, unit)
            for one, some in zip(columns, sample, strict=True):
                if one.one.after is None and np.ptp(np.nan_to_num(some)) and not _differ(apart[chosen], some):
                    rows = int(np.isfinite(apart + np.asarray(one.numbers)).sum())
                    if rows >= _ROWS / step and not _differ(apart, np.asarray(one.numbers)):
                        yield one, since, until, unit, rows


def _sums(sample: _Numbers, pairs: NDArray[np.int64]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield columns that are the sum of two others, or of several neighbours, in a sample: by a projection of it."""
    plain = np.nan_to_num(sample)
    useful = (np.ptp(plain, axis=1) > 0) & ((plain != 0).mean(1) > 0.02)
    seen = plain @ (np.arange(1, plain.shape[1] + 1) * _GOLDEN % 1 - 0.5)
    steps, count = np.concatenate(([0.0], np.cumsum(seen))), seen.size
    found: list[tuple[Any, tuple[int, ...]]] = [
        (seen[one] + seen[two], (int(one), int(two))) for one, two in pairs if useful[one] and useful[two]
    ]
    for first in range(count):
        for end in range(first + 3, min(first + _RUN, count) + 1):
            if not useful[end - 1]:
                break
            found.append((steps[end] - steps[first], tuple(range(first, end))))
    order = np.argsort(seen)
    values = np.array([value for value, _ in found])
    places = np.searchsorted(seen[order], values - _PRECISION * (1 + np.abs(values)))
    for place, (value, terms) in zip(places, found, strict=True):
        total = int(order[min(place, count - 1)])
        close = abs(seen[total] - value) <= 2 * _PRECISION * (1 + abs(value)) and total not in terms
        if close and useful[total] and useful[terms[0]] and not _differ(plain[[*terms]].sum(0), plain[total]):
            yield total, terms


def _orders(
    numbers: Sequence[_Numbers], sample: _Numbers, pairs: NDArray[np.int64], step: int
) -> dict[tuple[int, int], int]:
    """Return pairs of which the first number is in no row above the second, with their rows."""
    found, mixed = {}, np.argsort(np.arange(sample.shape[1]) * _GOLDEN % 1)
    for less, more in [*pairs, *pairs[:, ::-1]]:
        if (sample[less, :20] > sample[more, :20]).any() or (sample[less] > sample[more]).any():
            continue
        apart, rows = sample[less] - sample[more, mixed], np.isfinite(numbers[less] - numbers[more]).sum()
        crossing = (apart > 0).sum() >= max(1, _MIXED * np.isfinite(apart).sum())
        if crossing and rows >= _ROWS / step and not (numbers[less] > numbers[more]).any():
            found[int(less), int(more)] = int(rows)
    return found


def _differ(one: Any, other: _Numbers) -> bool:
    return bool((np.abs(one - other) > _PRECISION * (1 + np.abs(other))).any())


def _length_after(bins: Attribute, one: Attribute, since: Attribute, unit: str | None) -> dict[str, Any]:
    missing = next((text for text in (one.missing, since.missing, bins.missing) if text is not None), None)
    return attribute_to_json(
        replace(bins, name=one.name, after=since.name, unit=unit, missing=missing, representatives=())
    )
