"""Public points in eight clusters, and queries of margin 1/2: a generator with a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COLUMNS = 10
MARGIN = 0.5
AXES = 3
"""Clusters lie near three orthogonal directions and their antipodes: four would leave no query of margin 1/2 but a few."""
SHARES = (0.3, 0.27, 0.17, 0.04, 0.03, 0.03, 0.1, 0.06)
"""Of the clusters near the axes, near their antipodes, and of two more near the first axes: true answers are .1 to .9."""
_CANDIDATES = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Points, queries and the true answers."""

    points: NDArray[np.float64]
    """Of length 1, (n, d)."""
    queries: NDArray[np.float64]
    """Of length 1, and with a product of at least 1/2 in absolute value with every point, (q, d)."""
    truth: NDArray[np.float64]
    """Shape (q,)."""


def make(records: int, queries: int, *, seed: int) -> Case:
    """Return points near eight centres with different shares, and random queries that keep the margin from all of them."""
    generator = np.random.default_rng(seed)
    axes = np.linalg.qr(generator.normal(size=(COLUMNS, COLUMNS)))[0][:, :AXES].T
    ends = np.concatenate((axes, -axes, axes[:2]))
    centres = _units(ends + 0.04 * generator.normal(size=(len(SHARES), COLUMNS)) / np.sqrt(COLUMNS))
    of = generator.choice(len(SHARES), records, p=SHARES)
    points = _units(centres[of] + 0.04 * generator.normal(size=(records, COLUMNS)) / np.sqrt(COLUMNS))
    signs = generator.choice([-1.0, 1.0], (_CANDIDATES, AXES))
    signs += 0.03 * generator.normal(size=signs.shape)
    across = 0.12 * generator.normal(size=(_CANDIDATES, COLUMNS))
    candidates = _units(signs @ axes + across - across @ axes.T @ axes)
    some = candidates[np.abs(points[:1000] @ candidates.T).min(axis=0) >= MARGIN][: 3 * queries]
    sure = np.concatenate([np.abs(points @ part.T).min(axis=0) for part in np.array_split(some, 20)]) >= MARGIN
    asked = some[sure][:queries]
    if len(asked) < queries:
        raise ValueError(f"found {len(asked)} queries of margin {MARGIN}; expected {queries}")
    truth = np.concatenate([(points @ part.T > 0).mean(axis=0) for part in np.array_split(asked, 20)])
    return Case(points, asked, truth)


def _units(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
