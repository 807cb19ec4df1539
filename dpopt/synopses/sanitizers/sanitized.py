"""A released polynomial: noisy coefficients, and answers of queries with their bounds.

A file holds the statement and the noisy coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TranscriptError, WorkloadError
from dpopt.files.json_files import json_object
from dpopt.queries.conjunctions.monomials import LISTED, POWERS
from dpopt.releases.plan import removed
from dpopt.synopses.histograms.counts_plan import check_confidence
from dpopt.synopses.sanitizers.sanitizer_plan import BETA, SanitizerFigures
from dpopt.synopses.synopsis import Synopsis

CHUNK = 2**20
"""Numbers of monomials that many queries are evaluated with at a time."""


@dataclass(frozen=True, slots=True)
class SanitizedAnswer:
    """The value of the released polynomial at a point."""

    value: float
    """Not cut at 0 and 1: only the user of a family knows the meaning of its values."""
    bound: float
    """How far it is off at most, with the probability `confidence`."""
    approximation: float
    """gamma, the part of it that is due to the family."""
    standard_error: float
    """That of the noise."""
    monomials: int
    """M: how many are 1 at the point."""
    confidence: float


@dataclass(frozen=True, eq=False, repr=False)
class SanitizedPolynomial(Synopsis):
    """Noisy sums of coefficients under differential privacy. Everything it holds may be published."""

    KEY = "dpopt_sanitizer"
    WHAT = "released polynomial"
    MADE_BY = "dpopt.sanitize"
    DECLARED: ClassVar = {"figures": SanitizerFigures}
    figures: SanitizerFigures
    noisy: NDArray[np.int64]
    """Shape (N,). Noisy sums, in units."""
    privacy: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.noisy.shape != (self.figures.monomials.count,):
            raise TranscriptError(f"found {self.noisy.size:,} coefficients; expected {self.figures.monomials.count:,}")

    def _error(self) -> tuple[str, float, bool]:
        return "values at points", self.figures.predicted, True

    def _contents(self) -> list[str]:
        return [repr(self.figures.name), f"{self.figures.monomials.count:,} coefficients"]

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """The noisy coefficients, (N,), as shares of the records."""
        return np.asarray(self.noisy * (self.figures.unit / self.figures.size))

    def answer(self, ones: Sequence[int | str], *, confidence: float = 1.0 - BETA) -> SanitizedAnswer:
        """Return the value at the point where these variables are 1 and all others 0, with its bound.

        Parameters
        ----------
        ones
            Numbers of variables from 0 on, or their labels.
        """
        chosen = [self._variable(one) for one in ones]
        self._check(len(chosen), confidence)
        true = self.figures.monomials.true_at(chosen)
        figures = self.figures
        distribution = figures.scale * (1.0 if figures.gaussian else sqrt(2.0))
        return SanitizedAnswer(
            value=figures.constant + float(self.coefficients[true].sum()),
            bound=figures.error_bound(true.size, 1.0 - confidence),
            approximation=figures.approximation,
            standard_error=distribution * figures.unit / figures.size * sqrt(true.size),
            monomials=int(true.size),
            confidence=confidence,
        )

    def answers_of(
        self, points: NDArray[np.int64], *, confidence: float = 1.0 - BETA
    ) -> tuple[NDArray[np.float64], float]:
        """Return the values at many points with as many ones each, (q,), and the bound of each.

        `points` (q, k) are the variables that are 1, increasing in each row.
        """
        points = np.asarray(points, dtype=np.int64)
        monomials = self.figures.monomials
        if points.ndim != 2 or monomials.kind == LISTED:
            raise WorkloadError("many points at once: expected a (q, k) array, and a family of all monomials")
        self._check(points.shape[1], confidence)
        number = monomials.most_true(points.shape[1])
        coefficients, values = self.coefficients, np.full(len(points), self.figures.constant)
        step = max(1, CHUNK // max(1, number))
        for begin in range(0, len(points), step):
            part = slice(begin, begin + step)
            values[part] += coefficients[monomials.true_at_each(points[part])].sum(axis=1)
        return values, self.figures.error_bound(number, 1.0 - confidence)

    def noisy_arrays(self) -> tuple[NDArray[np.int64], ...]:
        """Return the noisy sums, in one array."""
        return (self.noisy,)

    @classmethod
    def of_parts(cls, stated: Mapping[str, Any], noisy: tuple[NDArray[np.int64], ...]) -> SanitizedPolynomial:
        """Return the release of a statement and its noisy sums.

        What it states of its privacy is taken as it is: the family of polynomials, which decides what it cost, is not
        on file.
        """
        privacy = dict(stated["privacy"])
        if missing := {"epsilon", "delta", "neighbours"} - set(privacy):
            raise TranscriptError(f"its cost is incomplete: {', '.join(sorted(missing))} missing")
        (sums,) = noisy
        figures = _as_today(stated.get("figures"))
        return cls(noisy=sums, privacy=privacy, **cls.declared_in({**stated, "figures": figures}))

    def _variable(self, one: int | str) -> int:
        if isinstance(one, str):
            if one not in self.figures.labels:
                raise WorkloadError(f"found no variable {one!r}; expected {', '.join(self.figures.labels[:8])}, ...")
            return self.figures.labels.index(one)
        return int(one)

    def _check(self, ones: int, confidence: float) -> None:
        if self.figures.width is not None and ones > self.figures.width:
            raise WorkloadError(
                f"found a point with {ones} ones; this family has at most {self.figures.width}, and its polynomials "
                f"say nothing of more"
            )
        check_confidence(confidence)


def _as_today(given: object) -> dict[str, Any]:
    """Return figures without the name of the noise, which earlier versions chose apart from the monomials."""
    figures = dict(json_object(given, "the figures", TranscriptError))
    crude = figures.pop("sensitivity", None)
    kind = json_object(figures.get("monomials", {}), "the monomials", TranscriptError).get("kind")
    if crude is not None and (crude == "crude") != (kind == POWERS):
        raise removed(
            f"{crude} noise on coefficients in the basis {kind!r}",
            "basis='sets' and its exact noise, whose errors are smaller",
        )
    return figures
