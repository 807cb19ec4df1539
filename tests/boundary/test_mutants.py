"""Planted defects of the privacy side, one at a time: each is applied to the real code and turns a named check red."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest

from dpopt.accounting import dualquery as accounting
from dpopt.accounting.accountants import ChargeColumns
from dpopt.accounting.charges import Charge
from dpopt.accounting.conversions import Floats
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.files.codec import encode
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.selections.query_weights import QueryWeights
from dpopt.transcript.released import SampledQueries
from tests.exact_loss import Game, check_game
from tests.tiny_runs import ADD_REMOVE, REPLACE, CallbackSampler, bits_schema, conjunctions, play

ONE_QUERY = conjunctions(bits_schema(1), "a")
Plant = Callable[[pytest.MonkeyPatch], None]


def game(relation: NeighbouringRelation, step: str = "3") -> Game:
    return Game.of(ONE_QUERY, rounds=3, draws=1, step=step, size=2, relation=relation)


def check_exact_loss(relation: NeighbouringRelation) -> None:
    """No divergence over all draws exceeds what the ledger says."""
    check_game(game(relation), sizes=[2] if relation is REPLACE else [1, 2, 3])


def check_exact_loss_of_short_steps(relation: NeighbouringRelation) -> None:
    """As before, where Renyi divergences come close to the charged rho."""
    check_game(game(relation, "0.3"), sizes=[2] if relation is REPLACE else [1, 2, 3])


def check_charges_are_tight(relation: NeighbouringRelation) -> None:
    """More than nine tenths of the charged pure loss are reached by some pair."""
    assert check_game(game(relation), sizes=[2] if relation is REPLACE else [1, 2, 3]) > Decimal("0.9")


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn; once each per round."""
    events: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        spend, append = Ledger.spend, play.__globals__["MemoryJournal"].append

        def recording_spend(self: Ledger, charge: Charge) -> None:
            spend(self, charge)
            events.append("spend")

        def recording_append(self: object, entry: dict[str, object], *, wait: bool = True) -> None:
            append(self, entry, wait=wait)
            events.append(str(entry["kind"]))

        def choose(weights: QueryWeights, draws: int) -> list[int]:
            events.append("drawn")
            return [0] * draws

        patch.setattr(Ledger, "spend", recording_spend)
        patch.setattr(play.__globals__["MemoryJournal"], "append", recording_append)
        table = ((0,), (1,))
        play(table, ONE_QUERY, game(relation).plan, CallbackSampler(choose))
    assert events == ["spend", "charge", "drawn", "draw", "record"] * 3


def halve_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    increment = accounting._increment
    patch.setattr(accounting, "_increment", lambda eta, relation: increment(eta, relation) / 2)


def double_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    increment = accounting._increment
    patch.setattr(accounting, "_increment", lambda eta, relation: increment(eta, relation) * 2)


def charge_each_round_as_the_one_before(patch: pytest.MonkeyPatch) -> None:
    ranges = accounting._ranges

    def off_by_one(rounds: int, eta: float, n: int, relation: NeighbouringRelation, first: int = 1) -> Floats:
        if first > 1:
            return ranges(rounds - 1, eta, n, relation, first=first - 1)
        return np.concatenate([[0.0], ranges(rounds, eta, n, relation)[:-1]])

    patch.setattr(accounting, "_ranges", off_by_one)


def draw_again_without_a_charge(patch: pytest.MonkeyPatch) -> None:
    def repeated(self: Curator, draws: int, charge: Charge) -> SampledQueries:
        original(self, draws, charge)
        return original(self, draws, charge)

    original = Curator._draw
    patch.setattr(Curator, "_draw", repeated)


def charge_after_the_draw(patch: pytest.MonkeyPatch) -> None:
    def late(self: Curator, draws: int) -> SampledQueries:
        charge = self._next_charge(draws)
        sampled = self._draw(draws, charge)
        self._ledger.spend(charge)
        self._journal.append({"kind": "charge", "charge": encode(charge), "round": self._round})
        return sampled

    patch.setattr(Curator, "draw_queries", late)


