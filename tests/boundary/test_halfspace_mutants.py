"""Planted defects of halfspace releases, one at a time: each turns a named check red."""

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
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.curators import halfspace_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.halfspace_curator import HalfspaceCurator
from dpopt.private.measurements import halfspace_kernels, halfspace_measurement
from dpopt.private.measurements.halfspace_measurement import Arcs, Sides
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.readers.read_numbers import HalfspacePoints
from dpopt.queries.halfspaces.halfspaces import PointColumns, Projections, Scaling
from dpopt.synopses.halfspaces.halfspace_plan import ARCS, SIDES, HalfspacePlan
from dpopt.synopses.halfspaces.planning import Shape, plan_halfspaces
from dpopt.synopses.halfspaces.release_halfspaces import release_halfspaces
from dpopt.transcript.released import NoisyAnswers
from tests.exact_bin_loss import AMPLE, Watching
from tests.exact_halfspace_loss import (
    ROWS,
    UNIVERSE,
    check_halfspace_game,
    measurement_game,
    points_of,
    projections,
    release_game,
    tiny_plan,
)
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]
NOISES = (False, True)
TABLE = UNIVERSE[:ROWS]


def check_loss_of_measurements(relation: NeighbouringRelation) -> None:
    for gaussian in NOISES:
        for kind in ("plane", "line"):
            check_halfspace_game(measurement_game(kind, Sides(7.5, gaussian), relation))
        for height in (0, 1):
            check_halfspace_game(measurement_game("plane", Arcs(7.5, gaussian, height), relation))


def check_loss_of_releases(relation: NeighbouringRelation) -> None:
    for gaussian in NOISES:
        for measured in (SIDES, ARCS):
            check_halfspace_game(release_game(tiny_plan(relation, gaussian=gaussian, measured=measured)))


