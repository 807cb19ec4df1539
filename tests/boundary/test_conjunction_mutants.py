"""Planted defects of summaries, one at a time: each turns a named check red."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import comb
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
from dpopt.errors import BudgetError
from dpopt.private.curators import conjunction_curator
from dpopt.private.curators.conjunction_curator import ConjunctionCounts, ConjunctionCurator
from dpopt.private.curators.door import Door
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.conjunctions.literals import ChosenLiterals, LiteralGroups
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan, plan_summary
from dpopt.transcript.released import NoisyAnswers
from tests.exact_bin_loss import AMPLE, Watching
from tests.exact_summary_loss import (
    ROWS,
    UNIVERSES,
    check_summary_game,
    measurement_game,
    release_game,
    tiny_plan,
)
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, Table, bits_schema, dataset_of

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]

NOISES = (False, True)
BITS = UNIVERSES["bits"]
TABLE: Table = ((0, 1, 1), (1, 1, 0), (0, 0, 1))


def pairs_of_literals(*, gaussian: bool) -> ConjunctionCounts:
    return ConjunctionCounts(2, 7.5, gaussian)


def check_loss_of_one_size(relation: NeighbouringRelation) -> None:
    """Of single literals and of pairs, in each universe."""
    for gaussian in NOISES:
        for literals in UNIVERSES.values():
            for size in (1, 2):
                what = ConjunctionCounts(size, 7.5, gaussian)
                check_summary_game(measurement_game(literals, what, relation))


def check_loss_of_releases(relation: NeighbouringRelation) -> None:
    """Whole releases: a record moves conjunctions of each size."""
    for gaussian in NOISES:
        check_summary_game(release_game(tiny_plan(BITS, relation, gaussian=gaussian)))


def check_charges_are_tight(relation: NeighbouringRelation) -> None:
    """The charge is reached: under pure epsilon but for its rounding, with Gaussian noise to a thousandth."""
    for gaussian in NOISES:
        for name, literals in UNIVERSES.items():
            what = pairs_of_literals(gaussian=gaussian)
            share = check_summary_game(measurement_game(literals, what, relation))
            assert share > (0.999 if gaussian else 1 - 1e-12), f"{name}: reached {share}"


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn: size by size, once each."""
    for gaussian in NOISES:
        law = "Gaussian" if gaussian else "Laplace"
        once = ["spend", "journal charge", law, "journal measurement"]
        plan = tiny_plan(BITS, relation, gaussian=gaussian)
        assert events_of(plan) == once * len(plan.sizes)


def events_of(plan: SummaryPlan) -> list[str]:
    noise = Watching()
    with pytest.MonkeyPatch.context() as patch:
        spend = Ledger.spend

        def recording(self: Ledger, charge: Charge) -> None:
            spend(self, charge)
            noise.events.append("spend")

        patch.setattr(Ledger, "spend", recording)
        journal = "dpopt.synopses.summaries.release_summary.MemoryJournal"
        patch.setattr(journal, lambda **_: EventJournal(noise.events))
        release_summary(dataset(), plan, noise=noise)
    return noise.events


def dataset() -> PrivateDataset:
    return dataset_of(bits_schema(3), TABLE)


def check_nothing_is_drawn_twice_or_unpaid(relation: NeighbouringRelation) -> None:
    """Whatever was reserved, a size is measured once, whatever its noise, and what was not reserved never."""
    noise, ledger = Watching(), Ledger(AMPLE[False], relation)
    what, other = pairs_of_literals(gaussian=False), ConjunctionCounts(1, 7.5, False)
    charge, again = what.charge(BITS, relation), replace(what, scale=9.0)
    ledger.reserve([charge, charge, again.charge(BITS, relation)])
    curator = ConjunctionCurator(dataset(), BITS, ledger, EventJournal(noise.events), size=ROWS, noise=noise)
    for measurement in (other, what, what, again):
        attempt(partial(curator.measure, measurement))
    assert noise.events == ["journal charge", "Laplace", "journal measurement"], f"drawn: {noise.events}"
    assert len([entry for entry in ledger.entries if entry.kind is ChargeKind.PURE]) == 1


