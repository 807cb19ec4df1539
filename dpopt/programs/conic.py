"""Convex programs with cones as plain arrays, beyond rows and squares.

A cone block holds cones of one kind and size. Member m of a program is the number F_m . x + constants[m]; consecutive
members belong to one cone. Kinds, with members in this order:

    second-order   (t, r_1, ..., r_k)       t >= |r|
    rotated        (p, q, r_1, ..., r_k)    p q >= |r|^2,  p, q >= 0
    exponential    (x, y, z)                y exp(x / y) <= z,  y > 0  (and the limits of such points)
    semidefinite   (m_11, m_21, m_22, m_31, ...)   the symmetric matrix of this lower triangle has no eigenvalue below 0

Multipliers. z proves something if each of its parts lies in the dual of its cone, so that z . member >= 0 for all members of
the cone: t >= |r|;  4 p q >= |r|^2, p, q >= 0;  z >= -x exp(y / x - 1) with x < 0, or x = 0 and y, z >= 0;  the matrix of z_ii
and z_ij / 2 has no eigenvalue below 0. `proving` changes any multipliers into such, with a margin above the rounding errors of
the change. Of a matrix: with its eigenvectors u and eigenvalues e, rows b_i of u sqrt(max(e, 0)) are rounded as they may be;
their products are those of a semidefinite matrix. As computed these are off by c_ij <= g |b_i| |b_j|, g about side * 2^-53, so
that v'Cv <= g (sum |v_i| |b_i|)^2 <= g side sum v_i^2 |b_i|^2: by less than what the margin adds to the diagonal.

Source: Boyd and Vandenberghe (2004), "Convex optimization", sections 2.6 and 5.9; the exponential cone: Chares (2009).
"""

from __future__ import annotations

import enum
import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.constraints import constrain
from dpopt.errors import ProgramError
from dpopt.programs.mixed_integer import FiniteNumbers, MixedIntegerProgram, check_entries, with_arrays
from dpopt.programs.quadratic import OverRows, QuadraticProgram

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Numbers = NDArray[np.float64]
_LARGEST = 1e100
_MARGIN = 2.0**-30
"""Share by which multipliers are moved, more than rounding errors can be (some 2^-48 for 16 members)."""


class Cone(enum.Enum):
    """Kinds of cones; see the top of this file."""

    SECOND_ORDER = "second-order"
    ROTATED = "rotated second-order"
    EXPONENTIAL = "exponential"
    SEMIDEFINITE = "semidefinite"


_SMALLEST = {Cone.SECOND_ORDER: 2, Cone.ROTATED: 3, Cone.EXPONENTIAL: 3, Cone.SEMIDEFINITE: 1}


def side_of(members: int) -> int:
    """Return the number of rows of a symmetric matrix whose lower triangle has this number of entries, rounded down."""
    return (math.isqrt(8 * members + 1) - 1) // 2


def triangle_of(matrices: Numbers, off: float = 1.0) -> Numbers:
    """Return the lower triangles of symmetric matrices (..., s, s), (..., s (s + 1) / 2), `off` times off the diagonal."""
    row, column = np.tril_indices(matrices.shape[-1])
    return np.asarray(matrices[..., row, column] * np.where(row == column, 1.0, off))


def matrices_of(triangles: Numbers, off: float = 1.0) -> Numbers:
    """Return the symmetric matrices (..., s, s) of lower triangles (..., s (s + 1) / 2), `off` times off the diagonal."""
    side = side_of(triangles.shape[-1])
    row, column = np.tril_indices(side)
    found = np.empty((*triangles.shape[:-1], side, side))
    found[..., row, column] = triangles * np.where(row == column, 1.0, off)
    found[..., column, row] = found[..., row, column]
    return found


