"""Sorted counts under differential privacy: how many bins or nodes have how many records, and not which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TranscriptError
from dpopt.inference.histograms.degree_sequences import NearestGraphical, nearest_graphical
from dpopt.inference.histograms.isotonic import isotonic_integers
from dpopt.inference.histograms.monotone_posterior import (
    MonotonePosterior,
    NoiseLaw,
    monotone_posterior,
)
from dpopt.private.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from dpopt.queries.arrays import freeze, frozen


@dataclass(frozen=True, eq=False)
class SortedCountsRelease:
    """Noisy counts that were sorted before the noise came, and what they say. Everything it holds may be published.

    Attributes
    ----------
    what : str
        "degrees" or "counts".
    noisy : (n,) int64
        In the order of the true counts, from the smallest to the largest.
    gaussian : bool
    scale : float
        The noise.
    largest : int or None
        A public bound of every count: n - 1 for degrees.
    privacy : Mapping
        What was spent, charge by charge.
    noisy_length : bool
        Whether n itself was bought with budget.
    """

    what: str
    noisy: NDArray[np.int64]
    gaussian: bool
    scale: float
    largest: int | None
    privacy: Mapping[str, Any]
    noisy_length: bool = False

    def __repr__(self) -> str:
        return (
            f"SortedCountsRelease({self.noisy.size:,} {self.what}, epsilon={self.privacy['epsilon']}, "
            f"delta={self.privacy['delta']:g}, {self.privacy['neighbours']})"
        )

    @property
    def law(self) -> str:
        """The law of the noise."""
        return DISCRETE_GAUSSIAN if self.gaussian else DISCRETE_LAPLACE

    @cached_property
    def posterior(self) -> MonotonePosterior:
        """The posterior of each count by the law of the noise."""
        law: NoiseLaw = "discrete Gaussian" if self.gaussian else "discrete Laplace"
        return monotone_posterior(self.noisy, law, self.scale, lower=0, upper=self.largest)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The estimate, (n,), nondecreasing: posterior means, rounded."""
        return self.posterior.integers

    @cached_property
    def isotonic(self) -> NDArray[np.int64]:
        """The nearest nondecreasing whole numbers within the bounds, (n,): the estimate of Hay et al. 2010, rounded."""
        return freeze(isotonic_integers(self.noisy, lower=0, upper=self.largest))

    @cached_property
    def graphical(self) -> NearestGraphical:
        """The degree sequence of a graph near the estimate, with a graph that shows it. Of degrees only."""
        return nearest_graphical(self.posterior.mean)

    def frequencies(self, counts: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return how many bins or nodes have 0, 1, 2, ... records, by the estimate or by other counts."""
        return np.bincount(self.counts if counts is None else counts).astype(np.int64)

    def to_json(self) -> dict[str, Any]:
        """Return all that is to be kept, as JSON."""
        return {
            "dpopt_sorted_counts": 1,
            "what": self.what,
            "privacy": dict(self.privacy),
            "noise": self.law,
            "scale": self.scale,
            "largest": self.largest,
            "length_from_budget": self.noisy_length,
            "noisy": self.noisy.tolist(),
            "counts": self.counts.tolist(),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> SortedCountsRelease:
        """Read what `to_json` gave; the estimates are computed again.

        Raises
        ------
        TranscriptError
            If it is something else, or damaged.
        """
        if given.get("dpopt_sorted_counts") != 1:
            raise TranscriptError(
                "found no sorted counts of this version; expected a file of 'dpopt degrees release'"
            )
        try:
            largest = given["largest"]
            return cls(
                what=str(given["what"]),
                noisy=frozen(given["noisy"], np.int64),
                gaussian=given["noise"] == DISCRETE_GAUSSIAN,
                scale=float(given["scale"]),
                largest=None if largest is None else int(largest),
                privacy=dict(given["privacy"]),
                noisy_length=bool(given["length_from_budget"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise TranscriptError(f"the sorted counts on file are damaged: {error}") from error
