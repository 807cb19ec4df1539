"""Planted defects of the private side of DualQuery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpopt.accounting import dualquery as accounting
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.files.codec import encode
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.selections.query_weights import QueryWeights
from dpopt.transcript.journal import MemoryJournal
from tests.boundary.planted import (
    ADD,
    BOTH,
    REP,
    Mechanism,
    charge_half_of_rho,
    defect,
    is_reached,
    named,
    spending,
    twice,
    wrap,
)
from tests.exact_loss import Game, check_game
from tests.tiny_runs import ADD_REMOVE, REPLACE, CallbackSampler, bits_schema, conjunctions, play

ONE_QUERY = conjunctions(bits_schema(1), "a")
SIZES = {REPLACE: [2], ADD_REMOVE: [1, 2, 3]}


def game(relation: NeighbouringRelation, step: str = "3") -> Game:
    return Game.of(ONE_QUERY, rounds=3, draws=1, step=step, size=2, relation=relation)


def check_exact_loss(relation: NeighbouringRelation) -> None:
    """No divergence over all draws exceeds what the ledger says."""
    check_game(game(relation), SIZES[relation])


def check_exact_loss_of_short_steps(relation: NeighbouringRelation) -> None:
    """As before, where Renyi divergences come close to the charged rho."""
    check_game(game(relation, "0.3"), SIZES[relation])


def check_charges_are_tight(relation: NeighbouringRelation) -> None:
    """More than nine tenths of the charged pure loss are reached by some pair."""
    is_reached(check_game(game(relation), SIZES[relation]), "0.9")


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn; once each per round."""
    events: list[str] = []
    append = MemoryJournal.append

    def recording(self: MemoryJournal, entry: dict[str, object], *, wait: bool = True) -> None:
        append(self, entry, wait=wait)
        events.append(str(entry["kind"]))

    def choose(weights: QueryWeights, draws: int) -> list[int]:
        events.append("drawn")
        return [0] * draws

    with pytest.MonkeyPatch.context() as patch, spending(events):
        patch.setattr(MemoryJournal, "append", recording)
        play(((0,), (1,)), ONE_QUERY, game(relation).plan, CallbackSampler(choose))
    assert events == ["spend", "charge", "drawn", "draw", "record"] * 3


def of_the_round_before(usual: Callable[..., Any], rounds: int, *given: Any, first: int = 1) -> Any:
    if first > 1:
        return usual(rounds - 1, *given, first=first - 1)
    return np.concatenate([[0.0], usual(rounds, *given)[:-1]])


def drawing(*steps: str) -> Callable[..., Any]:
    """Return how queries are drawn, with these steps in another order."""

    def draw(usual: object, self: Curator, draws: int) -> Any:
        charge = self._next_charge(draws)
        sampled = None
        for step in steps:
            if step == "draw":
                sampled = self._draw(draws, charge)
            elif step == "spend":
                self._ledger.spend(charge)
            else:
                self._journal.append({"kind": "charge", "charge": encode(charge), "round": self._round})
        return sampled

    return draw


def forget_to_charge_a_round(patch: pytest.MonkeyPatch) -> None:
    """The curator's count of rounds lags one behind from round 2 on, so round 3 is charged as round 2."""
    patch.setattr(Curator, "_round", property(lambda self: max(1, self._weights.observed)))
    patch.setattr(Ledger, "spend", lambda self, charge: self._entries.append(charge))


DUALQUERY = Mechanism(
    [check_exact_loss_of_short_steps, check_charges_are_tight, check_order_of_events],
    {
        "halve the sensitivity": defect(
            wrap(accounting, "once_or_twice", lambda usual, *given: usual(*given) / 2),
            (check_exact_loss, BOTH, "pure loss"),
        ),
        "double the sensitivity": defect(
            wrap(accounting, "once_or_twice", lambda usual, *given: usual(*given) * 2),
            (check_charges_are_tight, BOTH, "is reached"),
        ),
        "charge each round as the one before": defect(
            wrap(accounting, "_ranges", of_the_round_before), (check_exact_loss, BOTH, "pure loss")
        ),
        "draw again without a charge": defect(
            twice(Curator, "_draw"), (check_exact_loss, REP, "pure loss"), (check_order_of_events, REP, "drawn")
        ),
        "forget to charge a round": defect(forget_to_charge_a_round, (check_exact_loss, REP, "pure loss")),
        "charge after the draw": defect(
            wrap(Curator, "draw_queries", drawing("draw", "spend", "file")), (check_order_of_events, REP, "spend")
        ),
        "write the charge after the draw": defect(
            wrap(Curator, "draw_queries", drawing("spend", "draw", "file")), (check_order_of_events, REP, "charge")
        ),
        # Right under replace-one; under add-remove it doubles the sensitivity, since both move at once and apart.
        "score a negation as minus its query": defect(
            wrap(QueryWeights, "_offset", lambda usual, self: 0), (check_exact_loss, ADD, "pure loss")
        ),
        # Scores in units of count minus rows times q(x): the private number of records in place of the public n0.
        "divide by the true number of records": defect(
            wrap(
                QueryWeights, "__init__", lambda usual, *given, **more: usual(*given, **{**more, "size": more["rows"]})
            ),
            (check_exact_loss, ADD, "pure loss"),
        ),
        "take a step twice as long": defect(
            named(QueryWeights, "__init__", step=lambda step: 2 * step), (check_exact_loss, REP, "pure loss")
        ),
        "charge half of rho": defect(charge_half_of_rho, (check_exact_loss_of_short_steps, BOTH, "zcdp|order")),
    },
)
