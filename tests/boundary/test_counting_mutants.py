"""Planted defects of noisy counts, one at a time: each turns a named check red, for every family of counts.

What a defect of the one curator breaks is tried for each family of `counting_families.py`; what is a family's own stands below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from dpopt.accounting.measurements import SizeMeasurement, measurement_charge, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PlanError, TranscriptError
from dpopt.private.curators import door
from dpopt.private.curators.counting_curator import MEASUREMENTS, Counted, CountingCurator
from dpopt.private.curators.door import Door
from dpopt.private.measurements import (
    bin_measurement,
    conjunction_measurement,
    halfspace_kernels,
    halfspace_measurement,
    sanitizer_sums,
)
from dpopt.private.measurements.bin_measurement import BinsInUse, GroupSums, SortedCounts
from dpopt.private.measurements.conjunction_measurement import ConjunctionTable, ListTable
from dpopt.private.measurements.halfspace_measurement import ProjectedPoints, Sides
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.measurements.sanitizer_sums import CoefficientTable
from dpopt.private.readers.read_numbers import HalfspacePoints
from dpopt.queries.conjunctions.literals import ChosenLiterals, LiteralGroups
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.queries.halfspaces.halfspaces import PointColumns, Projections, Scaling
from dpopt.queries.polynomial_families import FunctionFamily, Moves, SymmetricFamily, TableFamily
from dpopt.releases import measured_size
from dpopt.synopses.decision_lists.list_planning import plan_lists
from dpopt.synopses.decision_lists.release_lists import release_lists
from dpopt.synopses.halfspaces import planning
from dpopt.synopses.halfspaces.halfspace_plan import ARCS
from dpopt.synopses.halfspaces.planning import Shape, plan_halfspaces
from dpopt.synopses.histograms.grids.grid_plan import GridPlan
from dpopt.synopses.histograms.histogram_plan import HistogramPlan, plan_histogram
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.sorted.release_sorted import LENGTH_SHARE, plan_sorted, release_sorted
from dpopt.synopses.sanitizers import sanitizer_plan
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.sanitizers.sanitizer_plan import SanitizerPlan
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan, plan_summary
from dpopt.transcript.released import NoisyAnswers
from tests import exact_halfspace_loss as points
from tests import exact_list_loss as lists
from tests import exact_sanitizer_loss as sanitizers
from tests.boundary.counting_families import (
    COUNTS,
    DEGREES,
    FAMILIES,
    LISTS,
    LITERALS,
    NOISES,
    RECORDS,
    SCALE,
    TIGHT_FAMILIES,
    Family,
    Release,
    coefficients,
    family_of,
    histogram_plan,
    list_rows,
    size_under,
    sums,
)
from tests.exact_bin_loss import NODES, bin_counts, bin_game
from tests.exact_counts_loss import AMPLE, ROWS, Watching, check_game
from tests.exact_size_loss import BUDGETS as SIZE_BUDGETS
from tests.exact_size_loss import check_size
from tests.tiny_lists import counted, private, rows_of
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, bits_schema, dataset_of

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]
FamilyCheck = Callable[[Family, NeighbouringRelation], None]

# What every family is checked for.


def check_loss(family: Family, relation: NeighbouringRelation, *names: str) -> None:
    """Of single measurements and of whole releases, or of those named: at most what is charged."""
    for gaussian in NOISES:
        for games in (family.measured, family.released):
            for name, game in games(relation, gaussian).items():
                if not names or name in names:
                    check_game(game)


def check_loss_of_releases(family: Family, relation: NeighbouringRelation) -> None:
    for gaussian in NOISES:
        for game in family.released(relation, gaussian).values():
            check_game(game)


def check_charges_are_tight(family: Family, relation: NeighbouringRelation) -> None:
    """The charge is reached: under pure epsilon but for its rounding, with Gaussian noise nearly."""
    for gaussian in NOISES:
        games = family.games(relation, gaussian)
        for name, lowest in family.tight.items():
            share = check_game(games[name])
            usual = family.rho if gaussian else 1 - 1e-12
            assert share > (usual if lowest is None else lowest), f"{name}: reached {share}"


def check_order_of_events(family: Family, relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn: measurement by measurement, once each."""
    for gaussian in NOISES:
        distribution = "Gaussian" if gaussian else "Laplace"
        for release, draws in family.runs(relation, gaussian):
            once = ["spend", "journal charge", distribution, "journal measurement"]
            assert events_of(family, release) == once * draws


def events_of(family: Family, release: Release) -> list[str]:
    noise = Watching()
    with pytest.MonkeyPatch.context() as patch:
        spend = Ledger.spend

        def recording(self: Ledger, charge: Charge) -> None:
            spend(self, charge)
            noise.events.append("spend")

        patch.setattr(Ledger, "spend", recording)
        for driver in family.journal:
            name = f"dpopt.synopses.{driver}.MemoryJournal"
            patch.setattr(name, lambda **_: EventJournal(noise.events))
        release(noise=noise)
    return noise.events


def check_nothing_is_drawn_twice_or_unpaid(family: Family, relation: NeighbouringRelation) -> None:
    """Whatever was reserved, a name is measured once, whatever its noise, and what was not reserved never."""
    for asked in family.asked(False):
        noise, ledger, public = Watching(), Ledger(AMPLE[False], relation), asked.held._public
        charge = asked.what.charge(public, relation)
        ledger.reserve([charge, charge, asked.again.charge(public, relation)])
        journal = EventJournal(noise.events)
        curator = CountingCurator(asked.held, ledger, journal, size=asked.held._rows, noise=noise)
        for measurement in (asked.other, asked.what, asked.what, asked.again):
            attempt(partial(curator.measure, measurement))
        assert noise.events == ["journal charge", "Laplace", "journal measurement"], f"drawn: {noise.events}"
        scales = [one.scale for one in noise.drawn]
        assert scales == [SCALE], f"drawn: noise of scale {scales[0]}"
        assert len([entry for entry in ledger.entries if entry.kind is ChargeKind.PURE]) == 1


def check_a_charge_of_the_callers_buys_nothing(family: Family, relation: NeighbouringRelation) -> None:
    """A reservation under the right name and for too little money: nothing is drawn."""
    for gaussian in NOISES:
        for asked in family.asked(gaussian):
            noise, ledger = Watching(), Ledger(AMPLE[gaussian], relation)
            right = asked.what.charge(asked.held._public, relation)
            ledger.reserve([replace(right, parameter=right.parameter / 100)])
            rows = asked.held._rows
            curator = CountingCurator(asked.held, ledger, EventJournal([]), size=rows, noise=noise)
            attempt(partial(curator.measure, asked.what))
            assert noise.events == [], f"drew {noise.events} for a hundredth of the charge"


def attempt(action: Callable[[], object]) -> None:
    try:
        action()
    except Exception:  # noqa: BLE001
        return


# What breaks the one curator.


