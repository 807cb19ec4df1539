"""Estimates from released values: errors of the rows' pairs, of unrelated columns, of single noisy counts.

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
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpopt.accounting.measurements import SizeMeasurement
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import independent_shares, residuals_of
from dpopt.releases.job import Job
from dpopt.releases.run import Outcome
from dpopt.schema.attribute import AttributeKind
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema

DEVIATIONS = 2.0
"""Standard deviations of the noise that dependence, or a gain over unrelated columns, is above to be seen."""
MISSED = 0.05
"""Probability with which some share of a column is off by more than is stated."""
TOLERABLE = 0.02
"""Largest error of a percentage within a group, 2 points: the group needs rows enough for it."""
FAR = 0.1
"""Part of a column's standard deviation by which a mean, of all rows or within a group, is far off."""
LEAST_GAIN = 0.1
"""Part of the squared error of unrelated columns that the rows are better by, at least, to be better."""


def released_errors(job: Job, outcome: Outcome) -> dict[str, Any]:
    """Return the entries of release.json on the accuracy of columns, "one_way", and of pairs, "two_way", if any."""
    told = job.schema.sizes > 1  # a column of one value has no relationships
    pairs, measured = math.comb(int(told.sum()), 2), outcome.measured()
    written = outcome.records if outcome.rows is None else outcome.rows.records
    rows = None if written is None else RecordAnswers(written.held, written.multiplicity.astype(np.float64))
    found: dict[str, dict[str, Any]] = {"one_way": {}, "two_way": {"pairs": 0, "all_pairs": pairs} if pairs else {}}
    if measured is not None and (known := len(measured.known(1))):
        earlier = SizeMeasurement.of(job.plan.budget).deviation if job.plan.budget.earlier else 0.0
        error = column_error(measured, rows, job.schema.sizes, earlier)
        found["one_way"] = {"columns": known, "all_columns": int(told.sum()), "share_error": error}
        if means := mean_errors(measured, rows, job.schema, earlier):
            found["one_way"]["mean_errors"] = means
    if measured is not None and pairs and len(both := measured.known(2)):
        error = math.sqrt(2 / math.pi) * float(np.median(measured.deviations(both)))
        found["two_way"] |= {"pairs": len(both), "count_error": error}
        if rows is not None:
            found["two_way"] |= compared_errors(measured, rows, job.schema.sizes)
            found["two_way"]["rows_for_means"] = rows_for_means(measured, rows, job.schema)
    return {key: _rounded(one) for key, one in found.items() if one}


def _rounded(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: float(f"{one:.6g}") if isinstance(one, float) else one for name, one in found.items()}


def rows_needed(found: Mapping[str, Any]) -> float:
    """Return how many rows a group needs, so that the typical error of a count within it is at most `TOLERABLE` of them."""
    return float(max(found["count_error"], math.sqrt(2 / math.pi) * found.get("release", 0.0))) / TOLERABLE


def _places(measured: MeasuredResiduals, sets: MarginalSet) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the places of sets among those that were measured, and which of these' cells are theirs."""
    places = np.array([measured.places[sets.attributes_of(place)] for place in range(len(sets))])
    return places, np.repeat(np.isin(np.arange(len(measured.sets)), places), measured.sets.cells())


