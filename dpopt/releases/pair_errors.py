"""What released values say of pairs of columns: the errors of the rows, of unrelated columns, and of single noisy counts.

Let y be what was measured of a pair beyond its columns, with noise of variance s^2 along each of f directions; x the
same of the rows, and p of unrelated columns: of the product of the rows' one-way shares. Estimated squared errors are

    |y - p|^2 - f s^2              of unrelated columns; unbiased, since noise adds f s^2
    |y - x|^2 - f s^2 + 2 w f s^2  of the rows, at least w^2 f s^2

where w, from 0 to 1, is the part of y that the rows follow, <x - p, y - p> / |y - p|^2: rows share the noise that they
were fitted to. That is unbiased for x = p + w (y - p), whatever w is fixed (PE-1). The errors of single columns, which
rows and unrelated columns have in common, are left out; a single count has all of its noise. Source: Stein (1981),
Estimation of the mean of a multivariate normal distribution.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import independent_shares, residuals_of
from dpopt.releases.job import Job
from dpopt.releases.run import Outcome

DEVIATIONS = 2.0
"""Standard deviations of the noise that dependence, or a gain over unrelated columns, is above to be seen."""
LEAST_GAIN = 0.1
"""Part of the squared error of unrelated columns that the rows are better by, at least, to be better."""


def pair_errors(job: Job, outcome: Outcome) -> dict[str, Any]:
    """Return what release.json says of the accuracy of pairs of columns, under "two_way"; empty where there are none."""
    told = job.schema.sizes > 1  # a column of one value has no relationships
    pairs = math.comb(int(told.sum()), 2)
    if not pairs:
        return {}
    measured = outcome.measured()
    known = None if measured is None else measured.known(2)
    found: dict[str, Any] = {"pairs": 0 if known is None else len(known), "all_pairs": pairs}
    if measured is not None and known is not None and len(known):
        found["count_error"] = math.sqrt(2 / math.pi) * float(np.median(measured.deviations(known)))
        written = outcome.records if outcome.rows is None else outcome.rows.records
        if written is not None:
            rows = RecordAnswers(written.held, written.multiplicity.astype(np.float64))
            found |= compared_errors(measured, rows, job.schema.sizes)
    return {"two_way": {name: float(f"{one:.6g}") if isinstance(one, float) else one for name, one in found.items()}}


def compared_errors(measured: MeasuredResiduals, rows: RecordAnswers, sizes: NDArray[np.integer]) -> dict[str, Any]:
    """Return estimated errors of a count of two values (PE-1), root mean squares over the measured pairs, in records.

    Those of the "release" (its rows), of "unrelated" columns, and of "single_counts"; whether "dependence" between columns
    is seen beyond noise and sampling, and whether the rows are "better" than unrelated columns. Were columns independent
    in the population, the squared error of unrelated ones would have the mean S = tr(V) tr(W) / n for each pair, V and W
    the covariances of the indicators of their codes, and the variance 2 (f s^4 + 2 s^2 S + tr(V^2) tr(W^2) / n^2), if it
    were normal (PE-2). Pairs weigh 1 / (s^2 + S / f)^2, which sees most.
    """
    size, domains = measured.size, measured.domains
    pairs = measured.known(2)
    places = np.array([measured.places[pairs.attributes_of(place)] for place in range(len(pairs))])
    variances, starts = measured.variances[places] / size**2, pairs.starts[:-1]
    cells = np.repeat(np.isin(np.arange(len(measured.sets)), places), measured.sets.cells())
    columns = rows.on(MarginalSet(domains, np.arange(domains.counts.size, dtype=np.int32)[:, None]), sizes)
    product = residuals_of(pairs, independent_shares(pairs, columns))
    moved, apart = (residuals_of(pairs, rows.on(pairs, sizes)) - product, measured.estimates[cells] / size - product)
    far, kept = np.add.reduceat(apart**2, starts), np.add.reduceat(moved**2, starts)
    both = np.add.reduceat(moved * apart, starts)
    directions = (domains.counts[pairs.attributes[:, :2]] - 1.0).prod(axis=1)
    second, third = (np.add.reduceat(columns**power, domains.starts) for power in (2, 3))
    traces = (1 - second, second - 2 * third + second**2)
    sampling, squares = (one[pairs.attributes[:, :2]].prod(axis=1) / size for one in traces)
    weights = (variances + sampling / np.maximum(directions, 1)) ** -2
    noise, part = directions * variances, np.clip(both / np.maximum(far, 1e-300), 0.0, 1.0)
    chance = 2 * float(weights**2 @ (directions * variances**2 + 2 * variances * sampling + squares / size))
    counts = measured.deviations(pairs) / size
    single, unrelated = float(weights @ (pairs.cells() * counts**2)), float(weights @ (far - noise))
    own = float(weights @ (far - 2 * both + kept + (2 * part - 1) * noise))
    doubt = 2 * math.sqrt(float(weights**2 @ (variances * kept)))  # deviation of the gain, the rows being fixed
    errors = {"release": max(own, float(weights @ (part**2 * noise))), "unrelated": unrelated, "single_counts": single}
    return {
        **{name: size * math.sqrt(max(0.0, one) / float(weights @ pairs.cells())) for name, one in errors.items()},
        "dependence": unrelated > float(weights @ sampling) + DEVIATIONS * math.sqrt(chance),
        "better": unrelated - own > max(DEVIATIONS * doubt, LEAST_GAIN * unrelated),
    }
