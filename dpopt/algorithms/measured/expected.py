"""Expected errors of marginals whose residuals are measured: before anything is measured, and after it.

Residual A has noise of variance s_A^2 = 1 / x_A along each direction, and lies around what fewer attributes say with
variance n t_A m_A in a cell of m_A records (`dpopt.inference.interactions`). What is left of both after shrinkage, and
what a cell of marginal W is off by with all A within W, m_W records in the cell and m_A in that of A it lies in:

    1 / e_A^2 = x_A / p_A + 1 / (n t_A m_A),    v = m_W^2 sum_{A in W} e_A^2 / m_A^2               (EE-1)
    E |error| = min(sqrt(2 v / pi), 2 m_W),     sum over cells of P(|error| > largest) = log 2     (EE-2)

where errors are normal with deviations of at most 2 m_W.

Before the run the m and t are those of populations: columns are Zipf distributions, and independent but for the t,
which follow from the distance (half the L1 norm, in shares) of a marginal from what fewer attributes say,

    2 distance = sqrt(2 t / pi) sum over cells of sqrt(share).                                     (EE-3)

Exponents and distances are spread over attributes and sets as they are over those of twelve public tables; in each of
five populations all distances are larger or smaller by a factor. After the run the m and t are those that were found,
from released values alone. How far both are off was measured on the twelve tables (experiments/one_estimator).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.algorithms.measured.stages import best_precisions, bound_for, factors_of, for_figures, measurable, sets_of
from dpopt.algorithms.prediction import BASELINES, PredictedError
from dpopt.inference.interactions import PUBLIC_DISTANCES, QUANTILES, scales_at_distances
from dpopt.models.noise_budgets.residual_allocation import ResidualPrior, prices
from dpopt.public_random import permutation, public_stream
from dpopt.queries.marginal_set import MarginalSet, some_of
from dpopt.queries.residuals import Residuals, independent_shares, largest_parts, subsets_of, summed_over_subsets
from dpopt.queries.workloads.workload import Workload

if TYPE_CHECKING:
    from dpopt.algorithms.measured.known import Known

Numbers = NDArray[np.float64]

EXPONENTS = np.array([0.4, 0.97, 1.5, 2.4, 4.4])
"""Of Zipf distributions as even as columns of public tables: their `QUANTILES` (experiments/one_estimator)."""

LEVELS = (0.6, 0.8, 1.0, 1.25, 1.6)
"""By how much the distances of a population are larger than `PUBLIC_DISTANCES`."""
PREDICTED = (0.8, 1.1, 1.7)
"""Mean errors over the least of the populations' (low), their geometric mean (in the middle), and the largest (high)."""
FOUND = (0.65, 0.9, 1.35)
"""Errors of a run over those that its estimates expect: mean ones low, in the middle (largest ones too), and high."""
MOST_CELLS, FEWEST = 100_000, 8
"""Cells that a prediction looks at, and marginals at least: of more, a public random part of the marginals."""
KIND = "expected on five populations with columns as uneven, and as dependent, as those of public tables; no rules, no bound"
FOUND_KIND = "expected from what was measured and how large interactions were found to be; no bound"
_FARTHEST, _FEWEST, _ANY, _TAIL, _STEPS = 0.5, 0.5, 1e6, 5_000, 50


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """Expected errors over all cells of some marginals, as shares of the records."""

    max_error: float
    mean_error: float
    """Of absolute errors of cells; the largest is above `max_error` about half of the time."""
    distance: float
    """Mean over the marginals of half the sum of absolute errors."""


