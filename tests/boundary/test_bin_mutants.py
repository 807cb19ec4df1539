"""Planted defects of histograms and sorted counts, one at a time: each turns a named check red."""

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
from dpopt.accounting.measurements import measurement_charge, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PlanError
from dpopt.private.curators import bin_curator
from dpopt.private.curators.bin_curator import BinCurator
from dpopt.private.curators.door import Door
from dpopt.private.measurements import bin_measurement
from dpopt.private.measurements.bin_measurement import BinMeasurement, BinsInUse, GroupSums, SortedCounts
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.synopses.histograms.grids.grid_plan import GridPlan
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.histograms.histogram_plan import HistogramPlan, plan_histogram
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.sorted.release_sorted import (
    LENGTH_SHARE,
    SortedPlan,
    plan_sorted,
    release_sorted,
)
from dpopt.transcript.released import NoisyAnswers
from tests.exact_bin_loss import (
    AMPLE,
    BINS,
    NODES,
    ROWS,
    BinGame,
    Watching,
    bin_counts,
    check_bin_game,
    grid_game,
    histogram_game,
    measurement_game,
    sorted_game,
)
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]

NOISES = (False, True)
GROUPS = np.array([0, 0, -1, 1, 1], dtype=np.int64)
TABLE, DEGREES = (1, 0, 2, 0, 0), (3, 1, 1, 1, 0)


def sums(*, gaussian: bool) -> GroupSums:
    return GroupSums("groups", 7.5, gaussian, GROUPS, 2)


def in_order(*, gaussian: bool, length: int = NODES) -> SortedCounts:
    return SortedCounts("sorted", 7.5, gaussian, length)


def in_use(*, gaussian: bool) -> BinsInUse:
    return BinsInUse("in use", 7.5, gaussian)


def size_under(relation: NeighbouringRelation) -> int | None:
    return None if relation is ADD_REMOVE else ROWS


def histogram_plan(relation: NeighbouringRelation, *, gaussian: bool) -> HistogramPlan:
    """Return a plan with three levels, or two under replace-one, where the total is public."""
    levels, scales = ((0, 1, 3), (4.0, 6.0, 9.0)) if relation is ADD_REMOVE else ((0, 1), (4.0, 6.0))
    return HistogramPlan(
        bins=BINS,
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        heights=levels,
        scales=scales,
        ranges="all",
        size=size_under(relation),
        predicted={},
    )


def grid_plan(relation: NeighbouringRelation, *, gaussian: bool) -> GridPlan:
    """Return a plan over 2 x 3 bins: cells, rows and squares."""
    levels, scales = ((0, 0), (0, 2), (1, 1)), (4.0, 6.0, 9.0)
    return GridPlan(
        shape=(2, 3),
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        levels=levels,
        scales=scales,
        ranges="all",
        size=size_under(relation),
        predicted={},
    )


def sorted_plan(
    relation: NeighbouringRelation, *, gaussian: bool, graph: bool = True, length: int | None = NODES
) -> SortedPlan:
    return SortedPlan(
        relation,
        AMPLE[gaussian],
        gaussian,
        2 if graph else 1,
        length,
        4.0,
        None if length is not None else 6.0,
        size_under(relation),
    )


def check_loss_of_sums(relation: NeighbouringRelation) -> None:
    for gaussian in NOISES:
        check_bin_game(measurement_game(sums(gaussian=gaussian), relation, graph=False))


def check_loss_of_sorted_counts_of_tables(relation: NeighbouringRelation) -> None:
    for gaussian in NOISES:
        check_bin_game(measurement_game(in_order(gaussian=gaussian), relation, graph=False))


def check_loss_of_sorted_degrees(relation: NeighbouringRelation) -> None:
    for gaussian in NOISES:
        check_bin_game(measurement_game(in_order(gaussian=gaussian), relation, graph=True))


def check_loss_of_the_number_of_bins_in_use(relation: NeighbouringRelation) -> None:
    for gaussian in NOISES:
        check_bin_game(measurement_game(in_use(gaussian=gaussian), relation, graph=False))


