"""The bound of the accuracy theorem on a finished run: with the gaps that its best responses turned out to have.

A function of plan and transcript (and of bounds computed from them), so it may be published, and replay gives it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpopt.algorithms.dualquery.accuracy import proven_error
from dpopt.algorithms.dualquery.plan import DualQueryPlan, log_universe
from dpopt.releases.job import Job

DEFAULT_FAILURE = 0.05

BY_PROVEN = (
    "proven: every bound was computed without any solver's word, by weak duality in exact arithmetic or as the sum of the "
    "positive weights"
)
BY_REPORTED = (
    "reported: bounds as solvers state them, which hold within their tolerances and are no proofs; where none was stated, "
    "the proven one"
)


@dataclass(frozen=True, slots=True)
class RoundGaps:
    """How far a round's record may be from the best one, in units of weight.

    Attributes
    ----------
    proven : int
        Proven bound minus exact objective, >= 0.
    reported : int or None
        Reported bound minus exact objective, >= 0; None where no solver stated a bound.
    """

    proven: int
    reported: int | None

    @property
    def by_any_word(self) -> int:
        """The smaller of the two gaps."""
        return self.proven if self.reported is None else min(self.proven, self.reported)


def certified_accuracy(job: Job, gaps: Sequence[RoundGaps]) -> dict[str, Any] | None:
    """Return the sharpened accuracy theorem with the mean gap of the rounds, as JSON: once proven, once reported.

    With probability at least 1 - beta the largest error of the T records together is at most ``learning + sampling + g``,
    where g is the mean over rounds of the gap divided by the s draws (`dpopt.algorithms.dualquery.accuracy.proven_error`).
    The gaps depend on released values only.

    Parameters
    ----------
    job
        The public inputs; its plan gives s and eta.
    gaps
        One for each round played; their number is T.

    Returns
    -------
    dict or None
        None if no round was played, or under dqrs: the theorem needs fresh draws in every round.
    """
    if not gaps or DualQueryPlan.of(job.plan).keeps_draws:
        return None
    proven = [gap.proven for gap in gaps]
    reported = [gap.by_any_word for gap in gaps]
    stated = sum(gap.reported is not None for gap in gaps)
    return {
        "by_proven_bounds": _error(job, proven, BY_PROVEN),
        "by_reported_bounds": {
            **_error(job, reported, BY_REPORTED),
            "rounds_with_a_reported_bound": stated,
        },
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
        log_universe=log_universe(job.schema, plan.encoding),
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
    if job.record_rules().number_of_rules:
        found["assumes"] = "that the records of the table obey the rules of the schema"
    return found
