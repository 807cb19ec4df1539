"""What a release says about itself: release.json, a function of plan and transcript alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpopt.accounting.accountants import Accountant, total_epsilon
from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.certified_accuracy import RoundGaps, certified_accuracy
from dpopt.algorithms.dualquery import Round
from dpopt.algorithms.job import Job
from dpopt.algorithms.plan import DualQueryPlan, Encoding
from dpopt.algorithms.plan_request import DEFAULT_DELTA
from dpopt.algorithms.synthetic import SyntheticRecords
from dpopt.errors import AccountingError

DECODING_RULE = (
    "categorical and boolean values as declared; a numeric bin by the representative that schema.json states for it "
    "(by default its midpoint, for whole numbers rounded down); missing values by the declared text or an empty cell"
)


def release_statement(
    job: Job, ledger: Ledger, rounds: Sequence[Round], records: SyntheticRecords, output: dict[str, Any]
) -> dict[str, Any]:
    """Return the contents of release.json."""
    plan = job.plan
    return {
        "dpopt_release": 1,
        "algorithm": "dualquery",
        "privacy": privacy_statement(plan, ledger),
        "accuracy": {
            **{key: job.statement.get(key) for key in ("proven", "predicted")},
            "certified": certified_accuracy(job, [gaps_of(done) for done in rounds]),
        },
        "records": {
            **output,
            "encoding": plan.encoding.value,
            "distinct": len(records.distinct),
            "rounds": len(rounds),
            **_obedience(job, records),
            "records_that_decode": records.decodable(job.schema, plan.encoding),
            "decoding": DECODING_RULE
            if plan.encoding is Encoding.RECORDS
            else "one column per indicator bit, 0 or 1",
        },
        "certificates": certificates(rounds),
        "solvers": sorted({done.solver for done in rounds}),
        "workload": {"queries": len(job.workload.clauses), "fingerprint": job.workload.fingerprint},
        "schema": {
            "fingerprint": job.schema.fingerprint(),
            "drafted_from_private_data_and_not_reviewed": job.schema.draft,
            "draft_accepted": job.statement.get("draft_accepted", False),
        },
        "plan": plan.to_json(),
        "versions": job.statement.get("versions"),
    }


def _obedience(job: Job, records: SyntheticRecords) -> dict[str, Any]:
    """Return the rules by name and in how many rounds the record obeys all of them; nothing where there are none."""
    rules = job.record_rules()
    if not rules.number_of_rules:
        return {}
    obeys = ~rules.broken(records.distinct).any(axis=1)
    return {
        "rules": list(rules.names),
        "records_that_obey_the_rules": int(records.multiplicity[obeys].sum()),
    }


def privacy_statement(plan: DualQueryPlan, ledger: Ledger) -> dict[str, Any]:
    """Return what was spent: by the plan's accountant, by every other one, and charge by charge."""
    spent, delta = ledger.spent(), plan.budget.delta or DEFAULT_DELTA
    by_accountant: dict[str, Any] = {}
    for accountant in Accountant:
        try:
            epsilon = total_epsilon(
                ledger.entries, accountant, 0.0 if accountant is Accountant.PURE else delta
            )
        except AccountingError as error:
            by_accountant[accountant.value] = str(error)
        else:
            by_accountant[accountant.value] = epsilon if math.isfinite(epsilon) else None
    return {
        "private": ledger.is_private,
        **spent.to_json(),
        "relation": plan.relation.value,
        "neighbours": plan.relation.describe(),
        "public_size": plan.size,
        "budget": plan.budget.to_json(),
        "epsilon_by_accountant": {"delta": delta, **by_accountant},
        "charges": [charge.to_json() for charge in ledger.entries],
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
