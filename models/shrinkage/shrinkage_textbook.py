"""The weights of an empirical prior in CVXPY, on one screen. Knows nothing of dpopt; labels SH-1 ... are those of the page."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp


def cvxpy_model(
    values: list[float],
    noise: list[float],
    predicted: list[float],
    components: list[tuple[float, float]],
    counts: list[float],
    floor: float = 1.0,
) -> cp.Problem:
    """Return the problem: w are the weights of the components, pairs of scale and exponent."""
    import cvxpy as cp

    w = cp.Variable(len(components), name="w", nonneg=True)  # SH-3

    def density(y: float, variance: float) -> float:
        return exp(-(y**2) / (2 * variance)) / variance**0.5

    objective = 0
    for y, s, m in zip(values, noise, predicted, strict=True):
        variances = [s + scale * max(m, floor) ** power for scale, power in components]
        likelihoods = [density(y, one) / density(y, variances[0]) for one in variances]  # SH-4
        objective += cp.log(cp.sum(cp.multiply(likelihoods, w)))  # SH-1, SH-2
    for k, count in enumerate(counts):
        if count:
            objective += count * cp.log(w[k])
    return cp.Problem(cp.Minimize(-objective), [cp.sum(w) == 1])


def example(counts: list[float]) -> dict[str, object]:
    """Return two cells, one at its prediction and one twice as likely under the slab."""
    return {
        "values": [0.0, (8 * log(4) / 3) ** 0.5],
        "noise": [1.0, 1.0],
        "predicted": [1.0, 1.0],
        "components": [(0.0, 0.0), (3.0, 0.0)],
        "counts": counts,
    }


EXAMPLES = [example([0.0, 0.0]), example([1.0, 0.0])]  # the worked example and the exercise