def change_sensitivity(patch: pytest.MonkeyPatch, change: Callable[[int], int]) -> None:
    """Change by how much a record is said to move what is measured, in the charge of every measurement."""
    for module in (
        bin_measurement,
        conjunction_measurement,
        halfspace_measurement,
        conjunction_measurement,
        sanitizer_sums,
    ):

        def changed(name: str, sensitivity: int, scale: float, **more: Any) -> Charge:
            return measurement_charge(name, change(sensitivity), scale, **more)

        patch.setattr(module, "measurement_charge", changed)


def halve_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    change_sensitivity(patch, lambda sensitivity: max(sensitivity // 2, 1))


def double_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    change_sensitivity(patch, lambda sensitivity: 2 * sensitivity)


def count_replace_one_as_add_remove(patch: pytest.MonkeyPatch) -> None:
    kinds: list[Any] = list(MEASUREMENTS)
    for kind in kinds:
        if kind is not Measurement:

            def charge(
                self: Any, public: Any, relation: NeighbouringRelation, original: Any = kind.charge
            ) -> Charge:
                made: Charge = original(self, public, ADD_REMOVE)
                return replace(made, relation=relation)

            patch.setattr(kind, "charge", charge)


def draw_with(patch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """Change what the noise is drawn by: name, scale and distribution of a measurement."""

    def changed(exact: NDArray[np.int64], measurement: Any, *rest: Any, **more: Any) -> NoisyAnswers:
        return with_noise(exact, change(measurement), *rest, **more)

    patch.setattr(door, "with_noise", changed)


def draw_noise_of_half_the_scale(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, scale=what.scale / 2))


def draw_noise_of_the_variance_for_the_scale(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, scale=what.scale**0.5))


def draw_noise_of_the_other_distribution(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, gaussian=not what.gaussian))


def leave_without_noise(patch: pytest.MonkeyPatch, which: Callable[[NDArray[np.int64], Any], bool]) -> None:
    """Some values on file are the exact ones; no noise is asked for."""

    def some_exact(
        exact: NDArray[np.int64], what: Any, charge: Charge, *rest: Any, **more: Any
    ) -> NoisyAnswers:
        if which(exact, what):
            return NoisyAnswers(what.name, exact, "discrete Laplace", what.scale, charge)
        return with_noise(exact, what, charge, *rest, **more)

    patch.setattr(door, "with_noise", some_exact)


def add_no_noise(patch: pytest.MonkeyPatch) -> None:
    leave_without_noise(patch, lambda exact, what: True)


def keep_the_mean_of_two_draws(patch: pytest.MonkeyPatch) -> None:
    """One measurement is on file, two were made."""

    def twice(*given: Any, **more: Any) -> NoisyAnswers:
        one, two = with_noise(*given, **more), with_noise(*given, **more)
        return replace(one, values=(one.values + two.values) // 2)

    patch.setattr(door, "with_noise", twice)


def change_exact(
    patch: pytest.MonkeyPatch,
    change: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    kinds: Sequence[type[Any]] = tuple(MEASUREMENTS),
) -> None:
    for kind in kinds:

        def changed(self: Any, *given: Any, original: Any = kind.exact) -> NDArray[np.int64]:
            return change(original(self, *given))

        patch.setattr(kind, "exact", changed)


def count_each_record_twice(patch: pytest.MonkeyPatch) -> None:
    change_exact(patch, lambda exact: 2 * exact)


def release_running_sums(patch: pytest.MonkeyPatch) -> None:
    """Each of which a record moves."""
    change_exact(patch, np.cumsum)


def leave_out_what_is_zero(patch: pytest.MonkeyPatch) -> None:
    """How many values are released says how many bins are in use, how many conjunctions occur, ..."""
    change_exact(patch, lambda exact: exact[exact != 0])


def measured_by(
    patch: pytest.MonkeyPatch,
    how: Callable[[CountingCurator, Any, Charge, NDArray[np.int64]], NoisyAnswers],
) -> None:
    """Measure in another order, given the right charge and the exact value."""

    def measured(self: CountingCurator, what: Counted, *, again: bool, **where: int) -> NoisyAnswers:
        charge = what.charge(self._dataset._public, self._relation)
        return how(self, what, charge, what.exact(self._dataset, self._relation))

    patch.setattr(CountingCurator, "_measured", measured)


def charge_after_the_draw(patch: pytest.MonkeyPatch) -> None:
    def late(self: CountingCurator, what: Any, charge: Charge, exact: NDArray[np.int64]) -> NoisyAnswers:
        answers = with_noise(exact, what, charge, self._noise)
        self._charged(charge)
        return self._released(answers, answers.to_json())

    measured_by(patch, late)


def draw_unpaid(patch: pytest.MonkeyPatch) -> None:
    """Nothing is spent, and no charge is on file."""
    measured_by(patch, lambda self, what, charge, exact: self._noisy(exact, what, charge))


def draw_once_more(patch: pytest.MonkeyPatch) -> None:
    def twice(self: CountingCurator, what: Any, charge: Charge, exact: NDArray[np.int64]) -> NoisyAnswers:
        self._charged(charge)
        self._noisy(exact, what, charge)
        return self._noisy(exact, what, charge)

    measured_by(patch, twice)


def take_whatever_was_reserved(patch: pytest.MonkeyPatch) -> None:
    """The charge is the caller's: the first one that is reserved."""

    def trusting(self: CountingCurator, what: Any, charge: Charge, exact: NDArray[np.int64]) -> NoisyAnswers:
        return self._noisy(exact, what, self._charged(self._ledger.unspent[0]))

    measured_by(patch, trusting)


def spend_whatever_was_reserved(patch: pytest.MonkeyPatch) -> None:
    """What stands on file is right, what is spent is the first that is reserved."""

    def generous(self: Door[Any], charge: Charge, **where: int) -> Charge:
        self._ledger.spend(self._ledger.unspent[0])
        return self._on_file(charge, **where)

    patch.setattr(Door, "_charged", generous)


def take_the_charge_from_the_reservation(patch: pytest.MonkeyPatch) -> None:
    """Whatever is reserved pays, if the name is right."""
    original = Door._charged

    def trusting(self: Door[Any], charge: Charge, **where: int) -> Charge:
        reserved = [one for one in self._ledger.unspent if one.label == charge.label]
        return original(self, reserved[0] if reserved else charge, **where)

    patch.setattr(Door, "_charged", trusting)


def write_the_charge_before_it_is_spent(patch: pytest.MonkeyPatch) -> None:
    def early(self: Door[Any], charge: Charge, **where: int) -> Charge:
        self._on_file(charge, **where)
        self._ledger.spend(charge)
        return charge

    patch.setattr(Door, "_charged", early)


def hand_out_before_it_is_on_file(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Door, "_released", lambda self, value, entry: value)


def draw_without_a_charge(patch: pytest.MonkeyPatch) -> None:
    """Nothing is spent; what the values say of their charge is right."""
    patch.setattr(Door, "_charged", lambda self, charge, **where: self._on_file(charge, **where))


def charge_the_first_alone(patch: pytest.MonkeyPatch) -> None:
    """As if the measurements were of different records."""
    original = Door._charged

    def once(self: Door[Any], charge: Charge, **where: int) -> Charge:
        return self._on_file(charge, **where) if self._ledger.entries else original(self, charge, **where)

    patch.setattr(Door, "_charged", once)


def forget_what_was_drawn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Door, "_not_drawn", lambda self, label: None)