def check_loss_of_the_number_of_nodes_in_use(relation: NeighbouringRelation) -> None:
    for gaussian in NOISES:
        check_bin_game(measurement_game(in_use(gaussian=gaussian), relation, graph=True))


def check_loss_of_histograms(relation: NeighbouringRelation) -> None:
    """Whole releases: the levels of a tree, each of which one record moves."""
    for gaussian in NOISES:
        check_bin_game(histogram_game(histogram_plan(relation, gaussian=gaussian)))


def check_loss_of_grids(relation: NeighbouringRelation) -> None:
    """Whole releases over two columns: blocks of several shapes, one of each of which a record moves."""
    for gaussian in NOISES:
        check_bin_game(grid_game(grid_plan(relation, gaussian=gaussian)))


def check_loss_of_releases_of_degrees(relation: NeighbouringRelation) -> None:
    """Whole releases: with a declared number of nodes, smaller and larger than the true one, and with one that is bought."""
    for gaussian in NOISES:
        for length in (3, NODES + 2, None):
            check_bin_game(sorted_game(sorted_plan(relation, gaussian=gaussian, length=length)))


def tight_games(relation: NeighbouringRelation, *, gaussian: bool) -> dict[str, BinGame]:
    """Return the games in which some neighbours use up the whole charge."""
    return {
        "sums": measurement_game(sums(gaussian=gaussian), relation, graph=False),
        "sorted": measurement_game(in_order(gaussian=gaussian), relation, graph=False),
        "sorted degrees": measurement_game(in_order(gaussian=gaussian), relation, graph=True),
        "bins in use": measurement_game(in_use(gaussian=gaussian), relation, graph=False),
        "nodes in use": measurement_game(in_use(gaussian=gaussian), relation, graph=True),
        "histogram": histogram_game(histogram_plan(relation, gaussian=gaussian)),
        "grid": grid_game(grid_plan(relation, gaussian=gaussian)),
        "degrees": sorted_game(sorted_plan(relation, gaussian=gaussian)),
        "counts": sorted_game(sorted_plan(relation, gaussian=gaussian, graph=False)),
    }


