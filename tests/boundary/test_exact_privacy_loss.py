"""The exact privacy loss of whole runs, over all pairs of neighbours of tiny universes, is what the ledger says at most."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dpopt.accounting.dualquery import plan_charges
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.queries.workloads.workload import workload_from_json
from tests.exact_distribution import distribution, signed_scores
from tests.exact_loss import Game, as_decimal, check_game, check_losses, implemented_weights
from tests.tiny_runs import (
    ADD_REMOVE,
    REPLACE,
    CallbackSampler,
    Table,
    bits_schema,
    conjunctions,
    play,
)

TWO_BITS, ONE_BIT = bits_schema(2), bits_schema(1)
TWO_QUERIES = conjunctions(TWO_BITS, "a", "!a b")
ONE_QUERY = conjunctions(ONE_BIT, "a")
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
STEPS = ["0.4", "3", "40"]  # ranges of about 1, above 4, and so large that nearly every score is clamped


@pytest.mark.parametrize("step", STEPS)
def test_replace_one_two_queries_three_rounds(step: str) -> None:
    game = Game.of(TWO_QUERIES, rounds=3, draws=2, step=step, size=2, relation=REPLACE)
    check_game(game, sizes=[2])


@pytest.mark.parametrize(("step", "sizes"), [("0.4", [1, 2, 3]), ("3", [1, 2]), ("40", [2, 3])])
def test_add_remove_two_queries_three_rounds_whatever_the_true_size(step: str, sizes: list[int]) -> None:
    """n0 = 2; tables of 1 to 3 records."""
    game = Game.of(TWO_QUERIES, rounds=3, draws=2, step=step, size=2, relation=ADD_REMOVE)
    check_game(game, sizes)


@pytest.mark.parametrize(
    ("relation", "step", "sizes"), [(REPLACE, "0.4", [2]), (REPLACE, "3", [2]), (ADD_REMOVE, "3", [1, 2])]
)
def test_a_parity_and_a_threshold_cost_no_more_than_conjunctions(
    relation: NeighbouringRelation, step: str, sizes: list[int]
) -> None:
    game = Game.of(PARITY_AND_THRESHOLD, rounds=3, draws=2, step=step, size=2, relation=relation)
    assert game.charges(((0, 0), (1, 0))) == plan_charges(3, 2, float(step), 2, relation)
    check_game(game, sizes)


@pytest.mark.parametrize(("draws", "rounds", "step"), [(2, 5, "0.3"), (3, 4, "1.1"), (1, 7, "0.8")])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_one_query_more_rounds_and_draws(
    relation: NeighbouringRelation, draws: int, rounds: int, step: str
) -> None:
    game = Game.of(ONE_QUERY, rounds=rounds, draws=draws, step=step, size=3, relation=relation)
    check_game(game, sizes=[3] if relation is REPLACE else [2, 3, 4])


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_more_than_nine_tenths_of_the_charged_pure_loss_are_reached(relation: NeighbouringRelation) -> None:
    """So neither a charge twice too small nor one twice too large would go unnoticed."""
    game = Game.of(ONE_QUERY, rounds=3, draws=2, step="3", size=2, relation=relation)
    reached = check_game(game, sizes=[2] if relation is REPLACE else [1, 2, 3])
    assert Decimal("0.9") < reached <= 1


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_the_first_round_tells_nothing(relation: NeighbouringRelation) -> None:
    game = Game.of(TWO_QUERIES, rounds=1, draws=2, step="3", size=2, relation=relation)
    tables: list[Table] = [((0, 0), (0, 0)), ((1, 1), (0, 0))]
    distributions = [game.distribution(table) for table in tables]
    assert distributions[0] == distributions[1]
    assert check_losses(game.charges(tables[0]), *distributions) == 0


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_a_run_is_charged_what_its_plan_reserves(relation: NeighbouringRelation) -> None:
    game = Game.of(TWO_QUERIES, rounds=3, draws=2, step="0.4", size=2, relation=relation)
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
