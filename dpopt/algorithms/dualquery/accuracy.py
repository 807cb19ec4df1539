"""What accuracy theorems promise: before any record is touched, and of a finished run with the gaps of its best responses.

Each is a function of plan and transcript (and of bounds computed from them), so it may be published; replay gives it
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, log, sqrt
from typing import Any

import numpy as np

from dpopt.algorithms.dualquery.plan import DualQueryPlan, log_universe
from dpopt.errors import PlanError
from dpopt.models.best_responses.presolved import SETTLED
from dpopt.releases.job import Job
from dpopt.releases.kept_records import Round

DEFAULT_FAILURE = 0.05

BY_PROVEN = (
    "proven: every bound was computed without any solver's word, by weak duality in exact arithmetic or as the sum of "
    "the positive weights"
)
BY_REPORTED = (
    "reported: bounds as solvers state them, which hold within their tolerances and are no proofs; where none was "
    "stated, the proven one"
)


@dataclass(frozen=True, slots=True)
class RoundGaps:
    """How far a round's record may be from the best one, in units of weight."""

    proven: int
    """Proven bound minus exact objective, >= 0."""
    reported: int | None
    """Reported bound minus exact objective, >= 0; None where no solver stated a bound."""

    @property
    def by_any_word(self) -> int:
        """The smaller of the two gaps."""
        return self.proven if self.reported is None else min(self.proven, self.reported)


def certified_accuracy(job: Job, gaps: Sequence[RoundGaps]) -> dict[str, Any] | None:
    """Return the sharpened accuracy theorem with the mean gap of the rounds, as JSON: once proven, once reported.

    With probability at least 1 - beta the largest error of the T records together is at most ``learning + sampling +
    g``, where g is the mean over rounds of the gap divided by the s draws
    (`dpopt.algorithms.dualquery.accuracy.proven_error`). The gaps depend on released values only.

    Parameters
    ----------
    job
        The public inputs; its plan gives s and eta.
    gaps
        One for each round played; their number is T.

    Returns
    -------
    dict or None
        None if no round was played.
    """
    if not gaps:
        return None
    proven = [gap.proven for gap in gaps]
    reported = [gap.by_any_word for gap in gaps]
    stated = sum(gap.reported is not None for gap in gaps)
    return {
        "by_proven_bounds": _error(job, proven, BY_PROVEN),
        "by_reported_bounds": {**_error(job, reported, BY_REPORTED), "rounds_with_a_reported_bound": stated},
    }


