"""What is proven of a plan that measures, before any record is touched."""

from __future__ import annotations

from math import exp, log, prod, sqrt
from typing import Any

from dpopt.algorithms.dualquery.plan import log_universe
from dpopt.algorithms.measured.plan import PROJECTION, MeasuredPlan
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import Encoding

FAILURE = 0.05


def proven_measured(plan: MeasuredPlan, workload: Workload) -> dict[str, Any] | None:
    """Return a proven bound as a JSON object; None for plans of which nothing useful is proven.

    Noise: the largest error of m answers is at most t with probability 0.95, t = sigma sqrt(2 ln(2 m / 0.05)) / n for
    discrete Gaussian noise (sub-Gaussian: Canonne, Kamath and Steinke 2020, Corollary 9), and about b ln(2 m / 0.05) / n for
    discrete Laplace noise (`_laplace_tail`).

    Projection onto marginals: with a the exact weighted projection of the noisy shares, q the true ones, S the sum of the
    marginals' n^2 / sigma^2 and |X| the number of possible records,

        E sum_i (n / sigma_i)^2 (a_i - q_i)^2  <=  sqrt(2 S ln |X|):

    the angle at a is obtuse, so the left side is at most <z, a - q> for the standardized noise z, whose largest value over
    records x is that of |X| Gaussians of variance at most S, since x lies in one cell of each marginal (Nikolov, Talwar and
    Zhang 2013). Every measured count is taken to weigh as little as the noisiest. Smoothing moves away from the projection
    and is not covered.
    """
    if not plan.gaussian and not plan.answers_only:
        return None
    if plan.answers_only:
        scale, queries = plan.measurements[0].scale, len(workload)
        spread = log(2 * queries / FAILURE)
        largest = scale * sqrt(2 * spread) if plan.gaussian else scale * _laplace_tail(scale, queries)
        return {
            "kind": "bound on the largest error",
            "bound": largest / plan.size,
            "failure_probability": FAILURE,
            "says_something": largest < plan.size,
            "if": "",
        }
    if plan.algorithm != PROJECTION or workload.marginals is None:
        return None
    counts = workload.marginals.domains.counts
    inverse = sum((plan.size / planned.scale) ** 2 for planned in plan.measurements)
    cells = sum(
        prod(int(counts[attribute]) for attribute in planned.attributes or ())
        for planned in plan.measurements
    )
    noisiest = max(planned.scale for planned in plan.measurements) / plan.size
    total = sqrt(2 * inverse * log_universe(workload.schema, Encoding.RECORDS))
    return {
        "kind": "bound on the expected root mean squared error of the exact projection, without smoothing",
        "root_mean_squared_error": noisiest * sqrt(total / cells),
        "counts": cells,
    }


def _laplace_tail(scale: float, queries: int) -> float:
    """Return t / b with P(|Z| > t) <= 0.05 / m for the discrete Laplace distribution of scale b.

    P(|Z| >= k) = 2 e^(-k / b) / (1 + e^(-1 / b)) for whole k >= 1; one whole count is added for rounding.
    """
    return log(2 * queries / (FAILURE * (1 + exp(-1 / scale)))) + 1 / scale
