"""The error bound of DualQuery's accuracy theorem, from public values, and the parameters for a wanted accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, log, sqrt
from typing import Any

import numpy as np

from dpopt.errors import PlanError
from dpopt.schema.schema import Schema

DEFAULT_FAILURE = 0.05


@dataclass(frozen=True, slots=True)
class ProvenError:
    """An upper bound on the largest error over the workload, with its parts."""

    bound: float
    """The sum of the parts; it is informative only below 1, since errors never exceed 1."""
    failure: float
    """Probability beta with which it may fail."""
    learning: float
    sampling: float
    solver: float
    """Its parts: the query player's regret, the deviation of the draws, the mean gap of the best responses."""

    def to_json(self) -> dict[str, Any]:
        """Return the bound as a JSON object."""
        return {
            "kind": "proven bound on the largest error",
            "bound": self.bound,
            "says_something": self.bound < 1,
            "failure_probability": self.failure,
            "learning": self.learning,
            "sampling": self.sampling,
            "mean_solver_gap_assumed": self.solver,
            "theorem": "DualQuery Theorem 4.6, sharpened: one-sided deviation at the response, martingale at the data",
        }


def proven_error(
    *,
    rounds: int,
    draws: int,
    step: float,
    queries: int,
    log_universe: float,
    failure: float = 0.05,
    solver_gap: float = 0.0,
) -> ProvenError:
    """Return the sharpened accuracy bound of DualQuery.

    With |Q| = 2 `queries` (closed under negation), T rounds, s draws, step eta and mean best-response gap g, with
    probability at least 1 - beta::

        max_q |q(synthetic) - q(D)| <= ln|Q| / (eta T) + eta / 2 + g
                                       + sqrt(ln(2 |X| T / beta) / (2 s)) + sqrt(ln(2 / beta) / (2 s T)).

    `log_universe` is ln |X|, `failure` beta, in (0, 1), and `solver_gap` the mean absolute gap divided by s.

    Source: Gaboardi et al. 2014, Theorem 4.6, compared with the true data's own play. The regret of multiplicative
    weights with gains in [-1, 1] is ln|Q| / (eta T) + eta / 2 by Hoeffding's lemma. At the best response x^t only the
    upper deviation of the draw's mean matters, so one side of Hoeffding and a union over the universe X and the T
    rounds; at the data's own distribution the deviations of the rounds are a martingale with differences in an interval
    of length 1 / s per draw. Each of the two is given beta / 2.
    """
    check_failure(failure)
    learning = log(2 * queries) / (step * rounds) + step / 2
    sampling = sqrt((log_universe + log(2 * rounds / failure)) / (2 * draws)) + sqrt(
        log(2 / failure) / (2 * draws * rounds)
    )
    return ProvenError(learning + sampling + solver_gap, failure, learning, sampling, solver_gap)


def parameters_for_accuracy(
    accuracy: float, *, failure: float, queries: int, log_universe: float
) -> tuple[int, int, Decimal]:
    """Return the paper's rounds, draws and step for largest error `accuracy` with probability 1 - `failure`.

    T = ceil(16 ln|Q| / alpha^2), eta = alpha / 4, s = ceil(48 ln(2 |X| T / beta) / alpha^2), and a solver gap of alpha
    / 4. Source: Gaboardi et al. 2014, Algorithm 2 and Theorem 4.6.
    """
    if not 0 < accuracy < 1:
        raise PlanError(f"the largest error allowed: found {accuracy}, expected a share above 0 and below 1")
    check_failure(failure)
    rounds = ceil(16 * log(2 * queries) / accuracy**2)
    draws = ceil(48 * (log_universe + log(2 * rounds / failure)) / accuracy**2)
    return rounds, draws, Decimal(repr(accuracy)) / 4


def check_failure(failure: float) -> None:
    """Refuse a failure probability outside (0, 1)."""
    if not 0 < failure < 1:
        raise PlanError(f"the failure probability (1 - confidence) lies between 0 and 1, found {failure}")


def log_universe(schema: Schema) -> float:
    """Return ln |X|: X holds the records of the schema."""
    sizes, counts = np.unique(schema.sizes, return_counts=True)
    terms = zip(sizes.tolist(), counts.tolist(), strict=True)
    # Exact sums, rounded once at the end: what `math.fsum` over all attributes gives, without a loop over them.
    return float(sum((Fraction(log(size)) * count for size, count in terms), Fraction(0)))
