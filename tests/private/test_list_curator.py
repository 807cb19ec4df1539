"""What decision lists count: what it is, what it costs over all neighbours of tiny tables, and in which order."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError, BudgetError, PlanError, PrivacyBoundaryError, PrivateDataError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.measurements.conjunction_measurement import ListCounts, ListTable
from dpopt.private.mechanisms.noise import Noise, OpendpNoise, ScriptedNoise
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from tests.exact_counts_loss import AMPLE
from tests.exact_list_loss import FAMILIES, coefficients_of, list_neighbours
from tests.private.test_trust import ClaimingNoise
from tests.tiny_lists import Row, counted, family_of, private, random_coefficients, rows_of
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal

LISTS = coefficients_of("lists")
TABLE: tuple[Row, ...] = (
    (((0, True), (1, False)), (1, 0, 1)),
    (((1, True),), (0, 1)),
    ((), (1,)),
)


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
    *reserved: ListCounts,
    coefficients: ListCoefficients = LISTS,
    table: tuple[Row, ...] = TABLE,
    relation: NeighbouringRelation = ADD_REMOVE,
    size: int = 3,
    noise: Noise | None = None,
    gaussian: bool = False,
    events: list[str] | None = None,
) -> tuple[CountingCurator, Ledger]:
    ledger = Ledger(AMPLE[gaussian], relation)
    ledger.reserve([what.charge(coefficients, relation) for what in reserved])
    journal = EventJournal([] if events is None else events)
    lists = private(coefficients.family, table)
    return CountingCurator(ListTable.of(lists, coefficients), ledger, journal, size=size, noise=noise), ledger


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_a_charge_is_that_of_the_farthest_neighbours(
    relation: NeighbouringRelation, kind: str, size: int, gaussian: bool
) -> None:
    """rho = L2^2 / (2 sigma^2) and epsilon = L1 / b with the largest distances, which some neighbours have."""
    coefficients = coefficients_of(kind)
    vectors = {row: np.array(counted(coefficients, row, size)) for row in rows_of(FAMILIES[kind])}
    farthest = 0
    for one, other in list_neighbours(FAMILIES[kind], relation):
        sensitivity = np.sum([vectors[row] for row in other], axis=0) - np.sum(
            [vectors[row] for row in one], axis=0
        )
        farthest = max(farthest, int((sensitivity**2).sum() if gaussian else np.abs(sensitivity).sum()))
    charge = ListCounts(size, 2.0, gaussian).charge(coefficients, relation)
    cost = Fraction(farthest, 2 * 4) if gaussian else Fraction(farthest, 2)
    assert farthest > 1
    assert charge.relation is relation
    assert charge.parameter >= cost
    assert charge.parameter == pytest.approx(float(cost), rel=1e-12)


def test_silent_noise_gives_the_counts_of_every_conjunction_in_order() -> None:
    family = family_of(4, 3)
    coefficients = random_coefficients(family, 3, 8)
    every = rows_of(family)
    table = tuple(every[number] for number in np.random.default_rng(3).integers(0, len(every), 50))
    sizes = [ListCounts(size, 2.0, False) for size in range(4)]
    made, _ = curator(*sizes, coefficients=coefficients, table=table, noise=Silent([]))
    for what in reversed(sizes):
        expected = np.sum([counted(coefficients, row, what.size) for row in table], axis=0)
        assert made.measure(what).values.tolist() == expected.tolist()


def test_counts_are_charged_then_on_file_then_measured_then_on_file() -> None:
    for gaussian, distribution in ((False, "laplace 2.0"), (True, "gaussian 2.0")):
        events: list[str] = []
        what = ListCounts(2, 2.0, gaussian)
        made, ledger = curator(what, noise=Silent(events), events=events, gaussian=gaussian)
        made._dataset.count()  # type: ignore[attr-defined]
        assert events == []
        answers = made.measure(what)
        assert events == ["journal charge", distribution, "journal measurement"]
        assert answers.name == "lists at conjunctions of 2 literals"
        assert ledger.entries[-1] == answers.charge == what.charge(LISTS, ADD_REMOVE)


def test_nothing_is_measured_twice_or_unreserved() -> None:
    events: list[str] = []
    what, louder = ListCounts(1, 2.0, False), ListCounts(1, 3.0, False)
    made, ledger = curator(what, what, louder, events=events)
    made.measure(what)
    for again in (what, louder):
        with pytest.raises(BudgetError, match="'lists at single literals' was drawn before"):
            made.measure(again)
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        made.measure(ListCounts(0, 2.0, False))
    assert events == ["journal charge", "journal measurement"]
    assert len(ledger.entries) == 1


def test_the_true_noise_leaves_the_ledger_private() -> None:
    what = ListCounts(0, 2.0, False)
    for noise in (None, OpendpNoise()):
        made, ledger = curator(what, noise=noise)
        made.measure(what)
        assert ledger.is_private


@pytest.mark.parametrize("noise", [ScriptedNoise([1]), ClaimingNoise([1]), Silent([])])
def test_other_noise_marks_the_ledger(noise: Noise) -> None:
    _, ledger = curator(noise=noise)
    assert [entry.mechanism for entry in ledger.entries] == [NOT_PRIVATE_DRAWS]
    assert ledger.spent().epsilon == float("inf")


def test_under_replace_one_the_size_is_the_number_of_rows() -> None:
    curator(relation=REPLACE)
    curator(size=2)
    with pytest.raises(PrivateDataError, match="plan was made for n = 2"):
        curator(relation=REPLACE, size=2)


def test_rows_of_another_declaration_are_refused() -> None:
    """Of other variables, or of fewer changes, for which the coefficients would be charged less."""
    for family in (family_of(3, 2), FAMILIES["one change"]):
        with pytest.raises(PrivateDataError, match="another declaration"):
            ListTable.of(private(family, [((), (1,))]), LISTS)


def test_progress_is_told_by_public_numbers() -> None:
    what = ListCounts(2, 2.0, False)
    told: list[list[float]] = []
    for table in (TABLE, TABLE * 40):
        shares: list[float] = []
        ledger = Ledger(AMPLE[False], ADD_REMOVE)
        ledger.reserve([what.charge(LISTS, ADD_REMOVE)])
        lists = private(LISTS.family, table)
        made = CountingCurator(
            ListTable.of(lists, LISTS), ledger, EventJournal([]), size=3, progress=shares.append
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


def test_what_makes_no_sense_is_refused_before_anything_is_spent() -> None:
    for size in (-1, 13):
        with pytest.raises(PlanError, match="expected 0 to 12"):
            ListCounts(size, 1.0, False)
    made, ledger = curator()
    with pytest.raises(PlanError, match="the coefficients end at 2"):
        made.measure(ListCounts(3, 1.0, False))
    for scale in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(AccountingError, match="noise scale"):
            made.measure(ListCounts(1, scale, False))
    assert ledger.entries == ()


def test_a_charge_says_what_it_is_for() -> None:
    charge = ListCounts(0, 5.0, True).charge(LISTS, REPLACE)
    assert charge.mechanism == "discrete Gaussian noise on lists at the empty conjunction"
    assert charge.label == "lists at the empty conjunction"


def test_only_these_counts_are_measured() -> None:
    """Whatever brings a charge of its own is refused, and nothing is spent."""

    class Sly(ListCounts):
        __slots__ = ()

    made, ledger = curator(ListCounts(1, 2.0, False))
    with pytest.raises(PlanError, match="found a Sly"):
        made.measure(Sly(1, 2.0, False))
    assert ledger.entries == ()
