"""Figures 3, 5 and 7 of the paper, and Theorem 2: what inference makes of sorted counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.sorted.isotonic import isotonic
from dpopt.inference.histograms.sorted.monotone_posterior import monotone_posterior
from experiments.hay_2010.draws import discrete_laplace, generator, variance
from experiments.hay_2010.sets import SortedCounts
from experiments.hay_2010.theory import expected_error_bound

Result = dict[str, Any]

NOISY, SORTED, REAL, ROUNDED = "S~", "S~r", "S-bar", "S-bar rounded"
ABSOLUTE, DEFAULT = "S-bar, absolute differences", "dpopt's default"
ESTIMATES = (NOISY, SORTED, REAL, ROUNDED, ABSOLUTE, DEFAULT)

GAP = 200
"""Scales of noise between distinct values that were moved apart: noise never reaches across."""
POSITION_SAMPLES, POSITION_EPSILON = 200, 1.0
CLASSES = ((1, 1), (2, 9), (10, 99), (100, None))
"""Multiplicities, from and to."""
SHOWN_COUNTS, SHOWN_OF_A_RUN = (1, 60), 9
EXAMPLE = (10,) * 20 + (15, 20, 20, 20, 20)
EXAMPLE_SAMPLES = 10_000


def estimates(
    noisy: NDArray[np.int64], scale: float, largest: int | None
) -> Iterator[tuple[str, NDArray[np.floating | np.integer]]]:
    """Yield each estimate's name and the estimate (n,) of counts that were sorted before the noise came."""
    yield NOISY, noisy
    yield SORTED, np.maximum(np.sort(noisy), 0)
    yield REAL, isotonic(noisy)
    yield ROUNDED, np.maximum(np.floor(isotonic(noisy) + 0.5), 0).astype(np.int64)
    yield ABSOLUTE, least_absolute(noisy)
    posterior = monotone_posterior(noisy, "discrete Laplace", scale, lower=0, upper=largest)
    yield DEFAULT, np.floor(posterior + 0.5).astype(np.int64)


