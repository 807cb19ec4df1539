"""The exact loss of decision lists over all neighbours, and planted defects, one at a time: each turns a named check red."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.curators import list_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.list_curator import ListCounts, ListCurator
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.tables.list_table import PrivateLists
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.synopses.decision_lists.list_plan import ListPlan
from dpopt.synopses.decision_lists.list_planning import plan_lists
from dpopt.synopses.decision_lists.release_lists import release_lists
from dpopt.transcript.released import NoisyAnswers
from tests.exact_bin_loss import AMPLE, Watching
from tests.exact_list_loss import (
    FAMILIES,
    ROWS,
    check_list_game,
    coefficients_of,
    measurement_game,
    release_game,
    tiny_plan,
)
from tests.tiny_lists import counted, private, rows_of
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]
NOISES = (False, True)
LISTS = coefficients_of("lists")


def check_loss_of_one_size(relation: NeighbouringRelation) -> None:
    """Of each size, lists and disjunctions: at most the charge, and not less."""
    for gaussian in NOISES:
        for kind in ("lists", "disjunctions"):
            for size in (0, 1, 2):
                what = ListCounts(size, 7.5, gaussian)
                share = check_list_game(measurement_game(kind, what, relation))
                assert share > (1 - 1e-3 if gaussian else 1 - 1e-12), f"{kind}, {size}: reached {share}"


def check_loss_of_releases(relation: NeighbouringRelation) -> None:
    """Whole releases: a row moves conjunctions of each size."""
    for gaussian in NOISES:
        for kind in ("lists", "disjunctions"):
            share = check_list_game(release_game(tiny_plan(kind, relation, gaussian=gaussian)))
            assert share > 0.5, f"reached {share}"


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn: size by size, once each."""
    for gaussian in NOISES:
        law = "Gaussian" if gaussian else "Laplace"
        once = ["spend", "journal charge", law, "journal measurement"]
        assert events_of(tiny_plan("lists", relation, gaussian=gaussian)) == once * 3


def events_of(plan: ListPlan) -> list[str]:
    noise = Watching()
    with pytest.MonkeyPatch.context() as patch:
        spend = Ledger.spend

        def recording(self: Ledger, charge: Charge) -> None:
            spend(self, charge)
            noise.events.append("spend")

        patch.setattr(Ledger, "spend", recording)
        journal = "dpopt.synopses.decision_lists.release_lists.MemoryJournal"
        patch.setattr(journal, lambda **_: EventJournal(noise.events))
        release_lists(table(), plan, noise=noise)
    return noise.events


def table() -> PrivateLists:
    rows = rows_of(FAMILIES["lists"])
    return private(FAMILIES["lists"], [rows[20], rows[-9]])


def check_counts_are_those_of_the_rows(relation: NeighbouringRelation) -> None:
    """What gets noise is what the definition says, and nothing else is charged for."""
    noise = Watching()
    release_lists(table(), tiny_plan("lists", relation, gaussian=False), noise=noise)
    rows = rows_of(FAMILIES["lists"])
    for size, drawn in enumerate(noise.drawn):
        expected = np.sum([counted(LISTS, row, size) for row in (rows[20], rows[-9])], axis=0)
        assert list(drawn.counts) == expected.tolist(), "counts"


def check_nothing_is_drawn_twice_or_unpaid(relation: NeighbouringRelation) -> None:
    """Whatever was reserved, a size is measured once, whatever its noise, and what was not reserved never."""
    noise, ledger = Watching(), Ledger(AMPLE[False], relation)
    what, other = ListCounts(2, 7.5, False), ListCounts(1, 7.5, False)
    charge, again = what.charge(LISTS, relation), replace(what, scale=9.0)
    ledger.reserve([charge, charge, again.charge(LISTS, relation)])
    curator = ListCurator(table(), LISTS, ledger, EventJournal(noise.events), size=ROWS, noise=noise)
    for measurement in (other, what, what, again):
        attempt(partial(curator.measure, measurement))
    assert noise.events == ["journal charge", "Laplace", "journal measurement"], f"drawn: {noise.events}"
    assert len([entry for entry in ledger.entries if entry.kind is ChargeKind.PURE]) == 1


