"""Lower bounds of what a release gives away, from how often events were seen on either of two tables.

An event is chosen on a quarter of the runs and counted on the others, so that its counts are binomial whatever was seen before.
With P(E) >= p and Q(E) <= q, each missed with probability alpha / 2 at most (Clopper and Pearson 1934):

- (epsilon, delta)-DP says P(E) <= e^epsilon Q(E) + delta, so epsilon >= ln((p - delta) / q);
- rho-zCDP says that the Renyi divergence of each order a > 1 is at most rho a. Divergences do not grow where outputs are only
  told apart by whether E happened, and that of two coins grows as p rises above q or q falls below p, so
  rho >= D_a(p, q) / a for each a, with D_a(p, q) = ln(p^a q^(1-a) + (1-p)^a (1-q)^(1-a)) / (a - 1).

For tables that are k records apart, a release of one record's epsilon has k epsilon, and one of rho has k^2 rho (Bun and
Steinke 2016, Proposition 1.9): a bound above that means that some two neighbours on the way from one to the other break the
claim.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom, chi2_contingency

Floats = NDArray[np.float64]
Score = Callable[["Observation"], float]
ORDERS = 1 + np.geomspace(1e-3, 200, 120)
BINS, FEW = 10, 20
TELLING = 0.1
THRESHOLDS = 100


@dataclass(frozen=True, slots=True)
class Observation:
    """What a run released: discrete outcomes, and whole numbers that noise was added to."""

    path: tuple[object, ...]
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed of a pair of tables."""

    epsilon: float
    delta: float = 0.0
    rho: float | None = None
    """If not None, the claim is rho-zCDP, and epsilon is what follows from it at delta."""

    @property
    def parameter(self) -> float:
        """What a lower bound is held against."""
        return self.epsilon if self.rho is None else self.rho

    def shown(self, p: Floats, q: Floats) -> Floats:
        """Return the parameter that an event with at least p and at most q shows; 0 if none."""
        return epsilon_shown(p, q, self.delta) if self.rho is None else rho_shown(p, q)


@dataclass(frozen=True, slots=True)
class Found:
    """A lower bound and its event: how often it was seen in the runs that it was not chosen on.

    `epsilon` is the bound of epsilon at the claim's delta; the event is of the second table if `swapped`.
    """

    lower: float
    epsilon: float
    on_one: int
    on_other: int
    runs: int
    swapped: bool


def epsilon_shown(p: Floats, q: Floats, delta: float) -> Floats:
    """Return the least epsilon with p <= e^epsilon q + delta."""
    found: Floats = np.log(np.maximum(p - delta, 1e-300) / np.maximum(q, 1e-300))
    return np.maximum(found, 0.0)


def rho_shown(p: Floats, q: Floats) -> Floats:
    """Return the least rho that coins with p above q are within; 0 where p is not above q."""
    p, q = (np.clip(np.asarray(x, dtype=np.float64), 1e-300, 1 - 1e-16)[..., None] for x in (p, q))
    logs = np.logaddexp(
        ORDERS * np.log(p) + (1 - ORDERS) * np.log(q), ORDERS * np.log1p(-p) + (1 - ORDERS) * np.log1p(-q)
    )
    found: Floats = (logs / (ORDERS - 1) / ORDERS).max(axis=-1)
    return np.where(p[..., 0] > q[..., 0], np.maximum(found, 0.0), 0.0)


def at_least(seen: NDArray[np.int64], runs: int, alpha: float) -> Floats:
    """Return what a probability is at least, but for alpha."""
    return np.where(seen > 0, beta.ppf(alpha, np.maximum(seen, 1), runs - seen + 1), 0.0)


def at_most(seen: NDArray[np.int64], runs: int, alpha: float) -> Floats:
    """Return what a probability is at most, but for alpha."""
    return np.where(seen < runs, beta.ppf(1 - alpha, seen + 1, np.maximum(runs - seen, 1)), 1.0)


def lower_bound(
    one: Sequence[Observation], other: Sequence[Observation], claim: Claim, alpha: float, score: Score | None = None
) -> Found:
    """Return a lower bound of the claimed parameter that holds but for alpha; as many runs on either table.

    Events are that a score reaches a threshold, or not; without a score one is learned.
    """
    both = min(len(one), len(other))
    first, counted = both // 4, both - both // 4
    score = score or learned_score(one[:first], other[:first])
    scores = [np.array([score(run) for run in runs[:both]]) for runs in (one, other)]
    limit, above, swapped = _chosen(scores[0][:first], scores[1][:first], claim, alpha)
    seen = np.array([np.sum((side[first:] >= limit) == above) for side in scores])
    on_one, on_other = seen[::-1] if swapped else seen
    p, q = at_least(on_one, counted, alpha / 2), at_most(on_other, counted, alpha / 2)
    return Found(
        float(claim.shown(p, q)), float(epsilon_shown(p, q, claim.delta)), int(on_one), int(on_other), counted, swapped
    )


