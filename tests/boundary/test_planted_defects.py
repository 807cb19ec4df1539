"""Planted defects of the private side, one at a time: each is applied to the real code and turns a named check red.

A new mechanism is a module of `defects/` and a row here.
"""

from __future__ import annotations

from typing import Any

import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import TranscriptError
from dpopt.private.curators.counting_curator import MEASUREMENTS
from dpopt.private.curators.door import SELECTIONS, Door
from dpopt.private.measurements.measurement import Measurement, NumberOfRecords
from tests.boundary.defects.counting import COUNTING
from tests.boundary.defects.dualquery import DUALQUERY
from tests.boundary.defects.engines import ENGINES
from tests.boundary.defects.fem import FEM
from tests.boundary.defects.intervals import INTERVALS
from tests.boundary.defects.matrices import MATRICES
from tests.boundary.defects.measuring import MEASURING
from tests.boundary.defects.multiplicative_weights import MULTIPLICATIVE
from tests.boundary.defects.nets import NETS
from tests.boundary.defects.persons import PERSONS
from tests.boundary.defects.statements import STATEMENTS
from tests.boundary.families import FAMILIES, SCALE
from tests.boundary.planted import Check, Plant, cases, check_name, checks

MECHANISMS = {
    "dualquery": DUALQUERY,
    "fem": FEM,
    "measuring": MEASURING,
    "multiplicative weights": MULTIPLICATIVE,
    "nets": NETS,
    "matrices": MATRICES,
    "intervals": INTERVALS,
    "persons": PERSONS,
    "engines": ENGINES,
    "statements": STATEMENTS,
    **COUNTING,
}


SELECTING = (DUALQUERY, FEM, MEASURING, MULTIPLICATIVE, NETS, MATRICES)


def test_every_measurement_and_every_selection_of_the_private_side_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A type of its two tables that no check plays would lose what nobody looks at.

    `LOSSES` of `test_exact_loss.py` has rows of queries' counts and of the number of records.
    """
    rows = [*(row for family in FAMILIES.values() for row in family.measured.values())]
    assert {type(row.make(SCALE, True)) for row in rows} | {Measurement, NumberOfRecords} == MEASUREMENTS.keys()
    drawn, usual = set[type](), Door._drawn

    def noted(self: Door[Any], kind: type, *given: Any) -> Any:
        drawn.add(kind)
        return usual(self, kind, *given)

    monkeypatch.setattr(Door, "_drawn", noted)
    for check in (one for mechanism in SELECTING for one in mechanism.checks):
        if check_name(check) in {"check_order_of_events", "check_exact_distribution", "check_marginals"}:
            check(NeighbouringRelation.REPLACE_ONE)
    assert drawn == SELECTIONS.keys()


@pytest.mark.parametrize(("check", "relation"), checks(MECHANISMS))
def test_without_a_defect_every_check_is_green(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


@pytest.mark.parametrize(("plant", "check", "relation", "message"), cases(MECHANISMS))
def test_a_planted_defect_is_caught(
    plant: Plant, check: Check, relation: NeighbouringRelation, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises((AssertionError, TranscriptError), match=message):
        check(relation)
