"""Planted defects of noisy counts: of the one curator, tried for each family, and of each family alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from dpopt.accounting.measurements import SizeMeasurement, measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PlanError
from dpopt.private.curators import door
from dpopt.private.curators.counting_curator import MEASUREMENTS, CountingCurator
from dpopt.private.curators.door import Door
from dpopt.private.curators.prefix_curator import RoundsCurator
from dpopt.private.measurements import bin_measurement, kernels, noisy_counts, sanitizer_sums
from dpopt.private.measurements.bin_measurement import BinsInUse, ColumnSums, GroupSums, SortedCounts, SumsInRounds
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
from dpopt.synopses.decision_lists import list_plan
from dpopt.synopses.decision_lists.list_plan import plan_lists
from dpopt.synopses.halfspaces import planning
from dpopt.synopses.halfspaces.planning import Shape, plan_halfspaces
from dpopt.synopses.histograms.grids.grid_plan import GridPlan
from dpopt.synopses.histograms.histogram_plan import HistogramPlan, plan_blocks
from dpopt.synopses.histograms.sorted import release_sorted as sorted_release
from dpopt.synopses.histograms.sorted.release_sorted import LENGTH_SHARE, plan_sorted, release_sorted
from dpopt.synopses.sanitizers import sanitizer_plan
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.sanitizers.sanitizer_plan import SanitizerPlan
from dpopt.synopses.summaries import summary_plan
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan, plan_summary
from dpopt.transcript.released import NoisyAnswers
from tests import exact_halfspace_loss as points
from tests import exact_sanitizer_loss as sanitizers
from tests import tiny_lists as lists
from tests.boundary.families import (
    DEGREES,
    FAMILIES,
    LIST_ROWS,
    LISTS,
    LITERALS,
    NOISES,
    OF_CODES,
    RECORDS,
    SCALE,
    TIGHT_FAMILIES,
    Family,
    coefficients,
    family_of,
    sums,
)
from tests.boundary.planted import (
    ADD,
    BOTH,
    REP,
    WHATEVER,
    Check,
    Defect,
    Mechanism,
    Plant,
    Relations,
    attempt,
    defect,
    forget_what_was_drawn,
    put_on_file_unspent,
    several,
    spending,
    wrap,
    write_the_charge_before_it_is_spent,
)
from tests.exact_counts_loss import AMPLE, NODES, ROWS, Watching, bin_counts, check_game, graphs, rounds_share
from tests.exact_size_loss import BUDGETS as SIZE_BUDGETS
from tests.exact_size_loss import check_size
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, bits_schema, dataset_of

FamilyCheck = Callable[[Family, NeighbouringRelation], None]
FamilyRed = tuple[FamilyCheck, Relations, str]
Exact = NDArray[np.int64]

# What every family is checked for.


def check_loss(family: Family, relation: NeighbouringRelation, *names: str) -> None:
    """Of single measurements and of whole releases, or of those named: at most what is charged."""
    for gaussian in NOISES:
        for name, row in family.rows.items():
            if name in names or (row.planted and not names):
                check_game(row.game(relation, gaussian))


def check_loss_of_releases(family: Family, relation: NeighbouringRelation) -> None:
    check_loss(family, relation, *(name for name, row in family.released.items() if row.planted))


def check_charges_are_tight(family: Family, relation: NeighbouringRelation) -> None:
    """As much of a charge is reached as the row says."""
    for gaussian in NOISES:
        for name, row in family.rows.items():
            if row.planted:
                share = check_game(row.game(relation, gaussian))
                assert share > row.least[gaussian], f"{name}: reached {share}"


def check_order_of_events(family: Family, relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn: measurement by measurement, once each."""
    for gaussian in NOISES:
        distribution = "Gaussian" if gaussian else "Laplace"
        for row, table, draws in family.runs:
            plan, noise = row.plan(relation, gaussian), Watching()
            once = ["spend", "journal charge", distribution, "journal measurement"]
            with pytest.MonkeyPatch.context() as patch, spending(noise.events):
                name = "dpopt.synopses.release.MemoryJournal"
                patch.setattr(name, lambda events=noise.events, **_: EventJournal(events))
                row.of(table, plan)(noise=noise)
            assert noise.events == once * draws[relation is REPLACE]


def check_nothing_is_drawn_twice_or_unpaid(family: Family, relation: NeighbouringRelation) -> None:
    """Whatever was reserved, a name is measured once, whatever its noise, and what was not reserved never."""
    for asked in family.asked(False):
        noise, ledger, public = Watching(), Ledger(AMPLE[False], relation), asked.held._public
        charge = asked.what.charge(public, relation)
        ledger.reserve([charge, charge, asked.again.charge(public, relation)])
        journal = EventJournal(noise.events)
        curator = CountingCurator(asked.held, ledger, journal, size=asked.held._rows, noise=noise)
        measured = (asked.other, asked.what, asked.what, asked.again)
        attempt(*(partial(curator.measure, measurement) for measurement in measured))
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


# What breaks the one curator.


def sensitivity(change: Callable[[int], int]) -> Plant:
    """Change by how much a record is said to move what is measured, in the charge of every measurement."""
    return wrap(
        [noisy_counts, sanitizer_sums],
        "measurement_charge",
        lambda usual, name, moved, *rest, **more: usual(name, change(moved), *rest, **more),
    )


def noise_by(change: Callable[[Any], Any]) -> Plant:
    """Change what the noise is drawn by: name, scale and distribution of a measurement."""
    return wrap(door, "with_noise", lambda usual, exact, what, *rest, **more: usual(exact, change(what), *rest, **more))


