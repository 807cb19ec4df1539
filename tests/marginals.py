"""Marginals for tests: domains that leave codes out, mixed widths, and cells in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains


def domains_of(codes: Sequence[Sequence[int]]) -> Domains:
    """Return the domains with these codes for each attribute."""
    counts = np.array([len(listed) for listed in codes], dtype=np.int64)
    flat = np.array([code for listed in codes for code in listed], dtype=np.int32)
    return Domains(counts, np.cumsum(counts) - counts, flat)


def marginals_of(codes: Sequence[Sequence[int]], sets: Sequence[Sequence[int]]) -> MarginalSet:
    """Return marginals over these sets of attributes, of any widths."""
    width = max(len(attributes) for attributes in sets)
    padded = [[*attributes, *[-1] * (width - len(attributes))] for attributes in sets]
    return MarginalSet(domains_of(codes), np.array(padded, dtype=np.int32))


def codes_of(marginals: MarginalSet) -> list[list[int]]:
    """Return the codes of each attribute."""
    domains = marginals.domains
    pairs = zip(domains.starts.tolist(), domains.counts.tolist(), strict=True)
    return [domains.codes[start : start + count].tolist() for start, count in pairs]


def named_cells(marginals: MarginalSet) -> list[list[tuple[int, int]]]:
    """Return the pairs of an attribute and a code of every cell, in order, in plain Python."""
    codes = codes_of(marginals)
    return [
        list(zip(attributes, cell, strict=True))
        for attributes in map(marginals.attributes_of, range(len(marginals)))
        for cell in product(*(codes[a] for a in attributes))
    ]


def added_in_order(weights: NDArray[np.float64], truth: NDArray[np.bool_]) -> list[float]:
    """Return for each row of `truth` the sum of the weights that it names, one after the other, rounded each time."""
    return [float(np.cumsum(np.append(0.0, weights[true]))[-1]) for true in truth]


@st.composite
def marginal_sets(draw: st.DrawFn, sizes: Sequence[int], *, widest: int = 4) -> MarginalSet:
    """Draw a few marginals of mixed widths over attributes of these sizes; domains leave codes out now and then."""
    codes = [
        sorted(draw(st.sets(st.integers(0, size - 1), min_size=1))) if draw(st.booleans()) else range(size)
        for size in sizes
    ]
    number = draw(st.integers(1, 5))
    sets = [
        draw(st.permutations(range(len(sizes))))[: draw(st.integers(1, min(widest, len(sizes))))] for _ in range(number)
    ]
    return marginals_of(codes, sets)
