"""What a release of DualQuery adds to release.json: rounds, certificates, and the accuracy that they certify."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpopt.algorithms.dualquery.certified_accuracy import RoundGaps, certified_accuracy
from dpopt.releases.job import Job
from dpopt.releases.rounds import Round


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
    return RoundGaps(done.sampled.charge.count if proven is None else proven, done.certificate.reported_gap)


def certificates(rounds: Sequence[Round]) -> dict[str, Any]:
    """Summarise the rounds' certificates: objectives recomputed exactly, and gaps to bounds divided by the draws."""
    gaps = [
        done.certificate.gap / max(1, done.sampled.charge.count)
        for done in rounds
        if done.certificate.gap is not None
    ]
    proven = [gaps_of(done).proven / max(1, done.sampled.charge.count) for done in rounds]
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
