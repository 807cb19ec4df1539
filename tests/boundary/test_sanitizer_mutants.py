"""Planted defects of the generic sanitizer, one at a time: each turns a named check red."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError
from dpopt.private.curators import sanitizer_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.sanitizer_curator import CoefficientSums, SanitizerCurator
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.polynomial_families import (
    FunctionFamily,
    Moves,
    PolynomialFamily,
    SymmetricFamily,
    TableFamily,
)
from dpopt.synopses.sanitizers import sanitizer_plan
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.sanitizers.sanitizer_plan import SanitizerPlan
from dpopt.transcript.released import NoisyAnswers
from tests.exact_bin_loss import AMPLE, Watching
from tests.exact_sanitizer_loss import (
    FAMILIES,
    UNIT,
    check_planned_loss,
    function_family,
    huge,
    not_a_number,
    plan_of,
    sums_game,
)
from tests.exact_summary_loss import ROWS, check_summary_game
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, Table, dataset_of

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]

NOISES = (False, True)
TIGHT = ("mixed, sets", "mixed, powers", "mixed, positive, sets", "table")
TABLE: Table = ((0, 2), (1, 1), (0, 0))


def family_of(kind: str) -> PolynomialFamily:
    """Return a family, made anew where its bounds are looked at when it is made."""
    if kind == "huge":
        return function_family(huge, low=[-0.25, -1.0, 0.0], high=[0.5, 0.25, 0.5])
    if kind == "not a number":
        return function_family(not_a_number)
    return FAMILIES[kind]


def sums(*, gaussian: bool = False, scale: float = 7.5) -> CoefficientSums:
    return CoefficientSums("the coefficients", UNIT, scale, gaussian)


def check_loss(relation: NeighbouringRelation) -> None:
    for gaussian in NOISES:
        for kind in (*TIGHT, "huge"):
            check_summary_game(sums_game(family_of(kind), sums(gaussian=gaussian), relation))


def check_functions_are_bounded(relation: NeighbouringRelation) -> None:
    """In whole numbers, whatever the function says: huge, or none at all."""
    for kind in ("huge", "not a number"):
        family = family_of(kind)
        assert isinstance(family, FunctionFamily)
        moves = family.moves(UNIT)
        # As Python numbers, since a defect may well overflow.
        each = [
            [float(one) for one in family.within(family.coefficients(np.array([[a, b]])), UNIT)[0]]
            for a in range(2)
            for b in range(3)
        ]
        assert max(sum(map(abs, one)) for one in each) <= moves.added, f"{kind}: {each}"
        apart = max(sum(abs(a - b) for a, b in zip(one, two, strict=True)) for one in each for two in each)
        assert apart <= moves.replaced, f"{kind}: {each}"


def check_charges_are_tight(relation: NeighbouringRelation) -> None:
    """The charge is reached: under pure epsilon but for its rounding, with Gaussian noise to a hundredth."""
    for gaussian in NOISES:
        for kind in TIGHT[:3]:
            share = check_summary_game(sums_game(family_of(kind), sums(gaussian=gaussian), relation))
            assert share > (0.99 if gaussian else 1 - 1e-12), f"{kind}: reached {share}"


def check_plans_keep_their_budget(relation: NeighbouringRelation) -> None:
    """And spend it."""
    for gaussian in NOISES:
        for kind in TIGHT[:3]:
            amount = 0.1 if gaussian else 1.5
            plan = plan_of(family_of(kind), relation, gaussian=gaussian)
            spent = plan.charges()[0].parameter
            assert 1 - 1e-9 < spent / amount <= 1, f"budget: {spent} of {amount}"
            share = check_planned_loss(plan)
            assert share > 0.99, f"budget: reached {share}"


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn: once."""
    for gaussian in NOISES:
        law = "Gaussian" if gaussian else "Laplace"
        plan = plan_of(family_of("mixed, sets"), relation, gaussian=gaussian)
        assert events_of(plan) == ["spend", "journal charge", law, "journal measurement"]