def least_absolute(noisy: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the middle of the nondecreasing sequences (n,) from 0 of least absolute differences, half up."""
    least, most = _least_medians(noisy), -_least_medians(-noisy[::-1])[::-1]
    return np.maximum(np.floor((least + most) / 2 + 0.5), 0.0)


def _least_medians(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the smallest of these sequences: the heap has the bends of the least cost by the last entry, largest on top."""
    bends: list[int] = []
    tops = np.empty_like(values)
    for place, value in enumerate((-values).tolist()):
        heappush(bends, value)
        heappush(bends, value)
        heappop(bends)
        tops[place] = -bends[0]
    return np.minimum.accumulate(tops[::-1])[::-1]


def measure(given: SortedCounts, epsilon: float, sensitivity: int, runs: int) -> Result:
    """Return total squared errors of each estimate, all on the same noise."""
    scale, randomness = sensitivity / epsilon, generator("sorted", given.name, epsilon, sensitivity)
    errors: dict[str, list[float]] = {name: [] for name in ESTIMATES}
    for _ in range(runs):
        noise = discrete_laplace(randomness, given.counts.size, scale)
        for name, estimate in estimates(given.counts + noise, scale, given.largest):
            errors[name].append(squared_error(estimate, given.counts))
    sorted_errors, default_errors = np.array(errors[SORTED]), np.array(errors[DEFAULT])
    return {
        "set": given.name,
        "counts": given.counts.size,
        "distinct": given.multiplicities.size,
        "epsilon": epsilon,
        "sensitivity": sensitivity,
        "draws": runs,
        "errors": {name: _mean(values) for name, values in errors.items()},
        "draws_where_the_default_is_worse_than_sorting": int((default_errors > sorted_errors).sum()),
    }


def measure_bound(given: SortedCounts, epsilon: float, sensitivity: int, draws: int) -> Result:
    """Return the bound of Theorem 2 and the total squared error of S-bar, as the counts are and with wide gaps between them."""
    scale, randomness = sensitivity / epsilon, generator("bound", given.name, epsilon, sensitivity)
    apart = np.cumsum(np.diff(given.counts, prepend=given.counts[0]) > 0) * np.ceil(GAP * scale)
    errors, wide = [], []
    for _ in range(draws):
        noise = discrete_laplace(randomness, given.counts.size, scale)
        errors.append(squared_error(isotonic(given.counts + noise), given.counts))
        wide.append(squared_error(isotonic(apart + noise), apart))
    return {
        "set": given.name,
        "epsilon": epsilon,
        "sensitivity": sensitivity,
        "draws": draws,
        "error_of_the_noise": given.counts.size * variance(scale),
        "bound": expected_error_bound(given.multiplicities, variance(scale)),
        "error": _mean(errors),
        "error_with_wide_gaps": _mean(wide),
    }


def squared_error(estimate: NDArray[np.floating | np.integer], truth: NDArray[np.floating | np.integer]) -> float:
    """Return the sum of the squared differences."""
    return float(((estimate - truth) ** 2.0).sum())


def measure_positions(given: SortedCounts, samples: int) -> Result:
    """Return the mean squared error of isotonic regression at each position, over the variance of the noise."""
    scale = 1.0 / POSITION_EPSILON
    randomness, total = generator("positions", given.name), np.zeros(given.counts.size)
    for _ in range(samples):
        noisy = given.counts + discrete_laplace(randomness, given.counts.size, scale)
        total += (isotonic(noisy) - given.counts) ** 2
    errors = total / samples / variance(scale)
    multiplicities = given.multiplicities
    return {
        "set": given.name,
        "samples": samples,
        "noise_variance": variance(scale),
        "classes": list(_by_class(errors, multiplicities)),
        "shown": _shown(given, errors, multiplicities),
    }


def _by_class(errors: NDArray[np.float64], multiplicities: NDArray[np.int64]) -> Iterator[Result]:
    """Yield, for values that occur about equally often, the error of a position and the error over the bound of Theorem 2."""
    starts = np.cumsum(multiplicities) - multiplicities
    of_a_value = np.add.reduceat(errors, starts)
    quarters = multiplicities // 4
    sums = np.concatenate(([0.0], np.cumsum(errors)))
    inside = sums[starts + multiplicities - quarters] - sums[starts + quarters]
    for least, most in CLASSES:
        chosen = (multiplicities >= least) & (multiplicities <= (most or np.inf))
        if not chosen.any():
            continue
        positions = int(multiplicities[chosen].sum())
        yield {
            "occurs": [least, most],
            "values": int(chosen.sum()),
            "positions": positions,
            "error": float(of_a_value[chosen].sum()) / positions,
            "error_in_the_middle_half": float(inside[chosen].sum() / (multiplicities - 2 * quarters)[chosen].sum()),
            "error_over_bound": float(of_a_value[chosen].sum()) / expected_error_bound(multiplicities[chosen], 1.0),
        }


def _shown(given: SortedCounts, errors: NDArray[np.float64], multiplicities: NDArray[np.int64]) -> list[list[float]]:
    """Return rank from the largest count, count and error at both ends of each run of equal counts and at places inside."""
    starts = np.cumsum(multiplicities) - multiplicities
    values = given.counts[starts]
    rows = []
    for start, size, value in zip(starts.tolist(), multiplicities.tolist(), values.tolist(), strict=True):
        if SHOWN_COUNTS[0] <= value <= SHOWN_COUNTS[1]:
            places = np.unique(np.linspace(start, start + size - 1, SHOWN_OF_A_RUN).round().astype(np.int64))
            rows += [[given.counts.size - place, value, float(f"{errors[place]:.3g}")] for place in places.tolist()]
    return sorted(rows)


def measure_example(samples: int) -> Result:
    """Return one draw for a sequence like that of Figure 3, and the error at each of its positions over many draws."""
    counts = np.array(EXAMPLE, dtype=np.int64)
    randomness = generator("figure 3")
    noisy = counts + discrete_laplace(randomness, (samples, counts.size), 1.0)
    found, single = np.stack([isotonic(row) for row in noisy]), EXAMPLE.count(EXAMPLE[0])
    return {
        "counts": counts.tolist(),
        "noisy": noisy[0].tolist(),
        "inferred": np.round(found[0], 4).tolist(),
        "samples": samples,
        "single_count_left_as_it_is": float(np.mean(found[:, single] == noisy[:, single])),
        "noise_variance": variance(1.0),
        "error": ((found - counts) ** 2).mean(axis=0).round(5).tolist(),
    }


def _mean(values: Sequence[float]) -> dict[str, float]:
    """Return the mean, and its standard error if there are two values or more."""
    spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return {"mean": float(np.mean(values)), "standard_error": spread}
