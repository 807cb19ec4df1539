"""Small best-response problems for tests: clauses of every kind, width and sign, with and without rules."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dpopt.programs import MaxCsp
from tests.circuits import circuits
from tests.strategies import Row, clauses_of

WEIGHTS = st.integers(-5, 5).filter(bool)


@st.composite
def conjunctive_rows(draw: st.DrawFn, sizes: tuple[int, ...]) -> Row:
    """Draw a conjunction or the negation of one, of any width from 0."""
    width = draw(st.integers(0, min(4, len(sizes))))
    chosen = draw(st.permutations(range(len(sizes))))[:width]
    literals = [(a, draw(st.integers(0, sizes[a] - 1)), draw(st.booleans())) for a in chosen]
    return literals, (1 << width) if draw(st.booleans()) else (1 << width) - 1


@st.composite
def conjunctive_problems(draw: st.DrawFn, max_clauses: int = 8) -> MaxCsp:
    """Draw a problem over a few attributes of one to four codes."""
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    rows = draw(st.lists(conjunctive_rows(sizes), min_size=1, max_size=max_clauses))
    weights = draw(st.lists(WEIGHTS, min_size=len(rows), max_size=len(rows)))
    return MaxCsp(np.array(sizes), clauses_of(rows), np.array(weights))


@st.composite
def masks(draw: st.DrawFn, width: int) -> int:
    """Draw the mask of a conjunction, a threshold, a parity or the negation of one of these, or any other."""
    full = (2 << width) - 1
    least = draw(st.integers(0, width + 1))
    known = [1 << width, full & -(1 << least), full & 0xAAAAAAAA]
    mask = draw(st.one_of(st.sampled_from(known), st.integers(0, full)))
    return full ^ mask if draw(st.booleans()) else mask


@st.composite
def rows_of_every_kind(draw: st.DrawFn, sizes: tuple[int, ...]) -> Row:
    """Draw a clause of any kind and any width from 0."""
    width = draw(st.integers(0, len(sizes)))
    chosen = draw(st.permutations(range(len(sizes))))[:width]
    literals = [(a, draw(st.integers(0, sizes[a] - 1)), draw(st.booleans())) for a in chosen]
    return literals, draw(masks(width))


@st.composite
def problems(draw: st.DrawFn, max_clauses: int = 8, max_attributes: int = 6, *, with_rules: bool = True) -> MaxCsp:
    """Draw a problem of clauses of every kind; with rules in about half of the cases, which no record may obey."""
    number = draw(st.integers(1, max_attributes))
    largest = 3 if number <= 4 else 2
    sizes = tuple(draw(st.lists(st.integers(1, largest), min_size=number, max_size=number)))
    rows = draw(st.lists(rows_of_every_kind(sizes), min_size=1, max_size=max_clauses))
    weights = draw(st.lists(WEIGHTS, min_size=len(rows), max_size=len(rows)))
    rules = draw(circuits(sizes) if with_rules else circuits(sizes, most=0))
    return MaxCsp(np.array(sizes), clauses_of(rows), np.array(weights), rules)
