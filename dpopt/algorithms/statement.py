"""The statement of a release: release.json, a function of plan and transcript alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import BEYOND, COMPARED, columns_of, costs
from dpopt.accounting.budget import DEFAULT_DELTA, RECORD, Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.request import RESERVATION
from dpopt.errors import AccountingError, TranscriptError
from dpopt.files.codec import decode, encode
from dpopt.queries.counting.answers import UniformAnswers, uniform_answers
from dpopt.releases.declared_size import contradiction
from dpopt.releases.descriptions.pair_errors import released_errors
from dpopt.releases.job import WEIGHTS_BECAUSE, Job
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.rows import ChosenRows
from dpopt.releases.run import Outcome

DECODING_RULE = (
    "categorical and boolean values as declared; a numeric bin by the representative that schema.json states for it "
    "(by default its midpoint, for whole numbers rounded down); missing values by the declared text or an empty cell"
)

DRAWN_RULE = "but the columns under 'values' have numbers that are drawn within each bin by what was measured there"

WIDE_DECODING = {
    "npz": "a sparse matrix with a row for each record, read by scipy.sparse.load_npz; stored entries are ones, all others 0",
    "baskets": "a line for each record: the items that are one, all others are 0; an empty line is a record of zeros",
}


def release_statement(job: Job, outcome: Outcome, output: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of release.json."""
    plan, sections = job.plan, dict(outcome.sections)
    accuracy = {key: job.statement.get(key) for key in ("proven", "predicted")}
    accuracy |= {**sections.pop("accuracy", {}), **released_errors(job, outcome)}
    privacy = privacy_statement(plan, outcome.ledger)
    if (wrong := contradiction(privacy, outcome.totals)) is not None:
        accuracy = _with_size(accuracy, wrong, job, outcome)
    # From the job's statement and not from the ledger: that of a replay is paid from nowhere.
    repairs = job.statement.get("reading", {}).get("on_invalid", "error")
    repaired = {} if repairs == "error" or job.schema.is_binary else {"on_invalid": repairs}
    paid = {RESERVATION: job.statement[RESERVATION]} if RESERVATION in job.statement else {}
    return {
        "dpopt_release": 1,
        "algorithm": plan.algorithm,
        "chosen": job.statement.get("chosen"),
        **{key: job.statement[key] for key in ("declared", "assumed") if key in job.statement},
        "privacy": {**privacy, **paid},
        "accuracy": accuracy,
        "records": None if outcome.records is None else _records(job, outcome.records, outcome.rows, output, sections),
        "answers": output if outcome.records is None else None,
        **sections,
        **repaired,
        "workload": {"queries": len(job.workload), "fingerprint": job.workload.fingerprint},
        "schema": {
            "fingerprint": job.schema.fingerprint(),
            "drafted_from_private_data_and_not_reviewed": job.schema.draft,
            "draft_accepted": job.statement.get("draft_accepted", False),
        },
        "plan": plan.to_json(),
        "versions": job.statement.get("versions"),
    }


def _with_size(accuracy: dict[str, Any], wrong: dict[str, Any], job: Job, outcome: Outcome) -> dict[str, Any]:
    """Return accuracy with a contradicted number of records as "size", and its part of the errors; no proven error holds.

    Of n records for n0, shares are n / n0 times as far as they should be from 0, or in records, whose sums are right,
    from even ones: answers a for which even ones are u are off by about |1 - n0 / n| |a - u|.
    """
    answers, workload = outcome.answers, job.workload
    marginals, sizes = workload.marginals, job.schema.sizes
    if outcome.records is not None:
        answers = workload_answers(job, outcome.records if outcome.rows is None else outcome.rows.records)
        even = UniformAnswers().on(marginals, sizes) if marginals else uniform_answers(workload.clauses, sizes)
        answers = answers - even
    far = np.abs((1 - wrong["declared"] / max(wrong["records"], 1)) * np.asarray(answers))
    mean = float(far.mean())
    errors = {"max_error": float(far.max()), "mean_error": mean, "low": mean, "high": mean}
    errors["distance"] = mean * len(workload) / 2 / (len(marginals) if marginals else 1)
    found = {**accuracy, "proven": None, "size": wrong}
    found.pop("one_way", None), found.pop("two_way", None)
    for which in ("predicted", "expected"):
        if accuracy.get(which):
            own = {name: value for name, value in accuracy[which].items() if name in errors and value is not None}
            own = {name: float(f"{min(1.0, value + errors[name]):.6g}") for name, value in own.items()}
            found[which] = {**accuracy[which], **own}
    return found


def workload_answers(job: Job, written: SyntheticRecords) -> NDArray[np.float64]:
    """Return the share of synthetic records for every base query of the workload, (m,)."""
    from dpopt.queries.counting.kernels import shares_on_records

    weights = written.multiplicity.astype(np.float64)
    return shares_on_records(job.workload.queries, written.held, job.schema.sizes, weights)


def _records(
    job: Job, records: SyntheticRecords, written: ChosenRows | None, output: dict[str, Any], sections: dict[str, Any]
) -> dict[str, Any]:
    distinct = written.records if written is not None and job.searches_rows else records
    if "rounds" not in sections.get("records", {}):
        # Weights are no numbers of records: distinct records are counted, each once.
        records = SyntheticRecords(distinct.held, np.ones(len(distinct), dtype=np.int64))
    reason = {} if WEIGHTS_BECAUSE not in job.statement else {WEIGHTS_BECAUSE: job.statement[WEIGHTS_BECAUSE]}
    return {
        **output,
        **reason,
        **({} if written is None else written.statement),
        "encoding": "records",
        "distinct": len(distinct),
        **sections.pop("records", {}),
        **_obedience(job, records),
        "records_that_decode": int(records.multiplicity.sum()),
        "decoding": _decoding(job),
    }


