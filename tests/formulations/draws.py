"""Small best-response problems for tests: conjunctions and negations of them, all widths and signs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dpopt.programs import MaxCsp
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
