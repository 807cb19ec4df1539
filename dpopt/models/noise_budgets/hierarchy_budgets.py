"""How much of a budget each level of a declared hierarchy gets: the amounts with the least mean variance of its nodes.

Level d = 0, ..., D divides the bins into groups, level D into the bins themselves; the counts of a level are measured
with integer noise. With variables b_d, the part of the budget of level d:

    minimize   F(p) = sum_q w_q Var(q)                                                              (HB-1)
    subject to sum_d b_d = amount, b >= 0, b_D >= least amount                                      (HB-2)
               p_d = 2 b_d / m, Gaussian noise and rho;  2 sinh^2(b_d / 2 m), Laplace noise and epsilon   (HB-3)
               Var(q) = q' (sum_d p_d G_d' G_d)^-1 q                                                (HB-4)

where the rows of G_d are the groups of level d (1 at their bins), q are the ranges that matter, each 1 at its bins,
with weights w_q of sum 1, and m is in how many groups of a level two neighbours differ. By default the ranges are the
groups, each level with the weight 1 / (D + 1), shared equally (HB-5). Derivation and a worked example:
models/hierarchy_budgets/README.md.

Groups of different sizes have no common directions, so unlike in `level_budgets` F has no closed form; it comes as a
function with slopes, computed by two passes over the tree (`dpopt.inference.histograms.mean_variance`).

The search is `level_descent`; its bound for Gaussian noise is HB-6. Tests compare with dense least squares, with CVXPY and
with enumeration.

Source: Hay et al. 2010 (trees); Li et al. 2015 (the matrix mechanism); the program is our own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze, whole
from dpopt.errors import ProgramError
from dpopt.models.model import Answer, Model
from dpopt.models.noise_budgets.level_descent import LeveledProgram, best_shares
from dpopt.programs.building import Builder
from dpopt.programs.conic import Cone

VarianceAndSlopes = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]
"""F and its derivatives by p, (d,), at precisions p (d,) with p_D > 0."""


@dataclass(frozen=True, slots=True, eq=False)
class HierarchyProgram(LeveledProgram):
    """HB-1 to HB-4."""

    bins: int = field(default=-1, init=False)
    rough: ClassVar[int] = 6
    references: NDArray[np.float64] = field(default_factory=lambda: freeze(np.ones(1)), init=False)
    variance: VarianceAndSlopes
    """F with its slopes, a function of all p."""
    levels: int
    """D + 1."""
    first: int
    """Levels from this one down may be measured: 1 where the total is known, else 0."""
    amount: float
    sensitivity: int
    gaussian: bool
    least: float
    """Share of the budget that single bins get at least, above 0 and at most 1."""

    def __post_init__(self) -> None:
        if not 0 <= self.first < self.levels:
            raise ProgramError(
                f"hierarchy budgets: found {self.levels} levels of which those from {self.first} on may be measured"
            )
        if not (self.amount > 0 and self.sensitivity >= 1 and 0 < self.least <= 1):
            raise ProgramError("hierarchy budgets: amount, sensitivity and the least share of single bins are above 0")

    @property
    def size(self) -> int:
        """D + 1."""
        return self.levels

    def at(self, precisions: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return F as the variance of the one group, (1,), and its slopes (1, D + 1)."""
        value, slopes = self.variance(precisions)
        return np.array([value]), slopes[None, :]


MOST_ENTRIES = 1_000_000
"""Weights y of `hierarchy_budgets` at most: ranges times groups."""


def hierarchy_budgets(
    levels: Sequence[Sequence[int]],
    amount: float,
    *,
    sensitivity: int = 1,
    least: float = 0.02,
    known_total: bool = False,
) -> Model:
    """Return the model of HB-1 to HB-5 for Gaussian noise; its own method descends in the roots of shares.

    The variance HB-4 is the least sum of |y_d|^2 / p_d over weights y with which noisy counts add up to the range (a
    known total at no cost): y_d[q, g] is that of group g of level d for range q, and v_d what the noise of level d adds
    to HB-1.

    Parameters
    ----------
    levels
        For each level, the whole first and single bins last, how many bins each of its groups has, in order.
    amount
        rho of zCDP, above 0.
    sensitivity
        m: 1 under add-remove, 2 under replace-one.
    least
        Share of the budget that single bins get at least, above 0 and at most 1.
    known_total
        Whether the number of records is public; the first level is then not measured.

    Examples
    --------
    >>> found = hierarchy_budgets([[2], [1, 1]], 0.5).solve()
    >>> round(found.objective, 3), found.value["b"].round(3).tolist()
    (1.309, [0.191, 0.309])
    """
    sizes = [whole(level) for level in levels]
    bins = int(sizes[-1].size) if sizes else 0
    if not bins or any((one < 1).any() or one.sum() != bins for one in sizes) or (sizes[-1] != 1).any():
        raise ProgramError(
            f"hierarchy budgets: found levels of {[int(one.sum()) for one in sizes]} bins; expected the same number on "
            f"each, and single bins last"
        )
    nodes = sum(one.size for one in sizes)
    if nodes**2 > MOST_ENTRIES:
        raise ProgramError(
            f"hierarchy budgets: found {nodes:,} groups; the model holds all pairs of them, {MOST_ENTRIES:,} at most"
        )
    dense = _DenseHierarchy.of(sizes, known_total=known_total)
    program = HierarchyProgram(
        dense.variance, len(sizes), int(known_total), amount, sensitivity, gaussian=True, least=least
    )
    return _hierarchy_model(program, dense)