@dataclass(frozen=True, slots=True, eq=False)
class MarginalParts:
    """Marginals as residuals: all sets within them, and which of these they are themselves."""

    sets: MarginalSet
    """As of `subsets_of`."""
    wholes: MarginalSet
    """The marginals, once each, attributes increasing and those of one code left out."""
    places: NDArray[np.int64]
    times: NDArray[np.int64]
    """Shape (W,). Which of the sets each is, and how often it is asked for."""
    marginals: int
    cells: int
    """How many are asked for."""

    @classmethod
    def of(cls, marginals: MarginalSet) -> MarginalParts:
        """Return the cells of some marginals."""
        sets, wholes, parts = subsets_of(marginals)
        largest = largest_parts(marginals, wholes, parts)
        places, times = np.unique(largest[largest >= 0], return_counts=True)
        return cls(sets, sets.take(places), places, times, len(marginals), marginals.number_of_cells)

    def own(self, values: Numbers) -> Numbers:
        """Return the values of the cells of the marginals, given those of the cells of all sets."""
        shift = np.repeat(self.sets.starts[self.places] - self.wholes.starts[:-1], self.wholes.cells())
        return values[..., shift + np.arange(shift.size)]

    def deviations(self, counts: Numbers, scales: Numbers, precisions: Numbers, size: float) -> Numbers:
        """Return the standard deviations of the errors of all cells (EE-1), in records.

        `counts` (..., cells of the sets) are the m_A, in records; `scales` and `precisions` (..., S) the t_A, and the
        x_A, 0 where nothing is measured; `size` is n.

        Examples
        --------
        >>> from dpopt.schema.domains import Domains
        >>> column = MarginalSet(Domains(np.array([2]), np.array([0]), np.array([0, 1])), np.array([[0]]))
        >>> MarginalParts.of(column).deviations(np.array([70.0, 30.0]), np.array([1e6]), np.array([0.5]), 100.0).round(
        ...     3
        ... )
        array([1., 1.])
        """
        cells, held = self.sets.cells(), np.maximum(counts, _FEWEST)
        prior = np.maximum(size * np.repeat(scales, cells, axis=-1) * held, 1e-100)
        known = np.repeat(precisions / prices(self.sets), cells, axis=-1)
        return np.asarray(
            self.own(counts) * np.sqrt(summed_over_subsets(self.sets, 1 / ((known + 1 / prior) * held**2), self.wholes))
        )

    def expected(self, counts: Numbers, scales: Numbers, precisions: Numbers, size: float) -> ExpectedError:
        """Return the errors of estimates (EE-2); parameters as of `deviations`."""
        return self.errors(self.own(counts), self.deviations(counts, scales, precisions, size), size)

    def errors(self, own: Numbers, spread: Numbers, size: float) -> ExpectedError:
        """Return the errors (EE-2) where cells of `own` records have errors of these standard deviations."""
        return self.summed(
            np.minimum(sqrt(2 / pi) * spread, 2 * own), likely_largest(np.minimum(spread, 2 * own)), size
        )

    def summed(self, errors: Numbers, largest: float, size: float) -> ExpectedError:
        """Return the figures of absolute errors of cells, in records."""
        times = np.repeat(self.times.astype(np.float64), self.wholes.cells())
        total = float((errors * times).sum()) / size
        return ExpectedError(min(1.0, largest / size), total / self.cells, total / 2 / self.marginals)