def _columns(rows: RecordAnswers, domains: Domains, sizes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the share of every code of every attribute."""
    return rows.on(MarginalSet(domains, np.arange(domains.counts.size, dtype=np.int32)[:, None]), sizes)


def column_error(
    measured: MeasuredResiduals, rows: RecordAnswers | None, sizes: NDArray[np.integer], deviation: float = 0.0
) -> float:
    """Return the error of the shares of all values of measured columns, in the rows or else as measured.

    The largest of their distances from what was measured, and of what its noise stays within in all of them with
    probability 95 %; `deviation` is that of a measured number of records.
    """
    columns, size = measured.known(1), measured.size
    _, cells = _places(measured, columns)
    seen = measured.estimates[cells] / size
    off = np.zeros(seen.size) if rows is None else np.abs(residuals_of(columns, rows.on(columns, sizes)) - seen)
    noise = np.hypot(np.repeat(measured.deviations(columns), columns.cells()), deviation * seen)
    missed = MISSED / (2 * seen.size)  # on each side, each
    beyond = float(ndtri(1 - missed)) if measured.gaussian else -math.log(2 * missed) / math.sqrt(2)
    return float(np.maximum(off, beyond * noise / size).max())


def mean_errors(
    measured: MeasuredResiduals, rows: RecordAnswers | None, schema: Schema, deviation: float = 0.0
) -> dict[str, float]:
    """Return how far the mean of each measured column of numbers can be off, in standard deviations of the column.

    The distance of the rows' mean from the measured one, or what the noise of that stays within with probability 95 %,
    whichever is larger; `deviation` is that of a measured number of records. Numbers stand at the representatives of their
    bins; shares are those of the rows, if there are any. Of rows with one number half of the column's range is the unit.
    """
    columns, found = measured.known(1), {}
    places, cells = _places(measured, columns)
    seen = np.split(measured.estimates[cells] / measured.size, columns.starts[1:-1])
    shares = None if rows is None else np.split(rows.on(columns, schema.sizes), columns.starts[1:-1])
    beyond = float(ndtri(1 - MISSED / 2)) if measured.gaussian else -math.log(MISSED) / math.sqrt(2)
    for number, attribute in enumerate(columns.attributes[:, 0].tolist()):
        if schema.attributes[attribute].kind is not AttributeKind.NUMERIC:
            continue
        share = np.maximum(seen[number] + 1 / seen[number].size, 0.0) if shares is None else shares[number]
        centred, told, spread = _centred(measured.domains, schema, attribute, share)
        unit = spread or float(np.ptp(centred[told])) / 2
        if unit:
            slopes = np.where(told, centred, 0.0) / max(float(share[told].sum()), 1 / measured.size)
            noise = math.sqrt(measured.variances[places[number]]) * float(np.linalg.norm(slopes - slopes.mean()))
            noise = math.hypot(noise, deviation * float(slopes @ seen[number])) / measured.size
            moved = abs(float(slopes @ (share - share.mean() - seen[number])))
            found[schema.attributes[attribute].measured] = float(f"{max(moved, beyond * noise) / unit:.6g}")
    return found


def _centred(
    domains: Domains, schema: Schema, attribute: int, share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], float]:
    """Return numbers less their mean, which codes are numbers, and their standard deviation; shares are those of all codes.

    All are parts of the largest number, whose square could be infinite.
    """
    numbers = np.append(schema.attributes[attribute].representatives, np.nan)[domains.codes_of(attribute)]
    told = ~np.isnan(numbers)  # a missing value has the last code
    numbers /= float(np.abs(numbers[told]).max()) or 1.0
    own = share[told] / max(float(share[told].sum()), 1e-300)
    centred = numbers - own @ numbers[told]
    return centred, told, math.sqrt(float(own @ centred[told] ** 2))


def rows_for_means(measured: MeasuredResiduals, rows: RecordAnswers, schema: Schema) -> dict[str, float]:
    """Return for each column of numbers in measured pairs how many rows a group needs for a mean of it.

    So many that the noise of the mean, s |v - m| / rows, is at most `FAR` of the column's standard deviation: v are the
    representatives of its bins, m their mean, s is the typical noise of a residual of two columns along each direction.
    """
    pairs, domains = measured.known(2), measured.domains
    places, _ = _places(measured, pairs)
    noise = math.sqrt(float(np.median(measured.variances[places])))
    shares, found = _columns(rows, domains, schema.sizes), {}
    for attribute in np.unique(pairs.attributes[:, :2]).tolist():
        if (own := schema.attributes[attribute]).kind is AttributeKind.NUMERIC:
            start = domains.starts[attribute]
            share = shares[start : start + domains.codes_of(attribute).size]
            centred, told, spread = _centred(domains, schema, attribute, share)
            if spread:
                found[own.measured] = float(f"{noise * float(np.linalg.norm(centred[told])) / (FAR * spread):.6g}")
    return found


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
    places, cells = _places(measured, pairs)
    variances, starts = measured.variances[places] / size**2, pairs.starts[:-1]
    columns = _columns(rows, domains, sizes)
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
