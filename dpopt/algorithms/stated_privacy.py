"""The privacy that a file states, compared with what its own plan costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

from dpopt.accounting.budget import RECORD
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.algorithms.statement import Spending
from dpopt.errors import AccountingError, TranscriptError
from dpopt.files.codec import decode, encode

_NEEDED = {"private", "epsilon", "delta", "rho", "neighbours", "charges"}


class Planned(Spending, Protocol):
    """A plan of a release that is one file."""

    def charges(self) -> list[Charge]:
        """Return what it costs."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        ...


def stated_privacy(given: Mapping[str, Any], plan: Planned) -> dict[str, Any]:
    """Return the statement of a file, if its charges and totals are those of its plan.

    Parameters
    ----------
    given : Mapping
        The statement, as `dpopt.algorithms.statement.privacy_statement` made it.
    plan : Planned
        What was measured, by the same file.

    Raises
    ------
    TranscriptError
        If it lacks a part, or says something else than the plan: the file was changed after it was written.
    """
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
    totals = plan.budget.whole() if earlier and not marks else plan.budget.spent(found[len(earlier) :])
    expected = {
        **encode(totals),
        "relation": plan.relation.value,
        "neighbours": plan.budget.neighbours(plan.relation),
        "public_size": plan.size,
        "budget": encode(plan.budget),
    }
    same = all(stated.get(key) == value for key, value in expected.items())
    same = (
        same and stated.get("unit", RECORD) == plan.budget.unit
    )  # older files are for records and do not say so
    if paid != Counter([*earlier, *plan.charges()]) or not same or stated["private"] is not (not marks):
        raise TranscriptError(
            "the privacy that it states is not what its plan costs; the file was changed after it was written"
        )
    return stated
