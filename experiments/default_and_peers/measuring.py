"""What records keep of a half: shares, means and quartiles, group means, correlations, regression, and a classifier."""

from __future__ import annotations

import itertools
from collections import defaultdict
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.conversions import zcdp_rho
from dpopt.answers.estimates import Sums, covariances
from dpopt.inference.measured_residuals import MeasuredResiduals
from experiments.default_and_peers.releasing import Halves
from experiments.one_estimator.measuring import association, errors
from experiments.one_estimator.methods import Released
from experiments.one_estimator.tables import CLASSES, MOST_CELLS, Marginal, Table

FIGURES = {
    "tv1": "TV of single columns", "tv2": "TV of pairs", "tv3": "TV of triples", "mean": "means, sd",
    "quartile": "quartiles, sd", "group": "group means, sd", "slope": "slope, as bought",
    "reliable": "pairs", "even slope": "slope, equal shares", "even": "pairs, equal shares",
    "pearson": "Pearson", "spearman": "Spearman", "cramer": "Cramer's V",
    "coefficient": "coefficients, standard errors", "auc": "AUC",
}  # fmt: skip
HIGHER_IS_BETTER = ("slope", "even slope", "auc")
MOST = 300
"""Random marginals of an order, or pairs of a column that makes groups and an ordered one, where there are more."""
RELIABLE = 0.85
LEAST_ERROR = 1e-12

Numbers = NDArray[np.float64]


