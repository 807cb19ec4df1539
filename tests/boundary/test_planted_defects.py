"""Planted defects of the private side, one at a time: each is applied to the real code and turns a named check red.

A new mechanism is a module of `defects/` and a row here.
"""

from __future__ import annotations

import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import TranscriptError
from tests.boundary.defects.counting import COUNTING
from tests.boundary.defects.dualquery import DUALQUERY
from tests.boundary.defects.engines import ENGINES
from tests.boundary.defects.fem import FEM
from tests.boundary.defects.intervals import INTERVALS
from tests.boundary.defects.measuring import MEASURING
from tests.boundary.defects.multiplicative_weights import MULTIPLICATIVE
from tests.boundary.defects.nets import NETS
from tests.boundary.defects.persons import PERSONS
from tests.boundary.defects.statements import STATEMENTS
from tests.boundary.planted import Check, Plant, cases, checks

MECHANISMS = {
    "dualquery": DUALQUERY,
    "fem": FEM,
    "measuring": MEASURING,
    "multiplicative weights": MULTIPLICATIVE,
    "nets": NETS,
    "intervals": INTERVALS,
    "persons": PERSONS,
    "engines": ENGINES,
    "statements": STATEMENTS,
    **COUNTING,
}


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
