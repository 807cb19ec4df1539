"""What a release states as its guarantee follows from its plan: two scripts of noise give the same, at every door.

Where a run stops early by noisy values, the charges that it lists differ, and the guarantee is that of all that was reserved.
"""

from __future__ import annotations

import pytest

from dpopt.accounting.relations import NeighbouringRelation
from tests.boundary.defects.statements import of_a_torn_run
from tests.kept_releases.make import RELEASES
from tests.stated_guarantees import ANSWERS, LOUD, QUIET, VALUES, of_release, of_synopsis
from tests.tiny_runs import ADD_REMOVE, REPLACE

RECORDS = [name for name in RELEASES if name != "noise"]
both = pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE], ids=lambda one: str(one.value))


@both
@pytest.mark.parametrize("name", RECORDS)
def test_records_with_counts_within_bins_state_the_same(name: str, relation: NeighbouringRelation) -> None:
    (quiet, many), (loud, fewer) = (of_release(name, relation, one, *VALUES) for one in (QUIET, LOUD))
    assert quiet == loud
    assert fewer < many, "no round is left out; other noise would try more"


@pytest.mark.parametrize("name", ["mwem", "projection"])
def test_pure_releases_state_the_same(name: str) -> None:
    quiet, loud = (of_release(name, ADD_REMOVE, one, *VALUES, delta=0)[0] for one in (QUIET, LOUD))
    assert quiet == loud


@both
def test_answers_alone_state_the_same(relation: NeighbouringRelation) -> None:
    quiet, loud = (of_release("noise", relation, one)[0] for one in (QUIET, LOUD))
    assert quiet == loud


@both
@pytest.mark.parametrize("spent", [(), ("--delta", 1e-6)], ids=["pure", "Gaussian"])
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_of_synopses_state_the_same(
    name: str, spent: tuple[object, ...], relation: NeighbouringRelation
) -> None:
    quiet, loud = (of_synopsis(name, relation, one, *spent)[0] for one in (QUIET, LOUD))
    assert quiet == loud


def test_a_run_that_lost_a_draw_states_what_was_reserved() -> None:
    of_a_torn_run(REPLACE)