def check_charges_are_tight(relation: NeighbouringRelation) -> None:
    for gaussian in NOISES:
        lowest = 0.999 if gaussian else 1 - 1e-12
        for kind in ("plane", "line"):
            share = check_halfspace_game(measurement_game(kind, Sides(7.5, gaussian), relation))
            assert share > lowest, f"sides, {kind}: reached {share}"
        share = check_halfspace_game(measurement_game("plane", Arcs(7.5, gaussian, 1), relation))
        assert share > lowest, f"arcs: reached {share}"


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn."""
    for gaussian in NOISES:
        law = "Gaussian" if gaussian else "Laplace"
        once = ["spend", "journal charge", law, "journal measurement"]
        plan = tiny_plan(relation, gaussian=gaussian, measured=ARCS)
        assert events_of(plan) == once * len(plan.scales)


def events_of(plan: HalfspacePlan) -> list[str]:
    noise = Watching()
    with pytest.MonkeyPatch.context() as patch:
        spend = Ledger.spend

        def recording(self: Ledger, charge: Charge) -> None:
            spend(self, charge)
            noise.events.append("spend")

        patch.setattr(Ledger, "spend", recording)
        journal = "dpopt.synopses.halfspaces.release_halfspaces.MemoryJournal"
        patch.setattr(journal, lambda **_: EventJournal(noise.events))
        release_halfspaces(points_of(TABLE), plan, noise=noise)
    return noise.events


def check_nothing_is_drawn_twice_or_unpaid(relation: NeighbouringRelation) -> None:
    noise, ledger = Watching(), Ledger(AMPLE[False], relation)
    what, other = Sides(7.5, False), Arcs(7.5, False, 0)
    charge, again = what.charge(projections("plane"), relation), replace(what, scale=9.0)
    ledger.reserve([charge, charge, again.charge(projections("plane"), relation)])
    curator = HalfspaceCurator(
        points_of(TABLE), projections("plane"), ledger, EventJournal(noise.events), size=ROWS, noise=noise
    )
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
    for gaussian in NOISES:
        what, noise = Sides(7.5, gaussian), Watching()
        ledger = Ledger(AMPLE[gaussian], relation)
        right = what.charge(projections("plane"), relation)
        ledger.reserve([replace(right, parameter=right.parameter / 100)])
        curator = HalfspaceCurator(
            points_of(TABLE), projections("plane"), ledger, EventJournal([]), size=ROWS, noise=noise
        )
        attempt(partial(curator.measure, what))
        assert noise.events == [], f"drew {noise.events} for a hundredth of the charge"


def check_ties(relation: NeighbouringRelation) -> None:
    """(1, 0) is across the second direction and (1, -1) in a kernel: neither is on a positive side there."""
    noise = Watching()
    what = Sides(7.5, False)
    ledger = Ledger(AMPLE[False], relation)
    ledger.reserve([what.charge(projections("plane"), relation)])
    points = points_of(((1, 0), (1, -1)))
    curator = HalfspaceCurator(points, projections("plane"), ledger, EventJournal([]), size=2, noise=noise)
    attempt(partial(curator.measure, what))
    expected = (2, 0, 1, 1) if relation is REPLACE else (2, -2, 0, 0)
    assert [draw.counts for draw in noise.drawn] == [expected], f"counted {noise.drawn}"


AMOUNTS = {True: 0.02, False: 0.7}
SHAPES = (Shape(2, 5, 4), Shape(2, 5, 4, ARCS, (0, 1, 2)), Shape(3, 4, 3))


def check_plans_keep_their_budget(relation: NeighbouringRelation) -> None:
    """What the measurements cost together, added up by hand from their scales, is the budget and no more."""
    columns = PointColumns(("a", "b", "c"), Scaling.UNIT)
    for gaussian, amount in AMOUNTS.items():
        pure = Budget(amount, 0.0, None, Accountant.PURE)
        budget = Budget(None, 1e-9, amount, Accountant.ZCDP) if gaussian else pure
        for shape in SHAPES:
            plan = plan_halfspaces(
                columns, budget, size=5000, margin=0.5, relation=relation, shapes=[shape], queries=3
            )
            arcs = shape.number * (1 if relation is ADD_REMOVE else 2)
            moved = [arcs] * len(shape.heights) or [shape.number * shape.directions]
            moved = [*([1] if relation is ADD_REMOVE else []), *moved]
            costs = [
                m / (2 * scale**2) if gaussian else m / scale
                for m, scale in zip(moved, plan.scales, strict=True)
            ]
            assert 1 - 1e-9 < sum(costs) / amount <= 1, f"budget of {shape}: {sum(costs) / amount}"


def change_moves(patch: pytest.MonkeyPatch, change: Callable[[int], int]) -> None:
    """Change how many numbers a record is said to move."""
    original = measurement_charge

    def changed(name: str, moved: int, scale: float, **more: Any) -> Charge:
        return original(name, change(moved), scale, **more)

    patch.setattr(halfspace_measurement, "measurement_charge", changed)


def halve_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    change_moves(patch, lambda moved: max(moved // 2, 1))


def double_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    change_moves(patch, lambda moved: 2 * moved)


def charge_one_projection_for_all(patch: pytest.MonkeyPatch) -> None:
    """As if each projection was of other records."""
    change_moves(patch, lambda moved: 2)


def count_replace_one_as_add_remove(patch: pytest.MonkeyPatch) -> None:
    """Half the charge of arcs."""
    original = Arcs.charge

    def half(self: Arcs, found: Projections, relation: NeighbouringRelation) -> Charge:
        return replace(original(self, found, ADD_REMOVE), relation=relation)

    patch.setattr(Arcs, "charge", half)


def charge_half_of_the_directions(patch: pytest.MonkeyPatch) -> None:
    """As if antipodes had been left out once more."""
    original = Projections.shape.fget  # type: ignore[attr-defined]

    def halved(self: Projections) -> tuple[int, int, int, int]:
        d, t, m, h = original(self)
        return d, t, m, max(1, h // 2)

    patch.setattr(Projections, "shape", property(halved))


def draw_with(patch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    def changed(exact: NDArray[np.int64], measurement: Any, *rest: Any, **more: Any) -> NoisyAnswers:
        return with_noise(exact, change(measurement), *rest, **more)

    patch.setattr(halfspace_curator, "with_noise", changed)


def draw_noise_of_half_the_scale(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, scale=what.scale / 2))


def draw_noise_of_the_other_law(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, gaussian=not what.gaussian))


def add_no_noise(patch: pytest.MonkeyPatch) -> None:
    def exact_values(
        exact: NDArray[np.int64], measurement: Any, charge: Charge, *rest: Any, **more: Any
    ) -> NoisyAnswers:
        return NoisyAnswers(measurement.name, exact, "discrete Laplace", measurement.scale, charge)

    patch.setattr(halfspace_curator, "with_noise", exact_values)


def keep_the_mean_of_two_draws(patch: pytest.MonkeyPatch) -> None:
    def twice(*given: Any, **more: Any) -> NoisyAnswers:
        one, two = with_noise(*given, **more), with_noise(*given, **more)
        return replace(one, values=(one.values + two.values) // 2)

    patch.setattr(halfspace_curator, "with_noise", twice)


def measure_differences_under_replace_one(patch: pytest.MonkeyPatch) -> None:
    """One record replaced moves a difference of sides by 2."""
    original = Sides.exact

    def differences(
        self: Sides, points: HalfspacePoints, found: Projections, relation: NeighbouringRelation
    ) -> NDArray[np.int64]:
        return original(self, points, found, ADD_REMOVE)

    patch.setattr(Sides, "exact", differences)


def count_ties_on_both_sides(patch: pytest.MonkeyPatch) -> None:
    def with_ties(coordinates: NDArray[np.int32], normals: NDArray[np.int64]) -> NDArray[np.int64]:
        sides = coordinates.astype(np.float64) @ normals.T.astype(np.float64)
        return np.asarray(np.count_nonzero(sides >= 0, axis=0), dtype=np.int64)

    patch.setattr(halfspace_kernels, "count_positive_sides", with_ties)


def scale_by_the_longest_record(patch: pytest.MonkeyPatch) -> None:
    """Records are moved by their mean first: one record moves the sides of all others."""
    original = HalfspacePoints.of.__func__  # type: ignore[attr-defined]

    def centred(
        cls: type[HalfspacePoints], values: NDArray[np.float64], columns: PointColumns
    ) -> HalfspacePoints:
        made: HalfspacePoints = original(cls, values - 0.9 * values.mean(axis=0), columns)
        return made

    patch.setattr(HalfspacePoints, "of", classmethod(centred))


def count_records_in_two_bins(patch: pytest.MonkeyPatch) -> None:
    original = Arcs.exact

    def doubled(self: Arcs, bins: NDArray[np.int64]) -> NDArray[np.int64]:
        return original(self, bins + np.roll(bins, 1, axis=1))

    patch.setattr(Arcs, "exact", doubled)


def charge_after_the_draw(patch: pytest.MonkeyPatch) -> None:
    def late(self: HalfspaceCurator, measurement: Any) -> NoisyAnswers:
        charge = measurement.charge(self._projections, self._relation)
        answers = with_noise(self._exact(measurement), measurement, charge, self._noise)
        self._charged(charge)
        return self._released(answers, answers.to_json())

    patch.setattr(HalfspaceCurator, "measure", late)


def hand_out_before_it_is_on_file(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(HalfspaceCurator, "_released", lambda self, value, entry: value)


def draw_without_a_charge(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(HalfspaceCurator, "_charged", lambda self, charge, **where: self._on_file(charge, **where))


def charge_the_first_measurement_alone(patch: pytest.MonkeyPatch) -> None:
    original = Door._charged

    def once(self: Door[HalfspacePoints], charge: Charge, **where: int) -> Charge:
        return self._on_file(charge, **where) if self._ledger.entries else original(self, charge, **where)

    patch.setattr(Door, "_charged", once)


def forget_what_was_drawn(patch: pytest.MonkeyPatch) -> None:
    class Forgetful(set[str]):
        def add(self, name: str) -> None:
            """Remember nothing."""

    original = HalfspaceCurator.__init__

    def forgetting(self: HalfspaceCurator, *given: Any, **more: Any) -> None:
        original(self, *given, **more)
        self._measured = Forgetful()

    patch.setattr(HalfspaceCurator, "__init__", forgetting)


def take_the_charge_from_the_reservation(patch: pytest.MonkeyPatch) -> None:
    """Whatever is reserved pays, if the name is right."""
    original = Door._charged

    def trusting(self: Door[HalfspacePoints], charge: Charge, **where: int) -> Charge:
        reserved = [one for one in self._ledger.unspent if one.label == charge.label]
        return original(self, reserved[0] if reserved else charge, **where)

    patch.setattr(Door, "_charged", trusting)


def spend_the_budget_once_for_each_level(patch: pytest.MonkeyPatch) -> None:
    from dpopt.synopses.halfspaces import planning

    original = planning._scales

    def thrifty(shape: Shape, amount: float, *rest: Any, **more: Any) -> tuple[float, ...]:
        return original(shape, amount * max(1, len(shape.heights)), *rest, **more)

    patch.setattr(planning, "_scales", thrifty)


MUTANTS: list[tuple[Plant, Check, NeighbouringRelation]] = [
    (halve_the_sensitivity, check_loss_of_measurements, ADD_REMOVE),
    (halve_the_sensitivity, check_loss_of_measurements, REPLACE),
    (double_the_sensitivity, check_charges_are_tight, ADD_REMOVE),
    (double_the_sensitivity, check_charges_are_tight, REPLACE),
    (charge_one_projection_for_all, check_loss_of_measurements, ADD_REMOVE),
    (count_replace_one_as_add_remove, check_loss_of_measurements, REPLACE),
    (charge_half_of_the_directions, check_loss_of_measurements, ADD_REMOVE),
    (draw_noise_of_half_the_scale, check_loss_of_measurements, ADD_REMOVE),
    (draw_noise_of_the_other_law, check_loss_of_measurements, REPLACE),
    (add_no_noise, check_loss_of_measurements, ADD_REMOVE),
    (keep_the_mean_of_two_draws, check_loss_of_measurements, REPLACE),
    (measure_differences_under_replace_one, check_loss_of_measurements, REPLACE),
    (count_ties_on_both_sides, check_ties, ADD_REMOVE),
    (count_ties_on_both_sides, check_ties, REPLACE),
    (scale_by_the_longest_record, check_loss_of_measurements, ADD_REMOVE),
    (count_records_in_two_bins, check_loss_of_releases, ADD_REMOVE),
    (charge_after_the_draw, check_order_of_events, ADD_REMOVE),
    (hand_out_before_it_is_on_file, check_order_of_events, REPLACE),
    (draw_without_a_charge, check_nothing_is_drawn_twice_or_unpaid, ADD_REMOVE),
    (charge_the_first_measurement_alone, check_order_of_events, ADD_REMOVE),
    (forget_what_was_drawn, check_nothing_is_drawn_twice_or_unpaid, ADD_REMOVE),
    (take_the_charge_from_the_reservation, check_a_charge_of_the_callers_buys_nothing, ADD_REMOVE),
    (spend_the_budget_once_for_each_level, check_plans_keep_their_budget, ADD_REMOVE),
    (spend_the_budget_once_for_each_level, check_plans_keep_their_budget, REPLACE),
]
CHECKS: list[Check] = [
    check_loss_of_measurements,
    check_loss_of_releases,
    check_charges_are_tight,
    check_order_of_events,
    check_nothing_is_drawn_twice_or_unpaid,
    check_a_charge_of_the_callers_buys_nothing,
    check_ties,
    check_plans_keep_their_budget,
]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", CHECKS)
def test_the_checks_pass_without_defects(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


@pytest.mark.parametrize(("plant", "check", "relation"), MUTANTS)
def test_a_planted_defect_is_found(plant: Plant, check: Check, relation: NeighbouringRelation) -> None:
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        with pytest.raises(AssertionError):
            check(relation)