def without_noise(which: Callable[[Exact, Any], bool]) -> Plant:
    """Some values on file are the exact ones; no noise is asked for."""

    def some_exact(usual: Any, exact: Exact, what: Any, charge: Charge, *rest: Any, **more: Any) -> Any:
        if which(exact, what):
            return NoisyAnswers(what.name, exact, "discrete Laplace", what.scale, charge)
        return usual(exact, what, charge, *rest, **more)

    return wrap(door, "with_noise", some_exact)


def mean_of_two(usual: Any, *given: Any, **more: Any) -> NoisyAnswers:
    """One measurement is on file, two were made."""
    one: NoisyAnswers = usual(*given, **more)
    two = usual(*given, **more)
    return replace(one, values=(one.values + two.values) // 2)


def exact_values(change: Callable[[Exact], Exact], kinds: Sequence[type[Any]] = tuple(MEASUREMENTS)) -> Plant:
    return wrap(list(kinds), "exact", lambda usual, *given: change(usual(*given)))


def measured_by(how: Callable[[Any, Any, Charge, Exact], NoisyAnswers]) -> Plant:
    """Measure in another order, given the right charge and the exact value."""

    def measured(usual: object, self: Any, what: Any, *, again: bool, **where: int) -> NoisyAnswers:
        charge = what.charge(self._dataset._public, self._relation)
        return how(self, what, charge, what.exact(self._dataset, self._relation))

    return wrap(CountingCurator, "_measured", measured)


def late(self: Any, what: Any, charge: Charge, exact: Exact) -> Any:
    answers = with_noise(exact, what, charge, self._noise)
    self._charged(charge)
    return self._released(answers, answers.to_json())


def once_more(self: Any, what: Any, charge: Charge, exact: Exact) -> Any:
    self._charged(charge)
    self._noisy(exact, what, charge)
    return self._noisy(exact, what, charge)


def generous(usual: object, self: Door[Any], charge: Charge, **where: int) -> Charge:
    """What stands on file is right, what is spent is the first that is reserved."""
    self._ledger.spend(self._ledger.unspent[0])
    return self._on_file(charge, **where)


def trusting(usual: Any, self: Door[Any], charge: Charge, **where: int) -> Charge:
    """Whatever is reserved pays, if the name is right."""
    reserved = [one for one in self._ledger.unspent if one.label == charge.label]
    paid: Charge = usual(self, reserved[0] if reserved else charge, **where)
    return paid


def first_alone(usual: Any, self: Door[Any], charge: Charge, **where: int) -> Any:
    """As if the measurements were of different records."""
    return self._on_file(charge, **where) if self._ledger.entries else usual(self, charge, **where)


def with_other_noise(usual: Any, self: CountingCurator, measurement: Any, **where: int) -> Any:
    """A name counts as measured with noise of one scale only: the same counts leave once more with other noise."""
    if measurement.scale == 9.0:
        self._labels = set()
    return usual(self, measurement, **where)


half_of_the_sensitivity = sensitivity(lambda moved: max(moved // 2, 1))
half_of_the_scale = noise_by(lambda what: replace(what, scale=what.scale / 2))
variance_for_the_scale = noise_by(lambda what: replace(what, scale=what.scale**0.5))
other_distribution = noise_by(lambda what: replace(what, gaussian=not what.gaussian))
each_record_twice = exact_values(lambda exact: 2 * exact)
running_sums = exact_values(np.cumsum)
# How many values are released says how many bins are in use, how many conjunctions occur, ...
only_what_is_not_zero = exact_values(lambda exact: exact[exact != 0])
replaced_as_added = wrap(
    [kind for kind in MEASUREMENTS if kind is not Measurement],
    "charge",
    lambda usual, self, public, relation: replace(usual(self, public, ADD_REMOVE), relation=relation),
)
nothing_spent = put_on_file_unspent()
the_first_charged_alone = wrap(Door, "_charged", first_alone)
charged_late = measured_by(late)
drawn_once_more = measured_by(once_more)
# Nothing is spent, and no charge is on file.
drawn_unpaid = measured_by(lambda self, what, charge, exact: self._noisy(exact, what, charge))
mean_of_two_draws = wrap(door, "with_noise", mean_of_two)
handed_out_early = wrap(Door, "_released", lambda usual, self, value, entry: value)

LOSS, TWICE = "loss .*, charged|rho .*, charged", "drawn: .*Laplace.*Laplace"
ORDER, RELEASES = check_order_of_events, check_loss_of_releases
ONCE, CALLERS = check_nothing_is_drawn_twice_or_unpaid, check_a_charge_of_the_callers_buys_nothing
CHECKS: list[FamilyCheck] = [ORDER, ONCE, CALLERS]  # `test_exact_loss.py` plays all rows, without a defect
COMMON: dict[str, tuple[Plant, tuple[FamilyRed, ...]]] = {
    "halve the sensitivity": (half_of_the_sensitivity, ((check_loss, BOTH, LOSS),)),
    "double the sensitivity": (sensitivity(lambda moved: 2 * moved), ((check_charges_are_tight, BOTH, "reached"),)),
    "count replace-one as add-remove": (replaced_as_added, ((check_loss, REP, LOSS),)),
    "draw noise of half the scale": (half_of_the_scale, ((check_loss, BOTH, LOSS), (RELEASES, BOTH, LOSS))),
    "draw noise of the variance for the scale": (variance_for_the_scale, ((check_loss, ADD, LOSS),)),
    "draw noise of the other distribution": (
        other_distribution,
        ((check_loss, BOTH, "noise for discrete"), (RELEASES, ADD, "noise for discrete")),
    ),
    "add no noise": (
        without_noise(lambda exact, what: True),
        ((check_loss, ADD, "drawn 0 times, charged 1"), (ORDER, REP, "Laplace")),
    ),
    "keep the mean of two draws": (
        mean_of_two_draws,
        ((check_loss, BOTH, "drawn 2 times, charged 1"), (ORDER, REP, "Laplace")),
    ),
    "count each record twice": (each_record_twice, ((check_loss, BOTH, LOSS), (RELEASES, ADD, LOSS))),
    # Each of which a record moves.
    "release running sums": (running_sums, ((check_loss, ADD, LOSS),)),
    "leave out what is zero": (
        only_what_is_not_zero,
        ((check_loss, REP, "shape of the draws|drawn 0 times, charged 1"),),
    ),
    "charge after the draw": (charged_late, ((ORDER, BOTH, "spend"),)),
    "write the charge before it is spent": (write_the_charge_before_it_is_spent, ((ORDER, BOTH, "spend"),)),
    "hand out before it is on file": (handed_out_early, ((ORDER, BOTH, "journal measurement"),)),
    "draw without a charge": (
        nothing_spent,
        (
            (check_loss, BOTH, "drawn 1 times, charged 0"),
            (ORDER, REP, "spend"),
            (ONCE, REP, f"{TWICE}|drawn: noise of scale 3"),
            (RELEASES, ADD, "drawn [123] times, charged 0"),
        ),
    ),
    "forget what was drawn": (forget_what_was_drawn, ((ONCE, BOTH, TWICE),)),
    "measure again with other noise": (wrap(CountingCurator, "measure", with_other_noise), ((ONCE, ADD, TWICE),)),
    # The charge is the caller's: the first one that is reserved.
    "take whatever was reserved": (
        measured_by(lambda self, what, charge, exact: self._noisy(exact, what, self._charged(self._ledger.unspent[0]))),
        ((CALLERS, BOTH, "hundredth"), (ONCE, REP, TWICE)),
    ),
    "spend whatever was reserved": (
        wrap(Door, "_charged", generous),
        ((CALLERS, ADD, "hundredth"), (ONCE, REP, f"{TWICE}|drawn: noise of scale 3")),
    ),
    "take the charge from the reservation": (wrap(Door, "_charged", trusting), ((CALLERS, ADD, "hundredth"),)),
    "charge the first alone": (the_first_charged_alone, ((RELEASES, ADD, "drawn [23] times, charged 1"),)),
}


def of_family(
    name: str, checks: Sequence[Check], own: Mapping[str, Defect], *, one_sensitivity: bool = False
) -> Mechanism:
    """Return a family's checks and defects, the common ones first; not all have releases to look at.

    With `one_sensitivity` a charge is the same under both relations, and under replace-one nothing else is measured.
    """
    family = FAMILIES[name]
    common = {
        called: Defect(
            plant,
            tuple(
                (partial(check, family), ADD if one_sensitivity and check is ONCE else relations, message)
                for check, relations, message in red
                if family.released or check is not RELEASES
            ),
        )
        for called, (plant, red) in COMMON.items()
        if plant is not replaced_as_added or not one_sensitivity
    }
    return Mechanism([*(partial(check, family) for check in CHECKS), *checks], {**common, **own})


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
            check_game(graphs().measuring(sums(SCALE, gaussian), relation))
        except PlanError:
            continue
        raise AssertionError("groups of nodes were measured")


def check_plans_of_bins_keep_their_budget(relation: NeighbouringRelation) -> None:
    """What the levels cost together, added up by hand from their scales, is the budget and no more."""
    sensitivity, size = (1, None) if relation is ADD_REMOVE else (2, ROWS)
    for gaussian in NOISES:
        for ranges in ("all", "sizes:1,16"):
            plan = plan_blocks(100, budget_of(gaussian), ranges=ranges, relation=relation, size=size)
            share = cost([sensitivity] * len(plan.scales), plan.scales, gaussian=gaussian)
            assert 0.999 < share <= 1, f"budget of a histogram: {share}"
        for length in (100, None):
            degrees = plan_sorted(length, budget_of(gaussian), graph=True, relation=relation, size=size)
            bought = [] if degrees.length_scale is None else [degrees.length_scale]
            ends = 4 if gaussian and degrees.ranked is not None else 2
            all_moved = [ends * sensitivity, *([4 if gaussian else 2] if bought else [])]
            share = cost(all_moved, [degrees.scale, *bought], gaussian=gaussian)
            assert 0.999 < share <= 1, f"budget of degrees: {share}"


def check_rounds(relation: NeighbouringRelation) -> None:
    """Whatever is measured for the last time, no record loses more than all rounds cost."""
    for gaussian in NOISES:
        rounds_share(relation, gaussian=gaussian)


def forget_last_times(
    usual: Callable[..., Any], self: RoundsCurator, rounds: SumsInRounds, groups: Exact, last: NDArray[np.bool_]
) -> Exact:
    if self._measured:
        self._open = np.ones_like(self._open)
    return np.asarray(usual(self, rounds, groups, last))


def charge_bins_in_use(moved: Callable[[int, bool], int]) -> Plant:
    """Charge the number of bins in use for moves by this much, given the bins of a record and whether noise is Gaussian."""
    return wrap(
        BinsInUse,
        "charge",
        lambda usual, self, bins, relation: measurement_charge(
            self.name, moved(bins, self.gaussian), self.scale, gaussian=self.gaussian, relation=relation
        ),
    )


charge_numbers_as_degrees = wrap(
    SortedCounts, "charge", lambda usual, self, bins, relation: usual(replace(self, ranked=None), bins, relation)
)


def groups_of_nodes(usual: object, self: GroupSums, bins: int, relation: NeighbouringRelation) -> Charge:
    moved = 1 if relation is ADD_REMOVE else 2
    return measurement_charge(self.name, moved, self.scale, gaussian=self.gaussian, relation=relation)


def one_bin_in_plans(patch: pytest.MonkeyPatch) -> None:
    for kind in (HistogramPlan, GridPlan):
        patch.setattr(kind, "sensitivity", 1)


def plan_with(module: object, change: Callable[[int, float, bool], tuple[int, float]]) -> Plant:
    """Change moves and amount that a plan takes for the noise of a measurement."""

    def changed(usual: Any, moved: int, *, amount: float, gaussian: bool) -> Any:
        moved, amount = change(moved, amount, gaussian)
        return usual(moved, amount=amount, gaussian=gaussian)

    return wrap(module, "measurement_scale", changed)


def half_of_the_moves(moved: int, amount: float, gaussian: bool) -> tuple[int, float]:
    return max(moved // 2, 1), amount


def part_of_the_budget(moved: int, amount: float, gaussian: bool) -> tuple[int, float]:
    return moved, amount * 0.9


def all_for_the_degrees(moved: int, amount: float, gaussian: bool) -> tuple[int, float]:
    """5 % are spent on the number of nodes, and 100 % on the degrees."""
    whole = AMOUNTS[gaussian]
    return moved, whole if amount > 0.9 * (1 - LENGTH_SHARE) * whole else amount


of_bins = partial(loss_of, "bins")
DEGREES_RELEASED = of_bins("degrees", "fewer degrees", "more degrees", "bought degrees")
SORTED, SORTED_DEGREES, NODES_IN_USE = of_bins("sorted"), of_bins("sorted degrees"), of_bins("nodes in use")
BINS_IN_USE, HISTOGRAM, GRID = of_bins("bins in use"), of_bins("histogram"), of_bins("grid")
ONE_BIN = several(half_of_the_sensitivity, one_bin_in_plans)
# The number of records is taken for public under add-remove.
ROOT_WITHOUT_NOISE = without_noise(lambda exact, what: exact.size == 1)
# Hay et al.'s sensitivity of sorted counts, 1, for the degrees of an undirected graph.
EDGE_AS_RECORD = wrap(bin_measurement, "once_or_twice", lambda usual, bins, relation: usual(1, relation))
BINS: dict[str, Defect] = {
    "halve the sensitivity of some": defect(
        half_of_the_sensitivity, (of_bins("sums"), REP, LOSS), (SORTED, REP, LOSS), (SORTED_DEGREES, BOTH, LOSS)
    ),
    "halve the sensitivity in plan and curator": defect(ONE_BIN, (HISTOGRAM, REP, LOSS), (GRID, REP, LOSS)),
    "count replace-one as add-remove in some": defect(
        replaced_as_added, (SORTED, REP, LOSS), (DEGREES_RELEASED, REP, LOSS)
    ),
    "take an edge for a record of a table": defect(
        EDGE_AS_RECORD, (SORTED_DEGREES, BOTH, LOSS), (DEGREES_RELEASED, ADD, LOSS)
    ),
    # 2 in place of 4 with Gaussian noise: both ends of an edge may have one degree.
    "take numbers of nodes for degrees": defect(
        charge_numbers_as_degrees, (of_bins("numbers of nodes"), BOTH, "rho .*, charged")
    ),
    "take nodes in use for bins in use": defect(
        charge_bins_in_use(lambda bins, gaussian: 1), (NODES_IN_USE, BOTH, LOSS)
    ),
    # 2 in place of 4 with Gaussian noise: an edge moves one number by 2, not two numbers by 1.
    "take the distance for its square": defect(
        charge_bins_in_use(lambda bins, gaussian: bins), (NODES_IN_USE, BOTH, "rho .*, charged")
    ),
    # 1 with Gaussian noise.
    "take the root of the distance": defect(
        charge_bins_in_use(lambda bins, gaussian: 1 if gaussian else bins), (NODES_IN_USE, BOTH, "rho .*, charged")
    ),
    "double the charge of bins in use": defect(
        charge_bins_in_use(lambda bins, gaussian: 2 * (bins * bins if gaussian else bins)),
        (partial(check_charges_are_tight, FAMILIES["bins"]), ADD, "bins in use: reached"),
    ),
    "draw noise of half the scale in some": defect(half_of_the_scale, (GRID, ADD, LOSS), (DEGREES_RELEASED, REP, LOSS)),
    "draw noise of the variance for the scale of bins in use": defect(variance_for_the_scale, (BINS_IN_USE, ADD, LOSS)),
    "draw noise of the other distribution for degrees": defect(
        other_distribution, (DEGREES_RELEASED, ADD, "noise for discrete")
    ),
    "leave the root without noise": defect(
        ROOT_WITHOUT_NOISE,
        (HISTOGRAM, ADD, "drawn 2 times, charged 3"),
        (of_bins("bought degrees"), ADD, "drawn 1 times, charged 2"),
    ),
    "count each edge twice": defect(each_record_twice, (SORTED_DEGREES, REP, LOSS)),
    "square the sorted counts": defect(exact_values(lambda exact: exact**2, [SortedCounts]), (SORTED, ADD, LOSS)),
    "release running sums of sorted counts": defect(running_sums, (SORTED, ADD, LOSS)),
    "leave out what is zero in some": defect(
        only_what_is_not_zero, (SORTED, REP, "shape of the draws"), (DEGREES_RELEASED, REP, "shape of the draws")
    ),
    "count the records of the bins in use": defect(
        wrap(BinsInUse, "exact", lambda usual, self, held, *_: np.array([(held._counts**2).sum()])),
        (BINS_IN_USE, ADD, LOSS),
    ),
    "let groups of nodes through": defect(
        wrap(GroupSums, "charge", groups_of_nodes), (check_groups_of_nodes_are_never_measured, BOTH, LOSS)
    ),
    "measure bins again after their last time": defect(
        wrap(RoundsCurator, "measure_round", forget_last_times), (check_rounds, BOTH, LOSS)
    ),
    "draw noise of half the scale for a last time": defect(
        wrap(bin_measurement, "joint_scale", lambda usual, *given, **more: usual(*given, **more) / 2),
        (check_rounds, BOTH, LOSS),
    ),
    "charge the first round alone": defect(
        wrap(SumsInRounds, "charge", lambda usual, self, *given: usual(replace(self, scales=self.scales[:1]), *given)),
        (check_rounds, BOTH, LOSS),
    ),
    "charge the first alone in some": defect(
        the_first_charged_alone,
        (GRID, REP, "drawn 3 times, charged 1"),
        (of_bins("bought degrees"), REP, "drawn 2 times, charged 1"),
    ),
    # The noise of degrees is planned for records that count in one bin.
    "plan with moves of a table": defect(
        plan_with(sorted_release, half_of_the_moves), (check_plans_of_bins_keep_their_budget, ADD, "budget of degrees")
    ),
    "buy the number of nodes beside the budget": defect(
        plan_with(sorted_release, all_for_the_degrees),
        (check_plans_of_bins_keep_their_budget, REP, "budget of degrees"),
    ),
}


# Numeric columns.

COLUMNS = "halves of columns"
NUMERIC: dict[str, Defect] = {
    "charge one column for all": defect(
        wrap(bin_measurement, "once_or_twice", lambda usual, columns, relation: usual(1, relation)),
        (loss_of("columns", COLUMNS), BOTH, LOSS),
    ),
    "charge a replaced number as an added one": defect(
        wrap(bin_measurement, "once_or_twice", lambda usual, columns, relation: usual(columns, ADD_REMOVE)),
        (loss_of("columns", COLUMNS), REP, LOSS),
    ),
    "count each block from the first cell": defect(
        wrap(ColumnSums, "exact", lambda usual, self, held, *_: np.asarray(held._sums[self.stops])),
        (loss_of("columns", COLUMNS), BOTH, LOSS),
    ),
}

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


def of_literals(change: Callable[[LiteralGroups, int, bool], int]) -> Plant:
    """Change how many conjunctions of a size a record is said to move, in plan and curator alike."""
    return wrap(LiteralGroups, "sensitivity", lambda usual, self, size, *, replaced: change(self, size, replaced))


def counts_kept(kind: type[Any], change: Callable[[list[Exact]], object]) -> Plant:
    """Change what is counted once for all measurements."""

    def kept(usual: Any, self: Any, *given: Any, **more: Any) -> None:
        usual(self, *given, **more)
        self._keep(change(self._counts))

    return wrap(kind, "count", kept)


# As if a record lay in one conjunction of each size, as in one bin of a histogram.
ONE_OF_A_RECORD = of_literals(lambda groups, size, replaced: 2 if replaced else 1)
MEASURED, RELEASED = loss_of("conjunctions"), releases_of("conjunctions")
SUMMARIES_KEEP = check_plans_of_summaries_keep_their_budget
CONJUNCTIONS: dict[str, Defect] = {
    "halve the sensitivity in releases": defect(half_of_the_sensitivity, (RELEASED, REP, LOSS)),
    "count replace-one as add-remove in releases": defect(replaced_as_added, (RELEASED, REP, LOSS)),
    "take one conjunction for all of a record": defect(ONE_OF_A_RECORD, (MEASURED, ADD, LOSS), (RELEASED, REP, LOSS)),
    # All literals against none: too few under replace-one where a group has several.
    "take records with no literal for the worst": defect(
        of_literals(lambda groups, size, replaced: comb(len(groups.sizes), size)), (MEASURED, REP, LOSS)
    ),
    "leave single literals without noise": defect(
        without_noise(lambda exact, what: what.size == 1), (RELEASED, ADD, "drawn 2 times, charged 3")
    ),
    # Of two attributes the charge of a pair, of which there is one to a record, pays for single literals, which are two.
    "give the counts of another size": defect(
        counts_kept(ConjunctionTable, lambda counts: [*counts[1:], counts[0]]), (MEASURED, ADD, LOSS)
    ),
    "plan summaries with half the moves": defect(
        plan_with(summary_plan, half_of_the_moves), (SUMMARIES_KEEP, ADD, "budget of")
    ),
    "plan with a little beside the budget": defect(
        plan_with(summary_plan, lambda moved, amount, gaussian: (moved, amount * 1.001)),
        (SUMMARIES_KEEP, REP, "budget of"),
    ),
    "leave a part of the budget of summaries": defect(
        plan_with(summary_plan, part_of_the_budget), (SUMMARIES_KEEP, ADD, "budget of")
    ),
}


# Decision lists.


def check_counts_are_those_of_the_rows(relation: NeighbouringRelation) -> None:
    """What gets noise is what the definition says, and nothing else is charged for."""
    noise, (row, _, _) = Watching(), FAMILIES["lists"].runs[0]
    row.of(LIST_ROWS, row.plan(relation, False))(noise=noise)
    for size, drawn in enumerate(noise.drawn):
        expected = np.sum([lists.counted(LISTS, row, size) for row in LIST_ROWS], axis=0)
        assert list(drawn.counts) == expected.tolist(), "counts"


def check_plans_of_lists_keep_their_budget(relation: NeighbouringRelation) -> None:
    """What the sizes cost together, from all rows and the scales, is the budget and no more."""
    family = LISTS.family
    for gaussian in NOISES:
        plan = plan_lists(family, budget_of(gaussian), size=5000, relation=relation)
        sensitivity = []
        for size in plan.sizes:
            vectors = np.array([lists.counted(plan.coefficients, row, size) for row in lists.rows_of(family)])
            apart = vectors[:, None] - vectors if relation is REPLACE else vectors[:, None]
            sensitivity.append(float((apart**2 if gaussian else np.abs(apart)).sum(axis=2).max()))
        share = cost(sensitivity, plan.scales, gaussian=gaussian)
        assert 1 - 1e-9 < share <= 1, f"budget: {share}"


def of_rows(change: Callable[..., int]) -> Plant:
    """Change by how much a row is said to move the counts of a size, in plan and curator alike."""
    return wrap(
        ListCoefficients,
        "sensitivity",
        lambda usual, self, size, *, replaced, squared: change(
            partial(usual, self, size, squared=squared), size, replaced
        ),
    )


def fewer_norms(usual: Any, self: ListCoefficients, size: int, *, squared: bool) -> Exact:
    changes = np.count_nonzero(np.diff(self.family.patterns, axis=1), axis=1)
    return np.asarray(usual(self, size, squared=squared)[changes <= 1])


def apart(usual: Any, self: ListCoefficients, size: int) -> int:
    return min(int(usual(self, size)), 2 * int(self._norms(size, squared=True).max()) - 1)


OF_LISTS, LISTS_RELEASED = loss_of("lists"), releases_of("lists")
LISTS_KEEP = check_plans_of_lists_keep_their_budget
DECISION_LISTS: dict[str, Defect] = {
    "halve the sensitivity in releases": defect(half_of_the_sensitivity, (LISTS_RELEASED, REP, LOSS)),
    # As if replaced rows shared no conjunction, so that L2 grows by a root of 2 only.
    "take rows for apart when they are opposite": defect(
        of_rows(
            lambda usual, size, replaced: 2 * usual(replaced=False) if replaced and size else usual(replaced=replaced)
        ),
        (OF_LISTS, REP, LOSS),
    ),
    # Disjunctions on the same variables with other signs: as if they were apart.
    "forget that variables are shared": defect(wrap(ListCoefficients, "_farthest", apart), (OF_LISTS, REP, LOSS)),
    # As if the sum of the first bits was public.
    "leave the empty conjunction uncharged": defect(
        of_rows(lambda usual, size, replaced: usual(replaced=replaced) if size else 1), (OF_LISTS, ADD, LOSS)
    ),
    "look at rows that never change back": defect(wrap(ListCoefficients, "_norms", fewer_norms), (OF_LISTS, ADD, LOSS)),
    "leave the empty conjunction without noise": defect(
        without_noise(lambda exact, what: what.size == 0), (LISTS_RELEASED, ADD, "drawn 2 times, charged 3")
    ),
    "leave out what is zero in releases": defect(
        only_what_is_not_zero, (LISTS_RELEASED, ADD, "shape of the draws|counts")
    ),
    "exchange the signs": defect(
        counts_kept(ListTable, lambda counts: [counts[0], counts[1][::-1].copy(), counts[2]]),
        (check_counts_are_those_of_the_rows, ADD, "counts"),
    ),
    "plan lists with half the moves": defect(plan_with(list_plan, half_of_the_moves), (LISTS_KEEP, ADD, "budget")),
    "leave a part of the budget of lists": defect(
        plan_with(list_plan, part_of_the_budget), (LISTS_KEEP, REP, "budget")
    ),
}


# Halfspaces.

SHAPES = (Shape(2, 5, 4), Shape(3, 4, 3))


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
            plan = plan_halfspaces(columns, budget, size=5000, margin=0.5, relation=relation, shapes=[shape], queries=3)
            sensitivity = [shape.number * shape.directions]
            sensitivity = [*([1] if relation is ADD_REMOVE else []), *sensitivity]
            share = cost(sensitivity, plan.scales, gaussian=gaussian)
            assert 1 - 1e-9 < share <= 1, f"budget of {shape}: {share}"


def half_of_the_directions(patch: pytest.MonkeyPatch) -> None:
    """As if antipodes had been left out once more."""
    original = Projections.shape.fget  # type: ignore[attr-defined]

    def halved(self: Projections) -> tuple[int, int, int, int]:
        d, t, m, h = original(self)
        return d, t, m, max(1, h // 2)

    patch.setattr(Projections, "shape", property(halved))


def with_ties(usual: object, coordinates: NDArray[np.int32], normals: Exact) -> Exact:
    sides = coordinates.astype(np.float64) @ normals.T.astype(np.float64)
    return np.asarray(np.count_nonzero(sides >= 0, axis=0), dtype=np.int64)


def scale_by_the_longest_record(patch: pytest.MonkeyPatch) -> None:
    """Records are moved by their mean first: one record moves the sides of all others."""
    original: Any = HalfspacePoints.of.__func__  # type: ignore[attr-defined]
    centred = classmethod(lambda cls, values, columns: original(cls, values - 0.9 * values.mean(axis=0), columns))
    patch.setattr(HalfspacePoints, "of", centred)


def thrifty(usual: Any, shape: Shape, amount: float, *rest: Any, **more: Any) -> Any:
    return usual(shape, 2 * amount, *rest, **more)


OF_POINTS = loss_of("points")
POINTS: dict[str, Defect] = {
    # As if each projection was of other records.
    "charge one projection for all": defect(sensitivity(lambda moved: 2), (OF_POINTS, ADD, LOSS)),
    "charge half of the directions": defect(half_of_the_directions, (OF_POINTS, ADD, LOSS)),
    # One record replaced moves a difference of sides by 2.
    "measure differences under replace-one": defect(
        wrap(Sides, "exact", lambda usual, self, held, relation, threads=2: usual(self, held, ADD_REMOVE)),
        (OF_POINTS, REP, LOSS),
    ),
    "count ties on both sides": defect(wrap(kernels, "count_positive_sides", with_ties), (check_ties, BOTH, "counted")),
    "scale by the longest record": defect(scale_by_the_longest_record, (OF_POINTS, ADD, ".")),
    "spend the budget twice": defect(
        wrap(planning, "_scales", thrifty), (check_plans_of_halfspaces_keep_their_budget, BOTH, "budget of")
    ),
}


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
    """And spend it, but for the paper's basis, whose noise is for more than neighbours are apart."""
    for gaussian in NOISES:
        for kind in TIGHT_FAMILIES:
            amount = 0.1 if gaussian else 1.5
            plan = sanitizers.plan_of(family_of(kind), relation, gaussian=gaussian)
            spent = plan.charges()[0].parameter
            least = 0 if kind.endswith("powers") else 1 - 1e-9
            assert least < spent / amount <= 1, f"budget: {spent} of {amount}"
            share = sanitizers.check_planned_loss(plan)
            assert share > 0.99, f"budget: reached {share}"


def check_a_failing_function_costs_nothing(relation: NeighbouringRelation) -> None:
    def failing(codes: NDArray[np.int64]) -> NDArray[np.float64]:
        raise ValueError("no")

    noise, family, ledger = Watching(), sanitizers.function_family(failing), Ledger(AMPLE[False], relation)
    ledger.reserve([coefficients(SCALE, False).charge(family, relation)])
    held = CoefficientTable.of(dataset_of(family.schema, OF_CODES), family)
    curator = CountingCurator(held, ledger, EventJournal(noise.events), size=ROWS, noise=noise)
    attempt(partial(curator.measure, coefficients(SCALE, False)))
    assert noise.events == [], f"a function that fails: {noise.events}"
    assert [entry for entry in ledger.entries if entry.kind is ChargeKind.PURE] == []


def moves(change: Callable[[Moves], Moves]) -> Plant:
    """Change how far a record is said to move the sums, in plan and curator alike."""
    kinds = [SymmetricFamily, TableFamily, FunctionFamily]
    return wrap(kinds, "moves", lambda usual, self, unit: change(usual(self, unit)))


def half_moves(one: Moves) -> Moves:
    every = (one.added, one.replaced, one.added_squared, one.replaced_squared)
    return Moves(*(-(-each // 2) for each in every))


def boxed(usual: object, self: FunctionFamily, found: NDArray[np.float64], unit: float) -> Exact:
    """Each within its own limits, the vector not within its norm."""
    return np.trunc(np.clip(np.nan_to_num(found), self.low, self.high) / unit).astype(np.int64)


def upward(usual: object, self: FunctionFamily, found: NDArray[np.float64], unit: float) -> Exact:
    """Away from zero: each coefficient may be a unit too large."""
    kept = np.clip(np.nan_to_num(found, nan=self.norm), self.low, self.high)
    kept = kept * np.minimum(1.0, self.norm / np.maximum(np.abs(kept).sum(axis=1, keepdims=True), 1e-9))
    return np.asarray(np.sign(kept) * np.ceil(np.abs(kept) / unit), dtype=np.int64)


def early(usual: object, self: Any, what: Any, *, again: bool, **where: int) -> Any:
    charge = self._charged(what.charge(self._dataset._public, self._relation))
    return self._noisy(what.exact(self._dataset, self._relation), what, charge)


def planned_noise(factor: float) -> Plant:
    return wrap(sanitizer_plan, "_scale", lambda usual, *given, **more: usual(*given, **more) * factor)


OF_COEFFICIENTS, BOUNDED = loss_of("coefficients"), check_functions_are_bounded
POLYNOMIALS_KEEP = check_plans_of_sanitizers_keep_their_budget
COEFFICIENTS: dict[str, Defect] = {
    "halve the moves": defect(moves(half_moves), (OF_COEFFICIENTS, BOTH, LOSS), (BOUNDED, REP, "huge")),
    "take the length for its square": defect(
        moves(lambda one: replace(one, added_squared=one.added // 2, replaced_squared=one.replaced // 2)),
        (OF_COEFFICIENTS, ADD, LOSS),
    ),
    # No bound is enforced; what is not a number becomes any whole number.
    "believe the function": defect(
        wrap(
            FunctionFamily, "within", lambda usual, self, found, unit: np.nan_to_num(np.trunc(found / unit), nan=99.0)
        ),
        (BOUNDED, ADD, "huge"),
    ),
    "bound each coefficient alone": defect(
        wrap(FunctionFamily, "within", boxed), (BOUNDED, ADD, "huge"), (OF_COEFFICIENTS, ADD, LOSS)
    ),
    "round upward": defect(wrap(FunctionFamily, "within", upward), (BOUNDED, ADD, "huge|not a number")),
    "draw noise of half the scale as planned": defect(half_of_the_scale, (POLYNOMIALS_KEEP, REP, "costs")),
    "draw noise for records in place of units": defect(
        noise_by(lambda what: replace(what, scale=what.scale * what.unit)), (OF_COEFFICIENTS, ADD, LOSS)
    ),
    "charge before the function is asked": defect(
        wrap(CountingCurator, "_measured", early), (check_a_failing_function_costs_nothing, ADD, "fails: .*charge")
    ),
    "draw without a charge as planned": defect(nothing_spent, (POLYNOMIALS_KEEP, ADD, "drawn 1 times, charged 0")),
    "plan with half the noise": defect(planned_noise(0.5), (POLYNOMIALS_KEEP, ADD, "budget")),
    "leave a part of the budget of sanitizers": defect(planned_noise(1.1), (POLYNOMIALS_KEEP, ADD, "budget")),
}


# The number of records.


def check_size_by_rho(relation: NeighbouringRelation) -> None:
    check_size_within("rho")


def check_size_by_epsilon(relation: NeighbouringRelation) -> None:
    check_size_within("pure")


def check_size_within(budget: str) -> None:
    """The loss is what is charged, and what is drawn is charged and on file in its order."""
    try:
        check_size(SIZE_BUDGETS[budget])
    except IndexError as error:
        raise AssertionError("nothing is on file") from error


def size_defect(plant: Plant) -> Defect:
    return defect(plant, (check_size_by_rho, ADD, WHATEVER), (check_size_by_epsilon, ADD, WHATEVER))


SIZES = {
    "charge the size by half": size_defect(
        wrap(SizeMeasurement, "charge", lambda usual, self: replace(usual(self), parameter=usual(self).parameter / 2))
    ),
    "draw noise of half the scale": size_defect(half_of_the_scale),
    "count each record twice": size_defect(each_record_twice),
    "draw unpaid": size_defect(drawn_unpaid),
    "charge after the draw": size_defect(charged_late),
    "draw once more": size_defect(drawn_once_more),
    "keep the mean of two draws": size_defect(mean_of_two_draws),
    "hand out before it is on file": size_defect(handed_out_early),
    "use the exact number": size_defect(
        wrap(measured_size, "_public", lambda usual, *given: replace(usual(*given), number=usual(*given).number + 1))
    ),
}


# Plans that the ledger stops.


def overdrawn(kind: str, gaussian: bool, *, length: int | None = NODES) -> Callable[..., object]:
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
        return partial(release_sanitizer, dataset_of(family.schema, OF_CODES), cheap)
    counts = plan_sorted(length or NODES, budget, graph=False)
    as_degrees = replace(counts, bins_of_a_record=2, length=length)
    return partial(release_sorted, bin_counts(DEGREES, graph=True), as_degrees)


def plans_beyond_their_budget_draw_nothing(kind: str, *lengths: int | None) -> Check:
    """Half of the noise costs twice the budget, as does noise for a table where a graph is measured."""

    def check_that_a_plan_beyond_its_budget_draws_nothing(relation: NeighbouringRelation) -> None:
        for length in lengths or (None,):
            for gaussian in NOISES:
                noise = Watching()
                with pytest.raises(BudgetError, match="the plan costs"):
                    overdrawn(kind, gaussian, length=length)(noise=noise)
                assert noise.drawn == []

    return check_that_a_plan_beyond_its_budget_draws_nothing


def plans_and_curators_that_disagree_draw_nothing(kind: str) -> Check:
    """A plan with charges of its own finds no reservation for what the curator charges."""

    def check_that_a_plan_and_a_curator_that_disagree_draw_nothing(relation: NeighbouringRelation) -> None:
        for gaussian in NOISES:
            noise, (row, table, _) = Watching(), FAMILIES[kind].runs[0]
            with pytest.MonkeyPatch.context() as patch:
                release = row.of(table, row.plan(REPLACE, gaussian))
                if kind == "bins":
                    patch.setattr(HistogramPlan, "sensitivity", 1)
                else:
                    owner = SummaryPlan if kind == "conjunctions" else SanitizerPlan
                    half_charged = wrap(
                        owner,
                        "charges",
                        lambda usual, self: [replace(one, parameter=one.parameter / 2) for one in usual(self)],
                    )
                    half_charged(patch)
                with pytest.raises(BudgetError, match="not part of the reserved plan"):
                    release(noise=noise)
            assert noise.drawn == []

    return check_that_a_plan_and_a_curator_that_disagree_draw_nothing


def both_stopped(kind: str, *lengths: int | None) -> list[Check]:
    return [plans_beyond_their_budget_draw_nothing(kind, *lengths), plans_and_curators_that_disagree_draw_nothing(kind)]


COUNTING = {
    "bins": of_family(
        "bins",
        [
            check_groups_of_nodes_are_never_measured,
            check_rounds,
            check_plans_of_bins_keep_their_budget,
            *both_stopped("bins", NODES, None),
            loss_of("columns", COLUMNS),
        ],
        {**BINS, **NUMERIC},
    ),
    "conjunctions": of_family("conjunctions", [SUMMARIES_KEEP, *both_stopped("conjunctions")], CONJUNCTIONS),
    "lists": of_family("lists", [check_counts_are_those_of_the_rows, LISTS_KEEP], DECISION_LISTS),
    "points": of_family(
        "points", [check_ties, check_plans_of_halfspaces_keep_their_budget], POINTS, one_sensitivity=True
    ),
    "coefficients": of_family(
        "coefficients",
        [BOUNDED, POLYNOMIALS_KEEP, check_a_failing_function_costs_nothing, *both_stopped("coefficients")],
        COEFFICIENTS,
    ),
    "the number of records": Mechanism([check_size_by_rho, check_size_by_epsilon], SIZES, ADD),
}
