"""Released halfspaces: noisy sides of projected points, and answers for any halfspace with their errors.

A file holds the statement and the noisy numbers of each measurement. Where arcs were measured, bins of angles that are not
below 0 and nearest to the noisy ones can be asked for (`nonnegative_bins`).
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, TranscriptError, WorkloadError
from dpopt.files.reading import read_text
from dpopt.inference.histograms.tree_least_squares import nonnegative_least_squares
from dpopt.queries.halfspaces.halfspaces import unit_queries, unit_query
from dpopt.queries.ranges.tree import Tree
from dpopt.releases.plan import choice
from dpopt.synopses.halfspaces.bias_sample import TURNS
from dpopt.synopses.halfspaces.estimators import MOST_REGRESSED, Answering, Estimator
from dpopt.synopses.halfspaces.halfspace_plan import ARCS, HalfspacePlan, half_circles
from dpopt.synopses.summaries.noise_bounds import check_confidence
from dpopt.synopses.synopsis import PlannedSynopsis


def nonnegative_bins(
    plan: HalfspacePlan, measured: tuple[NDArray[np.int64], ...], records: float
) -> NDArray[np.float64]:
    """Return the bins, (m, 2 h).

    Problem (models/tree_consistency, TC-1 to TC-3) for the tree of each projection, levels that were not measured left out, the
    root with the (public or noisy) number of records: minimize the sum over measured nodes of (x_v - noisy_v)^2 / variance_v
    over consistent x that are not below 0 at the bins. Post-processing.

    Parameters
    ----------
    measured : tuple of (m 2 h / 2^height,) int64
        The noisy arcs of each measured level.
    records : float
    """
    bins = 2 * plan.directions
    tree = Tree.balanced(bins, 2)
    variances = np.full(len(tree), np.inf)
    depths = {height: tree.levels[len(tree.levels) - 1 - height] for height in range(len(tree.levels))}
    scales = plan.scales[len(plan.scales) - len(plan.heights) :]
    factor = 1.0 if plan.gaussian else 2.0
    variances[0] = factor * plan.records_scale**2
    for height, scale in zip(plan.heights, scales, strict=True):
        variances[depths[height]] = factor * scale**2
    found = np.empty((plan.number, bins))
    for i in range(plan.number):
        values = np.zeros(len(tree))
        values[0] = max(records, 0.0)
        for height, noisy in zip(plan.heights, measured, strict=True):
            values[depths[height]] = noisy.reshape(plan.number, -1)[i]
        found[i] = nonnegative_least_squares(tree, values, variances)[tree.leaf_of_bin]
    return found


@dataclass(frozen=True, slots=True)
class HalfspaceAnswer:
    """Which share of the records lies in a halfspace.

    Attributes
    ----------
    value : float
        The estimate, between 0 and 1.
    bound : float
        How far it is off at most, with the probability `confidence`, if no larger share of the records than was said (`inside`,
        0 if left out) has |<x, y>| below `margin`: the sum of the next two. Nobody checks that.
    bias : float
        The part of the projections: with half of the rest of the probability, over the public projections, for records that do
        not depend on them; from moments that are estimated on public points.
    noise : float
        The part of the noise, likewise.
    typical : float
        Root of the mean squared bias of a single record at the worst margin.
    margin : float
        gamma.
    confidence : float
    """

    value: float
    bound: float
    bias: float
    noise: float
    typical: float
    margin: float
    confidence: float


class Answered(TypedDict, total=False):
    """Keywords of `Halfspaces.answer`, which are those of `Halfspaces.answers`."""

    margin: float | None
    inside: float
    estimate: str | Estimator | None
    confidence: float
    nonnegative: bool


@dataclass(frozen=True, eq=False, repr=False)
class Halfspaces(PlannedSynopsis):
    """Noisy sides of projected points under differential privacy. Everything it holds may be published.

    Attributes
    ----------
    noisy : tuple of int64 arrays
        What was measured, in the order of `plan.measurements()`.
    """

    KEY = "dpopt_halfspaces"
    WHAT = "release of halfspaces"
    MADE_BY = "'dpopt halfspaces release'"
    PLAN = HalfspacePlan
    plan: HalfspacePlan
    noisy: tuple[NDArray[np.int64], ...]
    privacy: Mapping[str, Any]

    def __post_init__(self) -> None:
        expected = [(number,) for number in self.plan.numbers]
        found = [values.shape for values in self.noisy]
        if found != expected:
            raise TranscriptError(f"found noisy numbers of shapes {found}; expected {expected}")

    def _held(self) -> list[str]:
        plan = self.plan
        return [
            f"d={plan.columns.dimension}",
            f"T={plan.dimension}",
            f"m={plan.number}",
            f"h={plan.directions}",
        ]

    @property
    def records(self) -> float:
        """The number of records: public under replace-one, noisy under add-remove."""
        if self.plan.relation is NeighbouringRelation.REPLACE_ONE:
            return float(self.plan.size)
        return float(self.noisy[0][0])

    @cached_property
    def signed_sums(self) -> NDArray[np.float64]:
        """For each projection and direction, records on the positive side less those on the other one, (m, h). Unbiased."""
        plan = self.plan
        if plan.measured == ARCS:
            released = np.concatenate([values.reshape(plan.number, -1) for values in self._measured], axis=1)
            return np.asarray(released @ plan.side_sums.matrix.T)
        released = self._measured[0].reshape(plan.number, plan.directions).astype(np.float64)
        return released if plan.relation is NeighbouringRelation.ADD_REMOVE else 2.0 * released - plan.size

    @cached_property
    def nonnegative_sums(self) -> NDArray[np.float64]:
        """The same from the bins of angles that are nearest to the noisy arcs and not below 0, (m, h).

        Raises
        ------
        PlanError
            If sides were released, not arcs.
        """
        if self.plan.measured != ARCS:
            raise PlanError("only arcs are made consistent with bins of at least 0; these are sides")
        bins = nonnegative_bins(self.plan, self._measured, self.records)
        return np.asarray(bins @ half_circles(self.plan.directions).T)

    @property
    def _measured(self) -> tuple[NDArray[np.int64], ...]:
        return self.noisy[1:] if self.plan.relation is NeighbouringRelation.ADD_REMOVE else self.noisy

    def answer(self, query: str | NDArray[np.float64], **how: Unpack[Answered]) -> HalfspaceAnswer:
        """Return which share of the records has <x, y> > 0, with its error.

        Parameters
        ----------
        query : str or (d,) float64
            y: numbers with commas between them, or an array. Only its direction counts.
        how
            As for `answers`.
        """
        vector = (
            unit_query(query, self.plan.columns.dimension)
            if isinstance(query, str)
            else np.asarray(query, dtype=np.float64)
        )
        return self.answers(vector[None, :], **how)[0]

    def answers(
        self,
        queries: NDArray[np.float64],
        *,
        margin: float | None = None,
        inside: float = 0.0,
        estimate: str | Estimator | None = None,
        confidence: float = 0.95,
        nonnegative: bool = False,
        turns: int = TURNS,
    ) -> list[HalfspaceAnswer]:
        """Return the answers to many queries.

        Parameters
        ----------
        queries : (q, d) float64
            Only directions count.
        margin : float, optional
            gamma; the planned one if left out.
        inside : float
            Which share of the records may have |<x, y>| < gamma, for the scaled record and the unit vector y. Bounds hold if no
            larger one has, which is the caller's promise and is not checked; with 1 they need none.
        estimate : str or Estimator, optional
            "regression", "debiased" or "average". The regression if left out, or with more than
            `MOST_REGRESSED` halfspaces the debiased average.
        confidence : float
            Of each bound alone, not of all together.
        nonnegative : bool
            From bins that are not below 0 (arcs only). The bounds are those without.
        turns : int
            Public points for each margin with which the bias is estimated.

        Raises
        ------
        WorkloadError
            Queries that are no directions, or a confidence that is not between 0 and 1.
        PlanError
            A margin or share out of range; `nonnegative` for sides.
        """
        check_confidence(confidence)
        if not 0.0 <= inside <= 1.0:
            raise PlanError(f"found {inside} as the share of records within the margin; expected 0 to 1")
        vectors = unit_queries(np.asarray(queries, dtype=np.float64), self.plan.columns.dimension)
        gamma = self.plan.margin if margin is None else margin
        answering = self._answering(
            choice(Estimator, estimate, "estimate") if isinstance(estimate, str) else estimate, gamma
        )
        sums = (self.nonnegative_sums if nonnegative else self.signed_sums).ravel()
        beta, size, found = (1.0 - confidence) / 2.0, self.plan.size, []
        for bias in answering.of_queries(vectors, turns=turns, inside=inside):
            value = (self.records + float(bias.weights @ sums)) / (2.0 * size)
            projected, noise = bias.bound(beta), answering.noise(bias.weights, beta)
            found.append(
                HalfspaceAnswer(
                    value=min(1.0, max(0.0, value)),
                    bound=projected + noise,
                    bias=projected,
                    noise=noise,
                    typical=bias.typical,
                    margin=gamma,
                    confidence=confidence,
                )
            )
        return found

    def _answering(self, estimator: Estimator | None, margin: float) -> Answering:
        if estimator is None:
            estimator = Estimator.REGRESSION if self.plan.features <= MOST_REGRESSED else Estimator.DEBIASED
        kept = self._kept
        if (estimator, margin) not in kept:
            kept.clear()  # a factorization is large
            kept[estimator, margin] = Answering(self.plan, estimator, margin)
        return kept[estimator, margin]

    @cached_property
    def _kept(self) -> dict[tuple[Estimator, float], Answering]:
        return {}


def read_queries(path: str | os.PathLike[str], names: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the vectors of a file divided by their lengths, (q, d).

    A first line that is not of numbers names the columns, in any order; otherwise they stand in the order of the release.

    Raises
    ------
    WorkloadError
        If the file cannot be read, or a line does not hold d numbers.
    """
    source = Path(path)
    place = f"the file {str(source)!r}"
    try:
        lines = csv.reader(io.StringIO(read_text(source, place, WorkloadError), newline=""))
        rows = [(number, row) for number, row in enumerate(lines, 1) if row]
    except csv.Error as problem:
        raise WorkloadError(f"{place} cannot be read: {problem}") from problem
    order = list(range(len(names)))
    if rows and not _are_numbers(rows[0][1]):
        heads = [head.strip() for head in rows.pop(0)[1]]
        if sorted(heads) != sorted(names):
            raise WorkloadError(
                f"{source.name} has the columns {', '.join(heads)}; expected {', '.join(names)}, in any order"
            )
        order = [heads.index(name) for name in names]
    for number, row in rows:
        if len(row) != len(names) or not _are_numbers(row):
            raise WorkloadError(
                f"{source.name}, line {number}: found {','.join(row)[:60]!r}; expected {len(names)} numbers"
            )
    if not rows:
        raise WorkloadError(f"{source.name} holds no query; expected one vector in each line")
    vectors = np.array([[float(row[place]) for place in order] for _, row in rows])
    return unit_queries(vectors, len(names))


def _are_numbers(row: list[str]) -> bool:
    try:
        return all(isinstance(float(one), float) for one in row)
    except ValueError:
        return False
