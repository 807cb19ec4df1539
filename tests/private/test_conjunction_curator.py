"""Counts of conjunctions: what they are, what they cost over all neighbours of tiny tables, and in which order."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError, BudgetError, PlanError, PrivacyBoundaryError, PrivateDataError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.measurements.conjunction_measurement import ConjunctionCounts, ConjunctionTable
from dpopt.private.mechanisms.noise import Noise, OpendpNoise, ScriptedNoise
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.exact_counts_loss import AMPLE
from tests.exact_summary_loss import UNIVERSES, counted, table_neighbours
from tests.private.test_trust import ClaimingNoise
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, Table, bits_schema, dataset_of

WIDE = ChosenLiterals.of(
    Schema(
        (
            Attribute("a", AttributeKind.BOOLEAN),
            Attribute("b", AttributeKind.CATEGORICAL, ("x", "y", "z")),
            Attribute("c", AttributeKind.NUMERIC, edges=(0.0, 1.0, 2.0), integer=False),
            Attribute("d", AttributeKind.CATEGORICAL, ("only",)),
        )
    ),
    None,
    "all",
)
TABLE: Table = ((0, 1, 1), (1, 1, 0), (0, 0, 1))
BITS = UNIVERSES["bits"]


class Silent(OpendpNoise):
    """No noise, and a note of what was asked."""

    def __init__(self, events: list[str]) -> None:
        self.events = events

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        self.events.append(f"laplace {scale}")
        return counts

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        self.events.append(f"gaussian {scale}")
        return counts


def curator(
    *reserved: ConjunctionCounts,
    literals: ChosenLiterals = BITS,
    table: Table = TABLE,
    relation: NeighbouringRelation = ADD_REMOVE,
    size: int = 3,
    noise: Noise | None = None,
    gaussian: bool = False,
    events: list[str] | None = None,
) -> tuple[CountingCurator, Ledger]:
    ledger = Ledger(AMPLE[gaussian], relation)
    ledger.reserve([what.charge(literals, relation) for what in reserved])
    journal = EventJournal([] if events is None else events)
    dataset = dataset_of(literals.schema, table)
    return CountingCurator(
        ConjunctionTable.of(dataset, literals), ledger, journal, size=size, noise=noise
    ), ledger


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("kind", UNIVERSES)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_a_charge_is_that_of_the_farthest_neighbours(
    relation: NeighbouringRelation, kind: str, size: int, gaussian: bool
) -> None:
    """rho = L2^2 / (2 sigma^2) and epsilon = L1 / b with the largest distances, which some neighbours have."""
    literals = UNIVERSES[kind]
    farthest = 0
    for one, other in table_neighbours(literals.schema, relation):
        sensitivity = np.array(counted(literals, one, size)) - np.array(counted(literals, other, size))
        assert set(sensitivity.tolist()) <= {-1, 0, 1}
        farthest = max(farthest, int((sensitivity**2).sum() if gaussian else np.abs(sensitivity).sum()))
    charge = ConjunctionCounts(size, 2.0, gaussian).charge(literals, relation)
    cost = Fraction(farthest, 2 * 4) if gaussian else Fraction(farthest, 2)
    assert charge.relation is relation
    assert charge.parameter >= cost
    assert charge.parameter == pytest.approx(float(cost), rel=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_charges_of_bits_are_binomial_coefficients(size: int) -> None:
    single = ChosenLiterals.of(bits_schema(8), None, "positive")
    both = ChosenLiterals.of(bits_schema(8), None, "all")
    what = ConjunctionCounts(size, 10.0, False)
    for literals, relation, factor in [
        (single, ADD_REMOVE, 1),
        (single, REPLACE, 1),
        (both, ADD_REMOVE, 1),
        (both, REPLACE, 2),
    ]:
        assert what.charge(literals, relation).parameter == pytest.approx(factor * comb(8, size) / 10)


@pytest.mark.parametrize("literals", [*UNIVERSES.values(), WIDE], ids=[*UNIVERSES, "wide"])
def test_silent_noise_gives_the_counts_of_every_conjunction_in_order(literals: ChosenLiterals) -> None:
    records = np.random.default_rng(3).integers(0, literals.schema.sizes, (70, len(literals.schema)))
    table = tuple(map(tuple, records.tolist()))
    every = [ConjunctionCounts(size, 2.0, False) for size in range(1, len(literals.schema) + 1)]
    made, _ = curator(*every, literals=literals, table=table, noise=Silent([]))
    for what in reversed(every):  # the largest first: what smaller ones need is counted with it
        assert made.measure(what).values.tolist() == counted(literals, table, what.size)


def test_counts_are_charged_then_on_file_then_measured_then_on_file() -> None:
    for gaussian, distribution in ((False, "laplace 2.0"), (True, "gaussian 2.0")):
        events: list[str] = []
        what = ConjunctionCounts(2, 2.0, gaussian)
        made, ledger = curator(what, noise=Silent(events), events=events, gaussian=gaussian)
        made._dataset.count(3)  # type: ignore[attr-defined]
        assert events == []
        answers = made.measure(what)
        assert events == ["journal charge", distribution, "journal measurement"]
        assert answers.name == "conjunctions of 2 literals"
        assert ledger.entries[-1] == answers.charge == what.charge(BITS, ADD_REMOVE)


def test_nothing_is_measured_twice_or_unreserved() -> None:
    events: list[str] = []
    what, louder = ConjunctionCounts(1, 2.0, False), ConjunctionCounts(1, 3.0, False)
    made, ledger = curator(what, what, louder, events=events)
    made.measure(what)
    for again in (what, louder):
        with pytest.raises(BudgetError, match="'single literals' was drawn before"):
            made.measure(again)
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        made.measure(ConjunctionCounts(2, 2.0, False))
    assert events == ["journal charge", "journal measurement"]
    assert len(ledger.entries) == 1


def test_a_refusal_spends_nothing_and_remembers_nothing() -> None:
    what = ConjunctionCounts(2, 2.0, False)
    made, ledger = curator(what)
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        made.measure(ConjunctionCounts(2, 1.0, False))
    assert ledger.entries == ()
    made.measure(what)
    assert len(ledger.entries) == 1


def test_the_true_noise_leaves_the_ledger_private() -> None:
    what = ConjunctionCounts(1, 2.0, False)
    for noise in (None, OpendpNoise()):
        made, ledger = curator(what, noise=noise)
        made.measure(what)
        assert ledger.is_private
        assert ledger.spent().epsilon == pytest.approx(1.5)


@pytest.mark.parametrize("noise", [ScriptedNoise([1]), ClaimingNoise([1]), Silent([])])
def test_other_noise_marks_the_ledger(noise: Noise) -> None:
    _, ledger = curator(noise=noise)
    assert [entry.mechanism for entry in ledger.entries] == [NOT_PRIVATE_DRAWS]
    assert ledger.spent().epsilon == float("inf")


def test_under_replace_one_the_size_is_the_number_of_records() -> None:
    curator(relation=REPLACE)
    curator(size=2)
    with pytest.raises(PrivateDataError, match="plan was made for n = 2"):
        curator(relation=REPLACE, size=2)


def test_a_table_with_other_attributes_is_refused() -> None:
    ledger = Ledger(AMPLE[False], ADD_REMOVE)
    dataset = PrivateDataset.from_codes(bits_schema(2), [np.array([0, 1]), np.array([1, 1])])
    with pytest.raises(PrivateDataError, match="other attributes than those of the literals"):
        CountingCurator(ConjunctionTable.of(dataset, BITS), ledger, EventJournal([]), size=2)
    assert ledger.entries == ()


def test_progress_is_told_by_public_numbers() -> None:
    what = ConjunctionCounts(2, 2.0, False)
    told: list[list[float]] = []
    for table in (TABLE, (*TABLE, (1, 1, 1)) * 40):
        shares: list[float] = []
        ledger = Ledger(AMPLE[False], ADD_REMOVE)
        ledger.reserve([what.charge(BITS, ADD_REMOVE)])
        dataset = dataset_of(BITS.schema, table)
        made = CountingCurator(
            ConjunctionTable.of(dataset, BITS), ledger, EventJournal([]), size=3, progress=shares.append
        )
        made.measure(what)
        told.append(shares)
    assert told[0] == told[1]
    assert told[0][-1] == 1.0


@pytest.mark.parametrize("attempt", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_curator_stays_where_it_is(attempt: object) -> None:
    made, _ = curator()
    with pytest.raises(PrivacyBoundaryError):
        attempt(made)  # type: ignore[operator]


@pytest.mark.parametrize("size", [0, -1, 17])
def test_sizes_that_make_no_sense_are_refused(size: int) -> None:
    with pytest.raises(PlanError, match="expected 1 to 16"):
        ConjunctionCounts(size, 1.0, False)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_noise_that_is_none_is_refused_before_anything_is_spent(scale: float) -> None:
    events: list[str] = []
    made, ledger = curator(events=events)
    with pytest.raises(AccountingError, match="noise scale"):
        made.measure(ConjunctionCounts(1, scale, False))
    assert (ledger.entries, events) == ((), [])


def test_a_charge_says_what_it_is_for() -> None:
    charge: Charge = ConjunctionCounts(3, 5.0, True).charge(BITS, REPLACE)
    assert charge.mechanism == "discrete Gaussian noise on conjunctions of 3 literals"
    assert charge.label == "conjunctions of 3 literals"


def test_only_these_counts_are_measured() -> None:
    """Whatever brings a charge of its own is refused, and nothing is spent."""

    class Sly(ConjunctionCounts):
        __slots__ = ()

    made, ledger = curator(ConjunctionCounts(1, 2.0, False))
    with pytest.raises(PlanError, match="found a Sly"):
        made.measure(Sly(1, 2.0, False))
    assert ledger.entries == ()
