"""Planted defects of selecting and measuring, one at a time: each turns a named check red."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import score_range
from dpopt.private.curators import measuring_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.mechanisms.selection_distribution import selection_weights
from dpopt.private.selections import selection
from dpopt.private.selections.candidate_scores import CandidateScores
from dpopt.private.selections.selection import Selection
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.transcript.released import NoisyAnswers, SelectedMarginal
from tests.exact_measuring_loss import check_measurement, check_selection
from tests.tiny_measuring import MULTIPLICITY, RECORDS, SCHEMA, Measuring, marginals
from tests.tiny_measuring import selection as tiny_selection
from tests.tiny_runs import ADD_REMOVE, REPLACE, conjunctions

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]


def measurement(gaussian: bool) -> Measurement:
    return Measurement("x", marginals([1], [0, 1]), 7.5, gaussian)


def check_loss_of_sums(relation: NeighbouringRelation) -> None:
    check_selection(tiny_selection("l1", range_="3"), relation)


def check_loss_of_maxima(relation: NeighbouringRelation) -> None:
    check_selection(tiny_selection("max", range_="3"), relation)


def check_charges_of_selections_are_tight(relation: NeighbouringRelation) -> None:
    for score in ("l1", "max"):
        assert check_selection(tiny_selection(score, range_="3"), relation) > Decimal("0.8")


def check_loss_of_noise(relation: NeighbouringRelation) -> None:
    for gaussian in (True, False):
        what = measurement(gaussian)
        check_measurement(what, relation, what.charge(SCHEMA.sizes, relation))


def check_charges_of_noise_are_tight(relation: NeighbouringRelation) -> None:
    for gaussian in (True, False):
        what = measurement(gaussian)
        assert check_measurement(what, relation, what.charge(SCHEMA.sizes, relation)) > 0.99


def check_loss_of_clauses(relation: NeighbouringRelation) -> None:
    """Two clauses of which every record satisfies one: replacing a record moves both."""
    clauses = conjunctions(SCHEMA, "a", "!a").clauses
    what = Measurement("x", clauses, 5.0, gaussian=False)
    check_measurement(what, relation, what.charge(SCHEMA.sizes, relation))


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn; once each."""
    what, which = measurement(gaussian=True), tiny_selection()
    charges = [what.charge(SCHEMA.sizes, relation), which.charge(relation)]
    run = Measuring(((0, 1), (1, 2)), charges, relation)
    with pytest.MonkeyPatch.context() as patch:
        spend = Ledger.spend

        def recording(self: Ledger, charge: Charge) -> None:
            spend(self, charge)
            run.events.append("spend")

        patch.setattr(Ledger, "spend", recording)
        run.curator.measure(what)
        run.select(which)
    assert run.events == [
        *["spend", "journal charge", "gaussian", "journal measurement"],
        *["spend", "journal charge", "draw", "journal selection"],
    ]


def check_nothing_is_drawn_twice(relation: NeighbouringRelation) -> None:
    """Whatever was reserved, a name is measured once and a round selects once, on resuming too."""
    what, which = measurement(gaussian=True), tiny_selection()
    charges = [what.charge(SCHEMA.sizes, relation), which.charge(relation)]
    run = Measuring(((0, 1), (1, 2)), [*charges, *charges], relation)
    run.curator.recall(charges[0], drawn=True)
    attempts: list[Callable[[], object]] = [
        lambda: run.curator.measure(what),
        lambda: run.select(which),
        lambda: run.select(which),
    ]
    for attempt in attempts:
        try:
            attempt()
        except Exception:  # noqa: BLE001
            continue
    assert [event for event in run.events if event in {"gaussian", "draw"}] == ["draw"]


def halve_the_sensitivity_of_sums_under_replace_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(selection, "score_range", lambda score, relation: 2)


def double_the_sensitivity_of_selections(patch: pytest.MonkeyPatch) -> None:
    original = score_range
    patch.setattr(selection, "score_range", lambda score, relation: 2 * original(score, relation))


def forget_the_number_of_public_records(patch: pytest.MonkeyPatch) -> None:
    """Scores in units of 1 / N records, their sensitivity in records."""
    original = Selection.spread
    patch.setattr(Selection, "spread", lambda self, relation, total: original(self, relation, 1))


def scale_by_the_true_number_of_records(patch: pytest.MonkeyPatch) -> None:
    original = CandidateScores.__init__

    def with_rows(self: CandidateScores, dataset: PrivateDataset, *, size: int, threads: int = 2) -> None:
        original(self, dataset, size=dataset._rows, threads=threads)

    patch.setattr(CandidateScores, "__init__", with_rows)


def sum_in_place_of_the_maximum(patch: pytest.MonkeyPatch) -> None:
    original = CandidateScores.of
    patch.setattr(
        CandidateScores,
        "of",
        lambda self, candidates, score, *rest, **more: original(self, candidates, "l1", *rest, **more),
    )


def square_the_differences(patch: pytest.MonkeyPatch) -> None:
    original = CandidateScores.of
    patch.setattr(
        CandidateScores, "of", lambda self, *given, **more: [s * s for s in original(self, *given, **more)]
    )


def draw_with_twice_the_range(patch: pytest.MonkeyPatch) -> None:
    original = selection_weights
    patch.setattr(
        measuring_curator,
        "selection_weights",
        lambda scores, *, range_, spread: original(scores, range_=2 * range_, spread=spread),
    )


def halve_the_moves_under_replace_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Measurement, "sensitivity", lambda self, relation, sizes: len(self.queries))


def count_clauses_as_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Measurement, "sensitivity", lambda self, relation, sizes: 1)


