"""A distribution over a product universe, the steps that fit it to measurements, and a choice of weighted cells for it.

The choice among millions of cells (`weighted_cells`) is public and deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import DpoptError, ProgramError
from dpopt.inference.distribution.answers import wanted_positions
from dpopt.inference.distribution.universe import ProductUniverse
from dpopt.models.records.max_entropy import MOST_CELLS, EntropyTerm, entropy_bracket, entropy_of, max_entropy
from dpopt.programs.results import NO_LIMITS, SolveLimits
from dpopt.programs.solver import Solver
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.threads import map_in_threads

_ROWS_APART = 2
_LARGE = 2**17
_GONE = 1e-120  # what noise beyond all probability leaves of a part counts as none


@dataclass(slots=True, eq=False)
class Measured:
    """A measurement: a partition of the universe into parts, and a noisy share for each of them."""

    high: NDArray[np.int64]
    low: NDArray[np.int64]
    """Where each cell of the universe lies on the small table of the partition; see `ProductUniverse.places`."""
    labels: NDArray[np.int64]
    """Shape (t,). The part of each cell of the small table."""
    run: int
    """`low` is constant on runs of this number of entries."""
    values: NDArray[np.float64]
    """Shape (c,). Noisy shares of the parts."""
    slack: float
    """Shares within it of the values are not pulled."""
    weight: float
    """How strongly others are, for each unit of share beyond the slack."""
    multipliers: NDArray[np.float64] = field(init=False)
    """Shape (c,). The dual of each part: ln of the factor by which it raises the part's cells."""

    def __post_init__(self) -> None:
        self.multipliers = np.zeros(len(self.values))


