"""Measurements of marginals: noisy residuals with known noise, and counts as residuals.

A marginal over W with independent noise of variance v on each count says of the residual of A within W what a measurement of
it alone with the variance v N(W - A) along each direction would say, and its noise there is independent of that in its other
residuals (`dpopt.queries.residuals`). So counts and residuals add up by the precision of each residual.

All values are released ones: it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.interactions import predicted_counts
from dpopt.models.noise_budgets.residual_allocation import prices
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import cell_variances, residuals_of
from dpopt.schema.domains import Domains

Numbers = NDArray[np.float64]
Estimate = tuple[tuple[int, ...], Numbers, float]
"""A set of attributes, an estimate of its residual, and the variance of its noise along each direction."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredResiduals:
    """Measurements: noisy residuals of sets of attributes, with known noise."""

    sets: MarginalSet
    """Sets of attributes of more than one code, increasing within each."""
    estimates: Numbers
    """Shape (cells,). Unbiased estimates of the residuals, in records."""
    variances: Numbers
    """Shape (M,). s_A^2, in records squared; infinite where nothing was measured."""
    records: float
    """The number of records: the residual of no attributes, as it was measured, or a public number."""
    records_variance: float = 0.0
    """Variance of its noise; 0 where it is public."""
    size: float = 0.0
    """The number of records that shares are of; `records` if left out."""
    gaussian: bool = True
    """Whether all noise is normal to a good approximation; else some of it is Laplace's."""
    places: dict[tuple[int, ...], int] = field(init=False)
    """Which set has these attributes."""

    def __post_init__(self) -> None:
        known = np.flatnonzero(np.isfinite(self.variances)).tolist()
        object.__setattr__(self, "size", self.size or self.records)
        object.__setattr__(self, "places", {self.sets.attributes_of(place): place for place in known})

    @classmethod
    def nothing(cls, domains: Domains, size: float, variance: float = 0.0) -> MeasuredResiduals:
        """Return that nothing was measured but the number of records, with this variance."""
        none = MarginalSet(domains, np.zeros((0, 1), dtype=np.int32))
        return cls(none, np.zeros(0), np.zeros(0), size, variance)

    @property
    def domains(self) -> Domains:
        """The codes of the attributes that may occur."""
        return self.sets.domains

    def shape(self, attributes: Sequence[int]) -> tuple[int, ...]:
        """Return how many codes of these attributes may occur."""
        return tuple(int(self.domains.counts[attribute]) for attribute in attributes)

    def missing(self, attributes: Sequence[int]) -> tuple[int, ...] | None:
        """Return a smallest set within these attributes that was not measured; None if all were."""
        several = [one for one in sorted(attributes) if self.domains.counts[one] > 1]
        for width in range(1, len(several) + 1):
            for one in combinations(several, width):
                if one not in self.places:
                    return one
        return None

    def variance(self, attributes: tuple[int, ...]) -> float:
        """Return s_A^2 of a set of attributes; that of the number of records where all have one code."""
        several = tuple(one for one in sorted(attributes) if self.domains.counts[one] > 1)
        return float(self.variances[self.places[several]]) if several else self.records_variance

    def table(self, attributes: Sequence[int]) -> Numbers:
        """Return the unbiased estimate of the marginal over attributes, one axis for each, in their order."""
        shape, places = self.shape(attributes), range(len(attributes))
        cells = np.full(shape, self.records / prod(shape))
        for axes in (axes for width in range(1, len(shape) + 1) for axes in combinations(places, width)):
            part = tuple(sorted(attributes[axis] for axis in axes))
            if (place := self.places.get(part)) is None:
                continue  # 0, as the residual of an attribute of one code
            block = self.estimates[self.sets.starts[place] : self.sets.starts[place + 1]].reshape(self.shape(part))
            block = block.transpose([part.index(attributes[axis]) for axis in axes])
            cells += block.reshape([shape[axis] if axis in axes else 1 for axis in places]) * (block.size / cells.size)
        return cells

    def deviations(self, marginals: MarginalSet) -> Numbers:
        """Return the standard deviation of the noise of each cell of marginals, (M,), in records; infinite where unknown."""
        found = cell_variances(self.sets, self.variances, marginals) + self.records_variance / marginals.cells() ** 2.0
        found[[self.missing(marginals.attributes_of(place)) is not None for place in range(len(marginals))]] = np.inf
        return np.asarray(np.sqrt(found))

    def deviation(self, attributes: Sequence[int]) -> float:
        """Return the same of one marginal."""
        return float(self.deviations(MarginalSet(self.domains, np.array([attributes], dtype=np.int32)))[0])

    def known(self, width: int) -> MarginalSet:
        """Return the sets of an order that were measured with all sets within them."""
        places = [place for one, place in self.places.items() if len(one) == width and self.missing(one) is None]
        return self.sets.take(np.array(places, dtype=np.int64))

    def shares(self, attribute: int, size: int) -> Numbers:
        """Return the noisy share of every code of an attribute, (size,); NaN for codes that never occur."""
        result = np.full(size, np.nan)
        result[self.domains.codes_of(attribute)] = self.table((attribute,)) / self.size
        return result


