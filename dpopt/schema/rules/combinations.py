"""Tables of combinations as few clauses: rows that differ in one place are made one, values with the same partners too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from dpopt.errors import SchemaError
from dpopt.schema.rules.code_sets import Columns
from dpopt.schema.rules.nodes import Nodes
from dpopt.schema.rules.rule import Determines
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

    For two attributes, as clauses "the first has none of these codes, or the second one of those"; for more, as an "or" of
    rows, and what each attribute can be at all.
    """
    if len(positions) == 2:
        ways = (
            (positions, _partners(rows, nodes.every_code(positions[0]))),
            (
                positions[::-1],
                _partners([(right, left) for left, right in rows], nodes.every_code(positions[1])),
            ),
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
    at_all = [
        nodes.in_set(position, _union(row[place] for row in rows)) for place, position in enumerate(positions)
    ]
    return nodes.all_of([*at_all, fits])


def determining_node(form: Determines, nodes: Nodes, columns: Columns) -> int:
    """Return the node of a mapping: for each set of values of the target, "none of its sources, or one of it".

    Where each value of both attributes stands in one row, this says both ways: a value of the target has a source, whose
    row it must be in.

    Raises
    ------
    SchemaError
        If a value of the source (both ways: or of the target) stands in no row, or in two.
    """
    source, target = columns.find(form.source)[0], columns.find(form.target)[0]
    rows = [
        (columns.set_of(form.source, left), columns.set_of(form.target, right))
        for left, right in form.mapping
    ]
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


def _require_once(
    name: str, sets: Sequence[int], values: Sequence[tuple[Named, ...]], columns: Columns
) -> None:
    """Raise SchemaError unless every code of an attribute lies in exactly one of the sets."""
    attribute = columns.find(name)[1]
    seen = 0
    for codes, named in zip(sets, values, strict=True):
        if seen & codes:
            twice = attribute.label(next(bits(seen & codes)))
            raise SchemaError(
                f"the mapping has {twice!r} of {name!r} in two rows, the second with {values_text(named)}; "
                "each value stands in one row, with all its partners"
            )
        seen |= codes
    left_out = [attribute.label(code) for code in bits(((1 << attribute.size) - 1) ^ seen)]
    if left_out:
        more = f", ... ({len(left_out)} in all)" if len(left_out) > _LISTED else ""
        raise SchemaError(
            f"the mapping says nothing of these values of {name!r}: {', '.join(left_out[:_LISTED])}{more}; "
            "give them rows too"
        )