def _obedience(job: Job, records: SyntheticRecords) -> dict[str, Any]:
    """Return the rules by name and how many records obey all of them, by multiplicity; nothing where there are none."""
    rules = job.schema.circuit()
    if not rules.number_of_rules:
        return {}
    obeys = ~rules.broken(records.distinct).any(axis=1)
    return {"rules": list(rules.names), "records_that_obey_the_rules": int(records.multiplicity[obeys].sum())}


def _decoding(job: Job) -> str:
    if job.output.get("format") in WIDE_DECODING:
        return WIDE_DECODING[job.output["format"]]
    return DECODING_RULE if job.values is None else f"{DECODING_RULE}; {DRAWN_RULE}"


_BY_ONE_ALONE = (
    "not stated: the plan depends on the number of records that was measured, and keeps the budget by its own "
    "accountant alone"
)


def spending_in_words(privacy: Mapping[str, Any]) -> list[str]:
    """Return the spending in short phrases, for `repr`."""
    epsilon = privacy["epsilon"]
    shown = f"{epsilon:.4g}" if isinstance(epsilon, float) else str(epsilon)
    delta = f"delta={privacy['delta']:g}" if privacy["delta"] else "delta=0 (pure)"
    return [f"epsilon={shown}", delta, str(privacy["neighbours"])]


class Spending(Protocol):
    """The privacy that a plan states."""

    @property
    def budget(self) -> Budget:
        """The most that may be spent."""

    @property
    def relation(self) -> NeighbouringRelation:
        """The neighbouring relation of all charges."""

    @property
    def size(self) -> int | None:
        """The public number of records that the plan uses, if it uses one."""


def privacy_statement(plan: Spending, ledger: Ledger) -> dict[str, Any]:
    """Return the guarantee by the plan's accountant and by every other one, and the charges of the draws.

    The guarantee is that of all that was reserved (`Ledger.guaranteed`): which draws were made may depend on what was
    drawn. Where the number of records was measured, the plan itself depends on a draw, and only the budget's accountant
    has a figure. Privacy: A4, C14 in docs/privacy.
    """
    guaranteed, budget = encode(ledger.guaranteed()), plan.budget
    delta = budget.delta or DEFAULT_DELTA
    if budget.earlier:
        by_accountant = {one.value: _BY_ONE_ALONE for one in COMPARED}
        by_accountant[budget.accountant.value] = guaranteed["epsilon"]
    else:
        columns = columns_of(ledger.reserved if ledger.is_private else ledger.entries)
        rows = costs(columns.for_groups(budget.group).epsilon, delta)
        by_accountant = {
            row["accountant"]: row["epsilon"] if row["refused"] in {None, BEYOND} else row["refused"] for row in rows
        }
    return {
        "private": ledger.is_private,
        **guaranteed,
        "relation": plan.relation.value,
        "neighbours": plan.budget.neighbours(plan.relation),
        "unit": plan.budget.unit,
        "public_size": plan.size,
        "budget": encode(plan.budget),
        "epsilon_by_accountant": {"delta": delta, **by_accountant},
        "charges": [encode(charge) for charge in ledger.entries],
        **({} if ledger.reservation is None else {"reservation": ledger.reservation}),
    }


_NEEDED = {"private", "epsilon", "delta", "rho", "neighbours", "charges"}


class Planned(Spending, Protocol):
    """A plan of a release that is one file."""

    def charges(self) -> list[Charge]:
        """Return the charges."""

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""


def stated_privacy(given: Mapping[str, Any], plan: Planned) -> dict[str, Any]:
    """Return the statement of a file, made by `privacy_statement`, if its charges and totals are those of its plan."""
    stated = dict(given)
    if missing := _NEEDED - set(stated):
        raise TranscriptError(f"its cost is incomplete: {', '.join(sorted(missing))} missing")
    try:
        found = [decode(Charge, one, "a charge", AccountingError) for one in stated["charges"]]
    except AccountingError as error:
        raise TranscriptError(f"it states a charge that is none: {error}") from error
    marks = [one for one in found if one.kind is ChargeKind.NOT_PRIVATE]
    paid = Counter(one for one in found if one.kind is not ChargeKind.NOT_PRIVATE)
    earlier = plan.budget.earlier
    totals = plan.budget.spent(marks) if marks else plan.budget.guaranteed(plan.charges())
    expected = {
        **encode(totals),
        "relation": plan.relation.value,
        "neighbours": plan.budget.neighbours(plan.relation),
        "public_size": plan.size,
        "budget": encode(plan.budget),
    }
    same = all(stated.get(key) == value for key, value in expected.items())
    same = same and stated.get("unit", RECORD) == plan.budget.unit  # older files are for records and do not say so
    if paid != Counter([*earlier, *plan.charges()]) or not same or stated["private"] is not (not marks):
        raise TranscriptError(
            "the privacy that it states is not what its plan costs; the file was changed after it was written"
        )
    return stated
