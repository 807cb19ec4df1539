"""Released halfspaces: noisy sides of projected points, and answers for any halfspace with their errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, TranscriptError, WorkloadError
from dpopt.files.array_files import read_columns
from dpopt.queries.halfspaces.halfspaces import unit_queries, unit_query
from dpopt.releases.declared_size import Total
from dpopt.releases.plan import choice
from dpopt.synopses.halfspaces.bias_sample import TURNS
from dpopt.synopses.halfspaces.estimators import Answering, Estimator
from dpopt.synopses.halfspaces.halfspace_plan import HalfspacePlan
from dpopt.synopses.histograms.counts_plan import check_confidence
from dpopt.synopses.synopsis import PlannedSynopsis


@dataclass(frozen=True, slots=True)
class HalfspaceAnswer:
    """Which share of the records lies in a halfspace."""

    value: float
    """The estimate, between 0 and 1."""
    bound: float
    """A bound on its error with the probability `confidence`, if no larger share of the records than `inside` (0 if
    left out) has |<x, y>| below `margin`: the sum of the next two. Nobody checks that condition."""
    bias: float
    """The part of the projections: with half of the rest of the probability, over the public projections, for records
    that do not depend on them; from moments that are estimated on public points."""
    noise: float
    """The part of the noise, likewise."""
    typical: float
    """Root of the mean squared bias of a single record at the worst margin."""
    margin: float
    """gamma."""
    confidence: float


class Answered(TypedDict, total=False):
    """Keywords of `Halfspaces.answer`, which are those of `Halfspaces.answers`."""

    margin: float | None
    inside: float
    estimate: str | Estimator | None
    confidence: float


@dataclass(frozen=True, eq=False, repr=False)
class Halfspaces(PlannedSynopsis):
    """Noisy sides of projected points under differential privacy. Everything it holds may be published."""

    KEY = "dpopt_halfspaces"
    WHAT = "release of halfspaces"
    MADE_BY = "'dpopt halfspaces release'"
    PLAN = HalfspacePlan
    plan: HalfspacePlan
    noisy: tuple[NDArray[np.int64], ...]
    """The measured values, in the order of `plan.measurements()`."""
    privacy: Mapping[str, Any]

    def __post_init__(self) -> None:
        expected = [(number,) for number in self.plan.numbers]
        found = [values.shape for values in self.noisy]
        if found != expected:
            raise TranscriptError(f"found noisy numbers of shapes {found}; expected {expected}")

    def _error(self) -> tuple[str, float, bool]:
        return "shares of halfspaces", self.plan.prediction.error, True

    def _contents(self) -> list[str]:
        plan = self.plan
        return [f"d={plan.columns.dimension}", f"T={plan.dimension}", f"m={plan.number}", f"h={plan.directions}"]

    @property
    def records(self) -> float:
        """The number of records: public under replace-one, noisy under add-remove."""
        if self.plan.relation is NeighbouringRelation.REPLACE_ONE:
            return float(self.plan.size)
        return float(self.noisy[0][0])

    def totals(self) -> list[Total]:
        """Return the noisy number of records."""
        noise = self.plan.records_scale * (1.0 if self.plan.gaussian else 2.0**0.5)
        return [Total(self.records, noise, gaussian=self.plan.gaussian)] if noise else []

    @cached_property
    def signed_sums(self) -> NDArray[np.float64]:
        """For each projection and direction, records on the positive side less those on the other, (m, h). Unbiased."""
        plan = self.plan
        released = self.noisy[-1].reshape(plan.number, plan.directions).astype(np.float64)
        return released if plan.relation is NeighbouringRelation.ADD_REMOVE else 2.0 * released - plan.size

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
        turns: int = TURNS,
    ) -> list[HalfspaceAnswer]:
        """Return the answers to many queries.

        Parameters
        ----------
        queries : (q, d) float64
            Only directions count.
        margin
            gamma; the planned one if left out.
        inside
            Which share of the records may have |<x, y>| < gamma, for the scaled record and the unit vector y. Bounds
            hold if no larger one has, which is the caller's promise and is not checked; with 1 they need none.
        estimate
            "regression" or "average" (the paper's). The regression if left out, or with more than
            `dpopt.synopses.halfspaces.estimators.MOST_REGRESSED` halfspaces the average.
        confidence
            Of each bound alone, not of all together.
        turns
            Public points for each margin with which the bias is estimated.
        """
        check_confidence(confidence)
        if not 0.0 <= inside <= 1.0:
            raise PlanError(f"found {inside} as the share of records within the margin; expected 0 to 1")
        vectors = unit_queries(np.asarray(queries, dtype=np.float64), self.plan.columns.dimension)
        gamma = self.plan.margin if margin is None else margin
        answering = self._answering(
            choice(Estimator, estimate, "estimate") if isinstance(estimate, str) else estimate, gamma
        )
        beta, size, found = (1.0 - confidence) / 2.0, self.plan.size, []
        for bias in answering.of_queries(vectors, turns=turns, inside=inside):
            value = (self.records + float(bias.weights @ self.signed_sums.ravel())) / (2.0 * size)
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
            estimator = Estimator.usual(self.plan)
        kept = self._kept
        if (estimator, margin) not in kept:
            kept.clear()  # a factorization is large
            kept[estimator, margin] = Answering(self.plan, estimator, margin)
        return kept[estimator, margin]

    @cached_property
    def _kept(self) -> dict[tuple[Estimator, float], Answering]:
        return {}


def read_queries(path: str | os.PathLike[str], names: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the vectors of a file (`read_columns`) divided by their lengths, (q, d)."""
    return unit_queries(read_columns(path, names, WorkloadError), len(names))
