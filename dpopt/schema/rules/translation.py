"""From formulas and short forms to nodes: every negation is pushed down to the literals on the way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from dpopt.errors import SchemaError
from dpopt.schema.attribute import Attribute
from dpopt.schema.rules.code_sets import Columns, Inequality, inequalities, linear_form, missing_set
from dpopt.schema.rules.formula import (
    AllOf,
    AnyOf,
    Comparison,
    Counting,
    Equivalence,
    Formula,
    Implication,
    Literal,
    Negation,
)
from dpopt.schema.rules.nodes import Nodes
from dpopt.schema.rules.rule import Combinations, Determines, Forbid, Form, Ordering
from dpopt.schema.rules.values import Named, values_text

Row: TypeAlias = tuple[int, ...]
"""A set of codes for each attribute."""
_LISTED = 6


def forbidden_node(positions: Sequence[int], rows: Sequence[Row], nodes: Nodes) -> int:
    """Return the node "no row fits": for each merged row, one of the attributes lies outside it."""
    return nodes.all_of(
        nodes.any_of(
            nodes.in_set(position, nodes.every_code(position) ^ codes)
            for position, codes in zip(positions, row, strict=True)
        )
        for row in merged(rows)
    )


def allowed_node(positions: Sequence[int], rows: Sequence[Row], nodes: Nodes) -> int:
    """Return the node "a row fits".

    For two attributes, as clauses "the first has none of these codes, or the second one of those"; for more, as an "or"
    of rows, and what each attribute can be at all.
    """
    if len(positions) == 2:
        ways = (
            (positions, _partners(rows, nodes.every_code(positions[0]))),
            (positions[::-1], _partners([(right, left) for left, right in rows], nodes.every_code(positions[1]))),
        )
        (one, other), partners = min(ways, key=lambda way: len(way[1]))
        return nodes.all_of(
            nodes.any_of((nodes.in_set(one, nodes.every_code(one) ^ left), nodes.in_set(other, right)))
            for right, left in partners.items()
        )
    fits = nodes.any_of(
        nodes.all_of(nodes.in_set(position, codes) for position, codes in zip(positions, row, strict=True))
        for row in merged(rows)
    )
    at_all = [nodes.in_set(position, _union(row[place] for row in rows)) for place, position in enumerate(positions)]
    return nodes.all_of([*at_all, fits])


def determining_node(form: Determines, nodes: Nodes, columns: Columns) -> int:
    """Return the node of a mapping: for each set of values of the target, "none of its sources, or one of it".

    Where each value of both attributes stands in one row, this says both ways: a value of the target has a source,
    whose row it must be in.
    """
    source, target = columns.find(form.source)[0], columns.find(form.target)[0]
    rows = [(columns.set_of(form.source, left), columns.set_of(form.target, right)) for left, right in form.mapping]
    _require_once(form.source, [left for left, _ in rows], [pair[0] for pair in form.mapping], columns)
    if form.both_ways:
        _require_once(form.target, [right for _, right in rows], [pair[1] for pair in form.mapping], columns)
    sources: dict[int, int] = {}
    for left, right in rows:
        sources[right] = sources.get(right, 0) | left
    clauses = []
    for right, left in sources.items():
        outside = nodes.in_set(source, nodes.every_code(source) ^ left)
        clauses.append(nodes.any_of((outside, nodes.in_set(target, right))))
    return nodes.all_of(clauses)


def merged(rows: Sequence[Row]) -> list[Row]:
    """Return rows that say the same: those that differ in one place only are made one, place by place."""
    for place in range(len(rows[0])):
        together: dict[Row, int] = {}
        for row in rows:
            rest = row[:place] + row[place + 1 :]
            together[rest] = together.get(rest, 0) | row[place]
        rows = [(*rest[:place], codes, *rest[place:]) for rest, codes in together.items()]
    return list(rows)


def bits(codes: int) -> Iterator[int]:
    """Yield the codes in a set, increasing."""
    while codes:
        lowest = codes & -codes
        yield lowest.bit_length() - 1
        codes ^= lowest


def _partners(rows: Sequence[Row], every: int) -> dict[int, int]:
    """Return, for each set of partners that some code has, the codes that have it; codes in no row have none."""
    partners = dict.fromkeys(bits(every), 0)
    for left, right in rows:
        for code in bits(left):
            partners[code] |= right
    together: dict[int, int] = {}
    for code, right in partners.items():
        together[right] = together.get(right, 0) | 1 << code
    return together


def _union(sets: Iterator[int]) -> int:
    union = 0
    for codes in sets:
        union |= codes
    return union


def _require_once(name: str, sets: Sequence[int], values: Sequence[tuple[Named, ...]], columns: Columns) -> None:
    """Raise SchemaError unless every code of an attribute lies in exactly one of the sets."""
    attribute = columns.find(name)[1]
    seen = 0
    for codes, named in zip(sets, values, strict=True):
        if seen & codes:
            twice = attribute.label(next(bits(seen & codes)))
            raise SchemaError(
                f"the mapping has {twice!r} of {name!r} in two rows, the second with {values_text(named)}; "
                "list each value in one row, with all its partners"
            )
        seen |= codes
    left_out = [attribute.label(code) for code in bits(((1 << attribute.size) - 1) ^ seen)]
    if left_out:
        more = f", ... ({len(left_out)} in all)" if len(left_out) > _LISTED else ""
        raise SchemaError(
            f"the mapping has no row for these values of {name!r}: {', '.join(left_out[:_LISTED])}{more}; "
            "give them rows too"
        )


class Translation:
    """Translates one rule over these columns into nodes."""

    def __init__(self, nodes: Nodes, columns: Columns) -> None:
        self._nodes = nodes
        self._columns = columns
        self._made: dict[tuple[int, bool], int] = {}

    def rule(self, form: Form) -> int:
        """Return the node that is true of the records that obey a rule."""
        match form:
            case Forbid(formula):
                return self._formula(formula, positive=False)
            case Combinations():
                return self._combinations(form)
            case Determines():
                return determining_node(form, self._nodes, self._columns)
            case Ordering():
                return self._ordering(form)
            case Comparison():
                return self._comparison(form, positive=True, missing=form.missing or "holds")
            case _:
                return self._formula(form, positive=True)

    def _formula(self, formula: Formula, *, positive: bool) -> int:
        """Return the node that is true if the formula is (positive) or if it is not."""
        key = (id(formula), positive)  # the rule keeps its formulas alive
        if key not in self._made:
            self._made[key] = self._new(formula, positive=positive)
        return self._made[key]

    def _new(self, formula: Formula, *, positive: bool) -> int:  # noqa: PLR0911  one for each form
        nodes = self._nodes
        match formula:
            case Literal():
                attribute, codes = self._columns.literal(formula)
                return nodes.in_set(attribute, codes if positive else nodes.every_code(attribute) ^ codes)
            case AllOf(parts):
                return self._join(positive)(self._formula(part, positive=positive) for part in parts)
            case AnyOf(parts):
                return self._join(not positive)(self._formula(part, positive=positive) for part in parts)
            case Negation(part):
                return self._formula(part, positive=not positive)
            case Implication(condition, consequence):
                sides = (self._formula(condition, positive=not positive), self._formula(consequence, positive=positive))
                return self._join(not positive)(sides)
            case Equivalence(left, right):
                return self._equivalence(left, right, positive=positive)
            case Counting():
                return self._counting(formula, positive=positive)
            case Comparison():
                return self._comparison(formula, positive=positive, missing=formula.missing)

    def _join(self, every: bool) -> Callable[[Iterable[int]], int]:  # noqa: FBT001  which of two joins
        return self._nodes.all_of if every else self._nodes.any_of

    def _equivalence(self, left: Formula, right: Formula, *, positive: bool) -> int:
        """Return "(left or not right) and (not left or right)"; negated: the right side the other way round."""
        return self._nodes.all_of(
            self._nodes.any_of((self._formula(left, positive=side), self._formula(right, positive=side != positive)))
            for side in (True, False)
        )

    def _counting(self, formula: Counting, *, positive: bool) -> int:
        number, parts = formula.number, formula.parts
        if positive:
            sides = {"at least": (number, None), "at most": (None, number), "exactly": (number, number)}
        else:
            sides = {"at least": (None, number - 1), "at most": (number + 1, None), "exactly": (number + 1, number - 1)}
        least, most = sides[formula.relation]
        bounds = [] if least is None else [self._at_least(least, parts)]
        bounds += [] if most is None else [self._at_most(most, parts)]
        return self._join(positive)(bounds)

    def _at_least(self, number: int, parts: Sequence[Formula]) -> int:
        return self._nodes.at_least(number, [self._formula(part, positive=True) for part in parts])

    def _at_most(self, number: int, parts: Sequence[Formula]) -> int:
        """Return "at least len(parts) - number are false"."""
        negated = [self._formula(part, positive=False) for part in parts]
        return self._nodes.at_least(len(parts) - number, negated)

    def _comparison(self, comparison: Comparison, *, positive: bool, missing: str | None) -> int:
        form = linear_form(comparison, self._columns)
        attributes = {position: self._columns.at(position) for position in form.columns}
        may_miss = {position: attribute for position, attribute in attributes.items() if missing_set(attribute)}
        if missing is None and may_miss:
            names = ", ".join(attribute.name for attribute in may_miss.values())
            raise SchemaError(
                f"{comparison.describe()}: {names} can be missing; say with 'missing' whether the comparison then "
                f'"holds" or '
                '"fails"'
            )
        all_of_them, found = inequalities(comparison.relation, form, attributes, comparison.by)
        holds = (missing == "holds") == positive
        sides = [self._inequality(one if positive else one.negated(), may_miss, holds=holds) for one in found]
        return self._join(all_of_them == positive)(sides)

    def _inequality(self, found: Inequality, may_miss: dict[int, Attribute], *, holds: bool) -> int:
        """Return the node of an inequality that holds, or fails, where one of its columns is missing."""
        bound, children = found.bound, dict[int, int]()
        for number, formula in found.counts:
            child = self._formula(formula, positive=number > 0)  # of number 0 too: what it names must exist
            if number:
                children[child] = children.get(child, 0) + abs(number)
                bound += max(-number, 0)  # number * [true] is -number * [false] + number
        least = sum(min(values) for values in found.terms.values())
        terms = dict(found.terms)
        for position in may_miss:
            values = found.terms[position]
            # Enough for the bound whatever the others add; or no more than what the column can add anyway.
            enough = max(*values, bound - least + min(values))
            terms[position] = [*values, enough if holds else min(values)]
        node = self._nodes.sum_at_least(bound, terms, children)
        if holds:
            return node
        given = [
            self._nodes.in_set(position, self._nodes.every_code(position) ^ missing_set(attribute))
            for position, attribute in may_miss.items()
        ]
        return self._nodes.all_of([*given, node])

    def _ordering(self, form: Ordering) -> int:
        """Return "each is below the next"; where one in between may be missing, also the pairs around it."""
        names = form.attributes
        pairs = list(itertools.pairwise(names))
        if form.missing == "holds":
            pairs = [
                (low, high)
                for place, low in enumerate(names)
                for step, high in enumerate(names[place + 1 :])
                if all(missing_set(self._columns.find(name)[1]) for name in names[place + 1 : place + 1 + step])
            ]
        relation = "<" if form.strict else "<="
        return self._nodes.all_of(
            self._comparison(
                Comparison(low, relation, high, form.by, form.missing), positive=True, missing=form.missing
            )
            for low, high in pairs
        )

    def _combinations(self, form: Combinations) -> int:
        positions = [self._columns.find(name)[0] for name in form.attributes]
        rows = [
            tuple(self._columns.set_of(name, values) for name, values in zip(form.attributes, row, strict=True))
            for row in form.rows
        ]
        return (allowed_node if form.allowed else forbidden_node)(positions, rows, self._nodes)