def check_charges_are_tight(relation: NeighbouringRelation) -> None:
    """The charge of each kind is reached: under pure epsilon but for its rounding, with Gaussian noise to a thousandth."""
    for gaussian in NOISES:
        for name, game in tight_games(relation, gaussian=gaussian).items():
            share = check_bin_game(game)
            assert share > (0.999 if gaussian else 1 - 1e-12), f"{name}: reached {share}"


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn: level by level, once each."""
    for gaussian in NOISES:
        law = "Gaussian" if gaussian else "Laplace"
        once = ["spend", "journal charge", law, "journal measurement"]
        plan = histogram_plan(relation, gaussian=gaussian)
        assert events_of(partial(release_histogram, table(), plan)) == once * len(plan.heights)
        grid, cells = grid_plan(relation, gaussian=gaussian), bin_counts((*TABLE, 0), graph=False)
        assert events_of(partial(release_grid, cells, grid)) == once * len(grid.levels)
        for length, draws in ((NODES, 1), (None, 2)):
            of_degrees = sorted_plan(relation, gaussian=gaussian, length=length)
            assert events_of(partial(release_sorted, graph(), of_degrees)) == once * draws


def events_of(release: Callable[..., object]) -> list[str]:
    noise = Watching()
    with pytest.MonkeyPatch.context() as patch:
        spend = Ledger.spend

        def recording(self: Ledger, charge: Charge) -> None:
            spend(self, charge)
            noise.events.append("spend")

        patch.setattr(Ledger, "spend", recording)
        for driver in ("grids.release_grid", "release_histogram", "sorted.release_sorted"):
            name = f"dpopt.synopses.histograms.{driver}.MemoryJournal"
            patch.setattr(name, lambda **_: EventJournal(noise.events))
        release(noise=noise)
    return noise.events


def table() -> BinCounts:
    return bin_counts(TABLE, graph=False)


def graph() -> BinCounts:
    return bin_counts(DEGREES, graph=True)


def check_nothing_is_drawn_twice_or_unpaid(relation: NeighbouringRelation) -> None:
    """Whatever was reserved, a name is measured once, and what was not reserved never."""
    noise, ledger = Watching(), Ledger(AMPLE[False], relation)
    what, other = sums(gaussian=False), in_order(gaussian=False)
    charge = what.charge(table(), relation)
    ledger.reserve([charge, charge])
    curator = BinCurator(table(), ledger, EventJournal(noise.events), size=ROWS, noise=noise)
    for measurement in (other, what, what, GroupSums("groups", 7.5, False, GROUPS[::-1], 2)):
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
        for what, counts in ((sums(gaussian=gaussian), table()), (in_order(gaussian=gaussian), graph())):
            noise, ledger = Watching(), Ledger(AMPLE[gaussian], relation)
            right = what.charge(counts, relation)
            ledger.reserve([replace(right, parameter=right.parameter / 100)])
            curator = BinCurator(counts, ledger, EventJournal([]), size=ROWS, noise=noise)
            attempt(partial(curator.measure, what))
            assert noise.events == [], f"drew {noise.events} for a hundredth of the charge"


def check_groups_of_nodes_are_never_measured(relation: NeighbouringRelation) -> None:
    """An edge can count twice in one group, which no charge of sums covers: refused, or the loss is larger than the charge."""
    for gaussian in NOISES:
        try:
            check_bin_game(measurement_game(sums(gaussian=gaussian), relation, graph=True))
        except PlanError:
            continue
        raise AssertionError("groups of nodes were measured")


AMOUNTS = {True: 0.02, False: 0.7}


def check_plans_keep_their_budget(relation: NeighbouringRelation) -> None:
    """What the levels cost together, added up by hand from their scales, is the budget and no more."""
    moved, size = 1 if relation is ADD_REMOVE else 2, size_under(relation)

    def cost(moves: int, scale: float, *, gaussian: bool) -> float:
        return moves / (2 * scale**2) if gaussian else moves / scale

    for gaussian, amount in AMOUNTS.items():
        pure = Budget(amount, 0.0, None, Accountant.PURE)
        budget = Budget(None, 1e-9, amount, Accountant.ZCDP) if gaussian else pure
        for ranges in ("all", "sizes:1,16"):
            scales = plan_histogram(100, budget, ranges=ranges, relation=relation, size=size).scales
            share = sum(cost(moved, scale, gaussian=gaussian) for scale in scales) / amount
            assert 0.999 < share <= 1, f"budget of a histogram: {share}"
        for length in (100, None):
            plan = plan_sorted(length, budget, graph=True, relation=relation, size=size)
            spent = cost(2 * moved, plan.scale, gaussian=gaussian)
            if plan.length_scale is not None:
                spent += cost(4 if gaussian else 2, plan.length_scale, gaussian=gaussian)
            assert 0.999 < spent / amount <= 1, f"budget of degrees: {spent / amount}"


def moved_by(patch: pytest.MonkeyPatch, change: Callable[[int, NeighbouringRelation], int]) -> None:
    """Change by how much a record is said to move sums and sorted counts; of a table it is 1 bin, of a graph 2."""
    patch.setattr(bin_measurement, "_moved", change)


def halve_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    original = bin_measurement._moved
    moved_by(patch, lambda bins, relation: max(original(bins, relation) // 2, 1))


def halve_the_sensitivity_in_plan_and_curator(patch: pytest.MonkeyPatch) -> None:
    halve_the_sensitivity(patch)
    patch.setattr(HistogramPlan, "moved", 1)
    patch.setattr(GridPlan, "moved", 1)


def count_replace_one_as_add_remove(patch: pytest.MonkeyPatch) -> None:
    moved_by(patch, lambda bins, relation: bins)


def take_an_edge_for_a_record_of_a_table(patch: pytest.MonkeyPatch) -> None:
    """Hay et al.'s sensitivity of sorted counts, 1, for the degrees of an undirected graph."""
    original = bin_measurement._moved
    moved_by(patch, lambda bins, relation: original(1, relation))