def events_of(plan: SanitizerPlan) -> list[str]:
    noise = Watching()
    with pytest.MonkeyPatch.context() as patch:
        spend = Ledger.spend

        def recording(self: Ledger, charge: Charge) -> None:
            spend(self, charge)
            noise.events.append("spend")

        patch.setattr(Ledger, "spend", recording)
        journal = "dpopt.synopses.sanitizers.release_sanitizer.MemoryJournal"
        patch.setattr(journal, lambda **_: EventJournal(noise.events))
        release_sanitizer(dataset(), plan, noise=noise)
    return noise.events


def dataset() -> PrivateDataset:
    return dataset_of(family_of("mixed, sets").schema, TABLE)


def check_nothing_is_drawn_twice_or_unpaid(relation: NeighbouringRelation) -> None:
    """Whatever was reserved, coefficients are measured once, whatever the noise, and what was not reserved never."""
    noise, ledger, family = Watching(), Ledger(AMPLE[False], relation), family_of("mixed, sets")
    what, again, other = sums(), sums(scale=9.0), sums(scale=3.0)
    charge = what.charge(family, relation)
    ledger.reserve([charge, charge, again.charge(family, relation)])
    curator = SanitizerCurator(dataset(), family, ledger, EventJournal(noise.events), size=ROWS, noise=noise)
    for measurement in (other, what, what, again):
        attempt(partial(curator.measure, measurement))
    assert noise.events == ["journal charge", "Laplace", "journal measurement"], f"drawn: {noise.events}"
    assert [one.scale for one in noise.drawn] == [7.5], f"drawn: noise of scale {noise.drawn[0].scale}"
    assert len([entry for entry in ledger.entries if entry.kind is ChargeKind.PURE]) == 1


def check_a_failing_function_costs_nothing(relation: NeighbouringRelation) -> None:
    def failing(codes: NDArray[np.int64]) -> NDArray[np.float64]:
        raise ValueError("no")

    noise, family = Watching(), function_family(failing)
    ledger = Ledger(AMPLE[False], relation)
    ledger.reserve([sums().charge(family, relation)])
    curator = SanitizerCurator(dataset(), family, ledger, EventJournal(noise.events), size=ROWS, noise=noise)
    attempt(partial(curator.measure, sums()))
    assert noise.events == [], f"a function that fails: {noise.events}"
    assert [entry for entry in ledger.entries if entry.kind is ChargeKind.PURE] == []


def attempt(action: Callable[[], object]) -> None:
    try:
        action()
    except Exception:  # noqa: BLE001
        return


def check_a_charge_of_the_callers_buys_nothing(relation: NeighbouringRelation) -> None:
    """A reservation under the right name and for too little money: nothing is drawn."""
    for gaussian in NOISES:
        what, noise, family = sums(gaussian=gaussian), Watching(), family_of("mixed, sets")
        ledger = Ledger(AMPLE[gaussian], relation)
        right = what.charge(family, relation)
        ledger.reserve([replace(right, parameter=right.parameter / 100)])
        curator = SanitizerCurator(dataset(), family, ledger, EventJournal([]), size=ROWS, noise=noise)
        attempt(partial(curator.measure, what))
        assert noise.events == [], f"drew {noise.events} for a hundredth of the charge"


def change_moves(patch: pytest.MonkeyPatch, change: Callable[[Moves], Moves]) -> None:
    """Change how far a record is said to move the sums, in plan and curator alike."""
    for kind in (SymmetricFamily, TableFamily, FunctionFamily):
        original = kind.moves

        def changed(self: Any, unit: float, original: Any = original) -> Moves:
            return change(original(self, unit))

        patch.setattr(kind, "moves", changed)