def measure_again_with_other_noise(patch: pytest.MonkeyPatch) -> None:
    """A name counts as measured with noise of one scale only: the same counts leave once more with other noise."""
    original = CountingCurator.measure

    def again(self: CountingCurator, measurement: Counted, **how: Any) -> NoisyAnswers:
        if measurement.scale == 9.0:
            self._labels = set()
        return original(self, measurement, **how)

    patch.setattr(CountingCurator, "measure", again)


LOSS = "loss .*, charged|rho .*, charged"
TWICE = "drawn: .*Laplace.*Laplace"
ONCE, CALLERS = check_nothing_is_drawn_twice_or_unpaid, check_a_charge_of_the_callers_buys_nothing
CHECKS: list[FamilyCheck] = [
    check_loss,
    check_charges_are_tight,
    check_order_of_events,
    check_nothing_is_drawn_twice_or_unpaid,
    check_a_charge_of_the_callers_buys_nothing,
]
COMMON: list[tuple[Plant, FamilyCheck, NeighbouringRelation, str]] = [
    (halve_the_sensitivity, check_loss, ADD_REMOVE, LOSS),
    (halve_the_sensitivity, check_loss, REPLACE, LOSS),
    (double_the_sensitivity, check_charges_are_tight, ADD_REMOVE, "reached"),
    (double_the_sensitivity, check_charges_are_tight, REPLACE, "reached"),
    (count_replace_one_as_add_remove, check_loss, REPLACE, LOSS),
    (draw_noise_of_half_the_scale, check_loss, ADD_REMOVE, LOSS),
    (draw_noise_of_half_the_scale, check_loss, REPLACE, LOSS),
    (draw_noise_of_the_variance_for_the_scale, check_loss, ADD_REMOVE, LOSS),
    (draw_noise_of_the_other_distribution, check_loss, ADD_REMOVE, "noise for discrete"),
    (draw_noise_of_the_other_distribution, check_loss, REPLACE, "noise for discrete"),
    (add_no_noise, check_loss, ADD_REMOVE, "drawn 0 times, charged 1"),
    (add_no_noise, check_order_of_events, REPLACE, "Laplace"),
    (keep_the_mean_of_two_draws, check_loss, ADD_REMOVE, "drawn 2 times, charged 1"),
    (keep_the_mean_of_two_draws, check_loss, REPLACE, "drawn 2 times, charged 1"),
    (keep_the_mean_of_two_draws, check_order_of_events, REPLACE, "Laplace"),
    (count_each_record_twice, check_loss, ADD_REMOVE, LOSS),
    (count_each_record_twice, check_loss, REPLACE, LOSS),
    (release_running_sums, check_loss, ADD_REMOVE, LOSS),
    (leave_out_what_is_zero, check_loss, REPLACE, "shape of the draws|drawn 0 times, charged 1"),
    (charge_after_the_draw, check_order_of_events, ADD_REMOVE, "spend"),
    (charge_after_the_draw, check_order_of_events, REPLACE, "spend"),
    (write_the_charge_before_it_is_spent, check_order_of_events, ADD_REMOVE, "spend"),
    (write_the_charge_before_it_is_spent, check_order_of_events, REPLACE, "spend"),
    (hand_out_before_it_is_on_file, check_order_of_events, ADD_REMOVE, "journal measurement"),
    (hand_out_before_it_is_on_file, check_order_of_events, REPLACE, "journal measurement"),
    (draw_without_a_charge, check_loss, REPLACE, "drawn 1 times, charged 0"),
    (draw_without_a_charge, check_loss, ADD_REMOVE, "drawn 1 times, charged 0"),
    (draw_without_a_charge, check_order_of_events, REPLACE, "spend"),
    (draw_without_a_charge, ONCE, REPLACE, f"{TWICE}|drawn: noise of scale 3"),
    (forget_what_was_drawn, ONCE, ADD_REMOVE, TWICE),
    (forget_what_was_drawn, ONCE, REPLACE, TWICE),
    (measure_again_with_other_noise, ONCE, ADD_REMOVE, TWICE),
    (take_whatever_was_reserved, CALLERS, ADD_REMOVE, "hundredth"),
    (take_whatever_was_reserved, CALLERS, REPLACE, "hundredth"),
    (take_whatever_was_reserved, ONCE, REPLACE, TWICE),
    (spend_whatever_was_reserved, CALLERS, ADD_REMOVE, "hundredth"),
    (spend_whatever_was_reserved, ONCE, REPLACE, f"{TWICE}|drawn: noise of scale 3"),
    (take_the_charge_from_the_reservation, CALLERS, ADD_REMOVE, "hundredth"),
]
OF_RELEASES: list[tuple[Plant, NeighbouringRelation, str]] = [
    (draw_noise_of_half_the_scale, ADD_REMOVE, LOSS),
    (draw_noise_of_half_the_scale, REPLACE, LOSS),
    (draw_noise_of_the_other_distribution, ADD_REMOVE, "noise for discrete"),
    (count_each_record_twice, ADD_REMOVE, LOSS),
    (draw_without_a_charge, ADD_REMOVE, "drawn [23] times, charged 0|drawn 1 times, charged 0"),
    (charge_the_first_alone, ADD_REMOVE, "drawn [23] times, charged 1"),
]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_defect_every_check_is_green(
    family: str, check: FamilyCheck, relation: NeighbouringRelation
) -> None:
    check(FAMILIES[family], relation)


@pytest.mark.parametrize(("plant", "check", "relation", "message"), COMMON)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_planted_defect_of_the_curator_is_caught(
    family: str,
    plant: Plant,
    check: FamilyCheck,
    relation: NeighbouringRelation,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=message):
        check(FAMILIES[family], relation)


@pytest.mark.parametrize(("plant", "relation", "message"), OF_RELEASES)
@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "coefficients"])
def test_a_planted_defect_is_caught_in_whole_releases(
    family: str,
    plant: Plant,
    relation: NeighbouringRelation,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=message):
        check_loss_of_releases(FAMILIES[family], relation)


# What is a family's own.

AMOUNTS = {True: 0.02, False: 0.7}


def budget_of(gaussian: bool) -> Budget:
    if gaussian:
        return Budget(None, 1e-9, AMOUNTS[True], Accountant.ZCDP)
    return Budget(AMOUNTS[False], 0.0, None, Accountant.PURE)