def double_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    original = bin_measurement._moved
    moved_by(patch, lambda bins, relation: 2 * original(bins, relation))


def charge_bins_in_use(patch: pytest.MonkeyPatch, moved: Callable[[int, bool], int]) -> None:
    """Charge the number of bins in use for moves by this much, given the bins of a record and whether noise is Gaussian."""

    def charge(self: BinsInUse, counts: BinCounts, relation: NeighbouringRelation) -> Charge:
        return measurement_charge(
            self.name,
            moved(counts._bins_of_a_record, self.gaussian),
            self.scale,
            gaussian=self.gaussian,
            relation=relation,
        )

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


def draw_with(patch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """Change what the noise is drawn by: name, scale and law of a measurement."""

    def changed(exact: NDArray[np.int64], measurement: Any, *rest: Any, **more: Any) -> NoisyAnswers:
        return with_noise(exact, change(measurement), *rest, **more)

    patch.setattr(bin_curator, "with_noise", changed)


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

    patch.setattr(bin_curator, "with_noise", exact_values)


def leave_the_root_without_noise(patch: pytest.MonkeyPatch) -> None:
    """The number of records is taken for public under add-remove."""

    def one_is_exact(
        exact: NDArray[np.int64], what: Any, charge: Charge, *rest: Any, **more: Any
    ) -> NoisyAnswers:
        if exact.size == 1:
            return NoisyAnswers(what.name, exact, "discrete Laplace", what.scale, charge)
        return with_noise(exact, what, charge, *rest, **more)

    patch.setattr(bin_curator, "with_noise", one_is_exact)


def change_exact(
    patch: pytest.MonkeyPatch, kind: type[Any], change: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> None:
    original = kind.exact
    patch.setattr(kind, "exact", lambda self, counts: change(original(self, counts)))


def count_each_record_twice(patch: pytest.MonkeyPatch) -> None:
    for kind in (GroupSums, SortedCounts):
        change_exact(patch, kind, lambda exact: 2 * exact)


def square_the_sorted_counts(patch: pytest.MonkeyPatch) -> None:
    change_exact(patch, SortedCounts, lambda exact: exact**2)


def release_sums_up_to_each_count(patch: pytest.MonkeyPatch) -> None:
    """Running sums, each of which a record moves."""
    for kind in (GroupSums, SortedCounts):
        change_exact(patch, kind, np.cumsum)


def leave_out_empty_bins(patch: pytest.MonkeyPatch) -> None:
    """How many values are released says how many bins are in use."""
    change_exact(patch, SortedCounts, lambda exact: exact[exact > 0])


def count_the_records_of_the_bins_in_use(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BinsInUse, "exact", lambda self, counts: np.array([(counts._counts**2).sum()]))


def let_groups_of_nodes_through(patch: pytest.MonkeyPatch) -> None:
    def charge(self: GroupSums, counts: BinCounts, relation: NeighbouringRelation) -> Charge:
        moved = 1 if relation is ADD_REMOVE else 2
        return measurement_charge(self.name, moved, self.scale, gaussian=self.gaussian, relation=relation)

    patch.setattr(GroupSums, "charge", charge)


def charge_after_the_draw(patch: pytest.MonkeyPatch) -> None:
    def late(self: BinCurator, measurement: BinMeasurement) -> NoisyAnswers:
        charge = measurement.charge(self._dataset, self._relation)
        answers = with_noise(measurement.exact(self._dataset), measurement, charge, self._noise)
        self._charged(charge)
        return self._released(answers, answers.to_json())

    patch.setattr(BinCurator, "measure", late)


def write_the_charge_before_it_is_spent(patch: pytest.MonkeyPatch) -> None:
    def early(self: Door[BinCounts], charge: Charge, **where: int) -> Charge:
        self._on_file(charge, **where)
        self._ledger.spend(charge)
        return charge

    patch.setattr(Door, "_charged", early)


def hand_out_before_it_is_on_file(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BinCurator, "_released", lambda self, value, entry: value)


def draw_without_a_charge(patch: pytest.MonkeyPatch) -> None:
    """Nothing is spent; what the values say of their charge is right."""
    patch.setattr(BinCurator, "_charged", lambda self, charge, **where: self._on_file(charge, **where))


def charge_the_first_level_alone(patch: pytest.MonkeyPatch) -> None:
    """As if the levels of a tree were over bins of different records."""
    original = Door._charged

    def once(self: Door[BinCounts], charge: Charge, **where: int) -> Charge:
        spent = self._ledger.entries
        return self._on_file(charge, **where) if spent else original(self, charge, **where)

    patch.setattr(Door, "_charged", once)


def keep_the_mean_of_two_draws(patch: pytest.MonkeyPatch) -> None:
    """One measurement is on file, two were made."""

    def twice(*given: Any, **more: Any) -> NoisyAnswers:
        one, two = with_noise(*given, **more), with_noise(*given, **more)
        return replace(one, values=(one.values + two.values) // 2)

    patch.setattr(bin_curator, "with_noise", twice)


def forget_what_was_drawn(patch: pytest.MonkeyPatch) -> None:
    class Forgetful(set[str]):
        def add(self, name: str) -> None:
            """Remember nothing."""

    original = BinCurator.__init__

    def forgetting(self: BinCurator, *given: Any, **more: Any) -> None:
        original(self, *given, **more)
        self._names = Forgetful()

    patch.setattr(BinCurator, "__init__", forgetting)


def take_whatever_was_reserved(patch: pytest.MonkeyPatch) -> None:
    """The charge is the caller's: the first one that is reserved."""

    def trusting(self: BinCurator, measurement: BinMeasurement) -> NoisyAnswers:
        charge = self._charged(self._ledger.unspent[0])
        answers = with_noise(measurement.exact(self._dataset), measurement, charge, self._noise)
        return self._released(answers, answers.to_json())

    patch.setattr(BinCurator, "measure", trusting)


def plan_degrees_with(patch: pytest.MonkeyPatch, scale: Callable[[int, float, bool], float]) -> None:
    """Change the scale that the plan of degrees takes, given the moves, the amount of budget and whether noise is Gaussian."""

    def changed(moved: int, *, amount: float, gaussian: bool) -> float:
        return scale(moved, amount, gaussian)

    patch.setattr("dpopt.synopses.histograms.sorted.release_sorted.measurement_scale", changed)


def plan_with_moves_of_a_table(patch: pytest.MonkeyPatch) -> None:
    """The noise of degrees is planned for records that count in one bin."""
    plan_degrees_with(
        patch,
        lambda moved, amount, gaussian: measurement_scale(
            max(moved // 2, 1), amount=amount, gaussian=gaussian
        ),
    )


def buy_the_number_of_nodes_beside_the_budget(patch: pytest.MonkeyPatch) -> None:
    """5 % are spent on the number of nodes, and 100 % on the degrees."""

    def generous(moved: int, amount: float, gaussian: bool) -> float:
        whole = AMOUNTS[gaussian]
        of_degrees = amount > 0.9 * (1 - LENGTH_SHARE) * whole
        return measurement_scale(moved, amount=whole if of_degrees else amount, gaussian=gaussian)

    plan_degrees_with(patch, generous)


CHECKS = [
    check_loss_of_sums,
    check_loss_of_sorted_counts_of_tables,
    check_loss_of_sorted_degrees,
    check_loss_of_the_number_of_bins_in_use,
    check_loss_of_the_number_of_nodes_in_use,
    check_loss_of_histograms,
    check_loss_of_grids,
    check_loss_of_releases_of_degrees,
    check_charges_are_tight,
    check_order_of_events,
    check_nothing_is_drawn_twice_or_unpaid,
    check_a_charge_of_the_callers_buys_nothing,
    check_groups_of_nodes_are_never_measured,
    check_plans_keep_their_budget,
]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", CHECKS)
def test_without_a_defect_every_check_is_green(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


LOSS = "loss .*, charged|rho .*, charged"
DEFECTS: list[tuple[Plant, Check, NeighbouringRelation, str]] = [
    (halve_the_sensitivity, check_loss_of_sums, REPLACE, LOSS),
    (halve_the_sensitivity, check_loss_of_sorted_counts_of_tables, REPLACE, LOSS),
    (halve_the_sensitivity, check_loss_of_sorted_degrees, ADD_REMOVE, LOSS),
    (halve_the_sensitivity, check_loss_of_sorted_degrees, REPLACE, LOSS),
    (halve_the_sensitivity_in_plan_and_curator, check_loss_of_histograms, REPLACE, LOSS),
    (halve_the_sensitivity_in_plan_and_curator, check_loss_of_grids, REPLACE, LOSS),
    (count_replace_one_as_add_remove, check_loss_of_sums, REPLACE, LOSS),
    (count_replace_one_as_add_remove, check_loss_of_sorted_counts_of_tables, REPLACE, LOSS),
    (count_replace_one_as_add_remove, check_loss_of_releases_of_degrees, REPLACE, LOSS),
    (take_an_edge_for_a_record_of_a_table, check_loss_of_sorted_degrees, ADD_REMOVE, LOSS),
    (take_an_edge_for_a_record_of_a_table, check_loss_of_sorted_degrees, REPLACE, LOSS),
    (take_an_edge_for_a_record_of_a_table, check_loss_of_releases_of_degrees, ADD_REMOVE, LOSS),
    (double_the_sensitivity, check_charges_are_tight, ADD_REMOVE, "sums: reached"),
    (double_the_sensitivity, check_charges_are_tight, REPLACE, "sums: reached"),
    (take_nodes_in_use_for_bins_in_use, check_loss_of_the_number_of_nodes_in_use, ADD_REMOVE, LOSS),
    (take_nodes_in_use_for_bins_in_use, check_loss_of_the_number_of_nodes_in_use, REPLACE, LOSS),
    (
        take_the_distance_for_its_square,
        check_loss_of_the_number_of_nodes_in_use,
        ADD_REMOVE,
        "rho .*, charged",
    ),
    (take_the_distance_for_its_square, check_loss_of_the_number_of_nodes_in_use, REPLACE, "rho .*, charged"),
    (take_the_root_of_the_distance, check_loss_of_the_number_of_nodes_in_use, ADD_REMOVE, "rho .*, charged"),
    (take_the_root_of_the_distance, check_loss_of_the_number_of_nodes_in_use, REPLACE, "rho .*, charged"),
    (double_the_charge_of_bins_in_use, check_charges_are_tight, ADD_REMOVE, "bins in use: reached"),
    (draw_noise_of_half_the_scale, check_loss_of_sums, ADD_REMOVE, LOSS),
    (draw_noise_of_half_the_scale, check_loss_of_histograms, ADD_REMOVE, LOSS),
    (draw_noise_of_half_the_scale, check_loss_of_releases_of_degrees, REPLACE, LOSS),
    (draw_noise_of_the_variance_for_the_scale, check_loss_of_the_number_of_bins_in_use, ADD_REMOVE, LOSS),
    (draw_noise_of_the_other_law, check_loss_of_sums, ADD_REMOVE, "noise for discrete"),
    (draw_noise_of_the_other_law, check_loss_of_releases_of_degrees, ADD_REMOVE, "noise for discrete"),
    (add_no_noise, check_loss_of_sums, ADD_REMOVE, "drawn 0 times, charged 1"),
    (add_no_noise, check_order_of_events, ADD_REMOVE, "Laplace"),
    (leave_the_root_without_noise, check_loss_of_histograms, ADD_REMOVE, "drawn 2 times, charged 3"),
    (leave_the_root_without_noise, check_loss_of_releases_of_degrees, ADD_REMOVE, "drawn 1 times, charged 2"),
    (draw_noise_of_half_the_scale, check_loss_of_grids, ADD_REMOVE, LOSS),
    (count_each_record_twice, check_loss_of_sums, ADD_REMOVE, LOSS),
    (count_each_record_twice, check_loss_of_sorted_degrees, REPLACE, LOSS),
    (square_the_sorted_counts, check_loss_of_sorted_counts_of_tables, ADD_REMOVE, LOSS),
    (release_sums_up_to_each_count, check_loss_of_sums, ADD_REMOVE, LOSS),
    (release_sums_up_to_each_count, check_loss_of_sorted_counts_of_tables, ADD_REMOVE, LOSS),
    (leave_out_empty_bins, check_loss_of_sorted_counts_of_tables, REPLACE, "shape of the draws"),
    (leave_out_empty_bins, check_loss_of_releases_of_degrees, REPLACE, "shape of the draws"),
    (count_the_records_of_the_bins_in_use, check_loss_of_the_number_of_bins_in_use, ADD_REMOVE, LOSS),
    (let_groups_of_nodes_through, check_groups_of_nodes_are_never_measured, ADD_REMOVE, LOSS),
    (let_groups_of_nodes_through, check_groups_of_nodes_are_never_measured, REPLACE, LOSS),
    (charge_after_the_draw, check_order_of_events, REPLACE, "spend"),
    (write_the_charge_before_it_is_spent, check_order_of_events, REPLACE, "spend"),
    (hand_out_before_it_is_on_file, check_order_of_events, ADD_REMOVE, "journal measurement"),
    (draw_without_a_charge, check_loss_of_histograms, ADD_REMOVE, "drawn 3 times, charged 0"),
    (draw_without_a_charge, check_loss_of_sums, REPLACE, "drawn 1 times, charged 0"),
    (draw_without_a_charge, check_nothing_is_drawn_twice_or_unpaid, REPLACE, "drawn: .*Laplace.*Laplace"),
    (charge_the_first_level_alone, check_loss_of_grids, REPLACE, "drawn 3 times, charged 1"),
    (charge_the_first_level_alone, check_loss_of_histograms, ADD_REMOVE, "drawn 3 times, charged 1"),
    (charge_the_first_level_alone, check_loss_of_releases_of_degrees, REPLACE, "drawn 2 times, charged 1"),
    (keep_the_mean_of_two_draws, check_loss_of_sums, ADD_REMOVE, "drawn 2 times, charged 1"),
    (keep_the_mean_of_two_draws, check_order_of_events, REPLACE, "Laplace"),
    (forget_what_was_drawn, check_nothing_is_drawn_twice_or_unpaid, REPLACE, "drawn: .*Laplace.*Laplace"),
    (take_whatever_was_reserved, check_a_charge_of_the_callers_buys_nothing, ADD_REMOVE, "hundredth"),
    (
        take_whatever_was_reserved,
        check_nothing_is_drawn_twice_or_unpaid,
        REPLACE,
        "drawn: .*Laplace.*Laplace",
    ),
    (plan_with_moves_of_a_table, check_plans_keep_their_budget, ADD_REMOVE, "budget of degrees"),
    (buy_the_number_of_nodes_beside_the_budget, check_plans_keep_their_budget, REPLACE, "budget of degrees"),
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
def test_a_plan_and_a_curator_that_disagree_draw_nothing(
    gaussian: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan of histograms that takes replace-one for add-remove finds no reservation for what the curator charges."""
    noise, plan = Watching(), histogram_plan(REPLACE, gaussian=gaussian)
    monkeypatch.setattr(HistogramPlan, "moved", 1)
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        release_histogram(table(), plan, noise=noise)
    assert noise.drawn == []


@pytest.mark.parametrize(
    "budget", [Budget(1.0, 0.0, None, Accountant.PURE), Budget(None, 1e-9, 0.5, Accountant.ZCDP)]
)
@pytest.mark.parametrize("length", [NODES, None])
def test_degrees_planned_as_counts_of_a_table_draw_nothing(budget: Budget, length: int | None) -> None:
    """Half of the noise costs twice the budget, whatever the plan says."""
    plan = plan_sorted(length or NODES, budget, graph=False)
    noise = Watching()
    with pytest.raises(BudgetError, match="the plan costs"):
        release_sorted(graph(), replace(plan, bins_of_a_record=2, length=length), noise=noise)
    assert noise.drawn == []
