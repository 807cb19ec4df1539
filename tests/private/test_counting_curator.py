"""The curator of noisy counts, with every kind of them: what is charged, drawn and on file, and what is refused.

What single measurements count and cost is tested beside this file, one file for each kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError, BudgetError, PlanError, PrivateDataError
from dpopt.private.curators.counting_curator import Counted, CountingCurator
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.measurements.conjunction_measurement import ConjunctionTable, ListTable
from dpopt.private.measurements.sanitizer_sums import CoefficientTable
from dpopt.private.mechanisms.noise import Noise, OpendpNoise
from dpopt.private.tables.closed import Closed
from tests.boundary import families as kinds
from tests.boundary.families import FAMILIES, Asked
from tests.exact_counts_loss import AMPLE
from tests.noises import NoNoise
from tests.private.test_dataset import ClaimingNoise
from tests.scripted import ScriptedNoise
from tests.tiny_lists import private
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, bits_schema, dataset_of

EVERY_KIND = [
    pytest.param(asked, id=f"{name}, {type(asked.what).__name__}, {asked.what.gaussian}")
    for name, family in FAMILIES.items()
    for gaussian in (False, True)
    for asked in family.asked(gaussian)
]
NO_SCALES = (0.0, -1.0, float("nan"), float("inf"))
every_kind = pytest.mark.parametrize("asked", EVERY_KIND)


class OtherNoise(OpendpNoise):
    """A kind of OpenDP's noise, and so perhaps of other noise."""


def curator(
    held: Closed,
    *reserved: Counted,
    relation: NeighbouringRelation = ADD_REMOVE,
    more: int = 0,
    noise: Noise | None = None,
    events: list[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[CountingCurator, Ledger]:
    """Return a curator of a plan for as many records as there are, or some more."""
    ledger = Ledger(AMPLE[any(what.gaussian for what in reserved)], relation)
    ledger.reserve([what.charge(held._public, relation) for what in reserved])
    journal = EventJournal([] if events is None else events)
    made = CountingCurator(held, ledger, journal, size=held._rows + more, noise=noise, progress=progress)
    return made, ledger


@every_kind
def test_counts_are_charged_then_on_file_then_measured_then_on_file(asked: Asked) -> None:
    events: list[str] = []
    noise, what = NoNoise(events), asked.what
    made, ledger = curator(asked.held, what, noise=noise, events=events)
    answers = made.measure(what)
    assert events == ["journal charge", "gaussian" if what.gaussian else "laplace", "journal measurement"]
    assert noise.scales == [what.scale]
    assert answers.name == what.name
    assert answers.values.tolist() == what.exact(asked.held, ADD_REMOVE).tolist()
    assert ledger.entries[-1] == answers.charge == what.charge(asked.held._public, ADD_REMOVE)
    distribution = "discrete Gaussian" if what.gaussian else "discrete Laplace"
    assert (answers.noise, answers.charge.label) == (distribution, what.name)
    assert answers.charge.mechanism == f"{distribution} noise on {what.name}"


@every_kind
def test_nothing_is_measured_twice_or_unreserved(asked: Asked) -> None:
    """A refusal spends nothing and remembers nothing."""
    events: list[str] = []
    made, ledger = curator(asked.held, asked.what, asked.what, asked.again, events=events)
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        made.measure(asked.other)
    assert (ledger.entries, events) == ((), [])
    made.measure(asked.what)
    for again in (asked.what, asked.again):
        with pytest.raises(BudgetError, match=f"{asked.what.name!r} was drawn before"):
            made.measure(again)
    assert events == ["journal charge", "journal measurement"]
    assert len(ledger.entries) == 1


@every_kind
@pytest.mark.parametrize("noise", [None, OpendpNoise()])
def test_the_true_noise_leaves_the_ledger_private(asked: Asked, noise: Noise | None) -> None:
    made, ledger = curator(asked.held, asked.what, noise=noise)
    made.measure(asked.what)
    assert ledger.is_private
    assert ledger.entries == (asked.what.charge(asked.held._public, ADD_REMOVE),)


@every_kind
@pytest.mark.parametrize("noise", [ScriptedNoise([1]), ClaimingNoise([1]), NoNoise(), OtherNoise()])
def test_other_noise_marks_the_ledger(asked: Asked, noise: Noise) -> None:
    _, ledger = curator(asked.held, noise=noise)
    assert [entry.mechanism for entry in ledger.entries] == [NOT_PRIVATE_DRAWS]
    assert ledger.spent().epsilon == float("inf")


@every_kind
def test_under_replace_one_the_size_is_the_number_of_records(asked: Asked) -> None:
    curator(asked.held, relation=REPLACE)
    curator(asked.held, more=1)
    with pytest.raises(PrivateDataError, match="plan was made for n"):
        curator(asked.held, relation=REPLACE, more=1)


@every_kind
def test_only_these_counts_are_measured(asked: Asked) -> None:
    """Whatever has a name, a charge and exact values of its own is refused, and nothing is spent."""
    sly = type("Sly", (type(asked.what),), {"__slots__": ()})
    made, ledger = curator(asked.held, asked.what)
    with pytest.raises(PlanError, match="found a Sly"):
        made.measure(sly(**{field.name: getattr(asked.what, field.name) for field in fields(asked.what)}))  # type: ignore[arg-type]
    assert ledger.entries == ()


@every_kind
@pytest.mark.parametrize("scale", NO_SCALES)
def test_noise_that_is_none_is_refused_before_anything_is_spent(asked: Asked, scale: float) -> None:
    refuse_unspent(asked, {"scale": scale}, "scale")


def test_lists_beyond_the_coefficients_are_refused_before_anything_is_spent() -> None:
    (asked,) = FAMILIES["lists"].asked(False)
    refuse_unspent(asked, {"size": 3}, "the coefficients end at 2")


def refuse_unspent(asked: Asked, unfit: dict[str, Any], message: str) -> None:
    events: list[str] = []
    made, ledger = curator(asked.held, events=events)
    with pytest.raises((AccountingError, PlanError), match=message):
        made.measure(replace(asked.what, **unfit))  # type: ignore[type-var]
    assert (ledger.entries, events) == ((), [])


COEFFICIENTS = kinds.family_of("mixed, sets")
REPEATED: dict[str, Callable[[int], Closed]] = {
    "conjunctions": lambda times: ConjunctionTable.of(
        dataset_of(bits_schema(3), kinds.RECORDS * times), kinds.LITERALS
    ),
    "lists": lambda times: ListTable.of(private(kinds.LISTS.family, kinds.LIST_ROWS * times), kinds.LISTS),
    "coefficients": lambda times: CoefficientTable.of(
        dataset_of(COEFFICIENTS.schema, ((0, 2), (1, 1), (1, 1)) * times), COEFFICIENTS
    ),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_progress_is_reported_in_public_numbers(kind: str) -> None:
    (asked,) = FAMILIES[kind].asked(False)
    reported: list[list[float]] = []
    for times in (1, 40):
        shares: list[float] = []
        held = REPEATED[kind](times)
        made, _ = curator(held, asked.what, progress=shares.append)
        made.measure(asked.what)
        reported.append(shares)
    assert reported[0] == reported[1]
    assert reported[0][-1] == 1.0