def check_a_charge_of_the_callers_buys_nothing(relation: NeighbouringRelation) -> None:
    """A reservation under the right name and for too little money: nothing is drawn."""
    for gaussian in NOISES:
        what, noise = ListCounts(2, 7.5, gaussian), Watching()
        ledger = Ledger(AMPLE[gaussian], relation)
        right = what.charge(LISTS, relation)
        ledger.reserve([replace(right, parameter=right.parameter / 100)])
        curator = ListCurator(table(), LISTS, ledger, EventJournal([]), size=ROWS, noise=noise)
        attempt(partial(curator.measure, what))
        assert noise.events == [], f"drew {noise.events} for a hundredth of the charge"


def attempt(action: Callable[[], object]) -> None:
    try:
        action()
    except Exception:  # noqa: BLE001
        return


AMOUNTS = {True: 0.02, False: 0.7}


def check_plans_keep_their_budget(relation: NeighbouringRelation) -> None:
    """What the sizes cost together, from all rows and the scales, is the budget and no more."""
    family = FAMILIES["lists"]
    for gaussian, amount in AMOUNTS.items():
        pure = Budget(amount, 0.0, None, Accountant.PURE)
        budget = Budget(None, 1e-9, amount, Accountant.ZCDP) if gaussian else pure
        plan = plan_lists(family, budget, size=5000, relation=relation)
        total = 0.0
        for size, scale in zip(plan.sizes, plan.scales, strict=True):
            vectors = np.array([counted(plan.coefficients, row, size) for row in rows_of(family)])
            apart = vectors[:, None] - vectors if relation is REPLACE else vectors[:, None]
            moved = float((apart**2 if gaussian else np.abs(apart)).sum(axis=2).max())
            total += moved / (2 * scale**2) if gaussian else moved / scale
        assert 1 - 1e-9 < total / amount <= 1, f"budget: {total / amount}"


