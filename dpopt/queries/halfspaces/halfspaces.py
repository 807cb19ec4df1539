"""Halfspaces through the origin: public projections, canonical directions, the scaling of points, and queries.

A record is a point x of R^d. The query of a vector y asks for which share of the records <x, y> > 0. A release counts,
for each of m public projections A_i of R^d to R^T and each of h canonical directions u_j of R^T, on which side of <A_i
x, u_j> = 0 records lie. Since <A_i x, u_j> = <x, A_i' u_j>, each count is itself that of a halfspace of R^d, with the
normal A_i' u_j.

Everything is in whole numbers: coordinates in units of 2^-26, entries of A_i from -63 to 63, coordinates of u_j in
units of 2^-12. Every product and every sum of them is below 2^53, hence exact in double precision in any order: on
which side a record lies depends on that record alone.

Source: Blum, Ligett and Roth, "A learning theory approach to noninteractive database privacy", Definitions 6.1 and 6.5.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property
from math import pi

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PlanError, WorkloadError
from dpopt.public_random import PublicRandom

UNIT = 2**26
"""Units of a coordinate of a point, in 1."""
DIRECTION_UNIT = 2**12
"""Units of a coordinate of a canonical direction, in 1."""
COPIES = 63
"""Signs that an entry of a projection adds up; odd, so that no entry is 0 and few axes lie across a normal."""
MOST_COORDINATES = 2**16
"""d T at most, so that all sums are exact."""
LARGEST_DIMENSION = 16
MOST_FEATURES = 20_000
"""m h at most."""
_CANDIDATES = 4096


class Scaling(enum.Enum):
    """How points are brought into the unit ball.

    `UNIT`: they have length 1, or are refused. `NORMALISE`: each is divided by its length. `BOUNDS`: each column has
    public bounds; it is centred, divided by half their distance, and by the root of d.
    """

    UNIT = "unit"
    NORMALISE = "normalise"
    BOUNDS = "bounds"


@dataclass(frozen=True, slots=True)
class PointColumns:
    """The columns that hold the coordinates of points, and how they are scaled. Public."""

    names: tuple[str, ...]
    scaling: Scaling
    bounds: tuple[tuple[float, float], ...] = ()
    """A low and a high number for each column if the scaling is `BOUNDS`; else empty."""

    def __post_init__(self) -> None:
        if len(self.names) < 2 or len(set(self.names)) < len(self.names):
            raise PlanError(f"found the columns {', '.join(self.names) or 'none'}; expected two or more different ones")
        expected = len(self.names) if self.scaling is Scaling.BOUNDS else 0
        if len(self.bounds) != expected:
            raise PlanError(f"found {len(self.bounds)} pairs of bounds for {len(self.names)} columns")
        for name, (low, high) in zip(self.names, self.bounds, strict=False):
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise PlanError(
                    f"column {name!r}: found the bounds {low:g} and {high:g}; expected two numbers, the first one "
                    f"smaller"
                )

    @property
    def dimension(self) -> int:
        """Number of columns, d."""
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Projections:
    """m public projections of R^d to R^T, and h canonical directions of R^T, which stand for their antipodes too."""

    matrices: NDArray[np.int64]
    """Shape (m, T, d). Entries are sums of `copies` random signs. With one copy they are the paper's A_i but for the
    factor T^(-1/2), which changes no side. With more they are the paper's for the point of R^(copies d) that repeats
    each coordinate `copies` times (divided by the root of `copies`, an isometry), and their distribution is nearly the
    same in all directions."""
    directions: NDArray[np.int64]
    """Shape (h, T). No two of them parallel. T = 1: the one direction. T = 2: by angle, pi / h apart but for
    rounding."""

    def __post_init__(self) -> None:
        if self.matrices.ndim != 3 or self.directions.ndim != 2:
            raise PlanError("projections are three-dimensional, canonical directions two-dimensional arrays")
        m, t, d = self.matrices.shape
        if self.directions.shape[1] != t:
            raise PlanError(f"found projections to R^{t} and directions of R^{self.directions.shape[1]}")
        _check_shape(d, t, m, len(self.directions))
        if np.abs(self.matrices).max() > COPIES or np.abs(self.directions).max() > DIRECTION_UNIT:
            raise PlanError("projections or canonical directions are out of range")
        if not (self.directions != 0).any(axis=1).all():
            raise PlanError("a canonical direction is zero")

    @classmethod
    def of(
        cls, columns: int, dimension: int, number: int, directions: int, *, seed: int, copies: int = COPIES
    ) -> Projections:
        """Return random projections that a public seed determines.

        `columns` is d, `dimension` T, `number` m; `directions` is h, half of |U|, since antipodes are left out. The
        seed is public, 0 to 2^64 - 1. An entry adds up `copies` signs, 1 to 63.
        """
        _check_shape(columns, dimension, number, directions)
        if not 1 <= copies <= COPIES or not 0 <= seed < 2**64:
            raise PlanError(f"found {copies} copies and the seed {seed}; expected 1 to {COPIES}, and 0 to 2^64 - 1")
        if dimension == 1 and directions != 1:
            raise PlanError(f"a line has one direction and its antipode; found {directions} directions for T = 1")
        entries = number * dimension * columns
        words = PublicRandom(seed).words(entries)
        kept = words & np.uint64(2**copies - 1)
        signs = 2 * np.bitwise_count(kept).astype(np.int64) - copies
        return cls(
            freeze(signs.reshape(number, dimension, columns)), freeze(canonical_directions(dimension, directions))
        )

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """d, T, m and h."""
        m, t, d = self.matrices.shape
        return d, t, m, len(self.directions)

    @cached_property
    def normals(self) -> NDArray[np.int64]:
        """A_i' u_j for all i and, for each i, all j; (m h, d)."""
        m, _, d = self.matrices.shape
        found = np.einsum("ht,mtd->mhd", self.directions, self.matrices)
        return freeze(found.reshape(m * len(self.directions), d))

    @cached_property
    def unit_normals(self) -> NDArray[np.float64]:
        """The normals divided by their lengths, (m h, d) float64; zero where a projection takes a direction to zero."""
        lengths = np.sqrt((self.normals.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
        return freeze(self.normals / np.where(lengths > 0, lengths, 1.0))


def _check_shape(columns: int, dimension: int, number: int, directions: int) -> None:
    """Refuse other d, T, m and h than are possible."""
    if not 1 <= dimension <= LARGEST_DIMENSION or columns < 2 or columns * dimension > MOST_COORDINATES:
        raise PlanError(
            f"found d = {columns} and T = {dimension}; expected d from 2, T from 1 to {LARGEST_DIMENSION}, and d T up to "
            f"{MOST_COORDINATES:,}"
        )
    if number < 1 or directions < 1 or number * directions > MOST_FEATURES:
        raise PlanError(
            f"found {number:,} projections with {directions:,} directions each; expected 1 to {MOST_FEATURES:,} in all"
        )


def canonical_directions(dimension: int, number: int) -> NDArray[np.int64]:
    """Return directions of R^T, no two parallel, spread over all lines through the origin; (h, T).

    T = 1: the one line. T = 2: angles pi / h apart, in increasing order. T >= 3: each is the one of 4,096 public random
    directions that is farthest from the lines so far.
    """
    if dimension == 1:
        return np.array([[DIRECTION_UNIT]], dtype=np.int64)
    if dimension == 2:
        angles = pi * (np.arange(number) + 0.5) / number
        return _rounded(np.stack((np.cos(angles), np.sin(angles)), axis=1))
    words = PublicRandom(dimension).words(_CANDIDATES * dimension)
    rough = (2 * np.bitwise_count(words).astype(np.int64) - 64).reshape(_CANDIDATES, dimension)
    rough = rough[(rough != 0).any(axis=1)]
    units = rough / np.sqrt((rough**2).sum(axis=1, keepdims=True))
    chosen, nearest = [0], np.abs(units @ units[0])
    for _ in range(number - 1):
        place = int(np.argmin(nearest))
        if nearest[place] > 0.9999:
            raise PlanError(f"{number:,} directions of R^{dimension} are too many to distinguish")
        chosen.append(place)
        nearest = np.maximum(nearest, np.abs(units @ units[place]))
    return _rounded(units[chosen])


def _rounded(units: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(np.rint(DIRECTION_UNIT * units), dtype=np.int64)


def unit_query(text: str, dimension: int) -> NDArray[np.float64]:
    """Return the unit vector of a query such as "0.3,-0.1,0", (d,)."""
    try:
        found = np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise WorkloadError(
            f"found the query {text[:60]!r}; expected {dimension} numbers with commas between them"
        ) from None
    return np.asarray(unit_queries(found[None, :], dimension)[0])


def unit_queries(vectors: NDArray[np.float64], dimension: int) -> NDArray[np.float64]:
    """Return query vectors divided by their lengths, (q, d)."""
    if vectors.ndim != 2 or vectors.shape[1] != dimension or not len(vectors):
        raise WorkloadError(
            f"found queries of the shape {vectors.shape}; expected at least one, each of {dimension} numbers"
        )
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        lengths = np.sqrt((vectors**2).sum(axis=1))
    bad = ~(np.isfinite(lengths) & (lengths > 1e-100))
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise WorkloadError(
            f"query {place + 1} is {vectors[place].tolist()}; expected a vector of a length between 1e-100 and 1e150"
        )
    return np.asarray(vectors / lengths[:, None])
