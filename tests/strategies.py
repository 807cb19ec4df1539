"""Hypothesis strategies and plain oracles that several rooms' tests share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.queries import Clauses
from dpopt.schema import Attribute, AttributeKind, Schema
from dpopt.schema.attribute import value_text

Literal = tuple[int, int, bool]
Row = tuple[list[Literal], int]

_TEXTS = st.text(min_size=1, max_size=6)
_VALUES = st.one_of(
    _TEXTS,
    st.integers(-50, 50),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda number: number + 0.0),  # no -0.0
)
_EDGES = st.one_of(st.integers(-1000, 1000).map(float), st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False))


def clauses_of(rows: Iterable[Row]) -> Clauses:
    """Return the clauses given as (literals, mask); a literal is (attribute, code, sign)."""
    listed = list(rows)
    width = max([len(literals) for literals, _ in listed] + [1])
    attributes = np.full((len(listed), width), -1, dtype=np.int32)
    values = np.zeros((len(listed), width), dtype=np.int32)
    signs = np.zeros((len(listed), width), dtype=np.bool_)
    for row, (literals, _) in enumerate(listed):
        for place, (attribute, value, sign) in enumerate(literals):
            attributes[row, place], values[row, place], signs[row, place] = attribute, value, sign
    return Clauses(attributes, values, signs, np.array([mask for _, mask in listed], dtype=np.uint32))


def naive_truth(clauses: Clauses, records: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return whether clause i is true of record r, shape (m, r): literal by literal, in plain Python."""
    truth = np.zeros((len(clauses), len(records)), dtype=np.bool_)
    for i in range(len(clauses)):
        for r, record in enumerate(records):
            number = 0
            for a, v, sign in zip(clauses.attributes[i], clauses.values[i], clauses.signs[i], strict=True):
                if a >= 0:
                    number += (int(record[a]) == int(v)) == bool(sign)
            truth[i, r] = bool(int(clauses.accepted[i]) >> number & 1)
    return truth


@st.composite
def clause_rows(draw: st.DrawFn, sizes: Sequence[int], widest: int = 6) -> Row:
    """Draw one clause over attributes of these sizes: any width from 0, any mask."""
    width = draw(st.integers(0, min(widest, len(sizes))))
    chosen = draw(st.permutations(range(len(sizes))))[:width]
    literals = [(a, draw(st.integers(0, sizes[a] - 1)), draw(st.booleans())) for a in chosen]
    conjunction = 1 << width
    full = (2 << width) - 1
    mask = draw(st.one_of(st.sampled_from([conjunction, full ^ conjunction, 1]), st.integers(0, full)))
    return literals, mask & full


def clause_lists(
    sizes: Sequence[int], *, min_size: int = 1, max_size: int = 12, widest: int = 6
) -> st.SearchStrategy[Clauses]:
    """Draw clauses of mixed widths over attributes of these sizes."""
    return st.lists(clause_rows(sizes, widest), min_size=min_size, max_size=max_size).map(clauses_of)


@st.composite
def tables(draw: st.DrawFn, sizes: Sequence[int], max_rows: int = 200) -> NDArray[np.int32]:
    """Draw records (r, d) of codes; also none at all."""
    rows = draw(st.integers(0, max_rows))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return generator.integers(0, np.array(sizes), size=(rows, len(sizes))).astype(np.int32)


@st.composite
def attributes(draw: st.DrawFn, name: str) -> Attribute:
    """Draw an attribute of any kind, with missing, other and occurring now and then."""
    kind = draw(st.sampled_from(AttributeKind))
    missing = draw(st.sampled_from([None, "", "?", "n/a"]))
    if kind is AttributeKind.NUMERIC:
        attribute = _numeric(draw, name, missing)
    else:
        least, most = (2, 2) if kind is AttributeKind.BOOLEAN else (1, 6)
        values = draw(st.lists(_VALUES, min_size=least, max_size=most, unique_by=value_text))
        if missing in [value_text(value) for value in values]:
            missing = None
        given = tuple(values) if kind is AttributeKind.CATEGORICAL or draw(st.booleans()) else (False, True)
        attribute = Attribute(name, kind, given, missing=missing)
    attribute = replace(attribute, other=draw(st.sampled_from([None, *(attribute.edges or attribute.values)])))
    if draw(st.booleans()):
        return attribute
    codes = draw(st.sets(st.integers(0, attribute.size - 1), min_size=1))
    return replace(attribute, occurring=tuple(codes))


def _numeric(draw: st.DrawFn, name: str, missing: str | None) -> Attribute:
    integer = draw(st.booleans())
    numbers = st.integers(-1000, 1000).map(float) if integer else _EDGES
    edges = tuple(sorted(draw(st.sets(numbers, min_size=2, max_size=6))))
    chosen: tuple[float, ...] = ()
    if draw(st.booleans()):
        chosen = edges[:-1]
    return Attribute(name, AttributeKind.NUMERIC, edges=edges, integer=integer, representatives=chosen, missing=missing)


@st.composite
def schemas(draw: st.DrawFn, max_attributes: int = 5) -> Schema:
    """Draw a schema of a few attributes."""
    names = draw(st.lists(_TEXTS, min_size=1, max_size=max_attributes, unique=True))
    return Schema(tuple(draw(attributes(name)) for name in names), draft=draw(st.booleans()))