def _error(job: Job, gaps: list[int], kind: str) -> dict[str, Any]:
    """Return the theorem's figure for gaps of one kind."""
    plan, stated = DualQueryPlan.of(job.plan), job.statement.get("proven") or {}
    mean = sum(gaps) / (len(gaps) * plan.draws)  # whole numbers: the same float on every machine
    error = proven_error(
        rounds=len(gaps),
        draws=plan.draws,
        step=float(plan.step),
        queries=len(job.workload),
        log_universe=log_universe(job.schema),
        failure=float(stated.get("failure_probability", DEFAULT_FAILURE)),
        solver_gap=mean,
    )
    found = {key: value for key, value in error.to_json().items() if key != "mean_solver_gap_assumed"}
    found |= {
        "kind": f"bound on the largest error; its gaps are {kind}",
        "mean_gap_over_draws": mean,
        "largest_gap_over_draws": max(gaps) / plan.draws,
        "rounds": len(gaps),
    }
    if job.schema.circuit().number_of_rules:
        found["assumes"] = "that the records of the table obey the rules of the schema"
    return found


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

    Source: Gaboardi et al. 2014, Theorem 4.6, compared with the true data's own play. The regret of multiplicative
    weights with gains in [-1, 1] is ln|Q| / (eta T) + eta / 2 by Hoeffding's lemma. At the best response x^t only the
    upper deviation of the draw's mean matters, so one side of Hoeffding and a union over the universe X and the T
    rounds; at the data's own distribution the deviations of the rounds are a martingale with differences in an interval
    of length 1 / s per draw. Each of the two is given beta / 2.

    Parameters
    ----------
    rounds, draws
        T and s.
    queries
        Base queries.
    log_universe
        ln |X|: the sum of the logarithms of the attributes' sizes.
    failure
        beta, in (0, 1).
    solver_gap
        Mean absolute gap of the best responses divided by s.
    """
    check_failure(failure)
    learning = log(2 * queries) / (step * rounds) + step / 2
    sampling = sqrt((log_universe + log(2 * rounds / failure)) / (2 * draws)) + sqrt(
        log(2 / failure) / (2 * draws * rounds)
    )
    return ProvenError(learning + sampling + solver_gap, failure, learning, sampling, solver_gap)


@dataclass(frozen=True, slots=True)
class PaperParameters:
    """The parameters of Algorithm 2 for a wanted accuracy."""

    rounds: int
    draws: int
    step: Decimal


def parameters_for_accuracy(accuracy: float, *, failure: float, queries: int, log_universe: float) -> PaperParameters:
    """Return the paper's parameters for largest error `accuracy` with probability 1 - `failure`.

    T = ceil(16 ln|Q| / alpha^2), eta = alpha / 4, s = ceil(48 ln(2 |X| T / beta) / alpha^2), and a solver gap of alpha
    / 4. Source: Gaboardi et al. 2014, Algorithm 2 and Theorem 4.6.
    """
    if not 0 < accuracy < 1:
        raise PlanError(f"the largest error allowed: found {accuracy}, expected a share above 0 and below 1")
    check_failure(failure)
    rounds = ceil(16 * log(2 * queries) / accuracy**2)
    draws = ceil(48 * (log_universe + log(2 * rounds / failure)) / accuracy**2)
    return PaperParameters(rounds, draws, Decimal(repr(accuracy)) / 4)


def check_failure(failure: float) -> None:
    """Refuse a failure probability outside (0, 1)."""
    if not 0 < failure < 1:
        raise PlanError(f"the failure probability (1 - confidence) lies between 0 and 1, found {failure}")


def dualquery_sections(job: Job, rounds: Sequence[Round]) -> dict[str, Any]:
    """Return the sections of release.json that belong to the rounds."""
    return {
        "accuracy": {"certified": certified_accuracy(job, [gaps_of(done) for done in rounds])},
        "records": {"rounds": len(rounds)},
        "certificates": certificates(rounds),
        "solvers": sorted({done.solver for done in rounds}),
    }


def gaps_of(done: Round) -> RoundGaps:
    """Return the gaps that a round's own certificate gives; two records never differ by more than the draws."""
    proven = done.certificate.proven_gap
    reported = None if done.solver == SETTLED else done.certificate.reported_gap  # then none was asked
    return RoundGaps(done.sampled.charge.count if proven is None else proven, reported)


def certificates(rounds: Sequence[Round]) -> dict[str, Any]:
    """Summarise the rounds' certificates: objectives recomputed exactly, and gaps to bounds divided by the draws."""
    known = [(gaps_of(done), max(1, done.sampled.charge.count)) for done in rounds]
    gaps = [gap.reported / draws for gap, draws in known if gap.reported is not None]
    proven = [gap.proven / draws for gap, draws in known]
    stopped: dict[str, int] = {}
    for done in rounds:
        stopped[done.stopped] = stopped.get(done.stopped, 0) + 1
    return {
        "rounds": len(rounds),
        "stopped": stopped,
        "fallbacks": sum(done.fallback is not None for done in rounds),
        "fallback_reasons": sorted({done.fallback for done in rounds if done.fallback is not None}),
        "rounds_with_a_bound_reported_by_the_solver": len(gaps),
        "mean_gap_over_draws_by_reported_bounds": float(np.mean(gaps)) if gaps else None,
        "mean_gap_over_draws_by_proven_bounds": float(np.mean(proven)) if proven else None,
    }