class Judge:
    """The figures of methods on one half; what they are compared with is computed once."""

    def __init__(self, halves: Halves, epsilon: float):
        self.halves, self.table, self.epsilon = halves, halves.own, epsilon

    def figures(self, released: Released, bought: MeasuredResiduals) -> dict[str, float]:
        """Return the figures by the names of `FIGURES`, given the precision bought, but for those that do not apply."""
        table, records = self.table, np.asarray(released.records)
        mass = np.ones(len(records)) if released.weights is None else np.asarray(released.weights, dtype=np.float64)
        found = {f"tv{order}": errors(table, _some(table, order), released)["tv"] for order in (1, 2, 3)}
        found["cramer"] = association(table, released)
        real = self._numbers(table.codes)
        if real.shape[1]:
            ones, made = np.ones(len(real)), self._numbers(records)
            deviation = np.nanstd(real, axis=0)
            for name, statistic in (("mean", _means), ("quartile", _quartiles)):
                found[name] = float(np.mean(np.abs(statistic(made, mass) - statistic(real, ones)) / deviation))
            if real.shape[1] > 1:
                filled, ours = _filled(real, ones), _filled(made, mass)
                found["pearson"] = _correlations_off((filled, ones), (ours, mass))
                found["spearman"] = _correlations_off((_ranks(filled, ones), ones), (_ranks(ours, mass), mass))
            found |= self.groups([_joint(table, pair, records, mass) for pair in self.pairs], bought)
            found["coefficient"] = self._coefficients(records, mass)
        found["auc"] = self.area(records, mass)
        return {name: value for name, value in found.items() if np.isfinite(value)}

    def baseline(self, seed: int) -> dict[str, float]:
        """Return the figures of group means from pairs that are counted alone, each with an equal part of the budget."""
        rng = np.random.default_rng(seed)
        noisy = [
            _joint(self.table, pair) + rng.normal(0, self.noise, self.table.sizes[list(pair)]) for pair in self.pairs
        ]
        return self.groups(noisy)

    @cached_property
    def noise(self) -> float:
        """The standard deviation of a count of a pair that has 1/(number of pairs of columns) of the budget."""
        every = len(self.table.sizes) * (len(self.table.sizes) - 1) // 2
        return float(np.sqrt(every / (2.0 * zcdp_rho(self.epsilon, self.table.delta))))

    @cached_property
    def ordered(self) -> list[int]:
        """The ordered columns whose values differ."""
        numbers = [
            _without(self.table.codes[:, place], self.halves.missing[place]) for place in range(len(self.table.sizes))
        ]
        return [place for place in np.flatnonzero(self.halves.ordered).tolist() if np.nanstd(numbers[place]) > 0]

    @cached_property
    def pairs(self) -> list[Marginal]:
        """A column that makes groups, and an ordered one."""
        groups = [place for place, column in enumerate(self.table.codes.T) if np.ptp(column) > 0]
        pairs = [pair for pair in itertools.product(groups, self.ordered) if pair[0] != pair[1]]
        return _sample([pair for pair in pairs if self.table.cells(pair) <= MOST_CELLS])

    def groups(self, made: list[Numbers], bought: MeasuredResiduals | None = None) -> dict[str, float]:
        """Return the error of group means over all pairs, the slopes over reliable ones, and their numbers.

        A pair's error is the root mean square over the half's own groups, in standard deviations of the ordered column.
        """
        off, slopes = [], defaultdict[str, list[float]](list)
        for pair, joint in zip(self.pairs, made, strict=True):
            values, kept = self._values(pair[1])
            real, ours = _joint(self.table, pair)[:, kept], joint[:, kept]
            held = real.sum(axis=1) > 0
            groups, sizes = real[held], real[held].sum(axis=1)
            own, overall = groups @ values / sizes, float(groups.sum(axis=0) @ values / sizes.sum())
            spread = float(groups.sum(axis=0) @ (values - overall) ** 2 / sizes.sum())
            if spread <= 0:
                continue
            guessed = _group_means(ours, values)[held]
            shares = sizes / sizes.sum()
            off.append(np.sqrt(shares @ (guessed - own) ** 2 / spread))
            signal = float(shares @ (own - overall) ** 2)
            slope = float(shares @ ((own - overall) * (guessed - shares @ guessed))) / max(signal, LEAST_ERROR)
            variances = {"even": self.noise**2 * ((values - own[:, None]) ** 2).sum(axis=1)}
            if bought is not None and bought.missing(pair) is None:
                variances[""] = self._noise_of_means(bought, pair, own)
            for name, variance in variances.items():
                if signal > 0 and signal / (signal + float(shares @ (variance / sizes**2))) >= RELIABLE:
                    slopes[name].append(slope)
        found = {"group": float(np.mean(off))} if off else {}
        for name, every in slopes.items():
            found[f"{name} slope".strip()], found[name or "reliable"] = float(np.mean(every)), float(len(every))
        return found

    def _noise_of_means(self, bought: MeasuredResiduals, pair: Marginal, own: Numbers) -> Numbers:
        """Return the variance of the noise in the sum of (value - mean) of each group: its mean's times its size squared."""
        values, kept = self._values(pair[1])
        counted = np.zeros((2, self.table.sizes[pair[1]]))
        counted[:, kept] = values, np.ones(values.size)
        sums = Sums((pair[0],), (pair[1],), counted)
        found = covariances(bought, sums, sums)  # alike for all groups: (1, 2, 2)
        return np.asarray(found[:, 0, 0] - 2 * own * found[:, 0, 1] + own**2 * found[:, 1, 1])

    def area(self, records: NDArray[np.integer], mass: Numbers) -> float:
        """Return the AUC, on the other half, of boosted trees that say whether the class is the commonest one."""
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.metrics import roc_auc_score

        place, commonest = self._class
        used = [column for column in range(len(self.table.sizes)) if column != place]
        truth, other = self.halves.other.codes[:, place] == commonest, self.halves.other.codes
        wanted = records[:, place] == commonest
        if wanted.all() or not wanted.any():
            return 0.5
        model = HistGradientBoostingClassifier(max_iter=40, early_stopping=False, random_state=0)
        model.fit(records[:, used], wanted, sample_weight=mass)
        return float(roc_auc_score(truth, model.predict_proba(other[:, used])[:, 1]))

    @cached_property
    def _class(self) -> tuple[int, int]:
        place = self.table.names.index(CLASSES[self.table.name])
        return place, int(np.argmax(np.bincount(self.table.codes[:, place])))

    def _values(self, column: int) -> tuple[Numbers, NDArray[np.intp]]:
        codes = np.arange(self.table.sizes[column])
        kept = codes[codes != self.halves.missing[column]]
        return kept.astype(np.float64), kept

    def _numbers(self, codes: NDArray[np.integer]) -> Numbers:
        """Return the ordered columns, without missing values (n, k)."""
        columns = [_without(codes[:, place], self.halves.missing[place]) for place in self.ordered]
        return np.stack(columns, axis=1) if columns else np.empty((len(codes), 0))

    def _coefficients(self, records: NDArray[np.integer], mass: Numbers) -> float:
        """Return how far coefficients are off, of a least-squares regression of the class on the ordered columns.

        The mean of absolute differences, each in the standard error that the coefficient has on the half itself.
        """
        place, commonest = self._class
        real = self._numbers(self.table.codes)[:, [column != place for column in self.ordered]]
        made = self._numbers(records)[:, [column != place for column in self.ordered]]
        if not real.shape[1]:
            return np.nan
        centre, scale = np.nanmean(real, axis=0), np.nanstd(real, axis=0)
        fits = []
        for numbers, codes, weights in ((real, self.table.codes, np.ones(len(real))), (made, records, mass)):
            design = np.c_[np.nan_to_num((numbers - centre) / scale), np.ones(len(numbers))]
            wanted = (codes[:, place] == commonest).astype(np.float64)
            gram = (design.T * weights) @ design / weights.sum()
            inverse = np.linalg.pinv(gram, rcond=1e-8, hermitian=True)
            coefficients = inverse @ (design.T @ (weights * wanted) / weights.sum())
            fits.append((coefficients, inverse, float(weights @ (wanted - design @ coefficients) ** 2 / weights.sum())))
        (own, inverse, variance), (ours, _, _) = fits
        errors_of = np.sqrt(np.maximum(np.diag(inverse) * variance / len(real), LEAST_ERROR))
        return float(np.mean((np.abs(ours - own) / errors_of)[:-1]))