def halve_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    change_moves(
        patch,
        lambda one: Moves(
            -(-one.added // 2),
            -(-one.replaced // 2),
            -(-one.added_squared // 2),
            -(-one.replaced_squared // 2),
        ),
    )


def count_replace_one_as_add_remove(patch: pytest.MonkeyPatch) -> None:
    change_moves(patch, lambda one: replace(one, replaced=one.added, replaced_squared=one.added_squared))


def take_the_length_for_its_square(patch: pytest.MonkeyPatch) -> None:
    change_moves(
        patch, lambda one: replace(one, added_squared=one.added // 2, replaced_squared=one.replaced // 2)
    )


def double_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    change_moves(
        patch,
        lambda one: Moves(2 * one.added, 2 * one.replaced, 4 * one.added_squared, 4 * one.replaced_squared),
    )


def believe_the_function(patch: pytest.MonkeyPatch) -> None:
    """No bound is enforced; what is no number becomes any whole number."""
    patch.setattr(
        FunctionFamily, "within", lambda self, found, unit: np.nan_to_num(np.trunc(found / unit), nan=99.0)
    )


def bound_each_coefficient_alone(patch: pytest.MonkeyPatch) -> None:
    """Each within its own limits, the vector not within its norm."""

    def boxed(self: FunctionFamily, found: NDArray[np.float64], unit: float) -> NDArray[np.int64]:
        return np.trunc(np.clip(np.nan_to_num(found), self.low, self.high) / unit).astype(np.int64)

    patch.setattr(FunctionFamily, "within", boxed)


def round_upward(patch: pytest.MonkeyPatch) -> None:
    """Away from zero: each coefficient may be a unit too large."""

    def upward(self: FunctionFamily, found: NDArray[np.float64], unit: float) -> NDArray[np.int64]:
        kept = np.clip(np.nan_to_num(found, nan=self.norm), self.low, self.high)
        kept = kept * np.minimum(1.0, self.norm / np.maximum(np.abs(kept).sum(axis=1, keepdims=True), 1e-9))
        return np.asarray(np.sign(kept) * np.ceil(np.abs(kept) / unit), dtype=np.int64)

    patch.setattr(FunctionFamily, "within", upward)


def draw_with(patch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """Change what the noise is drawn by: scale and law of a measurement."""

    def changed(exact: NDArray[np.int64], measurement: Any, *rest: Any, **more: Any) -> NoisyAnswers:
        return with_noise(exact, change(measurement), *rest, **more)

    patch.setattr(sanitizer_curator, "with_noise", changed)


def draw_noise_of_half_the_scale(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, scale=what.scale / 2))


def draw_noise_for_records_in_place_of_units(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, scale=what.scale * what.unit))


def draw_noise_of_the_other_law(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, gaussian=not what.gaussian))


def add_no_noise(patch: pytest.MonkeyPatch) -> None:
    """The values on file are the exact ones; no noise is asked for."""

    def exact_values(
        exact: NDArray[np.int64], measurement: Any, charge: Charge, *rest: Any, **more: Any
    ) -> NoisyAnswers:
        return NoisyAnswers(measurement.name, exact, "discrete Laplace", measurement.scale, charge)

    patch.setattr(sanitizer_curator, "with_noise", exact_values)


def keep_the_mean_of_two_draws(patch: pytest.MonkeyPatch) -> None:
    """One measurement is on file, two were made."""

    def twice(*given: Any, **more: Any) -> NoisyAnswers:
        one, two = with_noise(*given, **more), with_noise(*given, **more)
        return replace(one, values=(one.values + two.values) // 2)

    patch.setattr(sanitizer_curator, "with_noise", twice)


def change_sums(patch: pytest.MonkeyPatch, change: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
    original = SanitizerCurator._sums
    patch.setattr(SanitizerCurator, "_sums", lambda self, unit: change(original(self, unit)))


def count_each_record_twice(patch: pytest.MonkeyPatch) -> None:
    change_sums(patch, lambda found: 2 * found)


def release_running_sums(patch: pytest.MonkeyPatch) -> None:
    change_sums(patch, np.cumsum)


def leave_out_what_is_zero(patch: pytest.MonkeyPatch) -> None:
    """How many values are released says how many coefficients are none."""
    change_sums(patch, lambda found: found[found != 0])


def charge_after_the_draw(patch: pytest.MonkeyPatch) -> None:
    def late(self: SanitizerCurator, measurement: CoefficientSums) -> NoisyAnswers:
        charge = measurement.charge(self._family, self._relation)
        answers = with_noise(self._sums(measurement.unit), measurement, charge, self._noise)
        self._charged(charge)
        return self._released(answers, answers.to_json())

    patch.setattr(SanitizerCurator, "measure", late)


def charge_before_the_function_is_asked(patch: pytest.MonkeyPatch) -> None:
    def early(self: SanitizerCurator, measurement: CoefficientSums) -> NoisyAnswers:
        charge = self._charged(measurement.charge(self._family, self._relation))
        answers = with_noise(self._sums(measurement.unit), measurement, charge, self._noise)
        return self._released(answers, answers.to_json())

    patch.setattr(SanitizerCurator, "measure", early)


def write_the_charge_before_it_is_spent(patch: pytest.MonkeyPatch) -> None:
    def early(self: Door[PrivateDataset], charge: Charge, **where: int) -> Charge:
        self._on_file(charge, **where)
        self._ledger.spend(charge)
        return charge

    patch.setattr(Door, "_charged", early)


def hand_out_before_it_is_on_file(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SanitizerCurator, "_released", lambda self, value, entry: value)


def draw_without_a_charge(patch: pytest.MonkeyPatch) -> None:
    """Nothing is spent; what the values say of their charge is right."""
    patch.setattr(SanitizerCurator, "_charged", lambda self, charge, **where: self._on_file(charge, **where))


def forget_what_was_drawn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        SanitizerCurator, "_measured", property(lambda self: False, lambda self, value: None), raising=False
    )


def take_whatever_was_reserved(patch: pytest.MonkeyPatch) -> None:
    def generous(self: SanitizerCurator, charge: Charge, **where: int) -> Charge:
        reserved = self._ledger.unspent[0]
        self._ledger.spend(reserved)
        return self._on_file(charge, **where)

    patch.setattr(SanitizerCurator, "_charged", generous)


def plan_with_half_the_noise(patch: pytest.MonkeyPatch) -> None:
    original = sanitizer_plan._scale
    patch.setattr(sanitizer_plan, "_scale", lambda *given, **more: original(*given, **more) / 2)


def leave_a_part_of_the_budget(patch: pytest.MonkeyPatch) -> None:
    original = sanitizer_plan._scale
    patch.setattr(sanitizer_plan, "_scale", lambda *given, **more: original(*given, **more) * 1.1)


LOSS = "charged|loss|epsilon"
DEFECTS: list[tuple[Plant, Check, NeighbouringRelation, str]] = [
    (halve_the_sensitivity, check_loss, ADD_REMOVE, LOSS),
    (halve_the_sensitivity, check_loss, REPLACE, LOSS),
    (halve_the_sensitivity, check_functions_are_bounded, REPLACE, "huge"),
    (count_replace_one_as_add_remove, check_loss, REPLACE, LOSS),
    (take_the_length_for_its_square, check_loss, ADD_REMOVE, LOSS),
    (double_the_sensitivity, check_charges_are_tight, ADD_REMOVE, "mixed, sets: reached"),
    (double_the_sensitivity, check_charges_are_tight, REPLACE, "mixed, sets: reached"),
    (believe_the_function, check_functions_are_bounded, ADD_REMOVE, "huge"),
    (bound_each_coefficient_alone, check_functions_are_bounded, ADD_REMOVE, "huge"),
    (bound_each_coefficient_alone, check_loss, ADD_REMOVE, LOSS),
    (round_upward, check_functions_are_bounded, ADD_REMOVE, "huge|not a number"),
    (draw_noise_of_half_the_scale, check_loss, ADD_REMOVE, LOSS),
    (draw_noise_of_half_the_scale, check_plans_keep_their_budget, REPLACE, "costs"),
    (draw_noise_for_records_in_place_of_units, check_loss, ADD_REMOVE, LOSS),
    (draw_noise_of_the_other_law, check_loss, ADD_REMOVE, "noise for discrete"),
    (add_no_noise, check_loss, ADD_REMOVE, "drawn 0 times, charged 1"),
    (add_no_noise, check_order_of_events, REPLACE, "Laplace"),
    (keep_the_mean_of_two_draws, check_loss, ADD_REMOVE, "drawn 2 times, charged 1"),
    (keep_the_mean_of_two_draws, check_order_of_events, REPLACE, "Laplace"),
    (count_each_record_twice, check_loss, ADD_REMOVE, LOSS),
    (release_running_sums, check_loss, ADD_REMOVE, LOSS),
    (leave_out_what_is_zero, check_loss, REPLACE, "shape of the draws"),
    (charge_after_the_draw, check_order_of_events, REPLACE, "spend"),
    (charge_before_the_function_is_asked, check_a_failing_function_costs_nothing, ADD_REMOVE, "fails: .*charge"),
    (write_the_charge_before_it_is_spent, check_order_of_events, ADD_REMOVE, "spend"),
    (hand_out_before_it_is_on_file, check_order_of_events, ADD_REMOVE, "journal measurement"),
    (draw_without_a_charge, check_loss, REPLACE, "drawn 1 times, charged 0"),
    (draw_without_a_charge, check_plans_keep_their_budget, ADD_REMOVE, "drawn 1 times, charged 0"),
    (draw_without_a_charge, check_nothing_is_drawn_twice_or_unpaid, REPLACE, "drawn: noise of scale 3"),
    (forget_what_was_drawn, check_nothing_is_drawn_twice_or_unpaid, ADD_REMOVE, "drawn: .*Laplace.*Laplace"),
    (take_whatever_was_reserved, check_a_charge_of_the_callers_buys_nothing, ADD_REMOVE, "hundredth"),
    (take_whatever_was_reserved, check_nothing_is_drawn_twice_or_unpaid, REPLACE, "drawn: noise of scale 3"),
    (plan_with_half_the_noise, check_plans_keep_their_budget, ADD_REMOVE, "budget"),
    (leave_a_part_of_the_budget, check_plans_keep_their_budget, ADD_REMOVE, "budget"),
]  # fmt: skip


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


@pytest.mark.parametrize("check", list(dict.fromkeys(check for _, check, _, _ in DEFECTS)))
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_without_a_defect_no_check_is_red(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


@pytest.mark.parametrize("gaussian", NOISES)
def test_a_plan_beyond_its_budget_draws_nothing(gaussian: bool) -> None:
    """Half of the noise costs more than the budget, whatever the plan says."""
    plan, noise = plan_of(family_of("mixed, sets"), REPLACE, gaussian=gaussian), Watching()
    less = replace(plan, figures=replace(plan.figures, scale=plan.figures.scale / 2))
    with pytest.raises(BudgetError, match="the plan costs"):
        release_sanitizer(dataset(), less, noise=noise)
    assert noise.drawn == []


@pytest.mark.parametrize("gaussian", NOISES)
def test_a_plan_and_a_curator_that_disagree_draw_nothing(
    gaussian: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan with a charge of its own finds no reservation for what the curator charges."""
    plan, noise = plan_of(family_of("mixed, sets"), REPLACE, gaussian=gaussian), Watching()
    cheap = [replace(one, parameter=one.parameter / 2) for one in plan.charges()]
    monkeypatch.setattr(SanitizerPlan, "charges", lambda self: cheap)
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        release_sanitizer(dataset(), plan, noise=noise)
    assert noise.drawn == []
