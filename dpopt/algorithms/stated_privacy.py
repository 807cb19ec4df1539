"""What a file says of its privacy, held against what its own plan costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.errors import AccountingError, TranscriptError

_NEEDED = {"private", "epsilon", "delta", "rho", "neighbours", "charges"}


def stated_privacy(given: Mapping[str, Any], budget: Budget, charges: Iterable[Charge]) -> dict[str, Any]:
    """Return the statement of a file, if its charges and totals are those of its plan.

    Parameters
    ----------
    given : Mapping
        The statement, as `dpopt.algorithms.statement.privacy_statement` made it.
    budget : Budget
        The plan's.
    charges : iterable of Charge
        What the plan costs.

    Raises
    ------
    TranscriptError
        If it lacks a part, or says something else than the plan: the file was changed after it was written.
    """
    stated = dict(given)
    if missing := _NEEDED - set(stated):
        raise TranscriptError(f"it does not say what it cost: {', '.join(sorted(missing))} missing")
    try:
        found = [Charge.from_json(one) for one in stated["charges"]]
    except AccountingError as error:
        raise TranscriptError(f"it states a charge that is none: {error}") from error
    marks = [one for one in found if one.kind is ChargeKind.NOT_PRIVATE]
    paid = Counter(one for one in found if one.kind is not ChargeKind.NOT_PRIVATE)
    totals = budget.spent(found).to_json()
    said = {key: stated.get(key) for key in totals}
    if paid != Counter(charges) or said != totals or stated["private"] is not (not marks):
        raise TranscriptError(
            "what it says of its privacy is not what its plan costs; the file was changed after it was written"
        )
    return stated