@dataclass(frozen=True, slots=True)
class ConeBlock:
    """A number of cones of one kind with the same number of members."""

    kind: Cone
    number: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class ConicProgram(OverRows):
    """Minimize the objective of a quadratic program over its polyhedron and over cones."""

    quadratic: QuadraticProgram
    """Objective, rows and bounds; it need not have squares."""
    blocks: tuple[ConeBlock, ...]
    """Kinds and sizes of the cones, in the order of the members."""
    member_starts: NDArray[np.int64]
    """Shape (m + 1,). Member i owns the entries member_starts[i] to member_starts[i + 1] - 1 of F."""
    member_columns: NDArray[np.int32]
    """Shape (e,). Variable of each entry."""
    member_coefficients: FiniteNumbers
    """Shape (e,). Coefficient of each entry, finite."""
    constants: FiniteNumbers
    """Shape (m,). The constant added to each member, finite."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        members = self.constants.size
        expected = sum(block.number * block.size for block in self.blocks)
        starts = self.member_starts
        if members != expected or starts.shape != (members + 1,):
            raise ProgramError(f"found {members} members and {starts.size} starts; the cones have {expected} members")
        check_entries("member_starts", starts, "a variable of a cone", self.member_columns, self.number_of_variables)
        for block in self.blocks:
            least = _SMALLEST[block.kind]
            if block.size < least or (block.kind is Cone.EXPONENTIAL and block.size != least):
                raise ProgramError(f"a {block.kind.value} cone has {block.size} members; expected {least}")
            side = side_of(block.size)
            if block.kind is Cone.SEMIDEFINITE and side * (side + 1) // 2 != block.size:
                raise ProgramError(
                    f"a semidefinite cone has {block.size} members; expected the lower triangle of a matrix: 1, 3, 6, "
                    f"10, ..."
                )

    @property
    def linear(self) -> MixedIntegerProgram:
        """Rows, bounds and the linear part of the objective."""
        return self.quadratic.linear

    def evaluate(self, point: Numbers) -> float:
        """Return the objective at a point (n,)."""
        return self.quadratic.evaluate(point)

    def violation(self, point: Numbers) -> float:
        """Return by how much the point breaks a row, a bound or a cone at worst; 0 for a feasible point.

        Of a rotated cone that is counted in (p + q, p - q, 2 r), of an exponential one in x, in z, or in the largest of
        x, -z and |y|, from where the cone has y = 0, whichever is least; of a matrix in its least eigenvalue.
        """
        worst = self.linear.violation(point)
        if not np.isfinite(worst):
            return worst
        for block, members in self.by_cone(self.members(point)):
            broken = _broken(block.kind, members)
            worst = max(worst, float(broken.max(initial=0.0)))
        return worst

    def fingerprint(self) -> str:
        """Return the SHA-256 of the program (arrays in little-endian form), in hex."""
        kinds = [(block.kind.value, block.number, block.size) for block in self.blocks]
        digest = hashlib.sha256(f"conic program 1 {self.quadratic.fingerprint()} {kinds}".encode())
        return with_arrays(digest, self, without=2)

    def member_of_entry(self) -> NDArray[np.int64]:
        """Return the member of each entry, (e,)."""
        return np.repeat(np.arange(self.constants.size), np.diff(self.member_starts))

    def member_matrix(self) -> csr_array[np.float64]:
        """Return F, (m, n)."""
        from scipy.sparse import csr_array

        shape = (self.constants.size, self.number_of_variables)
        return csr_array((self.member_coefficients, self.member_columns, self.member_starts), shape=shape)

    def members(self, point: Numbers) -> Numbers:
        """Return F x + constants, (m,)."""
        terms = self.member_coefficients * point[self.member_columns]
        return np.asarray(
            np.bincount(self.member_of_entry(), weights=terms, minlength=self.constants.size) + self.constants
        )

    def by_cone(self, members: Numbers) -> Iterator[tuple[ConeBlock, Numbers]]:
        """Yield each block with its part of an array (m,), as (cones of the block, members of each)."""
        first = 0
        for block in self.blocks:
            size = block.number * block.size
            yield block, members[first : first + size].reshape(block.number, block.size)
            first += size

    def proving(self, multipliers: Numbers) -> Numbers:
        """Return multipliers of all members near the given ones, (m,), each part in the dual of its cone.

        What is not finite, or beyond 1e100 or its reciprocal, where squares would over- or underflow, counts as 0.
        """
        sizes = np.abs(multipliers)
        usable = np.where((sizes >= 1.0 / _LARGEST) & (sizes <= _LARGEST), multipliers, 0.0)
        parts = [_in_dual(block.kind, part).ravel() for block, part in self.by_cone(usable)]
        return np.concatenate([np.zeros(0), *parts])


PointProgram = MixedIntegerProgram | QuadraticProgram | ConicProgram
"""Programs whose answers are points."""


def number_of_multipliers(program: PointProgram) -> int:
    """Return how many dual values an answer has: one for each row, then one for each member of a cone."""
    members = program.constants.size if isinstance(program, ConicProgram) else 0
    return program.linear.number_of_rows + members


def product_multipliers(first: Numbers, second: Numbers, scale: Numbers) -> Numbers:
    """Return the multipliers of cones of `Builder.products` that pull so much at their first and second factors, (number * 3,).

    At an optimal point these are the derivatives of the Lagrangian by the two factors, and the third follows from them.
    """
    other = second / scale
    return np.column_stack((first, other, -2.0 * np.sqrt(first) * np.sqrt(other))).ravel()


def _broken(kind: Cone, members: Numbers) -> Numbers:
    """Return by how much the members (c, size) of each cone break it, (c,)."""
    if kind is Cone.SECOND_ORDER:
        return np.asarray(np.linalg.norm(members[:, 1:], axis=1) - members[:, 0])
    if kind is Cone.ROTATED:
        p, q = members[:, 0], members[:, 1]
        side = np.column_stack((p - q, 2.0 * members[:, 2:]))
        return np.asarray(np.linalg.norm(side, axis=1) - p - q)
    if kind is Cone.SEMIDEFINITE:
        return np.asarray(-np.linalg.eigvalsh(matrices_of(members))[:, 0])
    x, y, z = members.T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        short = np.where(y > 0.0, y * np.exp(x / y) - z, np.inf)  # of z
        beyond = np.where((y > 0.0) & (z > 0.0), x - y * np.log(z / y), np.inf)  # of x
    limit = np.maximum(np.maximum(x, -z), np.abs(y))  # to the points with y = 0: x <= 0 and z >= 0
    return np.asarray(np.minimum(np.minimum(short, beyond), limit))


def _in_dual(kind: Cone, parts: Numbers) -> Numbers:
    """Return parts (c, size) changed so that each lies in the dual of its cone."""
    if kind is Cone.SEMIDEFINITE:
        values, vectors = np.linalg.eigh(matrices_of(parts, 0.5))
        roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        roots[np.abs(roots) < 1.0 / _LARGEST] = 0.0  # no product underflows
        matrices, side = roots @ roots.swapaxes(1, 2), roots.shape[1]
        matrices[:, range(side), range(side)] *= 1.0 + max(_MARGIN, side**2 * 2.0**-50)
        return triangle_of(matrices, 2.0)
    found = parts.copy()
    if kind is Cone.EXPONENTIAL:
        x, y, _ = parts.T
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            needed = -x * np.exp(y / x - 1.0) * (1.0 + _MARGIN)
        used = (x < 0.0) & (np.abs(y) < 200.0 * np.abs(x))
        found[:, 0] = np.where(used, x, 0.0)
        found[:, 1] = np.where(used, y, np.maximum(y, 0.0))
        found[:, 2] = np.maximum(parts[:, 2], np.where(used, needed, 0.0))
        return found
    heads = 1 if kind is Cone.SECOND_ORDER else 2
    found[:, :heads] = np.maximum(parts[:, :heads], 0.0)
    most = found[:, 0] if heads == 1 else 2.0 * np.sqrt(found[:, 0]) * np.sqrt(found[:, 1])
    length = np.linalg.norm(parts[:, heads:], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shrunk = np.where(length > 0.0, np.minimum(1.0, most * (1.0 - _MARGIN) / length), 1.0)
    found[:, heads:] *= shrunk[:, None]
    return found