CHECKS = [
    check_loss_of_one_size,
    check_loss_of_releases,
    check_order_of_events,
    check_counts_are_those_of_the_rows,
    check_nothing_is_drawn_twice_or_unpaid,
    check_a_charge_of_the_callers_buys_nothing,
    check_plans_keep_their_budget,
]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", CHECKS)
def test_without_a_defect_every_check_is_green(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


def change_moves(
    patch: pytest.MonkeyPatch, change: Callable[[int, ListCoefficients, int, bool], int]
) -> None:
    """Change by how much a row is said to move the counts of a size, in plan and curator alike."""
    original = ListCoefficients.moved

    def changed(self: ListCoefficients, size: int, *, replaced: bool, squared: bool) -> int:
        return change(original(self, size, replaced=replaced, squared=squared), self, size, squared)

    patch.setattr(ListCoefficients, "moved", changed)


def halve_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    change_moves(patch, lambda moved, coefficients, size, squared: max(moved // (4 if squared else 2), 1))


def double_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    change_moves(patch, lambda moved, coefficients, size, squared: moved * (4 if squared else 2))


def count_replace_one_as_add_remove(patch: pytest.MonkeyPatch) -> None:
    original = ListCoefficients.moved
    patch.setattr(
        ListCoefficients,
        "moved",
        lambda self, size, replaced, squared: original(self, size, replaced=False, squared=squared),
    )


def take_rows_for_apart_when_they_are_opposite(patch: pytest.MonkeyPatch) -> None:
    """As if replaced rows shared no conjunction, so that L2 grows by a root of 2 only."""
    original = ListCoefficients.moved
    patch.setattr(
        ListCoefficients,
        "moved",
        lambda self, size, replaced, squared: (
            original(self, size, replaced=False, squared=squared) * 2
            if replaced and size
            else original(self, size, replaced=replaced, squared=squared)
        ),
    )


def forget_that_variables_are_shared(patch: pytest.MonkeyPatch) -> None:
    """Disjunctions on the same variables with other signs: as if they were apart."""
    original = ListCoefficients._farthest
    patch.setattr(
        ListCoefficients,
        "_farthest",
        lambda self, size: min(original(self, size), 2 * int(self._norms(size, squared=True).max()) - 1),
    )


def leave_the_empty_conjunction_uncharged(patch: pytest.MonkeyPatch) -> None:
    """As if the sum of the first bits was public."""
    change_moves(patch, lambda moved, coefficients, size, squared: moved if size else 1)


def look_at_rows_that_never_change_back(patch: pytest.MonkeyPatch) -> None:
    original = ListCoefficients._norms

    def fewer(self: ListCoefficients, size: int, *, squared: bool) -> NDArray[np.int64]:
        changes = np.count_nonzero(np.diff(self.family.patterns, axis=1), axis=1)
        return np.asarray(original(self, size, squared=squared)[changes <= 1])

    patch.setattr(ListCoefficients, "_norms", fewer)


def draw_with(patch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    def changed(exact: NDArray[np.int64], measurement: Any, *rest: Any, **more: Any) -> NoisyAnswers:
        return with_noise(exact, change(measurement), *rest, **more)

    patch.setattr(list_curator, "with_noise", changed)


def draw_noise_of_half_the_scale(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, scale=what.scale / 2))


def draw_noise_of_the_other_law(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, gaussian=not what.gaussian))


def leave_the_empty_conjunction_without_noise(patch: pytest.MonkeyPatch) -> None:
    def some_exact(
        exact: NDArray[np.int64], what: Any, charge: Charge, *rest: Any, **more: Any
    ) -> NoisyAnswers:
        if what.size == 0:
            return NoisyAnswers(what.name, exact, "discrete Laplace", what.scale, charge)
        return with_noise(exact, what, charge, *rest, **more)

    patch.setattr(list_curator, "with_noise", some_exact)


def keep_the_mean_of_two_draws(patch: pytest.MonkeyPatch) -> None:
    def twice(*given: Any, **more: Any) -> NoisyAnswers:
        one, two = with_noise(*given, **more), with_noise(*given, **more)
        return replace(one, values=(one.values + two.values) // 2)

    patch.setattr(list_curator, "with_noise", twice)


def change_counts(
    patch: pytest.MonkeyPatch, change: Callable[[list[NDArray[np.int64]]], list[NDArray[np.int64]]]
) -> None:
    original = ListCurator.count

    def changed(self: ListCurator) -> None:
        original(self)
        self._counts = change(self._counts)

    patch.setattr(ListCurator, "count", changed)


def count_each_row_twice(patch: pytest.MonkeyPatch) -> None:
    change_counts(patch, lambda counts: [2 * one for one in counts])


def leave_out_what_no_row_counts_in(patch: pytest.MonkeyPatch) -> None:
    """How many values are released says which conjunctions occur."""
    change_counts(patch, lambda counts: [one[one != 0] for one in counts])


def exchange_the_signs(patch: pytest.MonkeyPatch) -> None:
    change_counts(patch, lambda counts: [counts[0], counts[1][::-1].copy(), counts[2]])


def charge_after_the_draw(patch: pytest.MonkeyPatch) -> None:
    def late(self: ListCurator, measurement: ListCounts) -> NoisyAnswers:
        charge = measurement.charge(self._coefficients, self._relation)
        answers = with_noise(self._counts[measurement.size], measurement, charge, self._noise)
        self._charged(charge)
        return self._released(answers, answers.to_json())

    patch.setattr(ListCurator, "measure", late)


def draw_without_a_charge(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ListCurator, "_charged", lambda self, charge, **where: self._on_file(charge, **where))


def charge_the_first_size_alone(patch: pytest.MonkeyPatch) -> None:
    original = Door._charged

    def once(self: Door[PrivateLists], charge: Charge, **where: int) -> Charge:
        spent = self._ledger.entries
        return self._on_file(charge, **where) if spent else original(self, charge, **where)

    patch.setattr(Door, "_charged", once)


def hand_out_before_it_is_on_file(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ListCurator, "_released", lambda self, value, entry: value)


def forget_what_was_drawn(patch: pytest.MonkeyPatch) -> None:
    class Forgetful(set[int]):
        def add(self, size: int) -> None:
            """Remember nothing."""

    original = ListCurator.__init__

    def forgetting(self: ListCurator, *given: Any, **more: Any) -> None:
        original(self, *given, **more)
        self._measured = Forgetful()

    patch.setattr(ListCurator, "__init__", forgetting)


def take_whatever_was_reserved(patch: pytest.MonkeyPatch) -> None:
    """The charge is the caller's: the first one that is reserved."""

    def trusting(self: ListCurator, measurement: ListCounts) -> NoisyAnswers:
        self.count()
        charge = self._charged(self._ledger.unspent[0])
        answers = with_noise(self._counts[measurement.size], measurement, charge, self._noise)
        return self._released(answers, answers.to_json())

    patch.setattr(ListCurator, "measure", trusting)


def plan_with(patch: pytest.MonkeyPatch, change: Callable[[int, float], tuple[int, float]]) -> None:
    def changed(moved: int, *, amount: float, gaussian: bool) -> float:
        moved, amount = change(moved, amount)
        return measurement_scale(moved, amount=amount, gaussian=gaussian)

    patch.setattr("dpopt.synopses.decision_lists.list_planning.measurement_scale", changed)


def plan_with_half_the_moves(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, lambda moved, amount: (max(moved // 2, 1), amount))


def leave_a_part_of_the_budget(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, lambda moved, amount: (moved, amount * 0.9))


LOSS = "loss .*, charged|rho .*, charged"
DEFECTS: list[tuple[Plant, Check, NeighbouringRelation, str]] = [
    (halve_the_sensitivity, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (halve_the_sensitivity, check_loss_of_releases, REPLACE, LOSS),
    (double_the_sensitivity, check_loss_of_one_size, REPLACE, "reached"),
    (count_replace_one_as_add_remove, check_loss_of_one_size, REPLACE, LOSS),
    (take_rows_for_apart_when_they_are_opposite, check_loss_of_one_size, REPLACE, LOSS),
    (forget_that_variables_are_shared, check_loss_of_one_size, REPLACE, LOSS),
    (leave_the_empty_conjunction_uncharged, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (look_at_rows_that_never_change_back, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (draw_noise_of_half_the_scale, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (draw_noise_of_half_the_scale, check_loss_of_releases, REPLACE, LOSS),
    (draw_noise_of_the_other_law, check_loss_of_one_size, ADD_REMOVE, "noise for discrete"),
    (
        leave_the_empty_conjunction_without_noise,
        check_loss_of_releases,
        ADD_REMOVE,
        "drawn 2 times, charged 3",
    ),
    (keep_the_mean_of_two_draws, check_loss_of_one_size, ADD_REMOVE, "drawn 2 times, charged 1"),
    (keep_the_mean_of_two_draws, check_order_of_events, REPLACE, "Laplace"),
    (count_each_row_twice, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (leave_out_what_no_row_counts_in, check_loss_of_releases, ADD_REMOVE, "shape of the draws|counts"),
    (exchange_the_signs, check_counts_are_those_of_the_rows, ADD_REMOVE, "counts"),
    (charge_after_the_draw, check_order_of_events, ADD_REMOVE, "Laplace"),
    (draw_without_a_charge, check_order_of_events, REPLACE, "spend"),
    (draw_without_a_charge, check_loss_of_one_size, ADD_REMOVE, "drawn 1 times, charged 0"),
    (charge_the_first_size_alone, check_loss_of_releases, ADD_REMOVE, "drawn 3 times, charged 1"),
    (hand_out_before_it_is_on_file, check_order_of_events, ADD_REMOVE, "journal measurement"),
    (forget_what_was_drawn, check_nothing_is_drawn_twice_or_unpaid, ADD_REMOVE, "drawn:"),
    (take_whatever_was_reserved, check_a_charge_of_the_callers_buys_nothing, REPLACE, "a hundredth"),
    (plan_with_half_the_moves, check_plans_keep_their_budget, ADD_REMOVE, "budget"),
    (leave_a_part_of_the_budget, check_plans_keep_their_budget, REPLACE, "budget"),
]


@pytest.mark.parametrize(("plant", "check", "relation", "message"), DEFECTS)
def test_a_planted_defect_turns_its_check_red(
    plant: Plant, check: Check, relation: NeighbouringRelation, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(Exception, match=message):
        check(relation)