def partition_of(
    universe: ProductUniverse, query: MarginalSet | Clauses
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """Return high, low, labels and run of a `Measured`: the cells of a marginal, or a clause false (0) and true (1)."""
    if isinstance(query, MarginalSet):
        attributes = np.array(query.attributes_of(0), dtype=np.int64)
        high, low = universe.places(attributes, query.strides[0, : len(attributes)])
        return (high, low, freeze(np.arange(query.number_of_cells, dtype=np.int64)), universe.run_of(attributes))
    width = int(query.widths()[0])
    attributes = query.attributes[0, :width].astype(np.int64)
    shape = universe.domains.counts[attributes]
    strides = np.concatenate((np.cumprod(shape[:0:-1])[::-1], [1])).astype(np.int64)
    high, low = universe.places(attributes, strides)
    positions = np.arange(int(shape.prod()))[:, None] // strides % shape
    true = ((positions == wanted_positions(universe.domains, query)[0, :width]) == query.signs[0, :width]).sum(axis=1)
    labels = (query.accepted[0] >> true.astype(np.uint32)) & np.uint32(1)
    return high, low, freeze(labels.astype(np.int64)), universe.run_of(attributes)


class Distribution:
    """p over the cells of a universe, changed by whole passes through memory."""

    def __init__(self, universe: ProductUniverse, start: NDArray[np.float64] | None = None) -> None:
        self.universe = universe
        self.p = np.full(universe.cells, 1.0 / universe.cells) if start is None else start.copy()
        self.normalizer = 0.0
        self._start = self.p.copy() if universe.cells <= MOST_CELLS else None

    def parts(self, measured: Measured) -> NDArray[np.float64]:
        """Return the mass of each part of a measurement, (c,)."""
        from dpopt.inference.distribution.kernels import add_to_table

        low = measured.low[:: measured.run]
        return self._summed(
            measured, lambda table, a, b: add_to_table(self.p, measured.high, low, measured.run, table, a, b)
        )

    def multiply(self, measured: Measured, factors: NDArray[np.float64]) -> None:
        """Multiply the mass of every cell by the factor of its part."""
        from dpopt.inference.distribution.kernels import multiply_table

        low, own = measured.low[:: measured.run], factors[measured.labels]
        self._rows(measured, lambda a, b: multiply_table(self.p, measured.high, low, measured.run, own, a, b))

    def ascend(self, members: Sequence[Measured]) -> float:
        """Dual ascent (ME-6): give each measurement in turn the best multipliers, all others fixed; return the largest move.

        One pass through memory for each measurement: what one of them multiplies is added up for the next.
        """
        from dpopt.inference.distribution.kernels import multiply_then_add

        if not members:
            return 0.0
        largest = 0.0
        parts = self.parts(members[0])
        for measured, following in zip(members, [*members[1:], None], strict=True):
            moved, factors = self._best(measured, parts)
            largest = max(largest, moved)
            if following is None:
                self.multiply(measured, factors)
                break
            run = min(measured.run, following.run)
            low, next_low, own = measured.low[::run], following.low[::run], factors[measured.labels]

            work = partial(multiply_then_add, self.p, measured.high, low, own, following.high, next_low, run)
            parts = self._summed(following, work)
        return largest

    def bracket(self, members: Sequence[Measured]) -> tuple[float, float]:
        """Return the objective of the distribution and the dual bound (ME-1, ME-5); right where all steps were `ascend`'s."""
        terms = [EntropyTerm(self.parts(one), one.values, one.multipliers, one.slack, one.weight) for one in members]
        return entropy_bracket(self.normalizer, terms)

    def solve(
        self, members: Sequence[Measured], solver: str | Solver, limits: SolveLimits = NO_LIMITS
    ) -> tuple[float, float, str]:
        """Take the distribution that a solver finds for all measurements, if better; return objective, bound and who.

        Objective and bound are computed here: the larger dual value of the multipliers so far, and of those that belong
        to the solver's shares. So they hold whatever the solver says.
        """
        start = self._first()
        objective, bound = self.bracket(members)
        cells = np.flatnonzero(start)
        parts = [one.labels[np.add.outer(one.high, one.low).ravel()[cells]] for one in members]
        model = max_entropy(
            start[cells],
            np.stack(parts),
            [one.values for one in members],
            slacks=[one.slack for one in members],
            weights=[one.weight for one in members],
        )
        try:
            found = model.solve_for_release(solver, limits=limits)
        except DpoptError as error:  # of any kind: the budget is spent
            return objective, bound, str(error)
        before, self.p = self.p, np.zeros_like(self.p)
        self.p[cells] = np.maximum(np.nan_to_num(found.value["p"]), 0.0)
        self.p /= max(float(self.p.sum()), np.finfo(np.float64).tiny)
        exact, dual = self._value(members), self._dual(members)
        bound = max(bound, dual)
        if not (self.p.any() and exact < objective):
            self.p = before
            return (objective, bound, f"{found.result.solver} found no better distribution: {found.termination.value}")
        return exact, bound, found.ended

    def _first(self) -> NDArray[np.float64]:
        """Return p0."""
        if self._start is None:
            raise ProgramError(
                f"a universe of {self.universe.cells:,} cells; solvers are handed {MOST_CELLS:,} at most"
            )
        return self._start

    def _value(self, members: Sequence[Measured]) -> float:
        """Return the objective of the distribution (ME-1), by a pass over the cells."""
        total = entropy_of(self.p, self._first())
        for one in members:
            beyond = np.maximum(0.0, np.abs(self.parts(one) - one.values) - one.slack)
            total += one.weight / 2 * float(beyond @ beyond)
        return total

    def _dual(self, members: Sequence[Measured]) -> float:
        """Return the dual value (ME-5) of the multipliers that would be best at the distribution's shares."""
        heights, bound = np.zeros_like(self.p), 0.0
        for one in members:
            shares = self.parts(one)
            theta = one.weight * (np.clip(shares, one.values - one.slack, one.values + one.slack) - shares)
            heights += theta[one.labels[np.add.outer(one.high, one.low).ravel()]]
            bound += float(theta @ one.values) - one.slack * float(np.abs(theta).sum())
            bound -= float(theta @ theta) / (2 * one.weight)
        top = float(heights.max())
        return bound - top - float(np.log(self._first() @ np.exp(heights - top)))

    def _best(self, measured: Measured, parts: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        from dpopt.inference.distribution.kernels import centre, pulled_shares

        level = centre(measured.multipliers)
        powers = np.exp(np.clip(level - measured.multipliers, -400.0, 400.0))
        base = np.where(parts > _GONE, parts * powers, 0.0)
        shares = np.empty_like(base)
        scale = pulled_shares(
            base, measured.values - measured.slack, measured.values + measured.slack, measured.weight, shares
        )
        held = base > 0
        factors, moved = np.zeros_like(base), np.zeros_like(base)
        factors[held] = shares[held] / parts[held]
        moved[held] = np.log(shares[held] / base[held]) - scale
        change = float(np.abs(shares - parts).max(initial=0.0))
        measured.multipliers = moved
        self.normalizer += scale + level
        return change, factors

    def _summed(self, measured: Measured, work: Callable[[NDArray[np.float64], int, int], None]) -> NDArray[np.float64]:
        held = np.zeros((_ROWS_APART, len(measured.labels)))
        self._rows(measured, lambda a, b: work(held[1 if a else 0], a, b))
        parts = np.zeros(len(measured.values))
        np.add.at(parts, measured.labels, held.sum(axis=0))
        return parts

    def _rows(self, measured: Measured, work: Callable[[int, int], None]) -> None:
        rows = len(measured.high)
        if len(self.p) < _LARGE or rows < 2:
            work(0, rows)
            return
        half = rows // 2
        map_in_threads(lambda part: work(*part), ((0, half), (half, rows)), _ROWS_APART)


def pulled_moves(queries: Sequence[Measured], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much the share of each measured query would move with the best multipliers, others fixed, (r,).

    Queries have two parts each, where they are false and where true; `shares` (r,) say where they are true by now.
    """
    from dpopt.inference.distribution.kernels import pulled_pairs

    multipliers = np.array([one.multipliers for one in queries])
    values = np.array([one.values for one in queries])
    slack, weight = np.array([one.slack for one in queries]), np.array([one.weight for one in queries])
    return pulled_pairs(shares, multipliers, values, slack, weight)


UNITS = 2**32
"""Weights are whole numbers of 1 / 2^32."""


def weighted_cells(p: NDArray[np.float64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return at most about `most` cells and whole weights in units of 2^-32 that stand for a distribution p, (cells,).

    Cells of a mass of at least t keep it. Of the others every stretch of mass t, in the order of the cells, is given to
    the cell in its middle, so that the sum over any run of cells is right to t. t is such that `most` cells are chosen.
    Cells whose mass rounds to no unit are left out.
    """
    from dpopt.inference.distribution.kernels import choose_cells

    total = float(p.sum())
    threshold = _threshold(p, most)
    cells, masses = np.empty(most + 2, dtype=np.int64), np.empty(most + 2)
    count = choose_cells(p, threshold, cells, masses)
    weights = np.rint(masses[:count] / total * UNITS).astype(np.int64)
    kept = weights > 0
    return cells[:count][kept], weights[kept]


def _threshold(p: NDArray[np.float64], most: int) -> float:
    """Return t with (cells of mass >= t) + (mass of the others) / t = most; 0 where there are no more cells than that."""
    held = int(np.count_nonzero(p))
    if held <= most:
        return 0.0
    largest = np.sort(np.partition(p, p.size - most)[p.size - most :])[::-1]
    rest = float(p.sum()) - np.concatenate(([0.0], np.cumsum(largest)[:-1]))
    # With the k largest cells kept, the others get t_k = rest_k / (most - k); k is the first with p_(k+1) < t_k.
    thresholds = rest / (most - np.arange(most))
    first = np.flatnonzero(largest < thresholds)
    return float(thresholds[first[0]] if first.size else thresholds[-1])
