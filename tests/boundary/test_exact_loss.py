"""The exact privacy loss, over all pairs of neighbours of tiny universes, is at most what the ledger says, and not far less.

A new mechanism adds rows to `LOSSES`; a new kind of noisy counts has them from its `Family`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.dualquery import plan_charges
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.options import MARGINALS
from dpopt.private.measurements.measurement import Measurement, NumberOfRecords
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.clauses import Clauses
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.queries.distances import Distances
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.residuals import Residuals
from dpopt.queries.workloads.workload import Workload, parse_workload, workload_from_json
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.synopses.histograms.grids.grid_plan import plan_grid
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.histograms.hierarchy_plan import plan_hierarchy
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.sorted.release_sorted import plan_sorted, release_sorted
from dpopt.synopses.intervals.interval_plan import plan_intervals
from dpopt.synopses.intervals.split_plan import plan_split
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan, plan_summary
from tests.boundary.defects import persons
from tests.boundary.families import FAMILIES, Least, Measured, Released
from tests.exact_counts_loss import (
    BINS,
    NODES,
    ROWS,
    Drawn,
    TinyTables,
    Watching,
    binned,
    edge_neighbours,
    graphs,
    laplace_cells,
    record_neighbours,
)
from tests.exact_counts_loss import check_game as check_counts
from tests.exact_distribution import distribution, exp_minus, signed_scores
from tests.exact_fem_loss import range_between
from tests.exact_halfspace_loss import point_neighbours, point_tables
from tests.exact_interval_loss import (
    check_draws_are_paid,
    check_search_game,
    interval_game,
    split_game,
    tiny_intervals,
    tiny_split,
)
from tests.exact_loss import DIGITS, Game, as_decimal, check_game, check_losses, hockey_stick, implemented_weights
from tests.exact_measuring_loss import check_measurement, check_selection, check_selection_and_measurement
from tests.exact_net_loss import NetGame, check_net_game
from tests.exact_sanitizer_loss import FAMILIES as POLYNOMIALS
from tests.exact_sanitizer_loss import check_planned_loss, plan_of
from tests.exact_summary_loss import UNIVERSES, literal_tables, table_neighbours
from tests.tiny_measuring import SCHEMA, marginals, selection
from tests.tiny_multiplicative import CLAUSES, RoundGame, check_round
from tests.tiny_multiplicative import tiny_plan as round_plan
from tests.tiny_runs import ADD_REMOVE, REPLACE, CallbackSampler, Table, bits_schema, conjunctions, play

Share = float | Decimal
Row = tuple[str, Callable[[NeighbouringRelation], Share], float]
"""A name, what gives the share of the charge that is used up, and how much of it is reached at least."""
BOTH, SCORES, ANYTHING = (False, True), ("l1", "max"), -1.0
BUDGETS = {False: Budget(1.5, 0.0, None, Accountant.PURE), True: Budget(None, 1e-9, 0.1, Accountant.ZCDP)}
"""Given whether noise is Gaussian."""


# Runs of DualQuery.

TWO_BITS = bits_schema(2)
ONE_QUERY, TWO_QUERIES = conjunctions(bits_schema(1), "a"), conjunctions(TWO_BITS, "a", "!a b")
PARITY_AND_THRESHOLD = workload_from_json(
    {
        "dpopt_workload": 1,
        "queries": [
            {"literals": [["a", "=", True], ["b", "=", True]], "accepted": [1]},
            {"literals": [["a", "=", True], ["b", "!=", True]], "accepted": [1, 2]},
        ],
    },
    TWO_BITS,
)


def run_of(
    workload: Workload, step: str, sizes: dict[NeighbouringRelation, list[int]], **more: int | bool
) -> Callable[[NeighbouringRelation], Share]:
    """Return the share of pure epsilon that a run uses up, of tables with these numbers of records."""
    how: dict[str, Any] = {"rounds": 3, "draws": 2, "size": 2, **more}

    return lambda relation: check_game(Game.of(workload, step=step, relation=relation, **how), sizes[relation])


def dualquery() -> Iterator[Row]:
    """Ranges of about 1, above 4, and so large that nearly every score is clamped; tables of any size under add-remove."""
    for step, sizes in (("0.4", [1, 2, 3]), ("3", [1, 2]), ("40", [2, 3])):
        # All neighbours over two bits, along all scripts of draws, where that costs least.
        run = run_of(TWO_QUERIES, step, {REPLACE: [2], ADD_REMOVE: sizes}, whole=step == "3")
        yield f"two queries, {step}", run, ANYTHING
    parity = run_of(PARITY_AND_THRESHOLD, "3", {REPLACE: [2], ADD_REMOVE: [1, 2]})
    yield "parity and threshold", parity, ANYTHING
    for draws, rounds, step in ((2, 5, "0.3"), (3, 4, "1.1"), (1, 7, "0.8")):
        run = run_of(ONE_QUERY, step, {REPLACE: [3], ADD_REMOVE: [2, 3, 4]}, rounds=rounds, draws=draws, size=3)
        yield f"one query, {rounds} rounds", run, ANYTHING
    # So neither a charge twice too small nor one twice too large would go unnoticed.
    yield "tight", run_of(ONE_QUERY, "3", {REPLACE: [2], ADD_REMOVE: [1, 2, 3]}, whole=True), 0.9


# Selections and measurements.

RESIDUALS = Residuals(marginals([0], [1], [0, 1]), np.array([2, 1, 1]))
COARSE = Residuals(marginals([0, 1]), np.array([2]), np.array([0, 1, 0, 1, 1]))
QUERIES: dict[str, MarginalSet | Clauses] = {
    "two marginals": marginals([1], [0, 1]),
    "one marginal": marginals([0]),
    "clauses": parse_workload("marginals:1", SCHEMA).clauses,
}
DISTANCES = Distances(marginals([0], [0, 1]), np.full(2 + 6, 50))


def measured(what: Measurement, relation: NeighbouringRelation) -> Share:
    return check_measurement(what, relation, what.charge(SCHEMA.sizes, relation))


def measuring() -> Iterator[Row]:
    for score in SCORES:
        # With range 60 many scores are clamped. Public records whose number does not divide the public size.
        for range_, least in [*((range_, ANYTHING) for range_ in ("0.3", "1.5", "6", "60")), ("3", 0.8)]:
            yield f"{score}, {range_}", partial(check_selection, selection(score, range_=range_)), least
        for gaussian in BOTH:
            both = partial(check_selection_and_measurement, selection(score, range_="0.8"), 3.0, gaussian=gaussian)
            yield f"{score}, measured, {gaussian}", both, 0.3
    # The divergence of discrete Gaussians a whole number apart reaches the bound where the scale is not small.
    for name, gaussian in product(QUERIES, BOTH):
        what = Measurement("x", QUERIES[name], 7.5, gaussian)
        yield f"{name}, {gaussian}", partial(measured, what), 0.999
    for gaussian in BOTH:  # of Laplace noise what two records cost is a bound under replace-one
        for name, queries in {"residuals": RESIDUALS, "coarse residuals": COARSE}.items():
            what = Measurement("x", queries, 40.0, gaussian)
            yield f"{name}, {gaussian}", partial(measured, what), 0.999 if gaussian else 0.5
        what = Measurement("x", DISTANCES, 40.0, gaussian)
        yield f"distances, {gaussian}", partial(measured, what), 0.2
    for scale in (0.2, 0.6, 1.3, 50.0):
        what = Measurement("x", marginals([0, 1]), scale, gaussian=True)
        yield f"scale {scale}", partial(measured, what), ANYTHING


# Rounds of pmw and mwem.

WHOLE = marginals([0], [1], [0, 1])


def round_of(queries: Any, relation: NeighbouringRelation, *, score: str = "max", part: int = 0, **more: Any) -> Share:
    """Return the share of the range that a selection uses up, or of all that its round is charged."""
    return check_round(RoundGame(round_plan(relation, **more), queries, score))[part]


def multiplicative_weights() -> Iterator[Row]:
    """With range 60 many scores are clamped."""
    exact: dict[str, Any] = {"range_": "3", "gaussian": False}
    for range_, gaussian in (("0.3", True), ("3", False), ("60", True)):
        how: dict[str, Any] = {"range_": range_, "gaussian": gaussian}
        yield f"queries, {range_}", partial(round_of, CLAUSES, **how), ANYTHING
        for score in SCORES:
            whole = partial(round_of, WHOLE, select=MARGINALS, score=score, **how)
            yield f"marginals by {score}, {range_}", whole, ANYTHING
    # So neither a scale twice too small nor one twice too large would go unnoticed; pure losses add up to the charge.
    yield "queries, tight", partial(round_of, CLAUSES, **exact), 0.99
    some = partial(round_of, CLAUSES.take([0, 1]), part=1, range_="0.3", scale=30.0, gaussian=False)
    yield "queries, all that is lost", some, 0.5
    yield "cells of marginals", partial(round_of, marginals([0]), **exact), 0.99
    for score in SCORES:
        whole = partial(round_of, WHOLE, select=MARGINALS, score=score, range_="3")
        yield f"marginals by {score}, tight", whole, 0.7


# Nets.

WORKLOADS: dict[str, Workload] = {
    "one query": ONE_QUERY,
    "classes of records": conjunctions(TWO_BITS, "a", "a b"),
    "marginals": parse_workload("marginals:1", TWO_BITS),
}


def net_of(name: str, range_: str, relation: NeighbouringRelation) -> Share:
    """Multisets whose number of records does not divide the public size; errors beyond the reach occur under add-remove."""
    return check_net_game(NetGame(WORKLOADS[name], records=3, range_=range_, size=2, relation=relation))


def range_of_net(relation: NeighbouringRelation) -> Share:
    """The log likelihood ratio over the outputs spans all of epsilon for some pair: half of the sensitivity would be caught."""
    game = NetGame(ONE_QUERY, records=2, range_="1.5", size=2, relation=relation)
    spans = [range_between(game.distribution(one)[0], game.distribution(two)[0]) for one, two in game.pairs()]
    return max(spans) / Decimal("1.5")


def nets() -> Iterator[Row]:
    for name, range_ in product(WORKLOADS, ("0.3", "2")):
        yield f"{name}, range {range_}", partial(net_of, name, range_), ANYTHING
    yield "the range over the outputs", range_of_net, 0.999999


# Intervals and boxes.


QUIET = {True: 1e3, False: 1e9}
"""A scale of sums that cost nearly nothing."""


def searched(relation: NeighbouringRelation, *, gaussian: bool, **more: Any) -> Share:
    return check_search_game(interval_game(tiny_intervals(relation, gaussian=gaussian, **more)))


def cut(relation: NeighbouringRelation, *, gaussian: bool, **more: Any) -> Share:
    return check_search_game(split_game(tiny_split(relation, gaussian=gaussian, **more)))


def planned(gaussian: bool, parts: str, relation: NeighbouringRelation) -> Share:
    """Return the share of what is lost; the charges of the plan use up the budget, and no more."""
    budget = BUDGETS[gaussian]
    if parts == "boxes":
        split = plan_split((2, 3), budget, ROWS, relation=relation, rounds=1)
        game, charges = split_game(split), split.charges()
    else:
        plan = plan_intervals(4, budget, ROWS, relation=relation, intervals=3)
        game, charges = interval_game(plan), plan.charges()
    total = sum(charge.parameter * charge.count for charge in charges)
    assert 0.999 < total / (0.1 if gaussian else 1.5) <= 1
    return check_search_game(game)


def intervals() -> Iterator[Row]:
    for gaussian in BOTH:
        # Two searches over four bins, with hardly anything spent on sums and with much.
        for scale, mass_scale in ((0.3, QUIET[gaussian]), (3.0, 5.0)):
            two = partial(searched, gaussian=gaussian, scale=scale, mass_scale=mass_scale)
            yield f"scale {scale}, {gaussian}", two, 0.1
        one = partial(searched, gaussian=gaussian, bins=5, intervals=2, mass_scale=QUIET[gaussian])
        yield f"one search of five bins, {gaussian}", one, 0.1
        for shape in ((2, 3), (3, 2)):
            yield f"boxes, {shape}, {gaussian}", partial(cut, gaussian=gaussian, shape=shape), 0.3
    # One comparison, its threshold beyond all counts: the odds move by exactly the charge.
    far = partial(searched, gaussian=False, bins=2, intervals=2, threshold=9, mass_scale=1e14)
    yield "all that is charged", far, 0.999999999999
    for gaussian, parts in product(BOTH, ("intervals", "boxes")):
        yield f"planned, {parts}, {gaussian}", partial(planned, gaussian, parts), ANYTHING


# Noisy counts: what is measured alone, whole releases, and releases as they are planned.

HIERARCHIES: dict[str, list[Any]] = {
    "deep": [["a", "b"], [["c", "d"], "e"]],
    "a bin beside groups": ["a", ["b", "c", ["d", "e"]]],
}
OF_ANY_SCALE = ("bins, blocks", "bins, sorted degrees", "bins, nodes in use", "conjunctions, bits, 2")


def lost(row: Measured | Released, *how: Any) -> Share:
    """Return the share of what is charged: given whether noise is Gaussian, the scale if it is another, and the relation."""
    gaussian, *scale, relation = how
    return check_counts(row.game(relation, gaussian, *scale))


def counts() -> Iterator[Row]:
    rows = {f"{kind}, {name}": row for kind, family in FAMILIES.items() for name, row in family.rows.items()}
    for (name, row), gaussian in product([*rows.items(), *planned_counts()], BOTH):
        yield f"{name}, {gaussian}", partial(lost, row, gaussian), row.least[gaussian]
    for name, gaussian, scale in product(OF_ANY_SCALE, BOTH, (0.3, 1.3, 50.0)):
        yield f"{name}, {gaussian}, scale {scale}", partial(lost, rows[name], gaussian, scale), 0.0
    for kind in ("bits, positive, sets", "bits, sets", "mixed, powers", "table", "function, huge"):
        for gaussian in BOTH:
            yield f"polynomial, {kind}, {gaussian}", partial(polynomial, kind, gaussian), 0.99


def as_planned(
    tables: Callable[[], TinyTables],
    release: Callable[..., Any],
    plan: Callable[..., Any],
    what: Any,
    *,
    least: float = 0.99,
    declared: int | None = None,
    **more: Any,
) -> Released:
    """Return the release of a plan that is made for a budget; under add-remove of as many records as are declared."""

    def made(relation: NeighbouringRelation, gaussian: bool) -> Any:
        size = declared if relation is ADD_REMOVE else ROWS
        return plan(what, BUDGETS[gaussian], relation=relation, size=size, **more)

    return Released(tables, release, made, Least(least, least))


def planned_counts() -> Iterator[tuple[str, Released]]:
    of_bins = partial(as_planned, binned, release_histogram)
    for ranges in ("all", "sizes:1,5", "worst"):
        yield f"histogram, {ranges}", of_bins(plan_blocks, BINS, ranges=ranges)
    for name, nested in HIERARCHIES.items():
        yield f"hierarchy, {name}", of_bins(plan_hierarchy, Tree.nested(nested))
    yield "hierarchy, equal parts", of_bins(plan_hierarchy, Tree.balanced(BINS, 2), uniform=True)
    for shapes in ("cubes", "rectangles"):
        of_cells = partial(as_planned, partial(binned, 6), release_grid, plan_grid)
        yield f"grid, {shapes}", of_cells((2, 3), shapes=shapes)
    for length in (3, NODES, NODES + 3, None):
        # Nearly all where all nodes are released; where their number is bought, whatever number comes out.
        least = 0.99 if length is not None and length >= NODES else 0.4
        of_nodes = partial(as_planned, graphs, release_sorted, plan_sorted)
        yield f"degrees, {length}", of_nodes(length, graph=True, least=least)
    for kind, predicate in product(("mixed", "bits"), ("and", "or", "atleast:2")):
        literals = UNIVERSES[kind]
        summary = partial(as_planned, partial(literal_tables, literals), release_summary, planned_summary)
        yield f"conjunctions, {kind}, {predicate}", summary(literals, predicate=predicate, declared=1000)


def planned_summary(literals: ChosenLiterals, budget: Budget, **more: Any) -> SummaryPlan:
    return plan_summary(literals, len(literals.schema), budget, **more)


def polynomial(kind: str, gaussian: bool, relation: NeighbouringRelation) -> Share:
    return check_planned_loss(plan_of(POLYNOMIALS[kind], relation, gaussian=gaussian))


def number_of_records() -> Iterator[Row]:
    for gaussian, scale in product(BOTH, (0.3, 1.3, 50.0)):
        row = Measured(point_tables, NumberOfRecords)
        least = ANYTHING if scale < 1 else 0.9 if gaussian else 1 - 1e-9
        yield f"{gaussian}, scale {scale}", partial(lost, row, gaussian, scale), least


# Persons of several rows: all of them may lie in one cell, so nothing less than K epsilon and K^2 rho of one record would do.


def of_person(check: Callable[..., Share], what: Any, relation: NeighbouringRelation) -> Share:
    return check(what)


def of_persons() -> Iterator[Row]:
    for rows, gaussian in product((1, 2, 3), BOTH):
        budget = persons.budget_of(rows, gaussian=gaussian)
        yield (f"histogram, {rows} rows, {gaussian}", partial(of_person, persons.check_histogram, budget), 0.999)
    for rows in (2, 3):
        yield f"draws, {rows} rows", partial(of_person, persons.check_draws, rows), 0.5
        yield f"selections, {rows} rows", partial(of_person, persons.check_selection, rows), 0.3


LOSSES = {
    "dualquery": dualquery,
    "measuring": measuring,
    "multiplicative weights": multiplicative_weights,
    "nets": nets,
    "intervals": intervals,
    "counts": counts,
    "the number of records": number_of_records,
    "persons": of_persons,
}
OF_ADDED_RECORDS = {"the number of records", "persons"}
"""What is under add-remove alone."""


@pytest.mark.parametrize(
    ("share", "least", "relation"),
    [
        pytest.param(share, least, relation, id=f"{mechanism}: {name}, {relation.value}")
        for mechanism, rows in LOSSES.items()
        for name, share, least in rows()
        for relation in NeighbouringRelation
        if relation is ADD_REMOVE or mechanism not in OF_ADDED_RECORDS
    ],
)
def test_no_more_is_lost_than_is_charged(
    share: Callable[[NeighbouringRelation], Share], least: float, relation: NeighbouringRelation
) -> None:
    """The checks refuse a larger loss; nor is it far smaller, so that a charge twice too large would be seen."""
    assert least < share(relation) <= 1 + 1e-7


def test_a_replaced_record_moves_a_difference_by_two() -> None:
    """Under replace-one one comparison with Laplace noise reaches exp(2 / b) nearly; it is what is charged."""
    plan = tiny_split(REPLACE, gaussian=False, shape=(3, 2), scale=0.5, mass_scales=(1e9,))
    (charge, *_) = plan.charges()
    assert charge.parameter * charge.count == pytest.approx(2 / 0.5)
    assert check_search_game(split_game(plan)) > 0.9


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_no_run_draws_more_than_it_pays_for(relation: NeighbouringRelation, gaussian: bool) -> None:
    check_draws_are_paid(interval_game(tiny_intervals(relation, gaussian=gaussian)))
    check_draws_are_paid(split_game(tiny_split(relation, gaussian=gaussian)))


def test_a_parity_and_a_threshold_in_short_steps_cost_no_more_than_conjunctions() -> None:
    check_game(Game.of(PARITY_AND_THRESHOLD, rounds=3, draws=2, step="0.4", size=2, relation=REPLACE), [2])


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_the_first_round_tells_nothing(relation: NeighbouringRelation) -> None:
    game = Game.of(TWO_QUERIES, rounds=1, draws=2, step="3", size=2, relation=relation)
    tables: list[Table] = [((0, 0), (0, 0)), ((1, 1), (0, 0))]
    distributions = [game.distribution(table) for table in tables]
    assert distributions[0] == distributions[1]
    assert check_losses(game.charges(tables[0]), *distributions) == 0


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_a_run_is_charged_what_its_plan_reserves(relation: NeighbouringRelation) -> None:
    for workload in (TWO_QUERIES, PARITY_AND_THRESHOLD):
        game = Game.of(workload, rounds=3, draws=2, step="0.4", size=2, relation=relation)
        charges = game.charges(((0, 1), (1, 1)))
        assert charges == game.plan.charges() == plan_charges(3, 2, 0.4, 2, relation)


@pytest.mark.parametrize(("relation", "table"), [(REPLACE, ((0, 1), (1, 1))), (ADD_REMOVE, ((0, 1), (1, 1), (1, 0)))])
def test_the_weights_at_each_draw_are_those_of_the_records_so_far(relation: NeighbouringRelation, table: Table) -> None:
    """The distribution that the checks above use is the theorem's: exp(eta / n times the sum of count - n q(x))."""
    plan = Game.of(TWO_QUERIES, rounds=4, draws=2, step="0.9", size=2, relation=relation).plan
    seen: list[list[Decimal]] = []

    def choose(weights: object, draws: int) -> list[int]:
        found = implemented_weights(weights)  # type: ignore[arg-type]
        seen.append([as_decimal(weight / sum(found)) for weight in found])
        return [[0, 0], [1, 2], [3, 3], [0, 2]][len(seen) - 1]

    rounds, _ = play(table, TWO_QUERIES, plan, CallbackSampler(choose))
    counts = [sum(a for a, _ in table), sum(1 for a, b in table if not a and b)]
    for number in range(4):
        records = [done.record.tolist() for done in rounds[:number]]
        answers = [[bool(a), bool(not a and b)] for a, b in records]
        scores = signed_scores(counts, answers, rows=len(table), size=2)  # type: ignore[arg-type]
        assert seen[number] == [as_decimal(share) for share in distribution(scores, Decimal("0.9"), 2)]


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_noise_as_the_paper_prints_it_costs_what_is_charged(relation: NeighbouringRelation, gaussian: bool) -> None:
    crude = plan_of(POLYNOMIALS["bits, positive, powers"], relation, gaussian=gaussian)
    exact = plan_of(POLYNOMIALS["bits, positive, sets"], relation, gaussian=gaussian)
    assert 0.99 < check_planned_loss(crude) <= 1 + 1e-9
    assert crude.charges()[0].parameter < 0.9 * exact.charges()[0].parameter