def _sample(every: list[Marginal]) -> list[Marginal]:
    if len(every) <= MOST:
        return every
    return [every[place] for place in np.sort(np.random.default_rng(0).choice(len(every), MOST, replace=False))]


def _some(table: Table, order: int) -> list[Marginal]:
    every = itertools.combinations(np.flatnonzero(table.sizes > 1).tolist(), order)
    return _sample([one for one in every if table.cells(one) <= MOST_CELLS])


def _joint(
    table: Table, pair: Marginal, codes: NDArray[np.integer] | None = None, mass: Numbers | None = None
) -> Numbers:
    """Return the counts of a pair, those of the table itself without codes."""
    codes = table.codes if codes is None else codes
    first, second = table.sizes[list(pair)].tolist()
    cells = codes[:, pair[0]].astype(np.int64) * second + codes[:, pair[1]]
    return np.bincount(cells, mass, first * second).reshape(first, second).astype(np.float64)


def _group_means(joint: Numbers, values: Numbers) -> Numbers:
    """Return the means of groups within the range of the values; that of all where a group has no (positive) count."""
    sizes, total = joint.sum(axis=1), joint.sum(axis=0)
    overall = total @ values / total.sum() if total.sum() > 0 else values.mean()
    means = np.where(sizes > LEAST_ERROR, joint @ values / np.where(sizes > LEAST_ERROR, sizes, 1.0), overall)
    return np.asarray(np.clip(means, values[0], values[-1]))


def _without(codes: NDArray[np.integer], missing: np.int64) -> Numbers:
    return np.where(codes == missing, np.nan, codes.astype(np.float64))


def _means(numbers: Numbers, mass: Numbers) -> Numbers:
    held = np.isfinite(numbers) * mass[:, None]
    return np.asarray((np.nan_to_num(numbers) * held).sum(axis=0) / np.maximum(held.sum(axis=0), LEAST_ERROR))


def _quartiles(numbers: Numbers, mass: Numbers) -> Numbers:
    """Return the three quartiles of each column, (3, k)."""
    found = np.empty((3, numbers.shape[1]))
    for place, column in enumerate(numbers.T):
        held = np.isfinite(column) & (mass > 0)
        order = np.argsort(column[held], kind="stable")
        upto = np.cumsum(mass[held][order])
        places = np.searchsorted(upto, np.array([0.25, 0.5, 0.75]) * (upto[-1] if upto.size else 0))
        found[:, place] = column[held][order][np.minimum(places, upto.size - 1)] if upto.size else 0.0
    return found


def _filled(numbers: Numbers, mass: Numbers) -> Numbers:
    return np.where(np.isfinite(numbers), numbers, _means(numbers, mass))


def _ranks(numbers: Numbers, mass: Numbers) -> Numbers:
    """Return the middle of each number's ranks, as a share of the mass."""
    found = np.empty_like(numbers)
    for place, column in enumerate(numbers.T):
        _, which = np.unique(column, return_inverse=True)
        shares = np.bincount(which, mass)
        found[:, place] = (np.cumsum(shares) - shares / 2)[which]
    return found


def _correlations_off(real: tuple[Numbers, Numbers], made: tuple[Numbers, Numbers]) -> float:
    """Return the mean absolute difference of correlations over pairs of columns; a constant column has none, 0."""
    both = []
    for numbers, mass in (real, made):
        centred = (numbers - mass @ numbers / mass.sum()) * np.sqrt(mass)[:, None]
        lengths = np.linalg.norm(centred, axis=0)
        scaled = centred / np.where(lengths > 1e-9 * np.sqrt(mass.sum()), lengths, np.inf)
        both.append((scaled.T @ scaled)[np.triu_indices(numbers.shape[1], 1)])
    return float(np.mean(np.abs(both[0] - both[1])))
