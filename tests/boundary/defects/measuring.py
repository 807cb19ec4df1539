"""Planted defects of selecting and measuring."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.curators import door, measuring_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.measurements import measurement as measurements
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.selections import selection
from dpopt.private.selections.selection import CandidateScores, Selection
from dpopt.queries import residuals as residual_queries
from dpopt.queries.distances import UNIT, Distances
from dpopt.queries.residuals import Residuals
from dpopt.transcript.released import NoisyAnswers
from tests.boundary.planted import (
    ADD,
    BOTH,
    REP,
    Mechanism,
    attempt,
    charge_after_the_selection,
    defect,
    draw_a_selection_twice,
    forget_what_was_drawn,
    is_reached,
    named,
    spending,
    wrap,
    write_the_charge_before_it_is_spent,
)
from tests.exact_measuring_loss import check_measurement, check_selection
from tests.tiny_measuring import SCHEMA, Measuring, marginals
from tests.tiny_measuring import selection as tiny_selection
from tests.tiny_runs import conjunctions


def measurement(gaussian: bool) -> Measurement:
    return Measurement("x", marginals([1], [0, 1]), 7.5, gaussian)


def check_loss_of_sums(relation: NeighbouringRelation) -> None:
    check_selection(tiny_selection("l1", range_="3"), relation)


def check_loss_of_maxima(relation: NeighbouringRelation) -> None:
    check_selection(tiny_selection("max", range_="3"), relation)


def check_charges_of_selections_are_tight(relation: NeighbouringRelation) -> None:
    for score in ("l1", "max"):
        is_reached(check_selection(tiny_selection(score, range_="3"), relation), "0.8")


def check_loss_of_noise(relation: NeighbouringRelation) -> None:
    for gaussian in (True, False):
        what = measurement(gaussian)
        check_measurement(what, relation, what.charge(SCHEMA.sizes, relation))


def check_charges_of_noise_are_tight(relation: NeighbouringRelation) -> None:
    for gaussian in (True, False):
        what = measurement(gaussian)
        is_reached(check_measurement(what, relation, what.charge(SCHEMA.sizes, relation)), "0.99")


def check_loss_of_clauses(relation: NeighbouringRelation) -> None:
    """Two clauses of which every record satisfies one: replacing a record moves both."""
    clauses = conjunctions(SCHEMA, "a", "!a").clauses
    what = Measurement("x", clauses, 5.0, gaussian=False)
    check_measurement(what, relation, what.charge(SCHEMA.sizes, relation))


def residuals(gaussian: bool) -> Measurement:
    return Measurement("x", Residuals(marginals([0], [1], [0, 1]), np.array([2, 1, 1])), 40.0, gaussian)


def check_loss_of_residuals(relation: NeighbouringRelation) -> None:
    for gaussian in (True, False):
        what = residuals(gaussian)
        check_measurement(what, relation, what.charge(SCHEMA.sizes, relation))


def check_charges_of_residuals_are_tight(relation: NeighbouringRelation) -> None:
    what = residuals(gaussian=True)
    is_reached(check_measurement(what, relation, what.charge(SCHEMA.sizes, relation)), "0.99")


def distances(gaussian: bool) -> Measurement:
    return Measurement("x", Distances(marginals([0], [0, 1]), np.full(2 + 6, 50)), 40.0, gaussian)


def check_loss_of_distances(relation: NeighbouringRelation) -> None:
    for gaussian in (True, False):
        what = distances(gaussian)
        check_measurement(what, relation, what.charge(SCHEMA.sizes, relation))


def check_nothing_beyond_a_bound_is_measured(relation: NeighbouringRelation) -> None:
    moved = residuals(gaussian=True).sensitivity(relation, SCHEMA.sizes)
    exact = replace(residuals(gaussian=True), bound=moved)
    assert exact.charge(SCHEMA.sizes, relation) == residuals(gaussian=True).charge(SCHEMA.sizes, relation)
    looser = replace(exact, bound=2 * moved).charge(SCHEMA.sizes, relation).parameter
    assert looser > 1.99 * exact.charge(SCHEMA.sizes, relation).parameter
    with pytest.raises(PlanError, match="above the bound"):
        replace(exact, bound=moved - 1).charge(SCHEMA.sizes, relation)


def run_of(relation: NeighbouringRelation, *, reserved: int = 1) -> tuple[Measuring, Measurement, Selection]:
    """Return a run for which a measurement and a selection are reserved."""
    what, which = measurement(gaussian=True), tiny_selection()
    charges = [what.charge(SCHEMA.sizes, relation), which.charge(relation)]
    return Measuring(((0, 1), (1, 2)), charges * reserved, relation), what, which


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn; once each."""
    run, what, which = run_of(relation)
    with spending(run.events):
        run.curator.measure(what)
        run.select(which)
    assert run.events == [
        *["spend", "journal charge", "gaussian", "journal measurement"],
        *["spend", "journal charge", "draw", "journal selection"],
    ]