@dataclass(frozen=True, slots=True, eq=False)
class _DenseHierarchy:
    """HB-4 and HB-5 by dense matrices: G_d of each level, the groups of all levels as ranges (q, bins), w_q (q,)."""

    matrices: list[NDArray[np.float64]]
    ranges: NDArray[np.float64]
    weights: NDArray[np.float64]
    known_total: bool

    @classmethod
    def of(cls, sizes: Sequence[NDArray[np.int64]], *, known_total: bool) -> _DenseHierarchy:
        matrices = [np.repeat(np.eye(one.size), one, axis=1) for one in sizes]
        weights = [np.full(one.size, 1.0 / (len(sizes) * one.size)) for one in sizes]
        return cls(matrices, np.vstack(matrices), np.concatenate(weights), known_total)

    def inverse(self, precisions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (sum_d p_d G_d' G_d)^-1 q for all ranges, (bins, q); at the known total if there is one."""
        information = np.einsum("d,dbc->bc", precisions, np.array([one.T @ one for one in self.matrices]))
        found = np.linalg.solve(information, np.column_stack((self.ranges.T, np.ones(len(information)))))
        if not self.known_total:
            return np.asarray(found[:, :-1])
        whole = found[:, -1]
        return np.asarray(found[:, :-1] - np.outer(whole, whole @ self.ranges.T) / whole.sum())

    def variance(self, precisions: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return HB-1 at precisions (D + 1,), and its derivatives by them."""
        estimated = self.inverse(precisions)
        value = float(self.weights @ np.einsum("qb,bq->q", self.ranges, estimated))
        slopes = [-float(self.weights @ ((one @ estimated) ** 2).sum(axis=0)) for one in self.matrices]
        return value, np.array(slopes)


def _hierarchy_model(program: HierarchyProgram, dense: _DenseHierarchy) -> Model:
    amount, first, bins = program.amount, program.first, dense.ranges.shape[1]
    measured, matrices, number = range(first, program.levels), dense.matrices[first:], len(dense.ranges)
    precision = 2.0 / program.sensitivity
    most = program.objective(program.spread(np.full(len(measured), 1.0 / len(measured))))
    size = np.sqrt(most * precision * amount / dense.weights)  # w y^2 <= v p, and no v is above `most`
    roots, scale = np.sqrt(dense.weights), most / (precision * amount)
    build, width, cones = Builder(), 2 + number * bins, np.arange(len(measured))
    lower = np.append(np.zeros(len(measured) - 1), program.least * amount)
    b = build.variables("b", len(measured), lower=lower, upper=amount, start=first)  # HB-2
    v = build.variables("v", len(measured), objective=1.0, upper=most, start=first)  # HB-1
    build.rows("HB-2", 1, (0, b, 1.0), lower=amount, upper=amount, single=True)
    entries = [(cones * width, v, 1.0), (cones * width + 1, b, precision * scale)]
    each, rows = np.arange(number)[:, None], []
    for place, matrix in enumerate(matrices):
        groups = len(matrix)
        bound = np.broadcast_to(size[:, None], (number, groups))
        y = build.variables(f"y{first + place}", number, groups, lower=-bound, upper=bound)
        at = place * width + 2 + each * bins + np.arange(groups)
        entries.append((at, y, roots[:, None] * np.sqrt(scale)))
        rows.append((each * bins + np.arange(bins), y[:, matrix.argmax(axis=0)], 1.0))
    if dense.known_total:
        total = build.variables("c", number, lower=-1 - program.levels * size, upper=1 + program.levels * size)
        rows.append((each * bins + np.arange(bins), total[:, None], 1.0))
    build.cones("HB-3", Cone.ROTATED, len(measured), width, *entries, start=first)
    targets = dense.ranges.ravel()
    build.rows("HB-4", number * bins, *rows, lower=targets, upper=targets)

    def by_descent() -> Answer:
        amounts = program.spread(best_shares(program))
        precisions, slopes = program.precisions(amounts), program.evaluate(amounts)[1][0]
        estimated = dense.inverse(precisions)
        shares = [(matrix @ estimated).T for matrix in matrices]  # y / p, (q, groups)
        moved = [p * one for p, one in zip(precisions[first:], shares, strict=True)]
        squares = np.array([dense.weights @ (one**2).sum(axis=1) for one in shares])  # of y / p, weighted
        left = dense.ranges - sum((y @ one for y, one in zip(moved, matrices, strict=True)), np.zeros(()))
        totals = [left.mean(axis=1)] if dense.known_total else []
        noise = squares * precisions[first:]
        pulls = np.zeros((len(measured), width))
        pulls[:, 0], pulls[:, 1] = 1.0, squares / scale
        for row, one in zip(pulls[:, 2:].reshape(-1, number, bins), shares, strict=True):
            row[:, : one.shape[1]] = -2.0 * roots[:, None] * one / np.sqrt(scale)
        duals = ([slopes[first:].min()], (2.0 * dense.weights[:, None] * estimated.T).ravel(), pulls.ravel())
        point = (amounts[first:], noise, *(one.ravel() for one in moved), *totals)
        return np.concatenate(point), np.concatenate(duals)

    return Model.of("hierarchy_budgets", build, closed_form=by_descent, method="descent")