def attempt(action: Callable[[], object]) -> None:
    try:
        action()
    except Exception:  # noqa: BLE001
        return


def check_a_charge_of_the_callers_buys_nothing(relation: NeighbouringRelation) -> None:
    """A reservation under the right name and for too little money: nothing is drawn."""
    for gaussian in NOISES:
        what, noise = pairs_of_literals(gaussian=gaussian), Watching()
        ledger = Ledger(AMPLE[gaussian], relation)
        right = what.charge(BITS, relation)
        ledger.reserve([replace(right, parameter=right.parameter / 100)])
        curator = ConjunctionCurator(dataset(), BITS, ledger, EventJournal([]), size=ROWS, noise=noise)
        attempt(partial(curator.measure, what))
        assert noise.events == [], f"drew {noise.events} for a hundredth of the charge"


AMOUNTS = {True: 0.02, False: 0.7}
WIDE = ChosenLiterals.of(bits_schema(8), None, "all")


def check_plans_keep_their_budget(relation: NeighbouringRelation) -> None:
    """What the sizes cost together, added up by hand from their scales, is the budget and no more."""
    for gaussian, amount in AMOUNTS.items():
        pure = Budget(amount, 0.0, None, Accountant.PURE)
        budget = Budget(None, 1e-9, amount, Accountant.ZCDP) if gaussian else pure
        for predicate in ("and", "or", "atleast:3"):
            plan = plan_summary(WIDE, 5, budget, size=5000, predicate=predicate, relation=relation)
            moved = [comb(8, j) * (1 if relation is ADD_REMOVE else 2) for j in plan.sizes]
            costs = [
                m / (2 * scale**2) if gaussian else m / scale
                for m, scale in zip(moved, plan.scales, strict=True)
            ]
            assert 1 - 1e-9 < sum(costs) / amount <= 1, f"budget of {predicate}: {sum(costs) / amount}"


def change_moves(patch: pytest.MonkeyPatch, change: Callable[[int, LiteralGroups, int, bool], int]) -> None:
    """Change how many conjunctions of a size a record is said to move, in plan and curator alike."""
    original = LiteralGroups.moved

    def changed(self: LiteralGroups, size: int, *, replaced: bool) -> int:
        return change(original(self, size, replaced=replaced), self, size, replaced)

    patch.setattr(LiteralGroups, "moved", changed)


def halve_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    change_moves(patch, lambda moved, groups, size, replaced: max(moved // 2, 1))


def count_replace_one_as_add_remove(patch: pytest.MonkeyPatch) -> None:
    original = LiteralGroups.moved
    patch.setattr(LiteralGroups, "moved", lambda self, size, replaced: original(self, size, replaced=False))


def take_one_conjunction_for_all_of_a_record(patch: pytest.MonkeyPatch) -> None:
    """As if a record lay in one conjunction of each size, as in one bin of a histogram."""
    change_moves(patch, lambda moved, groups, size, replaced: 2 if replaced else 1)


def take_records_with_no_literal_for_the_worst(patch: pytest.MonkeyPatch) -> None:
    """All literals against none: too few under replace-one where a group has several."""
    change_moves(patch, lambda moved, groups, size, replaced: comb(len(groups.sizes), size))


def double_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    change_moves(patch, lambda moved, groups, size, replaced: 2 * moved)


def draw_with(patch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """Change what the noise is drawn by: scale and law of a measurement."""

    def changed(exact: NDArray[np.int64], measurement: Any, *rest: Any, **more: Any) -> NoisyAnswers:
        return with_noise(exact, change(measurement), *rest, **more)

    patch.setattr(conjunction_curator, "with_noise", changed)


def draw_noise_of_half_the_scale(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, scale=what.scale / 2))


def draw_noise_of_the_variance_for_the_scale(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, scale=what.scale**0.5))


def draw_noise_of_the_other_law(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, gaussian=not what.gaussian))