def double_the_moves(patch: pytest.MonkeyPatch) -> None:
    original = Measurement.sensitivity
    patch.setattr(
        Measurement, "sensitivity", lambda self, relation, sizes: 2 * original(self, relation, sizes)
    )


def draw_noise_of_half_the_scale(patch: pytest.MonkeyPatch) -> None:
    def halved(exact: NDArray[np.int64], what: Any, *rest: Any, **more: Any) -> NoisyAnswers:
        return with_noise(exact, replace(what, scale=what.scale / 2), *rest, **more)

    patch.setattr("dpopt.private.curators.door.with_noise", halved)


def count_each_record_twice(patch: pytest.MonkeyPatch) -> None:
    original = exact_counts

    def twice(*given: object, **more: object) -> NDArray[np.int64]:
        return 2 * original(*given, **more)  # type: ignore[arg-type]

    patch.setattr("dpopt.private.measurements.measurement.exact_counts", twice)


def charge_after_the_measurement(patch: pytest.MonkeyPatch) -> None:
    def late(self: MeasuringCurator, what: Measurement, *, again: bool = False, **where: int) -> NoisyAnswers:
        charge = what.charge(self._dataset._public, self._relation)
        answers = self._noisy(what.exact(self._dataset, self._relation), what, charge, **where)
        self._charged(charge, **where)
        return answers

    patch.setattr(MeasuringCurator, "measure", late)


def charge_after_the_selection(patch: pytest.MonkeyPatch) -> None:
    def late(
        self: MeasuringCurator,
        what: Selection,
        records: NDArray[np.int32],
        multiplicity: NDArray[np.int64],
        *,
        again: bool = False,
    ) -> SelectedMarginal:
        charge = what.charge(self._relation)
        selected = self._select(what, charge, records, multiplicity)
        self._charged(charge, round=what.round)
        return selected

    patch.setattr(MeasuringCurator, "select", late)


def write_the_charge_before_it_is_spent(patch: pytest.MonkeyPatch) -> None:
    def early(self: Door[PrivateDataset], charge: Charge, **where: int) -> Charge:
        self._on_file(charge, **where)
        self._ledger.spend(charge)
        return charge

    patch.setattr(Door, "_charged", early)


def draw_a_selection_twice(patch: pytest.MonkeyPatch) -> None:
    original = MeasuringCurator._select

    def twice(self: MeasuringCurator, *given: object) -> SelectedMarginal:
        original(self, *given)  # type: ignore[arg-type]
        return original(self, *given)  # type: ignore[arg-type]

    patch.setattr(MeasuringCurator, "_select", twice)


def forget_what_was_drawn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Door, "_not_drawn", lambda self, label: None)


def forget_what_is_on_file(patch: pytest.MonkeyPatch) -> None:
    original = Door.recall

    def forgetful(self: Door[Any], charge: Charge, **more: Any) -> None:
        original(self, charge, **more)
        self._labels.discard(charge.label)

    patch.setattr(Door, "recall", forgetful)


CHECKS = [
    check_loss_of_sums,
    check_loss_of_maxima,
    check_charges_of_selections_are_tight,
    check_loss_of_noise,
    check_loss_of_clauses,
    check_charges_of_noise_are_tight,
    check_order_of_events,
    check_nothing_is_drawn_twice,
]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", CHECKS)
def test_without_a_defect_every_check_is_green(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


@pytest.mark.parametrize(
    ("plant", "check", "relation", "message"),
    [
        (halve_the_sensitivity_of_sums_under_replace_one, check_loss_of_sums, REPLACE, "loss|range"),
        (
            double_the_sensitivity_of_selections,
            check_charges_of_selections_are_tight,
            REPLACE,
            "Decimal",
        ),
        (
            double_the_sensitivity_of_selections,
            check_charges_of_selections_are_tight,
            ADD_REMOVE,
            "Decimal",
        ),
        (forget_the_number_of_public_records, check_loss_of_sums, ADD_REMOVE, "loss|range"),
        (scale_by_the_true_number_of_records, check_loss_of_sums, ADD_REMOVE, "loss|range"),
        (sum_in_place_of_the_maximum, check_loss_of_maxima, REPLACE, "loss|range"),
        (square_the_differences, check_loss_of_maxima, ADD_REMOVE, "loss|range"),
        (draw_with_twice_the_range, check_loss_of_sums, REPLACE, "loss|range"),
        (draw_with_twice_the_range, check_loss_of_maxima, ADD_REMOVE, "loss|range"),
        (halve_the_moves_under_replace_one, check_loss_of_noise, REPLACE, "rho"),
        (count_clauses_as_one, check_loss_of_clauses, REPLACE, "epsilon"),
        (double_the_moves, check_charges_of_noise_are_tight, ADD_REMOVE, "0.99"),
        (draw_noise_of_half_the_scale, check_loss_of_noise, ADD_REMOVE, "rho"),
        (count_each_record_twice, check_loss_of_noise, ADD_REMOVE, "rho"),
        (charge_after_the_measurement, check_order_of_events, REPLACE, "spend"),
        (charge_after_the_selection, check_order_of_events, REPLACE, "spend"),
        (write_the_charge_before_it_is_spent, check_order_of_events, REPLACE, "spend"),
        (draw_a_selection_twice, check_order_of_events, REPLACE, "draw"),
        (forget_what_was_drawn, check_nothing_is_drawn_twice, REPLACE, "gaussian"),
        (forget_what_is_on_file, check_nothing_is_drawn_twice, REPLACE, "gaussian"),
    ],
)
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


def test_the_selection_of_the_checks_compares_with_several_public_records() -> None:
    """With one public record, units of 1 / N records and of records would be the same."""
    assert int(MULTIPLICITY.sum()) > 1
    assert len(RECORDS) == len(MULTIPLICITY)