def check_nothing_is_drawn_twice(relation: NeighbouringRelation) -> None:
    """Whatever was reserved, a name is measured once and a round selects once, on resuming too."""
    run, what, which = run_of(relation, reserved=2)
    run.curator.recall(what.charge(SCHEMA.sizes, relation), drawn=True)
    attempt(lambda: run.curator.measure(what), lambda: run.select(which), lambda: run.select(which))
    assert [event for event in run.events if event in {"gaussian", "draw"}] == ["draw"]


def check_several_public_records_are_compared_with(relation: NeighbouringRelation) -> None:
    """With one public record, units of 1 / N records and of records would be the same."""
    from tests.tiny_measuring import MULTIPLICITY, RECORDS

    assert int(MULTIPLICITY.sum()) > 1
    assert len(RECORDS) == len(MULTIPLICITY)


def late_measurement(
    usual: object, self: MeasuringCurator, what: Measurement, *, again: bool = False, **where: int
) -> NoisyAnswers:
    charge = what.charge(self._dataset._public, self._relation)
    answers = self._noisy(what.exact(self._dataset, self._relation), what, charge, **where)
    self._charged(charge, **where)
    return answers


def forgetful(usual: Any, self: Door[Any], charge: Any, **more: Any) -> None:
    usual(self, charge, **more)
    self._labels.discard(charge.label)


