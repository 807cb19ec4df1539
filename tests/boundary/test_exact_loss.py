"""The exact privacy loss, over all pairs of neighbours of tiny universes, is at most what the ledger says, and not far less.

Noisy counts have a table of their own, `test_exact_loss_of_counts.py`. A new mechanism adds rows to `LOSSES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any

import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.dualquery import plan_charges
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.options import MARGINALS
from dpopt.private.measurements.measurement import Measurement
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload, parse_workload, workload_from_json
from dpopt.synopses.intervals.interval_planning import plan_intervals
from dpopt.synopses.intervals.split_planning import plan_split
from tests.exact_counts_loss import ROWS
from tests.exact_distribution import distribution, signed_scores
from tests.exact_fem_loss import range_between
from tests.exact_interval_loss import check_draws_are_paid, check_search_game, interval_game, split_game
from tests.exact_loss import Game, as_decimal, check_game, check_losses, implemented_weights
from tests.exact_measuring_loss import check_measurement, check_selection, check_selection_and_measurement
from tests.exact_net_loss import NetGame, check_net_game
from tests.tiny_intervals import tiny_intervals, tiny_split
from tests.tiny_measuring import SCHEMA, marginals, selection
from tests.tiny_multiplicative import CLAUSES, RoundGame, check_round
from tests.tiny_multiplicative import tiny_plan as round_plan
from tests.tiny_runs import (
    ADD_REMOVE,
    REPLACE,
    CallbackSampler,
    Table,
    bits_schema,
    conjunctions,
    play,
)

Share = float | Decimal
Row = tuple[str, Callable[[NeighbouringRelation], Share], str]
"""A name, what gives the share of the charge that is used up, and how much of it is reached at least."""
BOTH, SCORES, ANYTHING = (False, True), ("l1", "max"), "-1"
BUDGETS = {
    "pure": Budget(1.5, 0.0, None, Accountant.PURE),
    "rho": Budget(None, 1e-9, 0.1, Accountant.ZCDP),
}


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
    workload: Workload, step: str, sizes: dict[NeighbouringRelation, list[int]], **more: int
) -> Callable[[NeighbouringRelation], Share]:
    """Return the share of pure epsilon that a run uses up, of tables with these numbers of records."""
    how = {"rounds": 3, "draws": 2, "size": 2, **more}

    return lambda relation: check_game(
        Game.of(workload, step=step, relation=relation, **how), sizes[relation]
    )


def dualquery() -> Iterator[Row]:
    """Ranges of about 1, above 4, and so large that nearly every score is clamped; tables of any size under add-remove."""
    for step, sizes in (("0.4", [1, 2, 3]), ("3", [1, 2]), ("40", [2, 3])):
        yield f"two queries, {step}", run_of(TWO_QUERIES, step, {REPLACE: [2], ADD_REMOVE: sizes}), ANYTHING
    parity = run_of(PARITY_AND_THRESHOLD, "3", {REPLACE: [2], ADD_REMOVE: [1, 2]})
    yield "parity and threshold", parity, ANYTHING
    for draws, rounds, step in ((2, 5, "0.3"), (3, 4, "1.1"), (1, 7, "0.8")):
        run = run_of(
            ONE_QUERY, step, {REPLACE: [3], ADD_REMOVE: [2, 3, 4]}, rounds=rounds, draws=draws, size=3
        )
        yield f"one query, {rounds} rounds", run, ANYTHING
    # So neither a charge twice too small nor one twice too large would go unnoticed.
    yield "tight", run_of(ONE_QUERY, "3", {REPLACE: [2], ADD_REMOVE: [1, 2, 3]}), "0.9"


# Selections and measurements.

QUERIES: dict[str, MarginalSet | Clauses] = {
    "two marginals": marginals([1], [0, 1]),
    "one marginal": marginals([0]),
    "clauses": parse_workload("marginals:1", SCHEMA).clauses,
}


def measured(what: Measurement, relation: NeighbouringRelation) -> Share:
    return check_measurement(what, relation, what.charge(SCHEMA.sizes, relation))


def measuring() -> Iterator[Row]:
    for score in SCORES:
        # With range 60 many scores are clamped. Public records whose number does not divide the public size.
        for range_, least in [*((range_, ANYTHING) for range_ in ("0.3", "1.5", "6", "60")), ("3", "0.8")]:
            yield f"{score}, {range_}", partial(check_selection, selection(score, range_=range_)), least
        for gaussian in BOTH:
            both = partial(
                check_selection_and_measurement, selection(score, range_="0.8"), 3.0, gaussian=gaussian
            )
            yield f"{score}, measured, {gaussian}", both, "0.3"
    # The divergence of discrete Gaussians a whole number apart reaches the bound where the scale is not small.
    for name, gaussian in product(QUERIES, BOTH):
        what = Measurement("x", QUERIES[name], 7.5, gaussian)
        yield f"{name}, {gaussian}", partial(measured, what), "0.999"
    for scale in (0.2, 0.6, 1.3, 50.0):
        what = Measurement("x", marginals([0, 1]), scale, gaussian=True)
        yield f"scale {scale}", partial(measured, what), ANYTHING


# Rounds of pmw and mwem.

WHOLE = marginals([0], [1], [0, 1])


def round_of(
    queries: Any, relation: NeighbouringRelation, *, score: str = "max", part: int = 0, **more: Any
) -> Share:
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
    yield "queries, tight", partial(round_of, CLAUSES, **exact), "0.99"
    some = partial(round_of, CLAUSES.take([0, 1]), part=1, range_="0.3", scale=30.0, gaussian=False)
    yield "queries, all that is lost", some, "0.5"
    yield "cells of marginals", partial(round_of, marginals([0]), **exact), "0.99"
    for score in SCORES:
        whole = partial(round_of, WHOLE, select=MARGINALS, score=score, range_="3")
        yield f"marginals by {score}, tight", whole, "0.7"


# Nets.

WORKLOADS: dict[str, Workload] = {
    "one query": ONE_QUERY,
    "classes of records": conjunctions(TWO_BITS, "a", "a b"),
    "marginals": parse_workload("marginals:1", TWO_BITS),
}


def net_of(name: str, listed: bool, relation: NeighbouringRelation) -> Share:
    """Multisets whose number of records does not divide the public size; errors beyond the reach occur under add-remove."""
    range_ = "0.3" if listed else "2"
    one = NetGame(WORKLOADS[name], records=3, range_=range_, size=2, relation=relation, listed=listed)
    return check_net_game(one)


def range_of_net(relation: NeighbouringRelation) -> Share:
    """The log likelihood ratio over the outputs spans all of epsilon for some pair: half of the sensitivity would be caught."""
    game = NetGame(ONE_QUERY, records=2, range_="1.5", size=2, relation=relation)
    spans = [range_between(game.distribution(one)[0], game.distribution(two)[0]) for one, two in game.pairs()]
    return max(spans) / Decimal("1.5")


def nets() -> Iterator[Row]:
    for name, listed in product(WORKLOADS, BOTH):
        yield f"{name}, {'candidates' if listed else 'multisets'}", partial(net_of, name, listed), ANYTHING
    yield "the range over the outputs", range_of_net, "0.999999"


# Intervals and boxes.


def searched(relation: NeighbouringRelation, *, gaussian: bool, **more: Any) -> Share:
    return check_search_game(interval_game(tiny_intervals(relation, gaussian=gaussian, **more)))


def cut(relation: NeighbouringRelation, *, gaussian: bool, **more: Any) -> Share:
    return check_search_game(split_game(tiny_split(relation, gaussian=gaussian, **more)))


def planned(name: str, weights: str | None, relation: NeighbouringRelation) -> Share:
    """Return the share of what is lost; the charges of the plan use up the budget, and no more."""
    budget = BUDGETS[name]
    if weights is None:
        split = plan_split((2, 3), budget, ROWS, relation=relation, rounds=1)
        game, charges = split_game(split), split.charges()
    else:
        plan = plan_intervals(4, budget, ROWS, relation=relation, weights=weights, intervals=3)
        game, charges = interval_game(plan), plan.charges()
    total = sum(charge.parameter * charge.count for charge in charges)
    assert 0.999 < total / (1.5 if name == "pure" else 0.1) <= 1
    return check_search_game(game)


def intervals() -> Iterator[Row]:
    for gaussian in BOTH:
        # Two searches over four bins, with printed and with measured weights.
        for scale, mass_scale in ((0.3, None), (3.0, 5.0)):
            two = partial(searched, gaussian=gaussian, scale=scale, mass_scale=mass_scale)
            yield f"scale {scale}, {gaussian}", two, "0.1"
        one = partial(searched, gaussian=gaussian, bins=5, intervals=2, mass_scale=None)
        yield f"one search of five bins, {gaussian}", one, "0.1"
        for shape in ((2, 3), (3, 2)):
            yield f"boxes, {shape}, {gaussian}", partial(cut, gaussian=gaussian, shape=shape), "0.3"
    # One comparison, its threshold beyond all counts: the odds move by exactly the charge.
    far = partial(searched, gaussian=False, bins=2, intervals=2, threshold=9, mass_scale=None)
    yield "all that is charged", far, "0.999999999999"
    for name, weights in product(BUDGETS, ("measured", "printed", None)):
        yield f"planned, {weights or 'boxes'}, {name}", partial(planned, name, weights), ANYTHING


LOSSES = {
    "dualquery": dualquery,
    "measuring": measuring,
    "multiplicative weights": multiplicative_weights,
    "nets": nets,
    "intervals": intervals,
}


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize(
    ("share", "least"),
    [
        pytest.param(share, least, id=f"{mechanism}: {name}")
        for mechanism, rows in LOSSES.items()
        for name, share, least in rows()
    ],
)
def test_no_more_is_lost_than_is_charged(
    share: Callable[[NeighbouringRelation], Share], least: str, relation: NeighbouringRelation
) -> None:
    """The checks refuse a larger loss; nor is it far smaller, so that a charge twice too large would be seen."""
    assert Decimal(least) < Decimal(share(relation)) <= 1 + Decimal("1e-7")


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


@pytest.mark.parametrize(
    ("relation", "table"), [(REPLACE, ((0, 1), (1, 1))), (ADD_REMOVE, ((0, 1), (1, 1), (1, 0)))]
)
def test_the_weights_at_each_draw_are_those_of_the_records_so_far(
    relation: NeighbouringRelation, table: Table
) -> None:
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