def cost(sensitivity: Sequence[float], scales: Sequence[float], *, gaussian: bool) -> float:
    """Return what noise costs by the formulas, as a share of the budget."""
    each = zip(sensitivity, scales, strict=True)
    return sum(m / (2 * s**2) if gaussian else m / s for m, s in each) / AMOUNTS[gaussian]


def loss_of(family: str, *names: str) -> Check:
    def check_loss_of(relation: NeighbouringRelation) -> None:
        check_loss(FAMILIES[family], relation, *names)

    return check_loss_of


def releases_of(family: str) -> Check:
    return partial(check_loss_of_releases, FAMILIES[family])


# Bins.


def check_groups_of_nodes_are_never_measured(relation: NeighbouringRelation) -> None:
    """An edge can count twice in one group, which no charge of sums covers: refused, or the loss is larger than the charge."""
    for gaussian in NOISES:
        try:
            check_game(bin_game(sums(gaussian), relation, graph=True))
        except PlanError:
            continue
        raise AssertionError("groups of nodes were measured")


def check_plans_of_bins_keep_their_budget(relation: NeighbouringRelation) -> None:
    """What the levels cost together, added up by hand from their scales, is the budget and no more."""
    sensitivity, size = 1 if relation is ADD_REMOVE else 2, size_under(relation)
    for gaussian in NOISES:
        for ranges in ("all", "sizes:1,16"):
            plan = plan_histogram(100, budget_of(gaussian), ranges=ranges, relation=relation, size=size)
            share = cost([sensitivity] * len(plan.scales), plan.scales, gaussian=gaussian)
            assert 0.999 < share <= 1, f"budget of a histogram: {share}"
        for length in (100, None):
            degrees = plan_sorted(length, budget_of(gaussian), graph=True, relation=relation, size=size)
            bought = [] if degrees.length_scale is None else [degrees.length_scale]
            all_moved = [2 * sensitivity, *([4 if gaussian else 2] if bought else [])]
            share = cost(all_moved, [degrees.scale, *bought], gaussian=gaussian)
            assert 0.999 < share <= 1, f"budget of degrees: {share}"


def change_sensitivity_bins(
    patch: pytest.MonkeyPatch, change: Callable[[int, NeighbouringRelation], int]
) -> None:
    """Change by how much a record is said to move sums and sorted counts; of a table it is 1 bin, of a graph 2."""
    patch.setattr(bin_measurement, "_sensitivity", change)


def halve_the_sensitivity_in_plan_and_curator(patch: pytest.MonkeyPatch) -> None:
    halve_the_sensitivity(patch)
    patch.setattr(HistogramPlan, "sensitivity", 1)
    patch.setattr(GridPlan, "sensitivity", 1)


def take_an_edge_for_a_record_of_a_table(patch: pytest.MonkeyPatch) -> None:
    """Hay et al.'s sensitivity of sorted counts, 1, for the degrees of an undirected graph."""
    original = bin_measurement._sensitivity
    change_sensitivity_bins(patch, lambda bins, relation: original(1, relation))


def charge_bins_in_use(patch: pytest.MonkeyPatch, sensitivity: Callable[[int, bool], int]) -> None:
    """Charge the number of bins in use for moves by this much, given the bins of a record and whether noise is Gaussian."""

    def charge(self: BinsInUse, bins: int, relation: NeighbouringRelation) -> Charge:
        found = sensitivity(bins, self.gaussian)
        return measurement_charge(self.name, found, self.scale, gaussian=self.gaussian, relation=relation)

    patch.setattr(BinsInUse, "charge", charge)


def take_nodes_in_use_for_bins_in_use(patch: pytest.MonkeyPatch) -> None:
    charge_bins_in_use(patch, lambda bins, gaussian: 1)


def take_the_distance_for_its_square(patch: pytest.MonkeyPatch) -> None:
    """2 in place of 4 with Gaussian noise: an edge moves one number by 2, not two numbers by 1."""
    charge_bins_in_use(patch, lambda bins, gaussian: bins)


def take_the_root_of_the_distance(patch: pytest.MonkeyPatch) -> None:
    """1 with Gaussian noise."""
    charge_bins_in_use(patch, lambda bins, gaussian: 1 if gaussian else bins)


def double_the_charge_of_bins_in_use(patch: pytest.MonkeyPatch) -> None:
    charge_bins_in_use(patch, lambda bins, gaussian: 2 * (bins * bins if gaussian else bins))


def leave_the_root_without_noise(patch: pytest.MonkeyPatch) -> None:
    """The number of records is taken for public under add-remove."""
    leave_without_noise(patch, lambda exact, what: exact.size == 1)


def square_the_sorted_counts(patch: pytest.MonkeyPatch) -> None:
    change_exact(patch, lambda exact: exact**2, [SortedCounts])


def count_the_records_of_the_bins_in_use(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BinsInUse, "exact", lambda self, held, *_: np.array([(held._counts**2).sum()]))


def let_groups_of_nodes_through(patch: pytest.MonkeyPatch) -> None:
    def charge(self: GroupSums, bins: int, relation: NeighbouringRelation) -> Charge:
        sensitivity = 1 if relation is ADD_REMOVE else 2
        return measurement_charge(
            self.name, sensitivity, self.scale, gaussian=self.gaussian, relation=relation
        )

    patch.setattr(GroupSums, "charge", charge)


def plan_with(
    patch: pytest.MonkeyPatch, module: str, change: Callable[[int, float, bool], tuple[int, float]]
) -> None:
    """Change moves and amount that a plan takes for the noise of a measurement."""

    def changed(sensitivity: int, *, amount: float, gaussian: bool) -> float:
        sensitivity, amount = change(sensitivity, amount, gaussian)
        return measurement_scale(sensitivity, amount=amount, gaussian=gaussian)

    patch.setattr(f"dpopt.synopses.{module}.measurement_scale", changed)


SORTED = "histograms.sorted.release_sorted"


