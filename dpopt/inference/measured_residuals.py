"""What was measured of marginals: noisy residuals, whose noise is known, and counts as residuals.

A marginal over W with independent noise of variance v on each count says of the residual of A within W what a measurement of
it alone with the variance v N(W - A) along each direction would say, and its noise there is independent of that in its other
residuals (`dpopt.queries.residuals`). So counts and residuals add up by the precision of each residual.

All values are released ones: it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import cell_variances
from dpopt.schema.domains import Domains

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredResiduals:
    """What was measured: noisy residuals of sets of attributes, whose noise is known."""

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
        """Return the sets of so many attributes that were measured with all sets within them."""
        places = [place for one, place in self.places.items() if len(one) == width and self.missing(one) is None]
        return self.sets.take(np.array(places, dtype=np.int64))

    def shares(self, attribute: int, size: int) -> Numbers:
        """Return the noisy share of every code of an attribute, (size,); NaN for codes that never occur."""
        start, count = int(self.domains.starts[attribute]), int(self.domains.counts[attribute])
        result = np.full(size, np.nan)
        result[self.domains.codes[start : start + count]] = self.table((attribute,)) / self.size
        return result


def pooled(several: Sequence[MeasuredResiduals]) -> MeasuredResiduals:
    """Return what several releases of one table measured together: each residual by the precision of each measurement."""
    first = several[0]
    if len(several) == 1:
        return first
    found: dict[tuple[int, ...], tuple[Numbers, float]] = {}
    for one in several:
        for part, place in one.places.items():
            values = one.estimates[one.sets.starts[place] : one.sets.starts[place + 1]]
            precision = 1 / float(one.variances[place])
            before, weight = found.get(part, (np.zeros(values.size), 0.0))
            found[part] = before + precision * values, weight + precision
    variances = np.array([one.records_variance for one in several])
    weights = 1 / variances if (variances > 0).all() else (variances == 0).astype(np.float64)
    records = float(weights @ [one.records for one in several] / weights.sum())
    left = 1 / float(weights.sum()) if (variances > 0).all() else 0.0
    return _weighted(first.domains, found, records, left, first.size, gaussian=all(one.gaussian for one in several))


def _weighted(
    domains: Domains,
    found: dict[tuple[int, ...], tuple[Numbers, float]],
    records: float,
    records_variance: float,
    size: float,
    *,
    gaussian: bool,
) -> MeasuredResiduals:
    """Return what is known of sets of attributes, given sums of estimates times their precisions, and of these."""
    parts = sorted(found, key=lambda one: (len(one), one))
    width = max(map(len, parts), default=1)
    rows = np.array([[*one, *[-1] * (width - len(one))] for one in parts], dtype=np.int32).reshape(len(parts), width)
    estimates = [np.zeros(0), *((found[one][0] / found[one][1]).ravel() for one in parts)]
    variances = np.array([1 / found[one][1] for one in parts])
    return MeasuredResiduals(
        MarginalSet(domains, rows), np.concatenate(estimates), variances, records, records_variance, size, gaussian
    )


def residuals_of_counts(
    counted: Iterable[tuple[MarginalSet, NDArray[np.int64], float]], size: float, *, gaussian: bool, adaptive: bool
) -> MeasuredResiduals | None:
    """Return what noisy counts of marginals say as residuals; None where there are none.

    Parameters
    ----------
    counted : of (marginals, (cells,), variance)
        Noisy counts, and the variance of the noise on each, in the order in which they were measured.
    size
        The number of records that shares are of.
    gaussian
        Whether all noise is Gaussian, and not Laplace's.
    adaptive
        Whether noisy counts decided what was measured next. Then the first counts that tell of a residual are used alone:
        the precision of later ones depends on their noise.
    """
    found: dict[tuple[int, ...], tuple[Numbers, float]] = {}
    domains = None
    for sets, values, variance in counted:
        domains = sets.domains
        for place in range(len(sets)):
            names = np.array(sets.attributes_of(place))
            cells = values[sets.starts[place] : sets.starts[place + 1]].reshape(domains.counts[names])
            for width in range(names.size + 1):
                for kept in combinations(range(names.size), width):
                    part = tuple(sorted(names[list(kept)].tolist()))
                    if (domains.counts[list(part)] == 1).any() or (adaptive and part in found):
                        continue
                    others = tuple(set(range(names.size)) - set(kept))
                    total = np.asarray(cells.sum(axis=others), dtype=np.float64)
                    total = total.transpose(np.argsort(names[list(kept)]))
                    for axis in range(width):
                        total = total - total.mean(axis=axis, keepdims=True)
                    precision = total.size / (variance * cells.size)
                    before, weight = found.get(part, (np.zeros(total.shape), 0.0))
                    found[part] = (before + precision * total, weight + precision)
    if domains is None:
        return None
    total, weight = found.pop(())
    return _weighted(domains, found, float(total) / weight, 1 / weight, size, gaussian=gaussian)


def best_weights(marginals: MarginalSet, variances: Numbers, numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Return the weights BL-3 of counts of marginals, (cells,), and the multipliers of BL-2, (records,).

    Parameters are those of `dpopt.models.best_linear_answer.best_linear_answer`; `marginals` and `variances` as arrays.
    Raises ProgramError if what was counted does not determine the answer.
    """
    shape = tuple(marginals.domains.counts.tolist())
    block, every = numbers.reshape(shape), range(len(shape))
    weights, duals = np.zeros(marginals.number_of_cells), np.zeros(shape)
    own = [marginals.attributes_of(place) for place in range(len(marginals))]
    left = block.copy()
    for width in range(len(shape) + 1):
        for part in combinations(every, width):
            precisions = {
                place: 1 / (variances[place] * prod(shape[a] for a in attributes if a not in part))
                for place, attributes in enumerate(own)
                if set(part) <= set(attributes)
            }
            if not precisions:
                continue
            centred = block.mean(axis=tuple(a for a in every if a not in part), keepdims=True)
            for axis in part:
                centred = centred - centred.mean(axis=axis, keepdims=True)
            left -= centred
            scaled = centred / sum(precisions.values())
            duals += 2 * scaled / prod(shape[a] for a in every if a not in part)
            for place, precision in precisions.items():
                kept = tuple(shape[a] if a in part else 1 for a in own[place])
                spread = np.broadcast_to((precision * scaled).reshape(kept), tuple(shape[a] for a in own[place]))
                weights[marginals.starts[place] : marginals.starts[place + 1]] += spread.ravel()
    if np.abs(left).max(initial=0.0) > 1e-9 * max(1.0, np.abs(block).max(initial=0.0)):
        raise ProgramError(
            "best_linear_answer: what was counted does not determine the answer, which depends on attributes together that no "
            "marginal holds"
        )
    return weights, duals.ravel()