def write_the_charge_after_the_draw(patch: pytest.MonkeyPatch) -> None:
    def late(self: Curator, draws: int) -> SampledQueries:
        charge = self._next_charge(draws)
        self._ledger.spend(charge)
        sampled = self._draw(draws, charge)
        self._journal.append({"kind": "charge", "charge": encode(charge), "round": self._round})
        return sampled

    patch.setattr(Curator, "draw_queries", late)


def score_a_negation_as_minus_its_query(patch: pytest.MonkeyPatch) -> None:
    """Right under replace-one; under add-remove it doubles the sensitivity, since both move at once and apart."""
    patch.setattr(QueryWeights, "_offset", lambda self: 0)


def divide_by_the_true_number_of_records(patch: pytest.MonkeyPatch) -> None:
    """Scores in units of count minus rows times q(x): the private number of records in place of the public n0."""
    original = QueryWeights.__init__

    def with_rows(self: QueryWeights, counts: object, *, rows: int, size: int, **rest: object) -> None:
        original(self, counts, rows=rows, size=rows, **rest)  # type: ignore[arg-type]

    patch.setattr(QueryWeights, "__init__", with_rows)


def take_a_step_twice_as_long(patch: pytest.MonkeyPatch) -> None:
    original = QueryWeights.__init__

    def with_step(self: QueryWeights, counts: object, *, step: Decimal, **rest: object) -> None:
        original(self, counts, step=2 * step, **rest)  # type: ignore[arg-type]

    patch.setattr(QueryWeights, "__init__", with_step)


def forget_to_charge_a_round(patch: pytest.MonkeyPatch) -> None:
    """The curator's count of rounds lags one behind from round 2 on, so round 3 is charged as round 2."""
    patch.setattr(Curator, "_round", property(lambda self: max(1, self._weights.observed)))
    patch.setattr(Ledger, "spend", lambda self, charge: self._entries.append(charge))


def charge_half_of_rho(patch: pytest.MonkeyPatch) -> None:
    original = ChargeColumns.rho
    patch.setattr(ChargeColumns, "rho", lambda self: original(self) / 2)


CHECKS = [check_exact_loss, check_exact_loss_of_short_steps, check_charges_are_tight, check_order_of_events]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", CHECKS)
def test_without_a_defect_every_check_is_green(
    check: Callable[[NeighbouringRelation], None], relation: NeighbouringRelation
) -> None:
    check(relation)


@pytest.mark.parametrize(
    ("plant", "check", "relation", "message"),
    [
        (halve_the_sensitivity, check_exact_loss, REPLACE, "pure loss"),
        (halve_the_sensitivity, check_exact_loss, ADD_REMOVE, "pure loss"),
        (charge_each_round_as_the_one_before, check_exact_loss, REPLACE, "pure loss"),
        (charge_each_round_as_the_one_before, check_exact_loss, ADD_REMOVE, "pure loss"),
        (draw_again_without_a_charge, check_exact_loss, REPLACE, "pure loss"),
        (draw_again_without_a_charge, check_order_of_events, REPLACE, "drawn"),
        (forget_to_charge_a_round, check_exact_loss, REPLACE, "pure loss"),
        (charge_after_the_draw, check_order_of_events, REPLACE, "spend"),
        (write_the_charge_after_the_draw, check_order_of_events, REPLACE, "charge"),
        (score_a_negation_as_minus_its_query, check_exact_loss, ADD_REMOVE, "pure loss"),
        (divide_by_the_true_number_of_records, check_exact_loss, ADD_REMOVE, "pure loss"),
        (take_a_step_twice_as_long, check_exact_loss, REPLACE, "pure loss"),
        (charge_half_of_rho, check_exact_loss_of_short_steps, REPLACE, "zcdp|order"),
        (charge_half_of_rho, check_exact_loss_of_short_steps, ADD_REMOVE, "zcdp|order"),
        (double_the_sensitivity, check_charges_are_tight, REPLACE, "Decimal"),
        (double_the_sensitivity, check_charges_are_tight, ADD_REMOVE, "Decimal"),
    ],
)
def test_a_planted_defect_is_caught(
    plant: Plant,
    check: Callable[[NeighbouringRelation], None],
    relation: NeighbouringRelation,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=message):
        check(relation)
