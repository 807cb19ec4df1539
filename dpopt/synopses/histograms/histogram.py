"""A released histogram: noisy counts of its levels, the counts they agree on, and answers with their errors.

`RangeAnswer` is the answer to a range.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PlanError, TranscriptError, WorkloadError
from dpopt.inference.histograms.halves_in_rounds import halves_in_rounds
from dpopt.inference.histograms.shrunken_halves import ShrunkenHalves
from dpopt.models.histograms.tree_consistency import tree_consistency
from dpopt.models.model import Model
from dpopt.queries.ranges.bins import Bins
from dpopt.releases.plan import choice, refuse_removed
from dpopt.synopses.histograms.estimates import Estimate, estimated_nodes, tree_inferences
from dpopt.synopses.histograms.hierarchy_plan import HierarchyPlan
from dpopt.synopses.histograms.histogram_plan import HistogramPlan
from dpopt.synopses.histograms.in_rounds import not_in_rounds, rounds_of
from dpopt.synopses.histograms.tree_plan import TreePlan
from dpopt.synopses.histograms.wave_plan import WavePlan
from dpopt.synopses.solved import Inference, Solved
from dpopt.synopses.synopsis import PlannedSynopsis, write_rows

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class RangeAnswer:
    """How many records lie in a range, or in a box."""

    value: float
    """The estimate that was asked for: the sum of its bins or cells, so that all answers of one estimate agree."""
    standard_error: float
    """Of rounds their own, by the posterior. Otherwise that of the least-squares estimate, from which others differ
    where that would be negative somewhere: exact, but an upper bound for several columns whose numbers of bins are no
    powers of 2."""
    low: float
    high: float
    """Interval around the least-squares estimate, or that of rounds, cut at 0: with Gaussian tails it holds the truth
    with this confidence."""
    confidence: float


def range_answers(
    values: NDArray[np.float64], unbiased: NDArray[np.float64], errors: NDArray[np.float64], confidence: float
) -> list[RangeAnswer]:
    """Return the answers of these values, with intervals around the unbiased estimates; all arrays (q,)."""
    from scipy.special import ndtri

    if not 0.0 < confidence < 1.0:
        raise WorkloadError(f"the confidence must lie between 0 and 1, found {confidence!r}")
    reach = float(ndtri(0.5 + confidence / 2.0)) * errors
    low, high = np.maximum(unbiased - reach, 0.0), np.maximum(unbiased + reach, 0.0)
    rows = zip(values.tolist(), errors.tolist(), low.tolist(), high.tolist(), strict=True)
    return [RangeAnswer(*row, confidence) for row in rows]


@dataclass(frozen=True, slots=True, eq=False)
class _Estimated:
    counts: NDArray[np.float64]  # (n,)
    sums: NDArray[np.float64]  # (n + 1,) over the bins before each

    @classmethod
    def of(cls, counts: NDArray[np.float64]) -> _Estimated:
        return cls(freeze(counts), freeze(np.concatenate(([0.0], np.cumsum(counts)))))


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(PlannedSynopsis):
    """Counts of ordered bins under differential privacy. Everything it holds may be published.

    Attributes
    ----------
    noisy : tuple of (nodes,) int64 arrays
        The noisy counts of each measured level, from single bins up.
    """

    KEY = "dpopt_histogram"
    WHAT = "histogram"
    MADE_BY = "'dpopt histogram release'"
    DECLARED: ClassVar = {"bins": Bins}
    bins: Bins
    plan: TreePlan
    noisy: tuple[NDArray[np.int64], ...]
    privacy: Mapping[str, Any]
    """What was spent, charge by charge."""
    solved: tuple[Solved, ...] = ()
    """What the solver that the release named made of its models; empty if it named none."""
    _estimated: dict[Estimate, _Estimated] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.bins.number != self.plan.bins:
            raise TranscriptError(f"found {self.bins.number:,} bins for a plan of {self.plan.bins:,}")
        if self._in_rounds:
            rounds_of(self.plan, (self.plan.bins,), self.noisy)
            return
        for level, values in zip(self.plan.levels, self.noisy, strict=True):
            expected = self.plan.number_of_nodes(level)
            if values.shape != (expected,):
                raise TranscriptError(f"found {values.size:,} noisy counts of {level.name}; expected {expected:,}")

    def _held(self) -> list[str]:
        return [repr(self.bins.name), f"{self.bins.number:,} bins"]

    @property
    def _in_rounds(self) -> bool:
        return isinstance(self.plan, HistogramPlan) and self.plan.rounds

    def estimate(self, name: str | Estimate | None = None) -> NDArray[np.float64]:
        """Return an estimate of each bin, (n,), computed once: see `dpopt.synopses.histograms.estimates.Estimate`."""
        return self._estimate(name).counts

    @property
    def counts(self) -> NDArray[np.float64]:
        """The estimate of each bin, (n,): none negative, and wide ranges as accurate as by least squares."""
        return self.estimate()

    @property
    def least_squares(self) -> NDArray[np.float64]:
        """The unbiased estimate of each bin of least variance, (n,); may be negative."""
        return self.estimate(Estimate.LEAST_SQUARES)

    @property
    def total(self) -> float:
        """The estimate of the number of records."""
        return float(self._estimate(None).sums[-1])

    def range(
        self, start: int, stop: int, *, confidence: float = CONFIDENCE, estimate: str | Estimate | None = None
    ) -> RangeAnswer:
        """Return how many records lie in the bins start, ..., stop - 1, with the error of the answer."""
        return self.ranges([(start, stop)], confidence=confidence, estimate=estimate)[0]

    def answer(
        self, text: str, *, confidence: float = CONFIDENCE, estimate: str | Estimate | None = None
    ) -> RangeAnswer:
        """Return how many records lie in a range that a text names, such as "20:40" (`Bins.range_of`)."""
        return self.range(*self.bins.range_of(text), confidence=confidence, estimate=estimate)

    def ranges(
        self,
        wanted: Sequence[tuple[int, int]],
        *,
        confidence: float = CONFIDENCE,
        estimate: str | Estimate | None = None,
    ) -> list[RangeAnswer]:
        """Return the answers to many ranges, as `range` gives each."""
        starts, stops = (np.array(side, dtype=np.int64) for side in zip(*wanted, strict=True))
        bad = (starts < 0) | (stops > self.bins.number) | (starts >= stops)
        if bad.any():
            place = int(np.argmax(bad))
            raise WorkloadError(
                f"found the range from {starts[place]} to {stops[place]}; expected 0 <= start < stop <= "
                f"{self.bins.number:,}"
            )
        sums = self._estimate(estimate).sums
        values = sums[stops] - sums[starts]
        if self._wanted(estimate) is Estimate.SHRUNKEN:
            shrunken = self._halves.variances(starts[:, None], stops[:, None])
            return range_answers(values, values, np.sqrt(shrunken), confidence)
        unbiased = self._unbiased_sums[stops] - self._unbiased_sums[starts]
        errors = np.sqrt(self.plan.range_variances(starts, stops))
        return range_answers(values, unbiased, errors, confidence)

    def quantile(self, share: float, *, estimate: str | Estimate | None = None) -> int:
        """Return the first bin up to which at least this share of the records lie; of numbers, those not missing."""
        if not 0.0 <= share <= 1.0:
            raise WorkloadError(f"a quantile is a share between 0 and 1, found {share!r}")
        sums = self._estimate(estimate).sums[1 : self.bins.intervals + 1]
        if sums[-1] <= 0.0:
            raise WorkloadError("the histogram has no records by its own estimate, and so no quantiles")
        return int(np.argmax(sums >= (share - 1e-9) * sums[-1]))

    def model(self, *, nonnegative: bool = False) -> Model:
        """Return the consistency of the noisy counts as a model: `dpopt.models.tree_consistency`.

        Parameters
        ----------
        nonnegative
            Whether no bin may be below 0.
        """
        if self._in_rounds:
            raise not_in_rounds("the model")
        return tree_consistency(self.plan.tree, self._node_values, self.plan.variances, nonnegative=nonnegative)

    def whole_counts(self, estimate: str | Estimate | None = None) -> NDArray[np.int64]:
        """Return whole numbers near an estimate, (n,), whose sums over the first bins are the rounded ones."""
        return np.asarray(np.diff(np.rint(self._estimate(estimate).sums)), dtype=np.int64)

    @classmethod
    def read_plan(cls, given: Any) -> TreePlan:
        """Return the plan on file, of blocks or of a hierarchy."""
        kinds: dict[str, type[TreePlan]] = {"hierarchy": HierarchyPlan, "unit": WavePlan}
        return next((kind for key, kind in kinds.items() if key in given), HistogramPlan).from_json(given)

    @cached_property
    def _node_values(self) -> NDArray[np.float64]:
        return freeze(self.plan.node_values(self.noisy))

    def inferences(self) -> dict[str, Inference]:
        """Return the estimates that are models: `nonnegative` and `least-squares`; none of rounds."""
        if self._in_rounds:
            return {}
        return tree_inferences(self.plan.tree, self._node_values, self.plan.variances)

    @property
    def default(self) -> Estimate:
        """The estimate of answers that name none: `divided`, `shrunken` of rounds, or the first that a solver was asked for."""
        own = Estimate.SHRUNKEN if self._in_rounds else Estimate.DIVIDED
        return Estimate(self.solved[0].estimate) if self.solved else own

    def _estimate(self, name: str | Estimate | None) -> _Estimated:
        wanted = self._wanted(name)
        if wanted not in self._estimated:
            counts = self._found.get(wanted.value)
            self._estimated[wanted] = _Estimated.of(self._by_own(wanted) if counts is None else counts)
        return self._estimated[wanted]

    def _wanted(self, name: str | Estimate | None) -> Estimate:
        if isinstance(name, str):
            found: Estimate = choice(Estimate, name, "estimate")
            return found
        return name or self.default

    @cached_property
    def _halves(self) -> ShrunkenHalves:
        shape = (self.plan.bins,)
        return halves_in_rounds(shape, rounds_of(self.plan, shape, self.noisy), total=self.plan.size)

    def _by_own(self, estimate: Estimate) -> NDArray[np.float64]:
        """Return the bins of an estimate, (n,), by dpopt's own method."""
        if self._in_rounds:
            if estimate is Estimate.SHRUNKEN:
                return self._halves.cells
            raise not_in_rounds(f"the estimate {estimate.value!r}")
        if estimate is Estimate.SHRUNKEN:
            refuse_removed("estimate", "shrunken without rounds")
        if estimate is Estimate.ZEROING and not isinstance(self.plan, HierarchyPlan):
            refuse_removed("estimate", "zeroing without a hierarchy")
        if estimate is Estimate.NONNEGATIVE and not any(one.estimate == estimate.value for one in self.solved):
            raise PlanError(
                "the estimate 'nonnegative' is a model for solvers: name one at the release (--solver clarabel), or "
                "solve what was released, by solved_by('clarabel'); or take 'divided'"
            )
        tree = self.plan.tree
        nodes = estimated_nodes(estimate, tree, self._node_values, self.plan.variances)
        return np.asarray(nodes[tree.leaf_of_bin])

    @cached_property
    def _unbiased_sums(self) -> NDArray[np.float64]:
        """The sums of the least-squares estimate over the bins before each, in closed form: its errors are those stated."""
        if Estimate.LEAST_SQUARES.value in self._found:
            return _Estimated.of(self._by_own(Estimate.LEAST_SQUARES)).sums
        return self._estimate(Estimate.LEAST_SQUARES).sums