def add_no_noise(patch: pytest.MonkeyPatch) -> None:
    """The values on file are the exact ones; no noise is asked for."""

    def exact_values(
        exact: NDArray[np.int64], measurement: Any, charge: Charge, *rest: Any, **more: Any
    ) -> NoisyAnswers:
        return NoisyAnswers(measurement.name, exact, "discrete Laplace", measurement.scale, charge)

    patch.setattr(conjunction_curator, "with_noise", exact_values)


def leave_single_literals_without_noise(patch: pytest.MonkeyPatch) -> None:
    def some_exact(
        exact: NDArray[np.int64], what: Any, charge: Charge, *rest: Any, **more: Any
    ) -> NoisyAnswers:
        if what.size == 1:
            return NoisyAnswers(what.name, exact, "discrete Laplace", what.scale, charge)
        return with_noise(exact, what, charge, *rest, **more)

    patch.setattr(conjunction_curator, "with_noise", some_exact)


def keep_the_mean_of_two_draws(patch: pytest.MonkeyPatch) -> None:
    """One measurement is on file, two were made."""

    def twice(*given: Any, **more: Any) -> NoisyAnswers:
        one, two = with_noise(*given, **more), with_noise(*given, **more)
        return replace(one, values=(one.values + two.values) // 2)

    patch.setattr(conjunction_curator, "with_noise", twice)


def change_counts(
    patch: pytest.MonkeyPatch, change: Callable[[list[NDArray[np.int64]]], list[NDArray[np.int64]]]
) -> None:
    original = ConjunctionCurator.count

    def changed(self: ConjunctionCurator, most: int) -> None:
        original(self, most)
        self._counts = change(self._counts)

    patch.setattr(ConjunctionCurator, "count", changed)


def count_each_record_twice(patch: pytest.MonkeyPatch) -> None:
    change_counts(patch, lambda counts: [2 * one for one in counts])


def release_running_sums(patch: pytest.MonkeyPatch) -> None:
    change_counts(patch, lambda counts: [np.cumsum(one) for one in counts])


def leave_out_what_nobody_satisfies(patch: pytest.MonkeyPatch) -> None:
    """How many values are released says how many conjunctions occur."""
    change_counts(patch, lambda counts: [one[one > 0] for one in counts])


def give_the_counts_of_another_size(patch: pytest.MonkeyPatch) -> None:
    """Of two attributes the charge of a pair, of which there is one to a record, pays for single literals, which are two."""
    change_counts(patch, lambda counts: [*counts[1:], counts[0]])


def charge_after_the_draw(patch: pytest.MonkeyPatch) -> None:
    def late(self: ConjunctionCurator, measurement: ConjunctionCounts) -> NoisyAnswers:
        charge = measurement.charge(self._literals, self._relation)
        answers = with_noise(self._counts[measurement.size - 1], measurement, charge, self._noise)
        self._charged(charge)
        return self._released(answers, answers.to_json())

    patch.setattr(ConjunctionCurator, "measure", late)


def write_the_charge_before_it_is_spent(patch: pytest.MonkeyPatch) -> None:
    def early(self: Door[PrivateDataset], charge: Charge, **where: int) -> Charge:
        self._on_file(charge, **where)
        self._ledger.spend(charge)
        return charge

    patch.setattr(Door, "_charged", early)


def hand_out_before_it_is_on_file(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ConjunctionCurator, "_released", lambda self, value, entry: value)


def draw_without_a_charge(patch: pytest.MonkeyPatch) -> None:
    """Nothing is spent; what the values say of their charge is right."""
    patch.setattr(
        ConjunctionCurator, "_charged", lambda self, charge, **where: self._on_file(charge, **where)
    )


def charge_the_first_size_alone(patch: pytest.MonkeyPatch) -> None:
    """As if the sizes were counted over different records."""
    original = Door._charged

    def once(self: Door[PrivateDataset], charge: Charge, **where: int) -> Charge:
        spent = self._ledger.entries
        return self._on_file(charge, **where) if spent else original(self, charge, **where)

    patch.setattr(Door, "_charged", once)


def forget_what_was_drawn(patch: pytest.MonkeyPatch) -> None:
    class Forgetful(set[int]):
        def add(self, size: int) -> None:
            """Remember nothing."""

    original = ConjunctionCurator.__init__

    def forgetting(self: ConjunctionCurator, *given: Any, **more: Any) -> None:
        original(self, *given, **more)
        self._measured = Forgetful()

    patch.setattr(ConjunctionCurator, "__init__", forgetting)


def measure_again_with_other_noise(patch: pytest.MonkeyPatch) -> None:
    """A size counts as measured with noise of one scale only: the same counts leave once more with other noise."""

    class ByScale(set[int]):
        def __contains__(self, size: object) -> bool:
            return False

    original = ConjunctionCurator.measure

    def again(self: ConjunctionCurator, measurement: ConjunctionCounts) -> NoisyAnswers:
        if measurement.scale == 9.0:
            self._measured = ByScale()
        return original(self, measurement)

    patch.setattr(ConjunctionCurator, "measure", again)


def take_whatever_was_reserved(patch: pytest.MonkeyPatch) -> None:
    """The charge is the caller's: the first one that is reserved."""

    def trusting(self: ConjunctionCurator, measurement: ConjunctionCounts) -> NoisyAnswers:
        self.count(measurement.size)
        charge = self._charged(self._ledger.unspent[0])
        answers = with_noise(self._counts[measurement.size - 1], measurement, charge, self._noise)
        return self._released(answers, answers.to_json())

    patch.setattr(ConjunctionCurator, "measure", trusting)


def plan_with(patch: pytest.MonkeyPatch, change: Callable[[int, float], tuple[int, float]]) -> None:
    """Change moves and amount that the plan takes for the noise of a size."""

    def changed(moved: int, *, amount: float, gaussian: bool) -> float:
        moved, amount = change(moved, amount)
        return measurement_scale(moved, amount=amount, gaussian=gaussian)

    patch.setattr("dpopt.synopses.summaries.summary_plan.measurement_scale", changed)


def plan_with_half_the_moves(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, lambda moved, amount: (max(moved // 2, 1), amount))


def plan_with_a_little_beside_the_budget(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, lambda moved, amount: (moved, amount * 1.001))


def leave_a_part_of_the_budget(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, lambda moved, amount: (moved, amount * 0.9))


CHECKS = [
    check_loss_of_one_size,
    check_loss_of_releases,
    check_charges_are_tight,
    check_order_of_events,
    check_nothing_is_drawn_twice_or_unpaid,
    check_a_charge_of_the_callers_buys_nothing,
    check_plans_keep_their_budget,
]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", CHECKS)
def test_without_a_defect_every_check_is_green(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


LOSS = "loss .*, charged|rho .*, charged"
DEFECTS: list[tuple[Plant, Check, NeighbouringRelation, str]] = [
    (halve_the_sensitivity, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (halve_the_sensitivity, check_loss_of_one_size, REPLACE, LOSS),
    (halve_the_sensitivity, check_loss_of_releases, REPLACE, LOSS),
    (count_replace_one_as_add_remove, check_loss_of_one_size, REPLACE, LOSS),
    (count_replace_one_as_add_remove, check_loss_of_releases, REPLACE, LOSS),
    (take_one_conjunction_for_all_of_a_record, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (take_one_conjunction_for_all_of_a_record, check_loss_of_releases, REPLACE, LOSS),
    (take_records_with_no_literal_for_the_worst, check_loss_of_one_size, REPLACE, LOSS),
    (double_the_sensitivity, check_charges_are_tight, ADD_REMOVE, "mixed: reached"),
    (double_the_sensitivity, check_charges_are_tight, REPLACE, "mixed: reached"),
    (draw_noise_of_half_the_scale, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (draw_noise_of_half_the_scale, check_loss_of_releases, REPLACE, LOSS),
    (draw_noise_of_the_variance_for_the_scale, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (draw_noise_of_the_other_law, check_loss_of_one_size, ADD_REMOVE, "noise for discrete"),
    (add_no_noise, check_loss_of_one_size, ADD_REMOVE, "drawn 0 times, charged 1"),
    (add_no_noise, check_order_of_events, REPLACE, "Laplace"),
    (leave_single_literals_without_noise, check_loss_of_releases, ADD_REMOVE, "drawn 2 times, charged 3"),
    (keep_the_mean_of_two_draws, check_loss_of_one_size, ADD_REMOVE, "drawn 2 times, charged 1"),
    (keep_the_mean_of_two_draws, check_order_of_events, REPLACE, "Laplace"),
    (count_each_record_twice, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (release_running_sums, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (leave_out_what_nobody_satisfies, check_loss_of_one_size, REPLACE, "shape of the draws"),
    (give_the_counts_of_another_size, check_loss_of_one_size, ADD_REMOVE, LOSS),
    (charge_after_the_draw, check_order_of_events, REPLACE, "spend"),
    (write_the_charge_before_it_is_spent, check_order_of_events, ADD_REMOVE, "spend"),
    (hand_out_before_it_is_on_file, check_order_of_events, ADD_REMOVE, "journal measurement"),
    (draw_without_a_charge, check_loss_of_one_size, REPLACE, "drawn 1 times, charged 0"),
    (draw_without_a_charge, check_loss_of_releases, ADD_REMOVE, "drawn 3 times, charged 0"),
    (draw_without_a_charge, check_nothing_is_drawn_twice_or_unpaid, REPLACE, "drawn: .*Laplace.*Laplace"),
    (charge_the_first_size_alone, check_loss_of_releases, ADD_REMOVE, "drawn 3 times, charged 1"),
    (forget_what_was_drawn, check_nothing_is_drawn_twice_or_unpaid, ADD_REMOVE, "drawn: .*Laplace.*Laplace"),
    (
        measure_again_with_other_noise,
        check_nothing_is_drawn_twice_or_unpaid,
        ADD_REMOVE,
        "drawn: .*Laplace.*Laplace",
    ),
    (take_whatever_was_reserved, check_a_charge_of_the_callers_buys_nothing, ADD_REMOVE, "hundredth"),
    (
        take_whatever_was_reserved,
        check_nothing_is_drawn_twice_or_unpaid,
        REPLACE,
        "drawn: .*Laplace.*Laplace",
    ),
    (plan_with_half_the_moves, check_plans_keep_their_budget, ADD_REMOVE, "budget of"),
    (plan_with_a_little_beside_the_budget, check_plans_keep_their_budget, REPLACE, "budget of"),
    (leave_a_part_of_the_budget, check_plans_keep_their_budget, ADD_REMOVE, "budget of"),
]


@pytest.mark.parametrize(("plant", "check", "relation", "message"), DEFECTS)
def test_a_planted_defect_is_caught(
    plant: Plant,
    check: Check,
    relation: NeighbouringRelation,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=message):
        check(relation)


@pytest.mark.parametrize("gaussian", NOISES)
def test_a_plan_beyond_its_budget_draws_nothing(gaussian: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the noise costs twice the budget, whatever the plan says."""
    small = Budget(1.0, 0.0, None, Accountant.PURE)
    budget = Budget(None, 1e-9, 0.5, Accountant.ZCDP) if gaussian else small
    plan, noise = plan_summary(BITS, 3, budget, size=1000), Watching()
    less = replace(plan, scales=tuple(scale / 2 for scale in plan.scales))
    with pytest.raises(BudgetError, match="the plan costs"):
        release_summary(dataset(), less, noise=noise)
    assert noise.drawn == []


@pytest.mark.parametrize("gaussian", NOISES)
def test_a_plan_and_a_curator_that_disagree_draw_nothing(
    gaussian: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan with charges of its own finds no reservation for what the curator charges."""
    plan, noise = tiny_plan(BITS, REPLACE, gaussian=gaussian), Watching()
    cheap = [replace(one, parameter=one.parameter / 2) for one in plan.charges()]
    monkeypatch.setattr(SummaryPlan, "charges", lambda self: cheap)
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        release_summary(dataset(), plan, noise=noise)
    assert noise.drawn == []