def plan_with_moves_of_a_table(patch: pytest.MonkeyPatch) -> None:
    """The noise of degrees is planned for records that count in one bin."""
    plan_with(patch, SORTED, lambda sensitivity, amount, gaussian: (max(sensitivity // 2, 1), amount))


def buy_the_number_of_nodes_beside_the_budget(patch: pytest.MonkeyPatch) -> None:
    """5 % are spent on the number of nodes, and 100 % on the degrees."""

    def generous(sensitivity: int, amount: float, gaussian: bool) -> tuple[int, float]:
        whole = AMOUNTS[gaussian]
        return sensitivity, whole if amount > 0.9 * (1 - LENGTH_SHARE) * whole else amount

    plan_with(patch, SORTED, generous)


# Conjunctions.

WIDE = ChosenLiterals.of(bits_schema(8), None, "all")


def check_plans_of_summaries_keep_their_budget(relation: NeighbouringRelation) -> None:
    """What the sizes cost together, added up by hand from their scales, is the budget and no more."""
    for gaussian in NOISES:
        for predicate in ("and", "or", "atleast:3"):
            budget = budget_of(gaussian)
            plan = plan_summary(WIDE, 5, budget, size=5000, predicate=predicate, relation=relation)
            sensitivity = [comb(8, j) * (1 if relation is ADD_REMOVE else 2) for j in plan.sizes]
            share = cost(sensitivity, plan.scales, gaussian=gaussian)
            assert 1 - 1e-9 < share <= 1, f"budget of {predicate}: {share}"


def change_sensitivity_conjunctions(
    patch: pytest.MonkeyPatch, change: Callable[[int, LiteralGroups, int, bool], int]
) -> None:
    """Change how many conjunctions of a size a record is said to move, in plan and curator alike."""
    original = LiteralGroups.sensitivity

    def changed(self: LiteralGroups, size: int, *, replaced: bool) -> int:
        return change(original(self, size, replaced=replaced), self, size, replaced)

    patch.setattr(LiteralGroups, "sensitivity", changed)


def take_one_conjunction_for_all_of_a_record(patch: pytest.MonkeyPatch) -> None:
    """As if a record lay in one conjunction of each size, as in one bin of a histogram."""
    change_sensitivity_conjunctions(patch, lambda sensitivity, groups, size, replaced: 2 if replaced else 1)


def take_records_with_no_literal_for_the_worst(patch: pytest.MonkeyPatch) -> None:
    """All literals against none: too few under replace-one where a group has several."""
    change_sensitivity_conjunctions(
        patch, lambda sensitivity, groups, size, replaced: comb(len(groups.sizes), size)
    )


def leave_single_literals_without_noise(patch: pytest.MonkeyPatch) -> None:
    leave_without_noise(patch, lambda exact, what: what.size == 1)


def change_counts(
    patch: pytest.MonkeyPatch, kind: type[Any], change: Callable[[list[NDArray[np.int64]]], object]
) -> None:
    """Change what is counted once for all measurements."""
    original = kind.count

    def changed(self: Any, *given: Any, **more: Any) -> None:
        original(self, *given, **more)
        self._keep(change(self._counts))

    patch.setattr(kind, "count", changed)


def give_the_counts_of_another_size(patch: pytest.MonkeyPatch) -> None:
    """Of two attributes the charge of a pair, of which there is one to a record, pays for single literals, which are two."""
    change_counts(patch, ConjunctionTable, lambda counts: [*counts[1:], counts[0]])


SUMMARIES = "summaries.summary_plan"


def plan_summaries_with_half_the_moves(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, SUMMARIES, lambda sensitivity, amount, gaussian: (max(sensitivity // 2, 1), amount))


def plan_with_a_little_beside_the_budget(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, SUMMARIES, lambda sensitivity, amount, gaussian: (sensitivity, amount * 1.001))


def leave_a_part_of_the_budget_of_summaries(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, SUMMARIES, lambda sensitivity, amount, gaussian: (sensitivity, amount * 0.9))


# Decision lists.


def check_counts_are_those_of_the_rows(relation: NeighbouringRelation) -> None:
    """What gets noise is what the definition says, and nothing else is charged for."""
    noise, rows = Watching(), list_rows()
    plan = lists.tiny_plan("lists", relation, gaussian=False)
    release_lists(private(LISTS.family, rows), plan, noise=noise)
    for size, drawn in enumerate(noise.drawn):
        expected = np.sum([counted(LISTS, row, size) for row in rows], axis=0)
        assert list(drawn.counts) == expected.tolist(), "counts"


def check_plans_of_lists_keep_their_budget(relation: NeighbouringRelation) -> None:
    """What the sizes cost together, from all rows and the scales, is the budget and no more."""
    family = LISTS.family
    for gaussian in NOISES:
        plan = plan_lists(family, budget_of(gaussian), size=5000, relation=relation)
        sensitivity = []
        for size in plan.sizes:
            vectors = np.array([counted(plan.coefficients, row, size) for row in rows_of(family)])
            apart = vectors[:, None] - vectors if relation is REPLACE else vectors[:, None]
            sensitivity.append(float((apart**2 if gaussian else np.abs(apart)).sum(axis=2).max()))
        share = cost(sensitivity, plan.scales, gaussian=gaussian)
        assert 1 - 1e-9 < share <= 1, f"budget: {share}"


def change_sensitivity_lists(patch: pytest.MonkeyPatch, change: Callable[..., int]) -> None:
    """Change by how much a row is said to move the counts of a size, in plan and curator alike."""
    original = ListCoefficients.sensitivity

    def changed(self: ListCoefficients, size: int, *, replaced: bool, squared: bool) -> int:
        return change(partial(original, self, size, squared=squared), size, replaced=replaced)

    patch.setattr(ListCoefficients, "sensitivity", changed)


def take_rows_for_apart_when_they_are_opposite(patch: pytest.MonkeyPatch) -> None:
    """As if replaced rows shared no conjunction, so that L2 grows by a root of 2 only."""
    change_sensitivity_lists(
        patch,
        lambda sensitivity, size, replaced: (
            2 * sensitivity(replaced=False) if replaced and size else sensitivity(replaced=replaced)
        ),
    )


def leave_the_empty_conjunction_uncharged(patch: pytest.MonkeyPatch) -> None:
    """As if the sum of the first bits was public."""
    change_sensitivity_lists(
        patch, lambda sensitivity, size, replaced: sensitivity(replaced=replaced) if size else 1
    )


def forget_that_variables_are_shared(patch: pytest.MonkeyPatch) -> None:
    """Disjunctions on the same variables with other signs: as if they were apart."""
    original = ListCoefficients._farthest
    patch.setattr(
        ListCoefficients,
        "_farthest",
        lambda self, size: min(original(self, size), 2 * int(self._norms(size, squared=True).max()) - 1),
    )


def look_at_rows_that_never_change_back(patch: pytest.MonkeyPatch) -> None:
    original = ListCoefficients._norms

    def fewer(self: ListCoefficients, size: int, *, squared: bool) -> NDArray[np.int64]:
        changes = np.count_nonzero(np.diff(self.family.patterns, axis=1), axis=1)
        return np.asarray(original(self, size, squared=squared)[changes <= 1])

    patch.setattr(ListCoefficients, "_norms", fewer)


def leave_the_empty_conjunction_without_noise(patch: pytest.MonkeyPatch) -> None:
    leave_without_noise(patch, lambda exact, what: what.size == 0)


def exchange_the_signs(patch: pytest.MonkeyPatch) -> None:
    change_counts(patch, ListTable, lambda counts: [counts[0], counts[1][::-1].copy(), counts[2]])


PLANNING = "decision_lists.list_planning"


def plan_lists_with_half_the_moves(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, PLANNING, lambda sensitivity, amount, gaussian: (max(sensitivity // 2, 1), amount))


def leave_a_part_of_the_budget_of_lists(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, PLANNING, lambda sensitivity, amount, gaussian: (sensitivity, amount * 0.9))


# Halfspaces.

SHAPES = (Shape(2, 5, 4), Shape(2, 5, 4, ARCS, (0, 1, 2)), Shape(3, 4, 3))


def check_ties(relation: NeighbouringRelation) -> None:
    """(1, 0) is across the second direction and (1, -1) in a kernel: neither is on a positive side there."""
    noise, what, found = Watching(), Sides(SCALE, False), points.projections("plane")
    ledger = Ledger(AMPLE[False], relation)
    ledger.reserve([what.charge(found, relation)])
    held = ProjectedPoints.of(points.points_of(((1, 0), (1, -1))), found)
    attempt(partial(CountingCurator(held, ledger, EventJournal([]), size=2, noise=noise).measure, what))
    expected = (2, 0, 1, 1) if relation is REPLACE else (2, -2, 0, 0)
    assert [draw.counts for draw in noise.drawn] == [expected], f"counted {noise.drawn}"


def check_plans_of_halfspaces_keep_their_budget(relation: NeighbouringRelation) -> None:
    """What the measurements cost together, added up by hand from their scales, is the budget and no more."""
    columns = PointColumns(("a", "b", "c"), Scaling.UNIT)
    for gaussian in NOISES:
        for shape in SHAPES:
            budget = budget_of(gaussian)
            plan = plan_halfspaces(
                columns, budget, size=5000, margin=0.5, relation=relation, shapes=[shape], queries=3
            )
            arcs = shape.number * (1 if relation is ADD_REMOVE else 2)
            sensitivity = [arcs] * len(shape.heights) or [shape.number * shape.directions]
            sensitivity = [*([1] if relation is ADD_REMOVE else []), *sensitivity]
            share = cost(sensitivity, plan.scales, gaussian=gaussian)
            assert 1 - 1e-9 < share <= 1, f"budget of {shape}: {share}"


def charge_one_projection_for_all(patch: pytest.MonkeyPatch) -> None:
    """As if each projection was of other records."""
    change_sensitivity(patch, lambda sensitivity: 2)


def charge_half_of_the_directions(patch: pytest.MonkeyPatch) -> None:
    """As if antipodes had been left out once more."""
    original = Projections.shape.fget  # type: ignore[attr-defined]

    def halved(self: Projections) -> tuple[int, int, int, int]:
        d, t, m, h = original(self)
        return d, t, m, max(1, h // 2)

    patch.setattr(Projections, "shape", property(halved))


def measure_differences_under_replace_one(patch: pytest.MonkeyPatch) -> None:
    """One record replaced moves a difference of sides by 2."""
    original = Sides.exact
    patch.setattr(Sides, "exact", lambda self, held, relation, threads=2: original(self, held, ADD_REMOVE))


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
    original = ProjectedPoints._bins
    patch.setattr(ProjectedPoints, "_bins", lambda self: original(self) + np.roll(original(self), 1, axis=1))


def spend_the_budget_once_for_each_level(patch: pytest.MonkeyPatch) -> None:
    original = planning._scales

    def thrifty(shape: Shape, amount: float, *rest: Any, **more: Any) -> tuple[float, ...]:
        return original(shape, amount * max(1, len(shape.heights)), *rest, **more)

    patch.setattr(planning, "_scales", thrifty)


# Coefficients.


def check_functions_are_bounded(relation: NeighbouringRelation) -> None:
    """In whole numbers, whatever the function says: huge, or none at all."""
    for kind in ("huge", "not a number"):
        family = family_of(kind)
        assert isinstance(family, FunctionFamily)
        moves = family.moves(sanitizers.UNIT)
        # As Python numbers, since a defect may well overflow.
        each = [
            [float(one) for one in family.within(family.coefficients(np.array([[a, b]])), sanitizers.UNIT)[0]]
            for a in range(2)
            for b in range(3)
        ]
        assert max(sum(map(abs, one)) for one in each) <= moves.added, f"{kind}: {each}"
        apart = max(sum(abs(a - b) for a, b in zip(one, two, strict=True)) for one in each for two in each)
        assert apart <= moves.replaced, f"{kind}: {each}"


def check_plans_of_sanitizers_keep_their_budget(relation: NeighbouringRelation) -> None:
    """And spend it."""
    for gaussian in NOISES:
        for kind in TIGHT_FAMILIES:
            amount = 0.1 if gaussian else 1.5
            plan = sanitizers.plan_of(family_of(kind), relation, gaussian=gaussian)
            spent = plan.charges()[0].parameter
            assert 1 - 1e-9 < spent / amount <= 1, f"budget: {spent} of {amount}"
            share = sanitizers.check_planned_loss(plan)
            assert share > 0.99, f"budget: reached {share}"


def check_a_failing_function_costs_nothing(relation: NeighbouringRelation) -> None:
    def failing(codes: NDArray[np.int64]) -> NDArray[np.float64]:
        raise ValueError("no")

    noise, family, ledger = Watching(), sanitizers.function_family(failing), Ledger(AMPLE[False], relation)
    ledger.reserve([coefficients(False).charge(family, relation)])
    held = CoefficientTable.of(dataset_of(family.schema, ((0, 2), (1, 1), (0, 0))), family)
    curator = CountingCurator(held, ledger, EventJournal(noise.events), size=ROWS, noise=noise)
    attempt(partial(curator.measure, coefficients(False)))
    assert noise.events == [], f"a function that fails: {noise.events}"
    assert [entry for entry in ledger.entries if entry.kind is ChargeKind.PURE] == []


def change_moves(patch: pytest.MonkeyPatch, change: Callable[[Moves], Moves]) -> None:
    """Change how far a record is said to move the sums, in plan and curator alike."""
    for kind in (SymmetricFamily, TableFamily, FunctionFamily):

        def changed(self: Any, unit: float, original: Any = kind.moves) -> Moves:
            return change(original(self, unit))

        patch.setattr(kind, "moves", changed)


def halve_the_moves(patch: pytest.MonkeyPatch) -> None:
    change_moves(
        patch,
        lambda one: Moves(
            -(-one.added // 2),
            -(-one.replaced // 2),
            -(-one.added_squared // 2),
            -(-one.replaced_squared // 2),
        ),
    )


def take_the_length_for_its_square(patch: pytest.MonkeyPatch) -> None:
    change_moves(
        patch, lambda one: replace(one, added_squared=one.added // 2, replaced_squared=one.replaced // 2)
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


def draw_noise_for_records_in_place_of_units(patch: pytest.MonkeyPatch) -> None:
    draw_with(patch, lambda what: replace(what, scale=what.scale * what.unit))


def charge_before_the_function_is_asked(patch: pytest.MonkeyPatch) -> None:
    def early(self: CountingCurator, what: Counted, *, again: bool, **where: int) -> NoisyAnswers:
        charge = self._charged(what.charge(self._dataset._public, self._relation))
        return self._noisy(what.exact(self._dataset, self._relation), what, charge)

    patch.setattr(CountingCurator, "_measured", early)


def plan_sanitizers_with(patch: pytest.MonkeyPatch, factor: float) -> None:
    original = sanitizer_plan._scale
    patch.setattr(sanitizer_plan, "_scale", lambda *given, **more: original(*given, **more) * factor)


def plan_with_half_the_noise(patch: pytest.MonkeyPatch) -> None:
    plan_sanitizers_with(patch, 0.5)


def leave_a_part_of_the_budget_of_sanitizers(patch: pytest.MonkeyPatch) -> None:
    plan_sanitizers_with(patch, 1.1)


# The number of records.


def size_charged_by_half(patch: pytest.MonkeyPatch) -> None:
    honest = SizeMeasurement.charge

    def charge(self: SizeMeasurement) -> Charge:
        return replace(honest(self), parameter=honest(self).parameter / 2)

    patch.setattr(SizeMeasurement, "charge", charge)


def exact_number_used(patch: pytest.MonkeyPatch) -> None:
    honest = measured_size._public

    def public(value: NoisyAnswers, budget: object) -> object:
        found = honest(value, budget)  # type: ignore[arg-type]
        return replace(found, number=found.number + 1)

    patch.setattr(measured_size, "_public", public)


SIZE_DEFECTS: list[Plant] = [
    size_charged_by_half,
    draw_noise_of_half_the_scale,
    count_each_record_twice,
    draw_unpaid,
    charge_after_the_draw,
    draw_once_more,
    keep_the_mean_of_two_draws,
    hand_out_before_it_is_on_file,
    exact_number_used,
]


@pytest.mark.parametrize("budget", ["rho", "pure"])
@pytest.mark.parametrize("defect", SIZE_DEFECTS)
def test_a_planted_defect_of_the_number_of_records_turns_the_check_red(
    defect: Plant, budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_size(SIZE_BUDGETS[budget])
    defect(monkeypatch)
    with pytest.raises((AssertionError, IndexError)):
        check_size(SIZE_BUDGETS[budget])


@dataclass(frozen=True)
class Own:
    """A defect of one family, and the check that it turns red."""

    plant: Plant
    check: Check
    relations: tuple[NeighbouringRelation, ...]
    message: str = LOSS


ADD, REP, BOTH = (ADD_REMOVE,), (REPLACE,), (ADD_REMOVE, REPLACE)
DEGREES_RELEASED = ("degrees", "fewer degrees", "more degrees", "bought degrees")
NODES_IN_USE = loss_of("bins", "nodes in use")
BUDGETS_OF_BINS = check_plans_of_bins_keep_their_budget
OWN = [
    Own(halve_the_sensitivity, loss_of("bins", "sums"), REP),
    Own(halve_the_sensitivity, loss_of("bins", "sorted"), REP),
    Own(halve_the_sensitivity, loss_of("bins", "sorted degrees"), BOTH),
    Own(halve_the_sensitivity_in_plan_and_curator, loss_of("bins", "histogram"), REP),
    Own(halve_the_sensitivity_in_plan_and_curator, loss_of("bins", "grid"), REP),
    Own(count_replace_one_as_add_remove, loss_of("bins", "sorted"), REP),
    Own(count_replace_one_as_add_remove, loss_of("bins", *DEGREES_RELEASED), REP),
    Own(take_an_edge_for_a_record_of_a_table, loss_of("bins", "sorted degrees"), BOTH),
    Own(take_an_edge_for_a_record_of_a_table, loss_of("bins", *DEGREES_RELEASED), ADD),
    Own(take_nodes_in_use_for_bins_in_use, NODES_IN_USE, BOTH),
    Own(take_the_distance_for_its_square, NODES_IN_USE, BOTH, "rho .*, charged"),
    Own(take_the_root_of_the_distance, NODES_IN_USE, BOTH, "rho .*, charged"),
    Own(
        double_the_charge_of_bins_in_use,
        partial(check_charges_are_tight, FAMILIES["bins"]),
        ADD,
        "bins in use: reached",
    ),
    Own(draw_noise_of_half_the_scale, loss_of("bins", "grid"), ADD),
    Own(draw_noise_of_half_the_scale, loss_of("bins", *DEGREES_RELEASED), REP),
    Own(draw_noise_of_the_variance_for_the_scale, loss_of("bins", "bins in use"), ADD),
    Own(draw_noise_of_the_other_distribution, loss_of("bins", *DEGREES_RELEASED), ADD, "noise for discrete"),
    Own(leave_the_root_without_noise, loss_of("bins", "histogram"), ADD, "drawn 2 times, charged 3"),
    Own(leave_the_root_without_noise, loss_of("bins", "bought degrees"), ADD, "drawn 1 times, charged 2"),
    Own(count_each_record_twice, loss_of("bins", "sorted degrees"), REP),
    Own(square_the_sorted_counts, loss_of("bins", "sorted"), ADD),
    Own(release_running_sums, loss_of("bins", "sorted"), ADD),
    Own(leave_out_what_is_zero, loss_of("bins", "sorted"), REP, "shape of the draws"),
    Own(leave_out_what_is_zero, loss_of("bins", *DEGREES_RELEASED), REP, "shape of the draws"),
    Own(count_the_records_of_the_bins_in_use, loss_of("bins", "bins in use"), ADD),
    Own(let_groups_of_nodes_through, check_groups_of_nodes_are_never_measured, BOTH),
    Own(charge_the_first_alone, loss_of("bins", "grid"), REP, "drawn 3 times, charged 1"),
    Own(charge_the_first_alone, loss_of("bins", "bought degrees"), REP, "drawn 2 times, charged 1"),
    Own(plan_with_moves_of_a_table, BUDGETS_OF_BINS, ADD, "budget of degrees"),
    Own(buy_the_number_of_nodes_beside_the_budget, BUDGETS_OF_BINS, REP, "budget of degrees"),
    Own(halve_the_sensitivity, releases_of("conjunctions"), REP),
    Own(count_replace_one_as_add_remove, releases_of("conjunctions"), REP),
    Own(take_one_conjunction_for_all_of_a_record, loss_of("conjunctions"), ADD),
    Own(take_one_conjunction_for_all_of_a_record, releases_of("conjunctions"), REP),
    Own(take_records_with_no_literal_for_the_worst, loss_of("conjunctions"), REP),
    Own(
        leave_single_literals_without_noise,
        releases_of("conjunctions"),
        ADD,
        "drawn 2 times, charged 3",
    ),
    Own(give_the_counts_of_another_size, loss_of("conjunctions"), ADD),
    Own(plan_summaries_with_half_the_moves, check_plans_of_summaries_keep_their_budget, ADD, "budget of"),
    Own(plan_with_a_little_beside_the_budget, check_plans_of_summaries_keep_their_budget, REP, "budget of"),
    Own(
        leave_a_part_of_the_budget_of_summaries, check_plans_of_summaries_keep_their_budget, ADD, "budget of"
    ),
    Own(halve_the_sensitivity, releases_of("lists"), REP),
    Own(take_rows_for_apart_when_they_are_opposite, loss_of("lists"), REP),
    Own(forget_that_variables_are_shared, loss_of("lists"), REP),
    Own(leave_the_empty_conjunction_uncharged, loss_of("lists"), ADD),
    Own(look_at_rows_that_never_change_back, loss_of("lists"), ADD),
    Own(leave_the_empty_conjunction_without_noise, releases_of("lists"), ADD, "drawn 2 times, charged 3"),
    Own(leave_out_what_is_zero, releases_of("lists"), ADD, "shape of the draws|counts"),
    Own(exchange_the_signs, check_counts_are_those_of_the_rows, ADD, "counts"),
    Own(plan_lists_with_half_the_moves, check_plans_of_lists_keep_their_budget, ADD, "budget"),
    Own(leave_a_part_of_the_budget_of_lists, check_plans_of_lists_keep_their_budget, REP, "budget"),
    Own(charge_one_projection_for_all, loss_of("points"), ADD),
    Own(charge_half_of_the_directions, loss_of("points"), ADD),
    Own(measure_differences_under_replace_one, loss_of("points"), REP),
    Own(count_ties_on_both_sides, check_ties, BOTH, "counted"),
    Own(scale_by_the_longest_record, loss_of("points"), ADD, "."),
    Own(count_records_in_two_bins, releases_of("points"), ADD),
    Own(spend_the_budget_once_for_each_level, check_plans_of_halfspaces_keep_their_budget, BOTH, "budget of"),
    Own(halve_the_moves, loss_of("coefficients"), BOTH),
    Own(halve_the_moves, check_functions_are_bounded, REP, "huge"),
    Own(take_the_length_for_its_square, loss_of("coefficients"), ADD),
    Own(believe_the_function, check_functions_are_bounded, ADD, "huge"),
    Own(bound_each_coefficient_alone, check_functions_are_bounded, ADD, "huge"),
    Own(bound_each_coefficient_alone, loss_of("coefficients"), ADD),
    Own(round_upward, check_functions_are_bounded, ADD, "huge|not a number"),
    Own(draw_noise_of_half_the_scale, check_plans_of_sanitizers_keep_their_budget, REP, "costs"),
    Own(draw_noise_for_records_in_place_of_units, loss_of("coefficients"), ADD),
    Own(charge_before_the_function_is_asked, check_a_failing_function_costs_nothing, ADD, "fails: .*charge"),
    Own(
        draw_without_a_charge,
        check_plans_of_sanitizers_keep_their_budget,
        ADD,
        "drawn 1 times, charged 0",
    ),
    Own(plan_with_half_the_noise, check_plans_of_sanitizers_keep_their_budget, ADD, "budget"),
    Own(leave_a_part_of_the_budget_of_sanitizers, check_plans_of_sanitizers_keep_their_budget, ADD, "budget"),
]


OWN_CHECKS: list[Check] = [
    check_groups_of_nodes_are_never_measured,
    check_plans_of_bins_keep_their_budget,
    check_plans_of_summaries_keep_their_budget,
    check_counts_are_those_of_the_rows,
    check_plans_of_lists_keep_their_budget,
    check_ties,
    check_plans_of_halfspaces_keep_their_budget,
    check_functions_are_bounded,
    check_plans_of_sanitizers_keep_their_budget,
    check_a_failing_function_costs_nothing,
]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", OWN_CHECKS)
def test_without_a_defect_a_check_of_one_family_is_green(
    check: Check, relation: NeighbouringRelation
) -> None:
    check(relation)


@pytest.mark.parametrize(
    ("own", "relation"),
    [
        pytest.param(own, relation, id=f"{own.plant.__name__}-{place}-{relation.value}")
        for place, own in enumerate(OWN)
        for relation in own.relations
    ],
)
def test_a_planted_defect_of_one_family_is_caught(
    own: Own, relation: NeighbouringRelation, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.plant(monkeypatch)
    with pytest.raises((AssertionError, TranscriptError), match=own.message):
        own.check(relation)


# Plans that the ledger stops.


def overdrawn(kind: str, gaussian: bool, *, length: int | None = NODES) -> Release:
    """Return a release whose noise costs more than its budget, whatever the plan says."""
    budget = Budget(None, 1e-9, 0.5, Accountant.ZCDP) if gaussian else Budget(1.0, 0.0, None, Accountant.PURE)
    if kind == "conjunctions":
        plan = plan_summary(LITERALS, 3, budget, size=1000)
        less = replace(plan, scales=tuple(scale / 2 for scale in plan.scales))
        return partial(release_summary, dataset_of(bits_schema(3), RECORDS), less)
    if kind == "coefficients":
        family = family_of("mixed, sets")
        drawn = sanitizers.plan_of(family, REPLACE, gaussian=gaussian)
        cheap = replace(drawn, figures=replace(drawn.figures, scale=drawn.figures.scale / 2))
        return partial(release_sanitizer, dataset_of(family.schema, ((0, 2), (1, 1), (0, 0))), cheap)
    counts = plan_sorted(length or NODES, budget, graph=False)
    as_degrees = replace(counts, bins_of_a_record=2, length=length)
    return partial(release_sorted, bin_counts(DEGREES, graph=True), as_degrees)


@pytest.mark.parametrize("gaussian", NOISES)
@pytest.mark.parametrize(
    ("kind", "length"), [("bins", NODES), ("bins", None), ("conjunctions", None), ("coefficients", None)]
)
def test_a_plan_beyond_its_budget_draws_nothing(kind: str, length: int | None, gaussian: bool) -> None:
    """Half of the noise costs twice the budget, as does noise for a table where a graph is measured."""
    noise = Watching()
    with pytest.raises(BudgetError, match="the plan costs"):
        overdrawn(kind, gaussian, length=length)(noise=noise)
    assert noise.drawn == []


@pytest.mark.parametrize("gaussian", NOISES)
@pytest.mark.parametrize("kind", ["bins", "conjunctions", "coefficients"])
def test_a_plan_and_a_curator_that_disagree_draw_nothing(
    kind: str, gaussian: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan with charges of its own finds no reservation for what the curator charges."""
    release: Release
    if kind == "bins":
        plan = histogram_plan(REPLACE, gaussian)
        monkeypatch.setattr(HistogramPlan, "sensitivity", 1)
        release = partial(release_histogram, bin_counts(COUNTS, graph=False), plan)
    else:
        release = FAMILIES[kind].runs(REPLACE, gaussian)[0][0]
        owner = SummaryPlan if kind == "conjunctions" else SanitizerPlan
        honest: Any = owner.charges
        monkeypatch.setattr(
            owner, "charges", lambda self: [replace(one, parameter=one.parameter / 2) for one in honest(self)]
        )
    noise = Watching()
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        release(noise=noise)
    assert noise.drawn == []