def power(found: Found, claim: Claim, alpha: float, runs: int | None = None) -> float:
    """Return how likely so many runs show more than the claim, if the event is as likely as it was seen.

    Not seen at all counts as half a time.
    """
    n = runs or found.runs
    p, q = (min(max(seen, 0.5), found.runs - 0.5) / found.runs for seen in (found.on_one, found.on_other))
    least, most = (_likely(n, share) for share in (p, q))
    shown = claim.shown(at_least(least, n, alpha / 2)[:, None], at_most(most, n, alpha / 2)[None, :])
    likely = binom.pmf(least, n, p)[:, None] * binom.pmf(most, n, q)[None, :]
    return float(likely[shown > claim.parameter].sum())


def likelihood_score(one: Sequence[int], other: Sequence[int], scales: Sequence[float], *, gaussian: bool) -> Score:
    """Return the log likelihood ratio of noisy counts of the claimed distribution, around the exact counts of two tables."""
    a, b, s = (np.array(each, dtype=np.float64) for each in (one, other, scales))

    def score(run: Observation) -> float:
        x = np.array(run.values, dtype=np.float64)
        if gaussian:
            return float((((x - b) ** 2 - (x - a) ** 2) / (2 * s**2)).sum())
        return float(((np.abs(x - b) - np.abs(x - a)) / s).sum())

    return score


def learned_score(one: Sequence[Observation], other: Sequence[Observation]) -> Score:
    """Return a score that is the larger the likelier a run was on the first table: a sum of log ratios of frequencies.

    Of the path, and, among runs with this path, of each value, which is sorted into bins with about equally many runs. A value
    whose frequencies on the two tables may well be the same (chi-square, 10 %) is left out.
    """
    paths = _log_ratios([run.path for run in one], [run.path for run in other])
    values: dict[tuple[object, ...], list[tuple[NDArray[np.float64], Floats]]] = {}
    grouped: dict[tuple[object, ...], tuple[list[tuple[int, ...]], list[tuple[int, ...]]]]
    grouped = defaultdict(lambda: ([], []))
    for side, runs in enumerate((one, other)):
        for run in runs:
            grouped[run.path][side].append(run.values)
    for path, (mine, others) in grouped.items():
        if min(len(mine), len(others)) >= FEW:
            columns = zip(np.array(mine).T, np.array(others).T, strict=True)
            values[path] = [_binned(left, right) for left, right in columns]

    def score(run: Observation) -> float:
        found = paths.get(run.path, 0.0)
        for value, (edges, ratios) in zip(run.values, values.get(run.path, ()), strict=False):
            found += float(ratios[np.searchsorted(edges, value)])
        return found

    return score


def _binned(left: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the edges of bins of a value, and the log ratio of frequencies in each; 0 where the value tells nothing."""
    cuts = np.quantile(np.concatenate([left, right]), np.linspace(0, 1, BINS + 1)[1:-1])
    edges = np.unique(np.floor(cuts) + 0.5)
    counts = np.array([np.bincount(np.searchsorted(edges, side), minlength=len(edges) + 1) for side in (left, right)])
    seen = counts[:, counts.sum(axis=0) > 0]
    if seen.shape[1] < 2 or chi2_contingency(seen).pvalue > TELLING:
        return edges, np.zeros(len(edges) + 1)
    shares = (counts + 1) / (counts.sum(axis=1, keepdims=True) + counts.shape[1])
    return edges, np.log(shares[0] / shares[1])


def _log_ratios(one: Iterable[object], other: Iterable[object]) -> dict[object, float]:
    counts: dict[object, list[int]] = defaultdict(lambda: [0, 0])
    for side, runs in enumerate((one, other)):
        for path in runs:
            counts[path][side] += 1
    return {path: float(np.log((mine + 0.5) / (others + 0.5))) for path, (mine, others) in counts.items()}


def _chosen(one: Floats, other: Floats, claim: Claim, alpha: float) -> tuple[float, bool, bool]:
    """Return the threshold, the side of it and the direction that would show most in three times as many runs."""
    limits = np.unique(np.concatenate([one, other]))
    if len(limits) > THRESHOLDS:
        limits = np.unique(np.quantile(limits, np.linspace(0, 1, THRESHOLDS), method="nearest"))
    runs = len(one)
    best, chosen = -1.0, (float(limits[0]), True, False)
    for above in (True, False):
        seen = [np.array([np.sum((side >= limit) == above) for limit in limits]) for side in (one, other)]
        for swapped in (False, True):
            mine, others = seen[::-1] if swapped else seen
            p, q = at_least(3 * mine, 3 * runs, alpha / 2), at_most(3 * others, 3 * runs, alpha / 2)
            shown = claim.shown(p, q)
            place = int(np.argmax(shown))
            if shown[place] > best:
                best, chosen = float(shown[place]), (float(limits[place]), above, swapped)
    return chosen


def _likely(runs: int, share: float) -> NDArray[np.int64]:
    low, high = (int(binom.ppf(tail, runs, share)) for tail in (1e-6, 1 - 1e-6))
    return np.arange(low, high + 1)