def write_table(
    histogram: Histogram, path: str | os.PathLike[str], *, whole: bool = False, estimate: str | Estimate | None = None
) -> None:
    """Write bin, label, count, standard error and interval of 95 % of each bin; whole or not at all.

    Parameters
    ----------
    whole
        Whether counts are rounded to whole numbers, so that sums over the first bins are the rounded ones.
    """
    answers = histogram.ranges([(place, place + 1) for place in range(histogram.bins.number)], estimate=estimate)
    names = ((place, histogram.bins.label(place)) for place in range(histogram.bins.number))
    rows = counted_rows(names, answers, histogram.whole_counts(estimate) if whole else None)
    write_rows(path, ["bin", "label", *COUNTED], rows, "table of counts")


COUNTED = ("count", "standard_error", "low", "high")


def counted_rows(
    names: Iterable[Sequence[object]], answers: Sequence[RangeAnswer], whole: NDArray[np.int64] | None
) -> Iterator[list[object]]:
    """Yield what tables of counts have in each line: names, the count, or a whole one in its place, and its error."""
    for place, (name, one) in enumerate(zip(names, answers, strict=True)):
        count = f"{one.value:.6g}" if whole is None else int(whole[place])
        yield [*name, count, *(f"{value:.6g}" for value in (one.standard_error, one.low, one.high))]


def write_frequencies(counts: NDArray[np.int64], path: str | os.PathLike[str]) -> None:
    """Write how many bins or nodes have each count that some have; whole or not at all."""
    rows = np.column_stack(np.unique(counts, return_counts=True)).tolist()
    write_rows(path, ["count", "frequency"], rows, "table of frequencies")


def write_sequence(counts: NDArray[np.int64], path: str | os.PathLike[str]) -> None:
    """Write sorted counts, the largest first, each with its rank from 1; whole or not at all."""
    ranks = np.arange(1, counts.size + 1)
    write_rows(path, ["rank", "count"], np.column_stack((ranks, counts[::-1])).tolist(), "sorted counts")
