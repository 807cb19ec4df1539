"""`--gap`: a round ends with a record and a bound that are this near, by an exact solver."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpopt
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.replay import load
from dpopt.errors import PlanError
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.small_runs import plan

SCHEMA = Schema(tuple(Attribute(name, AttributeKind.CATEGORICAL, (0, 1, 2, 3)) for name in "abcde"))
TABLE = np.random.default_rng(1).integers(0, 4, (1_000, 5))


def test_each_round_is_within_the_gap_and_says_so(tmp_path: Path) -> None:
    """Such a small round could be proven best; a gap of .1 ends it before, or at that."""
    asked = dpopt.DualQuery(gap=0.1, rounds=4, draws=30, seconds=60)
    made = dpopt.release(
        TABLE,
        SCHEMA,
        "parity:3,count=500",
        out=tmp_path / "r",
        algorithm=asked,
        epsilon=1e4,
        delta=1e-6,
        n0=1_000,
        predict=False,
    )
    assert made.job.plan.solver == "cp-sat"
    assert DualQueryPlan.of(made.job.plan).gap == 0.1
    rounds = load(tmp_path / "r").played
    assert [done.certificate.reported_gap is not None and done.certificate.reported_gap <= 3 for done in rounds] == [
        True
    ] * 4
    assert {done.stopped for done in rounds} <= {"gap limit", "optimal"}
    assert not any(done.fallback for done in rounds)


def test_without_a_gap_plans_are_on_file_as_before() -> None:
    without, given = plan(), plan(gap=0.02)
    assert "gap" not in without.to_json()
    assert DualQueryPlan.from_json(without.to_json()) == without
    assert given.to_json()["gap"] == 0.02
    assert DualQueryPlan.from_json(given.to_json()) == given


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gap": 0.1, "solver": "local-search"}, "the local-search proves none"),
        ({"gap": 2}, "the gap must be a finite number of at least 0 and at most 1, found 2"),
        ({"gap": -0.1}, "the gap must be a finite number"),
    ],
)
def test_a_gap_that_nothing_can_prove_or_that_is_none_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        dpopt.DualQuery(**options)  # type: ignore[arg-type]