def likely_largest(deviations: Numbers) -> float:
    """Return about the median of the largest of independent normal numbers with these standard deviations."""
    some = np.partition(deviations, -_TAIL)[-_TAIL:] if deviations.size > _TAIL else deviations
    some = some[some > 0]
    low, high = 0.0, 8.0 * float(some.max(initial=0.0))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * ndtr(-middle / some).sum() > log(2) else (low, middle)
    return low


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Columns of a made-up table, and the residuals of sets of them before the level of dependence is applied."""

    shares: Numbers
    """Shape (sum of codes,). Of the codes that each attribute may take, one attribute after the other."""
    distances: Numbers
    """Shape (S,). Of each set; 0 for one attribute."""

    @classmethod
    def public(cls, sets: MarginalSet, seed: int, density: float | None = None) -> Population:
        """Return the population of a seed; `density` is the mean share of ones where all columns have two values."""
        stream, domains = public_stream(seed, "population of predictions"), sets.domains
        owner = np.repeat(np.arange(domains.counts.size), domains.counts)
        place = (permutation(stream, domains.counts.size) + 0.5) / domains.counts.size
        ranks = np.arange(owner.size) - domains.starts[owner]
        exponents = np.interp(place, QUANTILES, EXPONENTS)
        masses = (ranks + 1.0) ** -exponents[owner]
        masses /= np.add.reduceat(masses, domains.starts)[owner]
        if density is None:
            shuffled = np.empty_like(masses)
            shuffled[np.lexsort((stream.words(owner.size), owner))] = masses
        else:
            ones = np.minimum(2 * density * place, 1 - 1e-3)
            shuffled = np.where(ranks == 1, ones[owner], 1 - ones[owner])
        widths, distances = sets.widths(), np.zeros(len(sets))
        for width in range(2, int(widths.max()) + 1):
            some = np.flatnonzero(widths == width)
            place = (permutation(stream, some.size) + 0.5) / some.size
            distances[some] = np.interp(place, QUANTILES, PUBLIC_DISTANCES[min(width, len(PUBLIC_DISTANCES) + 1) - 2])
        return cls(shuffled, distances)

    def scales(self, sets: MarginalSet, level: float) -> Numbers:
        """Return t of each set (EE-3), with all distances scaled by this factor; single attributes have no residual."""
        roots = np.add.reduceat(np.sqrt(self.shares), sets.domains.starts)
        whole = np.where(sets.attributes >= 0, roots[sets.attributes], 1.0).prod(axis=1)
        far = pi / 2 * (2 * np.minimum(level * self.distances, _FARTHEST) / whole) ** 2
        return np.where(sets.widths() == 1, _ANY, np.maximum(far, 1e-18))


def predict_residuals(
    plan: MeasuredPlan, workload: Workload, *, runs: int = 1, density: float | None = None
) -> PredictedError:
    """Return the errors that a plan is expected to have on five populations for each run; no record is touched."""
    marginals, sets = sets_of(workload)
    parts, size = MarginalParts.of(some_of(marginals, MOST_CELLS, FEWEST)), plan.size
    known = {sets.attributes_of(place): place for place in range(len(sets))}
    places = np.array([known[parts.sets.attributes_of(place)] for place in range(len(parts.sets))])
    rho = sum(stage.rho for stage in plan.stages if not stage.distances)
    kept = _kept_if_replaced(marginals, sets, plan, rho) if plan.replaced else 1.0
    rho *= kept
    levels = [(seed, level) for seed, level in enumerate(LEVELS * max(1, runs), start=1)]
    populations = [Population.public(sets, seed, density) for seed, _ in levels]
    scales = [one.scales(sets, level) for one, (_, level) in zip(populations, levels, strict=True)]
    counts = size * independent_shares(parts.sets, np.array([one.shares for one in populations]))
    orders = ((sets.attributes.shape[1], kept * for_figures(sets, plan.figures)), (1, 0.0))
    precisions = [[_precisions_of(marginals, sets, t, size, rho, one)[places] for one in orders] for t in scales]
    looked = np.array(scales)[:, places]
    ones = np.where(parts.sets.widths() == 1, 0.0, looked)
    # Of each population: with all that is bought, with one-way marginals alone, and with nothing (the uniform distribution).
    spreads = parts.deviations(
        counts[:, None, :],
        np.stack((looked, looked, ones), axis=1),
        np.pad(np.array(precisions), ((0, 0), (0, 1), (0, 0))),
        size,
    )
    found = [
        [parts.errors(own, full, size), *_without_data(parts, own, none, size), parts.errors(own, single, size)]
        for own, (full, single, none) in zip(parts.own(counts), spreads, strict=True)
    ]
    figures = np.array([[(one.max_error, one.distance) for one in row] for row in found])
    figures[:, :, 1] *= 2 * len(marginals) / marginals.number_of_cells  # mean errors of cells
    own, *others = np.exp(np.log(np.maximum(figures, 1e-300)).mean(axis=0)).tolist()
    low, middle, high = PREDICTED
    return PredictedError(
        own[0],
        middle * own[1],
        runs,
        parts.cells,
        KIND,
        low=low * float(figures[:, 0, 1].min()),
        high=min(1.0, high * float(figures[:, 0, 1].max())),
        distance=middle * own[1] * marginals.number_of_cells / (2 * len(marginals)),
        baselines={
            name: {"max_error": one[0], "mean_error": one[1]} for name, one in zip(BASELINES, others, strict=True)
        },
    )


def _precisions_of(
    marginals: MarginalSet,
    sets: MarginalSet,
    scales: Numbers,
    size: float,
    rho: float,
    order: tuple[int, Numbers | float],
) -> Numbers:
    """Return the precisions bought, (S,), for sets of up to `order` attributes with scales from distances; some first."""
    public = ResidualPrior.public(sets, size)
    variances = (size**2 * scales / sets.cells() / prices(sets))[:, None]
    values = np.where((sets.widths() == 1)[:, None], public.variances, variances)
    prior = ResidualPrior(values, public.chances)
    return best_precisions(marginals, prior, np.zeros(len(sets)), measurable(sets, order[0]), rho, figures=order[1])


def _kept_if_replaced(marginals: MarginalSet, sets: MarginalSet, plan: MeasuredPlan, rho: float) -> float:
    """Return the share of the precision bought under add-remove that remains under replace-one."""
    none, every = np.zeros(len(sets)), measurable(sets, sets.attributes.shape[1])
    wanted = best_precisions(marginals, ResidualPrior.public(sets, plan.size), none, every, rho)
    bound = bound_for(len(sets))
    scale = sqrt(bound / (2 * rho))
    factors = factors_of(sets, wanted, scale, bound, replaced=True)
    places = np.flatnonzero(factors)
    given = 1 / Residuals(sets.take(places), factors[places]).variances(scale**2)
    return float(given.sum() / wanted.sum())


def _without_data(parts: MarginalParts, own: Numbers, spread: Numbers, size: float) -> list[ExpectedError]:
    """Return the errors of one record of first values, and of the uniform distribution; `spread` is that of independence."""
    cells = parts.wholes.cells()
    first = np.zeros(own.size)
    first[parts.wholes.starts[:-1]] = size
    uniform = np.repeat(size / cells, cells)
    errors = [np.abs(own - first), np.hypot(own - uniform, sqrt(2 / pi) * spread)]
    return [parts.summed(one, float(one.max()), size) for one in errors]


def sampling_error(workload: Workload, size: int, density: float | None = None) -> float | None:
    """Return the mean error of the shares of a random sample of this size, over cells and populations.

    Of a share p, E |error| is about sqrt(2 p (1 - p) / (pi n)), and at most 2 p. The populations are those of
    predictions, with independent columns: public values alone. None for a workload without marginals.
    """
    if workload.marginals is None:
        return None
    parts = MarginalParts.of(some_of(workload.marginals, MOST_CELLS, FEWEST))
    found = []
    for seed in range(1, len(LEVELS) + 1):
        shares = parts.own(independent_shares(parts.sets, Population.public(parts.sets, seed, density).shares))
        errors = np.minimum(np.sqrt(2 * shares * (1 - shares).clip(0) / (pi * size)), 2 * shares)
        found.append(parts.summed(errors, 0.0, 1.0).mean_error)
    return float(np.exp(np.log(np.maximum(found, 1e-300)).mean()))


def expected_errors(known: Known) -> dict[str, Any]:
    """Return the errors of a run's records as its estimates predict them, from released values alone.

    Sets that were not measured are off by the distances that are expected of them. These are means, in which rare large ones
    count, so that the largest error lies between that of all sets and that of the measured ones.
    """
    parts, scales = MarginalParts.of(known.marginals), known.likely_scales.copy()
    whole = scales_at_distances(known.sets, known.counts, known.plan.size)[:, -1]  # at a distance of 1
    unmeasured = (known.precision == 0) & (known.sets.widths() > 1)
    scales[unmeasured] = (whole * known.expected_distances**2)[unmeasured]
    found, measured = (
        parts.expected(known.counts, each, known.precision, known.plan.size) for each in (scales, known.likely_scales)
    )
    largest = FOUND[1] * sqrt(found.max_error * measured.max_error)
    low, middle, high = (factor * found.mean_error for factor in FOUND)
    figures = {"max_error": largest, "mean_error": middle, "distance": FOUND[1] * found.distance}
    rounded = {name: float(f"{value:.6g}") for name, value in {**figures, "low": low, "high": high}.items()}
    return {**rounded, "kind": FOUND_KIND}