def pooled(several: Sequence[MeasuredResiduals]) -> MeasuredResiduals:
    """Return the combined measurements of several releases of one table: residuals weighted by their precisions."""
    first = several[0]
    if len(several) == 1:
        return first
    known: list[Estimate] = [
        (part, one.estimates[one.sets.starts[place] : one.sets.starts[place + 1]], float(one.variances[place]))
        for one in several
        for part, place in one.places.items()
    ]
    public = [one.records for one in several if one.records_variance == 0]
    if not public:
        known += [((), np.array(one.records), one.records_variance) for one in several]
    gaussian = all(one.gaussian for one in several)
    return _together(first.domains, known, first.size, records=public[0] if public else None, gaussian=gaussian)


def _together(
    domains: Domains, known: Iterable[Estimate], size: float, *, records: float | None = None, gaussian: bool
) -> MeasuredResiduals:
    """Return the combination of independent estimates, by their precisions; `records` is their number if it is public."""
    found: dict[tuple[int, ...], tuple[Numbers, float]] = {}
    for part, values, variance in known:
        before, precision = found.get(part, (np.zeros(1), 0.0))
        found[part] = before + values.ravel() / variance, precision + 1 / variance
    total, precision = found.pop((), (np.array([records]), np.inf))
    parts = sorted(found, key=lambda one: (len(one), one))
    width = max(map(len, parts), default=1)
    rows = np.array([[*one, *[-1] * (width - len(one))] for one in parts], dtype=np.int32).reshape(len(parts), width)
    return MeasuredResiduals(
        MarginalSet(domains, rows),
        np.concatenate([np.zeros(0), *(found[one][0] / found[one][1] for one in parts)]),
        np.array([1 / found[one][1] for one in parts]),
        records=float(total[0]) / (precision if records is None else 1.0),
        records_variance=1 / precision,
        size=size,
        gaussian=gaussian,
    )


def shrunken_residuals(measured: MeasuredResiduals) -> MeasuredResiduals:
    """Return posterior means and variances of residuals of two and more attributes, as if they were measurements.

    Of each set with d directions of noise of variance s^2, let a_A be the residual less that of the counts that the sets
    within it predict (`dpopt.inference.interactions`). Empirical Bayes takes its directions as normal around 0, of variance

        t^2 = max(0, |a_A|^2 / d - s^2) + s^2 sqrt(2 / d),

    which is the estimate by moments and one standard deviation of it where nothing is there: without that, sets of few
    directions would often be said to hold nothing for certain. The posterior mean keeps t^2 / (t^2 + s^2) of a_A, and so does
    the variance of s^2. What noise in smaller sets does to predictions is left out.
    """
    result, sets = measured, measured.sets
    for width in range(2, int(sets.widths().max(initial=0)) + 1):
        several, within = measured.known(width), measured.known(width - 1)
        if not len(several):
            break
        counts = np.concatenate([result.table(within.attributes_of(one)).ravel() for one in range(len(within))])
        predicted = residuals_of(several, predicted_counts(several, within, np.maximum(counts, 0.0), measured.size))
        places = np.array([measured.places[several.attributes_of(one)] for one in range(len(several))])
        own, variances = np.isin(np.arange(len(sets)), places).repeat(sets.cells()), measured.variances[places]
        apart, directions = measured.estimates[own] - predicted, prices(several) * several.cells()
        squares = np.add.reduceat(apart**2, several.starts[:-1]) / directions
        strengths = np.maximum(squares - variances, 0.0) + variances * np.sqrt(2 / directions)
        kept = strengths / (strengths + variances)
        estimates, spread = result.estimates.copy(), result.variances.copy()
        estimates[own], spread[places] = predicted + kept.repeat(several.cells()) * apart, kept * variances
        result = replace(result, estimates=estimates, variances=spread)
    return result


def residuals_of_counts(
    counted: Iterable[tuple[MarginalSet, NDArray[np.int64], float]], size: float, *, gaussian: bool, adaptive: bool
) -> MeasuredResiduals | None:
    """Return noisy counts of marginals as residuals, None without any; `size` records are those that shares are of.

    `counted` has marginals, noisy counts (cells,) and the variance of the noise on each, in the order in which they
    were measured. `gaussian` says whether all noise is Gaussian, and not Laplace's; `adaptive`, whether noisy counts
    decided what was measured next. Then the first counts that tell of a residual are used alone: the precision of later
    ones depends on their noise.
    """
    known: list[Estimate] = []
    domains = None
    for sets, values, variance in counted:
        domains = sets.domains
        for place in range(len(sets)):
            known += _residuals(sets, place, values, variance)
    if domains is None:
        return None
    if adaptive:
        known = list({one[0]: one for one in reversed(known)}.values())
    return _together(domains, known, size, gaussian=gaussian)


def _residuals(sets: MarginalSet, place: int, values: NDArray[np.int64], variance: float) -> Iterator[Estimate]:
    """Yield the estimates by the counts of one marginal for each set of its attributes."""
    names = np.array(sets.attributes_of(place))
    cells = values[sets.starts[place] : sets.starts[place + 1]].reshape(sets.domains.counts[names])
    for width in range(names.size + 1):
        for kept in combinations(range(names.size), width):
            if (sets.domains.counts[names[list(kept)]] > 1).all():
                block = np.asarray(cells.sum(axis=tuple(set(range(names.size)) - set(kept))), dtype=np.float64)
                block = block.transpose(np.argsort(names[list(kept)]))
                for axis in range(width):
                    block = block - block.mean(axis=axis, keepdims=True)
                yield tuple(sorted(names[list(kept)].tolist())), block, variance * cells.size / block.size
