"""What was measured of marginals over one and two attributes, with the deviation of its noise; from released values alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.measured.fitting import Answered
from dpopt.queries.marginal_set import MarginalSet
from dpopt.releases.declared_size import Total
from dpopt.releases.job import Job
from dpopt.releases.run import MeasuredMarginals


def measured_marginals(
    sets: MarginalSet, values: NDArray[np.float64], deviations: NDArray[np.float64], sizes: NDArray[np.integer]
) -> MeasuredMarginals:
    """Return noisy shares (cells,) of marginals over one and two attributes, and the deviation of each one's noise, (M,).

    Marginals with an infinite deviation are left out.
    """
    domains, shares, kept = sets.domains, {}, {}
    for place in np.flatnonzero(np.isfinite(deviations)).tolist():
        attributes = sets.attributes_of(place)
        kept[attributes] = float(deviations[place])
        if len(attributes) == 1:
            start, count = int(domains.starts[attributes[0]]), int(domains.counts[attributes[0]])
            own = np.full(int(sizes[attributes[0]]), np.nan)
            own[domains.codes[start : start + count]] = values[sets.starts[place] : sets.starts[place + 1]]
            shares[attributes[0]] = own
    return MeasuredMarginals(shares, kept)


def counted_marginals(answered: Sequence[Answered], job: Job) -> MeasuredMarginals:
    """Return what was measured as counts of these marginals, or of larger ones: added up, and weighted by their noise."""
    found: dict[tuple[int, ...], tuple[NDArray[np.float64], float]] = {}
    domains = None
    for one in answered:
        if not isinstance(one.queries, MarginalSet):
            continue
        sets, domains = one.queries, one.queries.domains
        variance = one.answers.scale**2 * (1 if "Gaussian" in one.answers.noise else 2)
        for place in range(len(sets)):
            names = np.array(sets.attributes_of(place))
            values = one.answers.values[sets.starts[place] : sets.starts[place + 1]]
            cells = values.reshape(domains.counts[names])
            for kept in (*combinations(range(names.size), 1), *combinations(range(names.size), 2)):
                others = tuple(set(range(names.size)) - set(kept))
                total = cells.sum(axis=others).transpose(np.argsort(names[list(kept)]))
                precision = total.size / (variance * cells.size)
                part = tuple(sorted(names[list(kept)].tolist()))
                sum_, before = found.get(part, (np.zeros(total.shape), 0.0))
                found[part] = (sum_ + precision * total, before + precision)
    if domains is None:
        return MeasuredMarginals({}, {})
    parts = sorted(found, key=lambda one: (len(one), one))
    width = max(map(len, parts))
    rows = np.array([[*one, *[-1] * (width - len(one))] for one in parts], dtype=np.int32)
    shares = np.concatenate([(found[one][0] / found[one][1]).ravel() for one in parts]) / job.plan.size
    deviations = np.array([found[one][1] ** -0.5 for one in parts]) / job.plan.size
    return measured_marginals(MarginalSet(domains, rows), shares, deviations, job.schema.sizes)


def counted_totals(answered: Sequence[Answered], sizes: NDArray[np.integer]) -> list[Total]:
    """Return what counts say of the number of records: the cells of a marginal hold all of them, no query more than all."""
    found = []
    for one in answered:
        values, gaussian = one.answers.values.astype(np.float64), "Gaussian" in one.answers.noise
        deviation = one.answers.scale * (1 if gaussian else sqrt(2))
        queries = one.queries
        if isinstance(queries, MarginalSet) and (queries.domains.counts == sizes).all():
            # Each marginal's total has a variance in proportion to its cells.
            precisions = 1 / queries.cells()
            value = float(precisions @ np.add.reduceat(values, queries.starts[:-1]) / precisions.sum())
            found.append(Total(value, deviation / sqrt(precisions.sum()), gaussian=gaussian))
        else:
            found.append(Total(float(values.max()), deviation, "at least", values.size, gaussian))
    return found