def test_the_neighbours_are_those_of_one_record_and_of_one_edge() -> None:
    """A record moves one bin by 1, an edge two nodes; a replaced one twice as many at most, and as many for some."""

    def moves(pairs: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> set[int]:
        return {sum(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in pairs}

    assert moves(record_neighbours(ADD_REMOVE)) == {1}
    assert moves(record_neighbours(REPLACE)) == {2}
    assert moves(edge_neighbours(ADD_REMOVE)) == {2}
    assert moves(edge_neighbours(REPLACE)) == {2, 4}
    assert ((0, 0, 0, 0, 0), (0, 0, 0, 1, 1)) in edge_neighbours(ADD_REMOVE)


@pytest.mark.parametrize("pairs", [partial(table_neighbours, UNIVERSES["mixed"].schema), point_neighbours])
def test_neighbours_differ_in_one_record(pairs: Callable[[NeighbouringRelation], Any]) -> None:
    assert {(len(one), len(two)) for one, two in pairs(ADD_REMOVE)} == {(1, 2), (2, 3)}
    assert {(len(one), len(two)) for one, two in pairs(REPLACE)} == {(3, 3)}
    assert len(pairs(REPLACE)) == 21 * 15


@pytest.mark.parametrize(("one", "two"), [(0, 1), (3, 1), (0, 4)])
def test_cells_lose_nothing_of_a_discrete_laplace_distribution(one: int, two: int) -> None:
    """The smallest deltas over the cells are those over all values from -60 to 60, beyond which lies less than 1e-40."""
    scale, ratio = 0.5, exp_minus(Fraction(2))
    low, high = min(one, two), max(one, two)

    def distribution(centre: int) -> list[Fraction]:
        return [(1 - ratio) / (1 + ratio) * ratio ** abs(value - centre) for value in range(-60, 61)]

    found = []
    for distributions in (
        [distribution(one), distribution(two)],
        [laplace_cells(centre, scale, low, high) for centre in (one, two)],
    ):
        with localcontext(DIGITS):
            left, right = ([as_decimal(share) for share in shares] for shares in distributions)
            ratios = [p / q for p, q in zip(left, right, strict=True)]
            growths = [as_decimal(Fraction(growth, 8)) for growth in range(8, 60, 7)]
            found.append([hockey_stick(left, right, ratios, growth) for growth in growths])
    for everywhere, in_cells in zip(*found, strict=True):
        for a, b in zip(everywhere, in_cells, strict=True):
            assert abs(a - b) < 1e-40


FILES = {
    "one row": (["u,1"], 1),
    "as many rows as are counted": (["u,1", "u,1"], 2),
    "more rows than are counted": (["u,1", "u,2", "u,1", "u,1", "u,2"], 2),
}


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("rows", FILES)
def test_files_with_and_without_a_person_lose_no_more(rows: str, gaussian: bool, tmp_path: Path) -> None:
    """The rows of the person stand before, between and behind those of others."""
    own, most = FILES[rows]
    budget = persons.budget_of(2, gaussian=gaussian)
    others = ["v,1", "w,2", "v,2", "v,1", "w,2", "w,1"]
    without = drawn_from(others, tmp_path, budget)
    for place in (0, 3, 6):
        with_person = drawn_from(others[:place] + own + others[place:], tmp_path, budget)
        sensitivity = [np.abs(np.subtract(a.counts, b.counts)) for a, b in zip(without, with_person, strict=True)]
        assert max(int(one.sum()) for one in sensitivity) == most
        assert persons.lost_between(without, with_person, budget) <= 1.0 + 1e-9


def drawn_from(lines: list[str], folder: Path, budget: Budget) -> tuple[Drawn, ...]:
    """Release a histogram of a file for persons of at most two rows; return what got noise."""
    table = folder / "table.csv"
    table.write_text("\n".join(["user,c", *lines, ""]), encoding="utf-8")
    schema = Schema((Attribute("c", AttributeKind.NUMERIC, edges=(1, 2, 3), integer=True),))
    dataset = read_table(table, schema, TableReading(person="user", rows_per_person=2))
    noise = Watching()
    plan = plan_blocks(Bins("c", 2), budget)
    release_histogram(BinCounts.of_columns(dataset, ("c",)), plan, noise=noise)
    return tuple(noise.drawn)
