"""Finer bins of numeric attributes, by a public rule: each bin is halved, and its halves again, down to whole numbers.

A bin is halved in its middle, or, where it is wide beside its distance from zero, in the middle of its logarithms:
log(1 + |x|) of its ends. So a long tail is divided near its beginning, where most of it lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.schema.dates import Seconds
from dpopt.schema.lengths import finest_unit
from dpopt.schema.rules.formula import ORDERS, Comparison
from dpopt.schema.rules.rule import Ordering, Rule
from dpopt.schema.schema import Attribute, AttributeKind, Schema

HALVINGS = 8
"""How often a bin is halved at most."""
MOST_CELLS = 60_000
_WIDE = 4.0
"""A bin that does not contain 0 is halved on a logarithmic scale if its larger end is this many times the smaller (1 + |x|)."""
_Numbers = NDArray[np.float64]


def scaled(numbers: _Numbers) -> _Numbers:
    """Return numbers on the logarithmic scale: log(1 + |x|), with the sign of x."""
    return np.asarray(np.sign(numbers) * np.log1p(np.abs(numbers)))


def unscaled(numbers: _Numbers) -> _Numbers:
    """Return the numbers that `scaled` maps to these."""
    return np.asarray(np.sign(numbers) * np.expm1(np.abs(numbers)))


def are_wide(low: _Numbers, high: _Numbers) -> NDArray[np.bool_]:
    """Return which intervals are divided on the logarithmic scale."""
    near, far = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
    return np.asarray(((low >= 0) | (high <= 0)) & ((1 + far) / _WIDE > 1 + near))


def middles(low: _Numbers, high: _Numbers, *, whole: bool) -> _Numbers:
    """Return where intervals [low, high) are halved; NaN where they are not: one whole number, or no number in between.

    Examples
    --------
    >>> import numpy as np
    >>> middles(np.array([20.0, 0, 7]), np.array([30.0, 1000, 8]), whole=True)
    array([25., 31., nan])
    """
    found = np.where(are_wide(low, high), unscaled((scaled(low) + scaled(high)) / 2), low / 2 + high / 2)
    if whole:
        found = np.clip(np.ceil(found), low + 1, high - 1)
    return np.asarray(np.where((found > low) & (found < high), found, np.nan))


def limits(attribute: Attribute) -> _Numbers:
    """Return the edges of a numeric attribute; of whole numbers the least of each bin, and the one after the last."""
    edges = np.array(attribute.edges, dtype=np.float64)
    if not attribute.integer:
        return edges
    return np.append(np.ceil(edges[:-1]), np.floor(edges[-1]) + 1)


def fine_limits(attribute: Attribute) -> _Numbers:
    """Return the limits of the finer bins of a numeric attribute, those of its own bins among them, increasing.

    Examples
    --------
    >>> fine_limits(Attribute("age", AttributeKind.NUMERIC, edges=(0, 1, 3), integer=True))
    array([0., 1., 2., 4.])

    The last bin is closed, and the last number is never alone: two edges would be the same.
    """
    found = limits(attribute)
    most = max(0, int(np.log2(MOST_CELLS / (found.size - 1)))) if found.size <= MOST_CELLS else 0
    for _ in range(min(HALVINGS, most)):
        new = middles(found[:-1], found[1:], whole=attribute.integer)
        if attribute.integer and new[-1] >= attribute.edges[-1]:
            new[-1] = np.ceil(attribute.edges[-1]) - 1
        new = new[new > found[:-1]]
        if not new.size:
            break
        found = np.sort(np.concatenate((found, new)))
    return found


def finer(attribute: Attribute) -> Attribute:
    """Return a numeric attribute with finer bins: every bin of it is a union of these."""
    inner = np.setdiff1d(fine_limits(attribute), limits(attribute))
    edges = np.sort(np.concatenate((np.array(attribute.edges), inner)))
    kind = float if attribute.date_format is None else Seconds
    return replace(attribute, edges=tuple(map(kind, edges.tolist())), representatives=(), occurring=None)


def dividable(schema: Schema) -> list[int]:
    """Return the positions of the numeric attributes with several numbers in a bin.

    Columns that a rule compares by representatives are left out, but for orders (`orders`): the rule holds for those
    numbers, and not for all others.
    """
    fixed = _compared(schema)
    return [place for place in _of_several_numbers(schema) if schema.attributes[place].name not in fixed]


def fixed_by_rules(schema: Schema) -> list[str]:
    """Return the names of the columns left out of `dividable` since a rule compares them by representatives."""
    fixed = _compared(schema)
    names = [schema.attributes[place].name for place in _of_several_numbers(schema)]
    return [name for name in names if name in fixed]


def rough_differences(schema: Schema) -> str | None:
    """Return a note on lengths of time and other differences, which bins make rough; None where nothing suggests any."""
    if schema.is_binary:
        return None
    ordered = {name for rule in schema.rules if isinstance(rule.form, Ordering) for name in rule.form.attributes}
    kinds: dict[str, list[str]] = {"dates": [], "times of day": [], "numbers": []}  # they have lengths
    for one in schema.attributes:
        dated = one.date_format is not None and finest_unit(one.date_format) is not None
        if dated or (one.quantity == "numbers" and one.name in ordered):
            kinds[one.quantity].append(repr(one.name))
    columns = " and between ".join(", ".join(names) for names in kinds.values() if len(names) > 1)
    if not columns:
        return None
    return (
        f"differences between {columns}, such as lengths of time, are kept as roughly as "
        "their bins are wide, and may be far off on average; if readers need them, declare one column as a length "
        "after the "
        'other ("after"), such as days of a stay'
    )


def _of_several_numbers(schema: Schema) -> list[int]:
    if schema.is_binary:
        return []
    return [
        place
        for place, attribute in enumerate(schema.attributes)
        if attribute.kind is AttributeKind.NUMERIC and fine_limits(attribute).size > len(attribute.edges)
    ]


@dataclass(frozen=True, slots=True)
class Order:
    """A rule by representatives: numbers of one column are below those of another, or equal, where both are given."""

    less: int
    more: int
    """The positions of the columns, both of whole numbers, of others, or of dates in one form."""
    strict: bool
    """They are not equal."""

    def broken(self, less: _Numbers, more: _Numbers) -> NDArray[np.bool_]:
        """Return where numbers, NaN for missing ones, are not in order, (r,)."""
        return less >= more if self.strict else less > more


def orders(schema: Schema) -> list[Order]:
    """Return the orders of two columns that whole rules state by representatives: `ordered`, or `compare` of two names."""
    return [one for rule in schema.rules for one in _orders_of(rule, schema)]


def _orders_of(rule: Rule, schema: Schema) -> list[Order]:
    form = rule.form
    if not isinstance(form, Ordering | Comparison) or form.by != "representative":
        return []
    if isinstance(form, Ordering):
        pairs, strict = list(combinations(form.attributes, 2)), form.strict
    else:
        by_sign = {coefficient: name for coefficient, name in form.terms() if isinstance(name, str)}
        if form.relation not in ORDERS or len(form.terms()) != 2 or set(by_sign) != {1, -1}:
            return []
        if not set(by_sign.values()).issubset(schema.names):  # a column and a date
            return []
        pair = by_sign[1], by_sign[-1]
        pairs, strict = [pair if "<" in form.relation else pair[::-1]], "=" not in form.relation
    kinds = {schema.attributes[schema.index(name)] for pair in pairs for name in pair}
    if len({(one.integer, one.date_format) for one in kinds}) > 1:
        return []
    return [Order(schema.index(less), schema.index(more), strict) for less, more in pairs]


def _compared(schema: Schema) -> set[str]:
    if not schema.rules:
        return set()
    written: Any = schema.to_json()["rules"]
    others = [text for text, rule in zip(written, schema.rules, strict=True) if not _orders_of(rule, schema)]
    return set(_compared_as_written(others))


def _compared_as_written(rules: object, *, inside: bool = False) -> Iterator[str]:
    """Yield all texts in comparisons by representatives, the names of their columns among them."""
    if isinstance(rules, str) and inside:
        yield rules
    elif isinstance(rules, dict):
        inside = inside or rules.get("by") == "representative"
        for part in rules.values():
            yield from _compared_as_written(part, inside=inside)
    elif isinstance(rules, list):
        for part in rules:
            yield from _compared_as_written(part, inside=inside)
