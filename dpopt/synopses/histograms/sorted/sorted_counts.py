"""Sorted counts under differential privacy: how many bins or nodes have how many records, and not which.

`SortedEstimate` names the nondecreasing sequences that may stand for noisy counts. All are functions of noisy counts
that are public: to choose another one costs no privacy.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError, TranscriptError, WorkloadError
from dpopt.inference.histograms.sorted.degree_sequences import NearestGraphical, is_graphical, nearest_graphical
from dpopt.inference.histograms.sorted.isotonic import isotonic
from dpopt.inference.histograms.sorted.monotone_posterior import NoiseDistribution, band, monotone_posterior
from dpopt.inference.histograms.tree_least_squares import whole_of_total
from dpopt.models.histograms.graphical_sequence import graphical_coefficients, graphical_sequence
from dpopt.models.histograms.isotonic_regression import isotonic_regression
from dpopt.models.model_size import ModelSize, refuse_solver
from dpopt.programs.solver import Capability, Solver
from dpopt.releases.plan import choice
from dpopt.synopses.histograms.counts_plan import LARGEST_SIZE, check_scales, noise_variance
from dpopt.synopses.solved import Inference, Solved
from dpopt.synopses.synopsis import Synopsis, write_rows


class SortedEstimate(enum.Enum):
    """An estimate of sorted counts.

    `POSTERIOR`: posterior means under the distribution of the noise. The default: the least squared error in most
    cases.

    `ISOTONIC`: the nearest nondecreasing sequence (Hay et al. 2010); assumes nothing, and serves where the noise hides
    the shape of the sequence.

    `ROUNDED`: the noisy counts, sorted and cut at the bounds: what the others are to be measured against.
    """

    POSTERIOR = "posterior"
    ISOTONIC = "isotonic"
    ROUNDED = "rounded"


def sorted_model_sizes(length: int) -> dict[str, ModelSize]:
    """Return kind and size of the model of this number of sorted counts."""
    return {SortedEstimate.ISOTONIC.value: ModelSize(Capability.CONVEX_QP, 4 * length)}


def nearest_sequence(
    estimate: SortedEstimate, noisy: NDArray[np.int64], *, largest: int | None, breaks: Sequence[int] = ()
) -> NDArray[np.float64]:
    """Return an estimate other than the posterior, (n,), nondecreasing but at breaks, and from 0 to `largest`."""
    if estimate is SortedEstimate.ISOTONIC:
        return isotonic(noisy, lower=0, upper=largest, breaks=breaks)
    in_order = np.concatenate([np.sort(part) for part in np.split(noisy, breaks)])
    found: NDArray[np.float64] = np.clip(in_order, 0, largest).astype(np.float64)
    return found


DEGREES, COUNTS = "degrees", "counts"


@dataclass(frozen=True, eq=False, repr=False)
class SortedCountsRelease(Synopsis):
    """Noisy counts of sorted values, and estimates from them. Their whole content can be published."""

    KEY = "dpopt_sorted_counts"
    WHAT = "release of sorted counts"
    MADE_BY = "'dpopt sorted release' or 'dpopt degrees release'"
    DECLARED: ClassVar = {
        "what": str,
        "gaussian": bool,
        "scale": float,
        "largest": int | None,
        "total": int | None,
        "noisy_length": bool,
        "ranked": int | None,
    }
    what: str
    """"degrees" or "counts"."""
    noisy: NDArray[np.int64]
    """Shape (n,). In the order of the true counts, from the smallest to the largest. With `ranked`: how many of the
    others are at least n - 1, ..., 2, 1, and then the largest ones in order."""
    gaussian: bool
    scale: float
    """The noise."""
    largest: int | None
    """A public bound of every count: n - 1 for degrees."""
    privacy: Mapping[str, Any]
    """The spending, charge by charge."""
    total: int | None = None
    """The sum of the true counts, if that is public: the number of records, or twice that of edges. All estimates have
    this sum."""
    noisy_length: bool = False
    """Whether n itself was bought with budget."""
    ranked: int | None = None
    """How many of the largest degrees were measured one by one; None for all."""
    solved: tuple[Solved, ...] = ()
    _estimated: dict[SortedEstimate, NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_scales((self.scale,), (self.what,))
        if self.what not in {DEGREES, COUNTS} or self.noisy.ndim != 1 or not self.noisy.size:
            raise TranscriptError(
                f"found {self.noisy.size:,} noisy {self.what}; expected degrees or counts, one at least"
            )
        if self.largest is not None and not 0 <= self.largest <= LARGEST_SIZE:
            raise TranscriptError(f"found the largest count {self.largest:,}; expected 0 to {LARGEST_SIZE:,}")
        if self.ranked is not None and (
            self.what != DEGREES
            or self.largest is None
            or not 0 <= self.ranked <= self.largest + 1
            or self.noisy.size != self.largest + self.ranked
        ):
            raise TranscriptError(
                f"found {self.noisy.size:,} noisy numbers, {self.ranked:,} of them of the largest degrees; expected "
                f"one for each degree but 0, and one for each of the largest"
            )
        if self.total is None:
            return
        fits = self.largest is None or self.total <= self.largest * self.size
        if not 0 <= self.total <= LARGEST_SIZE or not fits or (self.what == DEGREES and self.total % 2):
            most = "" if self.largest is None else f" of at most {self.largest:,}"
            kind = "an even number of at least 0" if self.what == DEGREES else f"a number from 0 to {LARGEST_SIZE:,}"
            raise WorkloadError(
                f"{self.size:,} {self.what}{most} add up to {kind}, and not to {self.total:,}; give the true "
                "public number"
            )

    def _error(self) -> tuple[str, float, bool]:
        return self.what, noise_variance(self.scale, gaussian=self.gaussian) ** 0.5, False

    def _contents(self) -> list[str]:
        return [f"{self.size:,} {self.what}"]

    @property
    def size(self) -> int:
        """How many counts there are, n."""
        return self.noisy.size if self.ranked is None or self.largest is None else self.largest + 1

    @cached_property
    def _posterior(self) -> NDArray[np.float64]:
        """Posterior means by the distribution of the noise: of each measured number, part by part."""
        parts = np.split(self._used, self._breaks)
        return np.concatenate([monotone_posterior(part, *self._noise, lower=0, upper=self._most) for part in parts])

    @property
    def _noise(self) -> tuple[NoiseDistribution, float]:
        return "discrete Gaussian" if self.gaussian else "discrete Laplace", self.scale

    @property
    def _most(self) -> int | None:
        """A bound of every number that was measured."""
        return self.largest if self.ranked is None else self.size

    @cached_property
    def _used(self) -> NDArray[np.int64]:
        """The numbers for estimates: all but those of others that are larger than the smallest of the largest can be.

        Without this the noise of thousands of numbers that are 0 would make nodes of enormous degree.
        """
        if not self.ranked:
            return self.noisy
        others = self.noisy.size - self.ranked
        if self.ranked == self.size:
            return self.noisy[others:]
        _, most = band(self.noisy[others:].astype(np.float64), *self._noise, (0.0, float(others)))
        return self.noisy[others - int(most[0]) :]

    @property
    def _breaks(self) -> tuple[int, ...]:
        """Where the largest begin in `_used`, if something stands before them."""
        others = 0 if not self.ranked else self._used.size - self.ranked
        return (others,) if others else ()

    def _in_order(self, found: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the counts, (n,), that correspond to estimates of the measured ones.

        The j-th largest of the others has the degree d where d of the numbers are at least j.
        """
        if self.ranked is None:
            return found
        numbers, largest = np.split(found, [found.size - self.ranked])
        ranks = np.arange(self.size - self.ranked, 0, -1)
        others = numbers.size - np.searchsorted(np.floor(numbers + 0.5), ranks)
        return np.sort(np.concatenate([others, np.clip(largest, 0, self.largest)]))

    def estimate(self, name: str | SortedEstimate = SortedEstimate.POSTERIOR) -> NDArray[np.int64]:
        """Return an estimate, (n,), nondecreasing whole numbers.

        `dpopt.synopses.histograms.sorted.sorted_counts.SortedEstimate` names and explains them.
        """
        real = self._estimate(name)
        return np.floor(real + 0.5).astype(np.int64) if self.total is None else whole_of_total(real, self.total)

    @cached_property
    def default(self) -> SortedEstimate:
        """The posterior, or isotonic regression where the sums of the posterior would not fit in memory.

        Where the release named a solver, the first estimate that it was asked for.
        """
        if self.solved:
            return SortedEstimate(self.solved[0].estimate)
        try:
            _ = self._posterior
        except ProgramError:
            return SortedEstimate.ISOTONIC
        return SortedEstimate.POSTERIOR

    @property
    def counts(self) -> NDArray[np.int64]:
        """The estimate, (n,), nondecreasing whole numbers: posterior means, rounded, as a rule (`default`)."""
        return self.estimate(self.default)

    def graphical(
        self,
        name: str | SortedEstimate = SortedEstimate.POSTERIOR,
        *,
        solver: str | Solver | None = None,
        seconds: float | None = None,
    ) -> NearestGraphical:
        """Return the degree sequence of a graph near an estimate, with a graph that shows it.

        A solver, within its seconds, solves GS-1 to GS-5 (models/graphical_sequences) in place of dpopt's own method.
        The bound of the squared distance is that method's either way: no solver's word.
        """
        if self.what != DEGREES:
            raise WorkloadError(f"found {self.what}; only degrees are those of a graph")
        estimate = self._estimate(name)
        own = nearest_graphical(estimate, total=self.total)
        if solver is None:
            return own
        size = ModelSize(Capability.MIP, graphical_coefficients(estimate.size), closed_form=False)
        refuse_solver(solver, {"graphical": size})
        solution = graphical_sequence(estimate[::-1], total=self.total).solve_for_release(solver, seconds=seconds)
        degrees = np.ascontiguousarray(np.rint(solution.value["x"]).sum(axis=1)[::-1]).astype(np.int64)
        if not is_graphical(degrees) or self.total not in {None, int(degrees.sum())}:
            raise ProgramError(f"{solution.result.solver} found degrees that no such graph has; leave it out")
        return replace(own, degrees=freeze(degrees), squared_distance=float(((degrees - estimate) ** 2).sum()))

    def with_total(self, total: int) -> SortedCountsRelease:
        """Return the same with a total that is public: the number of records, or twice that of edges."""
        if self.total not in {None, total}:
            unit, each = ("edges", 2) if self.what == DEGREES else ("records", 1)
            raise WorkloadError(f"the number of {unit} is known to be {self.total // each:,}, found {total // each:,}")
        return replace(self, total=total, solved=())  # what was solved has another total

    def inferences(self) -> dict[str, Inference]:
        """Return the estimate that is a model, `isotonic`."""
        total = self.total if self.ranked is None else None
        model = partial(isotonic_regression, self._used, lower=0, upper=self._most, total=total, breaks=self._breaks)
        return {
            name: Inference(size, model, lambda found: self._in_order(found["s"]))
            for name, size in sorted_model_sizes(self.noisy.size).items()
        }

    def answer(self, least: int, *, estimate: str | SortedEstimate | None = None) -> int:
        """Return how many of the counts are at least `least`, by an estimate; the default one if left out."""
        counts = self.estimate(self.default if estimate is None else estimate)
        return int(counts.size - np.searchsorted(counts, least))

    def noisy_arrays(self) -> tuple[NDArray[np.int64], ...]:
        """Return the noisy counts, in one array."""
        return (self.noisy,)

    @classmethod
    def of_parts(cls, stated: Mapping[str, Any], noisy: tuple[NDArray[np.int64], ...]) -> SortedCountsRelease:
        """Return the release of a statement and its noisy counts."""
        (counts,) = noisy
        declared = cls.declared_in({"ranked": None, **stated})  # older files have none
        return cls(noisy=counts, privacy=dict(stated["privacy"]), **declared)

    def _estimate(self, name: str | SortedEstimate) -> NDArray[np.float64]:
        wanted = name if isinstance(name, SortedEstimate) else choice(SortedEstimate, name, "estimate")
        if wanted not in self._estimated:
            solved = self._found.get(wanted.value)
            if solved is not None:
                found = solved
            elif wanted is SortedEstimate.POSTERIOR:
                found = self._in_order(self._posterior)
            else:
                found = self._in_order(nearest_sequence(wanted, self._used, largest=self._most, breaks=self._breaks))
            if self.total is not None:
                # The nearest sequence with this total (IR-1 with IR-3 to IR-5): the truth is one of a convex set of such, so
                # the squared error of no estimate grows.
                found = isotonic(found, lower=0, upper=self.largest, total=self.total)
            self._estimated[wanted] = freeze(found)
        return self._estimated[wanted]


def write_frequencies(counts: NDArray[np.int64], path: str | os.PathLike[str]) -> None:
    """Write how many bins or nodes have each count that some have; whole or not at all."""
    rows = np.column_stack(np.unique(counts, return_counts=True)).tolist()
    write_rows(path, ["count", "frequency"], rows)


def write_sequence(counts: NDArray[np.int64], path: str | os.PathLike[str]) -> None:
    """Write sorted counts, the largest first, each with its rank from 1; whole or not at all."""
    ranks = np.arange(1, counts.size + 1)
    write_rows(path, ["rank", "count"], np.column_stack((ranks, counts[::-1])).tolist())