LOST = "loss|range"
MEASURING = Mechanism(
    [
        check_charges_of_selections_are_tight, check_loss_of_clauses, check_charges_of_noise_are_tight,
        check_loss_of_residuals, check_charges_of_residuals_are_tight, check_loss_of_distances,
        check_nothing_beyond_a_bound_is_measured, check_order_of_events, check_nothing_is_drawn_twice,
        check_several_public_records_are_compared_with,
    ],
    {
        "halve the sensitivity of sums under replace-one": defect(
            wrap(selection, "score_range", lambda usual, *given: 2), (check_loss_of_sums, REP, LOST)
        ),
        "double the sensitivity of selections": defect(
            wrap(selection, "score_range", lambda usual, *given: 2 * usual(*given)),
            (check_charges_of_selections_are_tight, BOTH, "is reached"),
        ),
        # Scores in units of 1 / N records, their sensitivity in records.
        "forget the number of public records": defect(
            wrap(Selection, "spread", lambda usual, self, relation, total: usual(self, relation, 1)),
            (check_loss_of_sums, ADD, LOST),
        ),
        "scale by the true number of records": defect(
            wrap(
                CandidateScores,
                "__init__",
                lambda usual, self, dataset, **more: usual(self, dataset, **{**more, "size": dataset._rows}),
            ),
            (check_loss_of_sums, ADD, LOST),
        ),
        "sum in place of the maximum": defect(
            wrap(
                CandidateScores,
                "of",
                lambda usual, self, asked, score, *rest, **more: usual(self, asked, "l1", *rest, **more),
            ),
            (check_loss_of_maxima, REP, LOST),
        ),
        "square the differences": defect(
            wrap(CandidateScores, "of", lambda usual, *given, **more: [s * s for s in usual(*given, **more)]),
            (check_loss_of_maxima, ADD, LOST),
        ),
        "draw with twice the range": defect(
            named(measuring_curator, "selection_weights", range_=lambda range_: 2 * range_),
            (check_loss_of_sums, REP, LOST),
            (check_loss_of_maxima, ADD, LOST),
        ),
        "halve the moves under replace-one": defect(
            wrap(Measurement, "sensitivity", lambda usual, self, *given: len(self.queries)),
            (check_loss_of_noise, REP, "rho"),
        ),
        "count clauses as one": defect(
            wrap(Measurement, "sensitivity", lambda usual, *given: 1), (check_loss_of_clauses, REP, "epsilon")
        ),
        "double the moves": defect(
            wrap(Measurement, "sensitivity", lambda usual, *given: 2 * usual(*given)),
            (check_charges_of_noise_are_tight, ADD, "0.99"),
        ),
        "charge residuals as if a record were added": defect(
            wrap(Residuals, "sensitivity", lambda usual, self, **how: usual(self, **{**how, "replaced": False})),
            (check_loss_of_residuals, REP, "rho"),
        ),
        "charge distances as if a record were added": defect(
            wrap(Distances, "sensitivity", lambda usual, self, **how: usual(self, **{**how, "replaced": False})),
            (check_loss_of_distances, REP, "rho"),
        ),
        "charge distances in records": defect(
            wrap(Distances, "sensitivity", lambda usual, self, **how: usual(self, **how) // UNIT),
            (check_loss_of_distances, BOTH, "rho"),
        ),
        "charge what is measured and not the bound": defect(
            wrap(Measurement, "charge", lambda usual, self, *given: usual(replace(self, bound=None), *given)),
            (check_nothing_beyond_a_bound_is_measured, BOTH, "1.99"),
        ),
        "charge residuals by sets alone": defect(
            lambda patch: patch.setattr("dpopt.queries.residuals.MOST_ENUMERATED", 0),
            (check_charges_of_residuals_are_tight, REP, "0.99"),
        ),
        "charge residuals with Gaussian noise by absolute values": defect(
            wrap(Residuals, "sensitivity", lambda usual, self, **how: usual(self, **{**how, "squared": False})),
            (check_loss_of_residuals, BOTH, "rho"),
        ),
        "centre twice": defect(
            wrap(residual_queries, "centred", lambda usual, sets, values: usual(sets, usual(sets, values))),
            (check_loss_of_residuals, BOTH, "rho"),
        ),
        "draw noise of half the scale": defect(
            wrap(
                door,
                "with_noise",
                lambda usual, exact, what, *rest, **more: usual(
                    exact, replace(what, scale=what.scale / 2), *rest, **more
                ),
            ),
            (check_loss_of_noise, ADD, "rho"),
        ),
        "count each record twice": defect(
            wrap(measurements, "exact_counts", lambda usual, *given, **more: 2 * usual(*given, **more)),
            (check_loss_of_noise, ADD, "rho"),
        ),
        "charge after the measurement": defect(
            wrap(MeasuringCurator, "measure", late_measurement), (check_order_of_events, REP, "spend")
        ),
        "charge after the selection": defect(charge_after_the_selection, (check_order_of_events, REP, "spend")),
        "write the charge before it is spent": defect(
            write_the_charge_before_it_is_spent, (check_order_of_events, REP, "spend")
        ),
        "draw a selection twice": defect(draw_a_selection_twice, (check_order_of_events, REP, "draw")),
        "forget what was drawn": defect(forget_what_was_drawn, (check_nothing_is_drawn_twice, REP, "gaussian")),
        "forget what is on file": defect(
            wrap(Door, "recall", forgetful), (check_nothing_is_drawn_twice, REP, "gaussian")
        ),
    },
)  # fmt: skip
