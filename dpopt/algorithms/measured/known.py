"""Estimates of all sets of attributes from the measurements so far, and the problem of fitting records to them.

All of it is computed from released values: it costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpopt.algorithms.measured.plan import MeasuredPlan, PlannedStage
from dpopt.algorithms.measured.stages import (
    NOTHING,
    best_precisions,
    coarse_precisions,
    factors_of,
    for_figures,
    measurable,
    sets_of,
    typical_variances,
)
from dpopt.inference.coarse_tables import coarse_predictions, column_parts, with_coarse_tables
from dpopt.inference.interactions import (
    DISTANCES,
    distance_likelihoods,
    interaction_scales,
    likely_distances,
    onto_simplices,
    predicted_counts,
    says_something,
    scales_at_distances,
    shrunken_counts,
    with_margins,
)
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.inference.records.fit import fit
from dpopt.inference.records.problem import FitProblem, FitSettings, FitTerm, KeptMarginals
from dpopt.inference.records.start import estimated_one_way
from dpopt.models.noise_budgets.residual_allocation import PUBLIC_UNEVENNESS, ResidualPrior, prices
from dpopt.public_random import public_stream, uniforms
from dpopt.queries.distances import UNIT, Distances
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import (
    Residuals,
    cell_variances,
    coarse_cells,
    coarser,
    largest_parts,
    marginals_from_residuals,
    residuals_of,
    subsets_of,
    summed_over_subsets,
)
from dpopt.releases.declared_size import Total
from dpopt.releases.job import Job
from dpopt.releases.measured_size import size_deviation

TYPICAL = 0.9
"""Quantile of the scales of interactions that the smoothing of a fit goes by."""
MOST_DEVIATIONS = 3.0
"""Largest distance of a drawn cell from its measurement, in standard deviations of the noise."""
LEAST_FEASIBLE, MOST_FEASIBLE, FEASIBLE_SWEEPS = 2_000, 20_000, 10
"""Under rules as many records as in the table, or rows, are fitted to one-way marginals, within these limits."""
ALONE = 0.3
"""Coarse tables are measured without parts of a single code that has a smaller share."""
Suggested = tuple[FitProblem, float, NDArray[np.float64]]
"""A problem of fitting records, how strongly they are drawn to independence, and the one-way marginals."""
_LEAST_PULL, _MOST_PULL, _SURE, _TINY = 1e-3, 30.0, 16.0, 1e-12


@dataclass(slots=True)
class Known:
    """The estimate of every set's residual."""

    job: Job
    plan: MeasuredPlan
    marginals: MarginalSet = field(init=False)
    sets: MarginalSet = field(init=False)
    """The workload, and all sets within it, small ones first."""
    estimates: NDArray[np.float64] = field(init=False)
    """Shape (cells,). Noisy residuals in records; 0 where nothing was measured."""
    precision: NDArray[np.float64] = field(init=False)
    """Shape (A,). 1 / s_A^2; 0 where nothing was measured."""
    first: NDArray[np.float64] = field(init=False)
    first_precision: NDArray[np.float64] = field(init=False)
    """As `estimates` and `precision`, of the first measurement of each residual alone."""
    prior: ResidualPrior = field(init=False)
    """Variances that the residual of each set may have along a direction, and how likely each is."""
    counts: NDArray[np.float64] = field(init=False)
    """Shape (cells,). Counts after shrinkage, of the orders up to the last one measured."""
    scales: NDArray[np.float64] = field(init=False)
    """Shape (A,). Scale by which each measured set is shrunk; 0 for others."""
    likely_scales: NDArray[np.float64] = field(init=False)
    """Shape (A,). Mean of the likely scales of each measured set, which its error follows; 0 for others."""
    expected_distances: NDArray[np.float64] = field(init=False)
    """Shape (A,). The expected distance of each set from the prediction by fewer attributes, as a share; of one
    attribute, 0."""
    likelihoods: NDArray[np.float64] = field(init=False)
    """Shape (A, 38). Logarithm of how likely the noisy distance of a set is for each of `DISTANCES`; 0 where none was
    measured."""
    far: list[tuple[MarginalSet, NDArray[np.float64], NDArray[np.float64], float]] = field(default_factory=list)
    """Sets of which distances were measured, predictions, noisy distances and the deviation of their noise, in records."""
    _predictions: dict[int, tuple[MarginalSet, NDArray[np.float64]]] = field(init=False, default_factory=dict)
    """By order: predictions of the sets whose distances from them are measured."""
    parts: NDArray[np.int64] | None = None
    """Shape (codes,). The part of each code in the coarse tables that were measured."""
    coarse: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    """Noisy residuals of the coarse tables of all pairs, in records, and s^2 of each, infinite where none was measured."""

    def __post_init__(self) -> None:
        self.marginals, self.sets = sets_of(self.job.workload)
        number, cells = len(self.sets), self.sets.number_of_cells
        self.estimates, self.first, self.counts = np.zeros((3, cells))
        self.precision, self.first_precision, self.scales, self.likely_scales = np.zeros((4, number))
        self.likelihoods = np.zeros((number, DISTANCES.size))
        self.expected_distances = np.zeros(number)
        for order in range(2, int(self.sets.widths().max()) + 1):
            places = self.of_order(order)
            self.expected_distances[places] = likely_distances(self.likelihoods[places], order) @ DISTANCES
        self.prior = ResidualPrior.public(self.sets, self.plan.size)

    def of_order(self, order: int) -> NDArray[np.int64]:
        """Return the places of the sets of this number of attributes."""
        return np.flatnonzero(self.sets.widths() == order)

    def _cells(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of the cells of sets that follow one another."""
        if not places.size:
            return np.zeros(0, dtype=np.int64)
        return np.arange(self.sets.starts[places[0]], self.sets.starts[places[-1] + 1])

    def choose(self, order: int, bound: int, scale: float) -> NDArray[np.int64]:
        """Return the factors k_A, (A,), with which sets of up to `order` attributes are worth measuring; 0: not at all.

        Of one attribute all are measured: one of its codes may hold nearly every record, and no public prior knows of
        which. Sets behind figures are measured whatever they are worth.
        """
        allowed = measurable(self.sets, order)
        rho = bound / (2 * scale * scale)
        prior = ResidualPrior.nothing(self.sets) if order == 1 else self.prior
        uneven = PUBLIC_UNEVENNESS if order == 1 else self._unevenness()
        figures = np.where(self.sets.widths() == order, for_figures(self.sets, self.plan.figures), 0.0)
        precisions = best_precisions(self.marginals, prior, self.precision, allowed, rho, uneven, figures=figures)
        return factors_of(self.sets, precisions, scale, bound, replaced=self.plan.replaced)

    def choice(self, planned: PlannedStage) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Return the factors k_A, (A,), that are worth it in a stage, and for coarse tables the parts of codes, (codes,)."""
        if planned is not self.plan.coarse_stage:
            return self.choose(planned.order, planned.bound, planned.scale), None
        parts, sets, bound, scale = self._parts(ALONE), self.sets, planned.bound, planned.scale
        tables = MarginalSet(coarser(sets.domains, parts), sets.attributes)
        rho, size = sum(stage.rho for stage in self.plan.stages), self.plan.size
        worth, _ = coarse_precisions(self.marginals, sets, tables.domains.counts, size, rho, self._unevenness())
        if not worth.any():
            worth = np.where(sets.widths() == 2, 1.0, 0.0)
        precisions = worth * bound / (scale * scale * float(worth @ prices(tables)))
        return factors_of(tables, precisions, scale, bound, replaced=self.plan.replaced), parts

    def residuals(self, factors: NDArray[np.int64], parts: NDArray[np.int64] | None = None) -> Residuals:
        """Return the residuals that have factors, (A,); given parts of codes, those of coarse tables."""
        places = np.flatnonzero(factors)
        return Residuals(self.sets.take(places), factors[places], parts)

    def add_coarse(
        self, factors: NDArray[np.int64], parts: NDArray[np.int64], noisy: NDArray[np.int64], scale: float
    ) -> None:
        """Note measured residuals of coarse tables."""
        measured, pairs = self.residuals(factors, parts), self.of_order(2)
        tables = MarginalSet(coarser(self.sets.domains, parts), self.sets.attributes[pairs])
        cells, chosen = tables.cells(), factors[pairs] > 0
        values, variances = np.zeros(cells.sum()), np.full(pairs.size, np.inf)
        values[np.repeat(chosen, cells)], variances[chosen] = measured.estimates(noisy), measured.variances(scale**2)
        self.parts, self.coarse = parts, (values, variances)

    def add(self, factors: NDArray[np.int64], noisy: NDArray[np.int64], scale: float) -> None:
        """Add measured residuals, each weighted by its precision."""
        measured = self.residuals(factors)
        places, new = np.flatnonzero(factors), np.zeros(len(self.sets))
        new[places] = 1 / measured.variances(scale * scale)
        mask = np.repeat(factors > 0, self.sets.cells())
        before, after = (np.repeat(self.precision, self.sets.cells())[mask], np.repeat(new, self.sets.cells())[mask])
        values = measured.estimates(noisy)
        self.first[mask] = np.where(before > 0, self.first[mask], values)
        self.first_precision = np.where(self.first_precision > 0, self.first_precision, new)
        self.estimates[mask] = (before * self.estimates[mask] + after * values) / (before + after)
        self.precision += new

    def predicted(
        self, order: int, variances: NDArray[np.float64] | None = None
    ) -> tuple[MarginalSet, NDArray[np.float64]]:
        """Return the sets of an order, and their counts as sets of lower order predict them; pairs by coarse tables.

        Given s^2 of the residuals of pairs, (M,), these say more of their coarse tables. Distances are measured from what
        coarse tables predict, where these were measured, and say nothing of them then.
        """
        places, below = self.of_order(order), self.of_order(order - 1)
        sets, size = self.sets.take(places), self.plan.size
        lower = self.sets.take(below) if below.size else sets
        predicted = predicted_counts(sets, lower, self.counts[self._cells(below)], size)
        if order != 2 or (variances is None and self.coarse is None):
            return sets, predicted
        deviations = self.estimates[self._cells(places)] - residuals_of(sets, predicted)
        variances = np.full(places.size, np.inf) if variances is None else variances
        likely = self.likelihoods[places] * (self.coarse is None)
        parts = self._parts()
        ranked = self.ranked(parts)
        return sets, coarse_predictions(
            sets, parts, deviations, variances, predicted, size, ranked=ranked, likelihoods=likely, measured=self.coarse
        )

    def distances(self, order: int) -> Distances:
        """Return the distances of the marginals of this order from their predictions."""
        sets, predicted = self._predictions[order] = self.predicted(order)
        return Distances(sets, np.rint(UNIT * predicted).astype(np.int64))

    def add_distances(self, order: int, noisy: NDArray[np.int64], scale: float) -> None:
        """Update the scales of residuals by noisy distances."""
        places, size = self.of_order(order), self.plan.size
        sets, predicted = self._predictions.pop(order) if order in self._predictions else self.predicted(order)
        self.far.append((sets, np.rint(UNIT * predicted) / UNIT, noisy / UNIT, scale / UNIT))
        self.likelihoods[places] = distance_likelihoods(noisy / UNIT, scale / UNIT, size)
        own, most = self._noise_of_independence(sets, predicted), self._largest_distances(sets)
        likelihoods = distance_likelihoods(noisy / UNIT, scale / UNIT, size, own)
        likely = likely_distances(np.where(most[:, None] >= DISTANCES, likelihoods, -np.inf), order)
        self.expected_distances[places] = likely @ DISTANCES
        values = np.array(self.prior.variances)
        values[places] = NOTHING
        if says_something(noisy / UNIT, scale / UNIT, own) or self._coarse_tables_say(order, predicted):
            values[places] = typical_variances(likely, sets, predicted, size)[:, None]
        self.prior = ResidualPrior(values, self.prior.chances)

    def _coarse_tables_say(self, order: int, predicted: NDArray[np.float64]) -> bool:
        """Return whether coarse tables moved a cell of some pair by a record: noise alone seldom does (`DOUBTS`)."""
        if order != 2 or self.coarse is None:
            return False
        return bool(np.abs(predicted - self._independent(self.sets.take(self.of_order(2)))).max() > 1)

    def _independent(self, pairs: MarginalSet) -> NDArray[np.float64]:
        """Return the counts of pairs, (cells,), if their columns were independent."""
        ones = self.of_order(1)
        return predicted_counts(pairs, self.sets.take(ones), self.counts[self._cells(ones)], self.plan.size)

    def _noise_of_independence(self, sets: MarginalSet, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much noise of one-way marginals moves the counts of sets, (S,): the mean L1 distance, in records."""
        places = self.of_order(1)
        ones, squares = self.sets.take(places), np.maximum(self.counts[self._cells(places)], 1.0) ** 2
        noise = prices(ones) / np.maximum(self.precision[places], _TINY)
        relative = np.minimum(np.repeat(noise, ones.cells()) / squares, 1.0)
        moved = predicted * np.sqrt(2 / np.pi * summed_over_subsets(ones, relative, sets))
        return np.asarray(np.add.reduceat(moved, sets.starts[:-1]))

    def _largest_distances(self, sets: MarginalSet) -> NDArray[np.float64]:
        """Return an upper limit on the distance of each set that noise allows, (S,), at least the least of `DISTANCES`.

        A pair is nowhere farther from independence than if its less even column followed from the other: 1 - sum_i p_i^2.
        """
        uneven = 1 - np.add.reduceat(self._shares() ** 2, self.sets.domains.starts)
        least = np.where(sets.attributes >= 0, uneven[sets.attributes], 1.0).min(axis=1)
        return np.asarray(np.maximum(least, DISTANCES[0]))

    def update(self, order: int) -> None:
        """Compute counts of all sets of up to `order` attributes from the measurements."""
        with np.errstate(divide="ignore"):
            variances = 1 / self.precision
        for width in range(1, order + 1):
            places = self.of_order(width)
            if not places.size:
                continue
            cells = self._cells(places)
            (sets, predicted), size = self.predicted(width, variances[places]), self.plan.size
            deviations = self.estimates[cells] - residuals_of(sets, predicted)
            noise = np.repeat(variances[places] * prices(sets), sets.cells())
            some = np.flatnonzero(self.precision[places] > 0)
            if some.size:
                mask, likelihoods = np.isfinite(noise), self.likelihoods[places[some]]
                self.scales[places[some]], self.likely_scales[places[some]] = interaction_scales(
                    sets.take(some), deviations[mask], noise[mask], predicted[mask], size, likelihoods
                )
            counts = shrunken_counts(sets, deviations, noise, predicted, self.scales[places], size)
            if width == 1:  # SH-9: shrinkage lifts codes that no record has; a set that is plainly uneven is not shrunk
                counts, nearest = (onto_simplices(sets, each, size) for each in (counts, predicted + deviations))
                prior = size * np.repeat(self.scales[places], sets.cells()) * predicted
                counts += (prior / (prior + noise)) ** 2 * (nearest - counts)
            self.counts[cells] = counts

    def _shares(self) -> NDArray[np.float64]:
        """Return the share of records that each code of each attribute holds, (codes,), one attribute after the other."""
        ones, domains = self.of_order(1), self.sets.domains
        shares = 1 / np.repeat(domains.counts, domains.counts)  # attributes of one code are no sets
        starts = domains.starts[self.sets.attributes[ones, 0]]
        cells = self.sets.cells()[ones]
        at = np.repeat(starts - self.sets.starts[ones], cells) + self._cells(ones)
        shares[at] = self.counts[self._cells(ones)] / self.plan.size
        return shares

    def _unevenness(self) -> NDArray[np.float64]:
        """Return g_a of each attribute, (d,) (`dpopt.models.noise_budgets.residual_allocation`, RA-3)."""
        domains, shares = self.sets.domains, self._shares()
        totals, squares = (np.add.reduceat(each, domains.starts) for each in (shares, shares**2))
        known = totals > 0  # not where the one-way marginals were lost in an interruption
        return np.where(known, domains.counts * squares / np.where(known, totals, 1) ** 2, PUBLIC_UNEVENNESS)

    def _parts(self, alone: float = 0.0) -> NDArray[np.int64]:
        """Return the part of each code of each attribute, (codes,), one attribute after the other.

        `alone` is that of `column_parts`.
        """
        if self.parts is not None:
            return self.parts
        domains, parts = self.sets.domains, []
        columns = (np.split(each, domains.starts[1:]) for each in (self._shares(), domains.codes))
        for shares, codes, attribute in zip(*columns, self.job.schema.attributes, strict=True):
            missing = attribute.missing is not None and bool(codes[-1] == attribute.missing_code)
            parts.append(column_parts(shares, ordered=bool(attribute.ordered), missing=missing, alone=alone))
        return np.concatenate(parts)

    def ranked(self, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many parts of each attribute follow one another, (d,): all but a missing one, or 0; two always do."""
        domains, attributes = self.sets.domains, self.job.schema.attributes
        numbers = np.maximum.reduceat(parts, domains.starts) + 1
        last = domains.codes[domains.starts + domains.counts - 1]
        missing = np.array([-1 if one.missing is None else one.missing_code for one in attributes])
        ordered = np.array([bool(one.ordered) for one in attributes])
        ranked = np.where(numbers == 2, 2, np.where(ordered, numbers - (last == missing), 0))
        return np.where(ranked > 1, ranked, 0)

    def problem(self) -> Suggested:
        """Return the problem of fitting records, the strength with which they are drawn, and the one-way marginals.

        A marginal counts as its noise and its interaction let it. Fitting with the strength 1 / t shrinks like a prior
        of scale t; one strength serves all, so that a marginal of scale t counts t times the strength.
        """
        used = self.usable()
        sets, scales = self.sets.take(used), np.array(self.scales)
        values, spread = self._noisy(sets, spread=True)
        if self.coarse is not None:
            scales[self.of_order(2)] += self._coarse_scales()
        several, scales = self.sets.widths()[used] > 1, scales[used]
        known = scales[several & (scales > 0)]
        strength = float(1 / np.quantile(known, TYPICAL)) if known.size else 0.0
        pull = np.where(several, np.clip(strength * scales, _LEAST_PULL, _MOST_PULL), 1.0)
        problem = self._fitting(sets, values, pull / spread**2)
        return problem, strength, self._one_way(problem)

    def thinned(self, seed: int) -> tuple[Known, Known]:
        """Return the estimates with a quarter more variance, and fresh measurements whose noise is independent of them.

        Of y with noise of variance s^2, and z of the same distribution, y + z / 2 and y - 2 z have independent noise of
        variances 5/4 s^2 and 5 s^2. Source: Neufeld, Dharamshi, Gao and Witten (2024), data thinning.
        """
        with np.errstate(divide="ignore"):
            spread = np.repeat(np.where(self.precision > 0, self.precision**-0.5, 0.0), self.sets.cells())
        drawn = residuals_of(self.sets, spread * normals(seed, spread.size))
        other, fresh = (Known(self.job, self.plan, parts=self.parts) for _ in range(2))
        other.estimates, other.precision = self.estimates + drawn / 2, self.precision / 1.25
        fresh.estimates, fresh.precision = self.estimates - 2 * drawn, self.precision / 5
        if self.coarse is not None:
            tables, (values, variances) = self.coarse_tables(), self.coarse
            spread = np.repeat(np.where(np.isfinite(variances), variances, 0.0) ** 0.5, tables.cells())
            drawn = residuals_of(tables, spread * normals(seed + 1, spread.size))
            other.coarse, fresh.coarse = (values + drawn / 2, 1.25 * variances), (values - 2 * drawn, 5 * variances)
        other.likelihoods = self.likelihoods
        other.update(int(self.sets.widths().max()))
        return other, fresh

    def best_parts(self, records: NDArray[np.int32], fresh: Known) -> NDArray[np.float64]:
        """Return, for each order, the weight of records' answers against counts after shrinkage, from 0 to 1, (orders,).

        Least squares to fresh residuals, also of coarse tables, whose noise neither knows, under a prior of mean 1/2 and
        standard deviation 1/4. An order without measurements gets the part of the one below.
        """
        sets, counts, parts = self.sets, self.counts, [0.0]
        moved, pairs = self.plan.size * self.shares_of(records) - counts, self._cells(self.of_order(2))
        own, gaps = residuals_of(sets, moved), fresh.estimates - residuals_of(sets, counts)
        weights, orders = (np.repeat(each, sets.cells()) for each in (fresh.precision, sets.widths()))
        if fresh.coarse is not None:
            tables, (values, variances) = self.coarse_tables(), fresh.coarse
            own = np.append(own, residuals_of(tables, self.added_up(moved[pairs])))
            gaps = np.append(gaps, values - residuals_of(tables, self.added_up(counts[pairs])))
            weights = np.append(weights, np.repeat(1 / variances, tables.cells()))
            orders = np.append(orders, np.full(values.size, 2))
        for width in range(1, int(sets.widths().max()) + 1):
            some = (orders == width) & (weights > 0)
            weighted = weights[some] * own[some]
            ratio = (weighted @ gaps[some] + _SURE / 2) / (weighted @ own[some] + _SURE)
            parts.append(float(np.clip(ratio, 0.0, 1.0)) if some.any() else parts[-1])
        return np.array(parts[1:])

    def coarse_tables(self) -> MarginalSet:
        """Return the coarse tables of all pairs."""
        return MarginalSet(coarser(self.sets.domains, self._parts()), self.sets.attributes[self.of_order(2)])

    def added_up(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cells of coarse tables, given those of pairs, (cells of pairs,)."""
        tables = self.coarse_tables()
        cells = coarse_cells(self.sets.take(self.of_order(2)), tables, self._parts())
        return np.bincount(cells, values, tables.number_of_cells).astype(np.float64)

    def _coarse_scales(self) -> NDArray[np.float64]:
        """Return the scale t of what coarse tables say of each pair beyond independence, (pairs,)."""
        (pairs, predicted), tables = self.predicted(2), self.coarse_tables()
        before = self.added_up(self._independent(pairs))
        apart = np.add.reduceat(np.abs(self.added_up(predicted) - before), tables.starts[:-1]) / (2 * self.plan.size)
        return scales_at_distances(tables, before, self.plan.size)[:, -1] * apart**2

    def shares_of(self, records: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the share of the records in every cell, (cells,)."""
        from dpopt.queries.counting.kernels import shares_on_records  # half a second to load, and a plan needs none

        return shares_on_records(self.sets, records, self.job.schema.sizes)

    def mixed(
        self, records: NDArray[np.int32] | None, parts: NDArray[np.float64], kept: KeptMarginals, number: int
    ) -> FitProblem:
        """Return the problem of fitting `number` records: counts after shrinkage, and part of the records' answers.

        All sets have the same margins: single columns those of the mixture, within the bounds of `kept`, and larger sets
        those of smaller ones. No cell is further from its noisy marginal than `MOST_DEVIATIONS` of its noise (SH-8): a cell
        that is unlike all others of its order keeps what was measured of it. Without records, counts after shrinkage alone.
        """
        shares = self.counts / self.plan.size
        if records is not None:
            part = np.repeat(parts[self.sets.widths() - 1], self.sets.cells())
            shares = shares + part * self._within_limits(self.shares_of(records) - shares)
        _, wholes, inside = subsets_of(self.marginals)
        places = np.unique(largest_parts(self.marginals, wholes, inside))  # the workload's own sets
        places = places[places >= 0]
        near, spread = self._noisy(self.sets)
        reach = np.repeat(MOST_DEVIATIONS * spread, self.sets.cells())
        limits = np.maximum(near - reach, 0.0), np.maximum(near + reach, 0.0)
        values = np.clip(shares, *limits)
        values[: kept.values.size] = kept.nearest(shares[: kept.values.size], number)
        values = np.clip(self._with_margins(values), *limits)
        used = np.repeat(np.isin(np.arange(len(self.sets)), places), self.sets.cells())
        weights = np.full(places.size, float(self.plan.size) ** 2)
        return replace(self._fitting(self.sets.take(places), values[used], weights), kept=kept)

    def _within_limits(self, apart: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what records say beyond counts after shrinkage, (cells,), as far as it is likely.

        A single column differs by no more than the posterior deviation of its counts, so that columns found to be even
        stay so. Of unmeasured pairs distances limit it: records that are fitted to a class and each of its causes make
        the causes depend on one another too. One factor for the residuals of all these pairs brings their distances to
        the expected ones, by least squares. Of larger sets the expected distances are too small: with a factor for these
        too, errors rose by up to 3 %.
        """
        cells, residuals = self.sets.cells(), residuals_of(self.sets, apart)
        factors, ones = np.ones(cells.size), np.flatnonzero((self.sets.widths() == 1) & (self.precision > 0))
        squares = self.plan.size**2 * np.add.reduceat(residuals**2, self.sets.starts[:-1])[ones]
        prior, noise = self.plan.size**2 * self.scales[ones] / cells[ones], prices(self.sets.take(ones))
        posterior = cells[ones] * prior * noise / (prior * self.precision[ones] + noise)
        factors[ones] = np.minimum(np.sqrt(posterior / np.maximum(squares, _TINY)), 1.0)
        unsure = (self.sets.widths() == 2) & (self.precision == 0) & self.likelihoods.any(axis=1)
        if self.coarse is not None:
            unsure[self.of_order(2)] &= np.isinf(self.coarse[1])
        far = unsure * np.add.reduceat(np.abs(residuals), self.sets.starts[:-1]) / 2
        within, whole = float(self.expected_distances @ far), float(far @ far)
        if within < whole:  # not where no distances were measured
            factors[unsure] = within / whole
        over = np.repeat(1 - factors, cells) * residuals
        return np.asarray(apart - marginals_from_residuals(self.sets, over, self.sets, 0.0))

    def kept(self) -> KeptMarginals:
        """Return the one-way marginals that rows keep: the nearest feasible ones, within half a deviation of their noise.

        Without rules these are the counts after shrinkage, under rules those of records that are fitted to them alone.
        """
        sets = self.sets.take(self.of_order(1))
        spread = self._noisy(sets)[1]
        values = onto_simplices(sets, self.counts[: sets.number_of_cells], self.plan.size) / self.plan.size
        if self.job.schema.circuit().number_of_rules:
            problem = self._fitting(sets, values, np.where(np.isfinite(spread), spread, 1 / _TINY) ** -2)
            number = min(max(self.plan.size, self.job.rows or 0, LEAST_FEASIBLE), MOST_FEASIBLE)
            settings = FitSettings(number, sweeps=FEASIBLE_SWEEPS, improvement=1e-3, seed=self.plan.seed)
            values = self.shares_of(fit(problem, settings).records)[: values.size]
        return KeptMarginals(sets, values, np.repeat(spread / 2, sets.cells()))

    def _with_margins(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return shares (cells,) of which each set has the margins of those of one attribute less; single ones stay."""
        result = shares.copy()
        for width in range(2, int(self.sets.widths().max()) + 1):
            below, cells = self._cells(self.of_order(width - 1)), self._cells(self.of_order(width))
            lower, sets = (self.sets.take(self.of_order(order)) for order in (width - 1, width))
            result[cells] = with_margins(sets, lower, result[below], result[cells])
        return result

    def _noisy(self, sets: MarginalSet, *, spread: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return noisy marginals, (cells,), and the deviation of their cells' noise, (M,), in shares; inf: not all measured.

        With `spread`, coarse tables measure pairs too.
        """
        with np.errstate(divide="ignore"):
            each = 1 / self.precision
        estimates, pairs = self.estimates, self.of_order(2)
        if self.parts is not None and self.coarse is not None:
            (fine, predicted), cells, own = self.predicted(2), self._cells(pairs), each[pairs]
            estimates = estimates.copy()
            estimates[cells], along = with_coarse_tables(
                fine, self.parts, estimates[cells], own, predicted, self.coarse
            )
            each[pairs] = along if spread else own
        variances = cell_variances(self.sets, each, sets)
        values = marginals_from_residuals(self.sets, estimates, sets, self.plan.size)
        return values / self.plan.size, np.sqrt(variances) / self.plan.size

    def measured(self) -> MeasuredResiduals:
        """Return the first measurement of each residual.

        Its precision followed from other noise alone; that of later measurements followed from its own, so that a mean of
        both would be biased.
        """
        with np.errstate(divide="ignore"):
            variances = 1 / self.first_precision
        noise = size_deviation(self.plan.budget) ** 2
        return MeasuredResiduals(self.sets, self.first, variances, float(self.plan.size), noise)

    def totals(self) -> list[Total]:
        """Return the number of records n by residuals and distances, which the residuals alone do not determine.

        No cell of a marginal m of N cells holds fewer than 0 records, so that n is at least -N times what residuals add
        up to in it. And of a public prediction b of n0 records, with m0 = m - (n - n0) / N and its noisy estimate y,

            |n - n0| >= |m - b|_1 - |m0 - b|_1 >= |m - b|_1 - |y - b|_1 - sqrt(N) |y - m0|_2,

        where the noise in y lies along orthogonal directions, and its length has a deviation of at most the largest of
        theirs.
        """
        size, found = self.plan.size, []
        values, spread = self._noisy(self.sets)
        cells = self.sets.cells()
        some = np.repeat(np.isfinite(spread), cells)
        if some.any():
            deviations = np.repeat(size * cells * spread, cells)[some]
            least = size * (1 - np.repeat(cells, cells)[some] * values[some])
            at = int(np.argmax((least - size) / deviations))
            found.append(Total(float(least[at]), float(deviations[at]), "at least", int(least.size)))
        for sets, predicted, noisy, noise in self.far:
            values, spread = self._noisy(sets)
            whole = np.isfinite(spread)  # all of its residuals were measured
            if not whole.any():
                continue
            cells = sets.cells()
            apart = np.add.reduceat(np.abs(size * values - predicted), sets.starts[:-1])
            apart = (noisy - apart - size * cells * np.where(whole, spread, 0))[whole]
            deviations = (noise + np.sqrt(cells) * self._largest_noise(sets))[whole]
            at = int(np.argmax(apart / deviations))
            found.append(Total(float(apart[at]), float(deviations[at]), "apart", 2 * len(sets)))
        return found

    def _largest_noise(self, sets: MarginalSet) -> NDArray[np.float64]:
        """Return the largest deviation of marginals' noise along any direction, (M,), in records; inf: not all measured."""
        own, wholes, parts = subsets_of(sets)
        known = {self.sets.attributes_of(place): place for place in range(len(self.sets))}
        places = np.array([known[own.attributes_of(place)] for place in range(len(own))])
        largest = np.zeros(len(sets))
        with np.errstate(divide="ignore"):
            variances = own.cells() / self.precision[places]
        np.maximum.at(largest, wholes, variances[parts])
        return np.sqrt(largest / sets.cells())

    def _fitting(self, sets: MarginalSet, values: NDArray[np.float64], weights: NDArray[np.float64]) -> FitProblem:
        """Return the problem of fitting records to marginals, whose cells are given in shares, (cells,)."""
        terms = tuple(
            FitTerm(sets.take([place]), values[sets.starts[place] : sets.starts[place + 1]], weight)
            for place, weight in enumerate(weights.tolist())
        )
        return FitProblem(self.job.schema.sizes, terms, self.job.schema.circuit(), self.sets.domains)

    def usable(self) -> NDArray[np.int64]:
        """Return the sets to fit: measured with all their subsets, and of one attribute only where no larger one says it."""
        measured = self.precision > 0
        if self.coarse is not None:
            measured[self.of_order(2)] |= np.isfinite(self.coarse[1])
        good = {tuple(row[row >= 0].tolist()) for row in self.sets.attributes[measured]}
        whole: set[tuple[int, ...]] = set()
        for one in sorted(good, key=len):
            if len(one) == 1 or all(one[:skip] + one[skip + 1 :] in whole for skip in range(len(one))):
                whole.add(one)
        covered = {attribute for one in whole if len(one) > 1 for attribute in one}
        kept = [
            place
            for place in range(len(self.sets))
            if (one := self.sets.attributes_of(place)) in whole and (len(one) > 1 or one[0] not in covered)
        ]
        return np.array(kept, dtype=np.int64)

    def _one_way(self, problem: FitProblem) -> NDArray[np.float64]:
        """Return one-way marginals (c,): the measured ones, and the problem's suggestion for other attributes."""
        result, offsets, domains = estimated_one_way(problem), problem.offsets(), self.sets.domains
        for place in self.of_order(1).tolist():
            attribute = int(self.sets.attributes[place, 0])
            start, count = int(domains.starts[attribute]), int(domains.counts[attribute])
            counts = self.counts[self.sets.starts[place] : self.sets.starts[place + 1]]
            if counts.sum() > 0:
                result[offsets[attribute] + domains.codes[start : start + count]] = counts / counts.sum()
        return result


def normals(seed: int, count: int) -> NDArray[np.float64]:
    """Return standard normal numbers from a public stream."""
    return np.asarray(ndtri(np.clip(uniforms(public_stream(seed, "thinned noise"), count), 2.0**-54, 1 - 2.0**-53)))
