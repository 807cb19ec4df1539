from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import pytest

from dpopt.algorithms.dualquery.accuracy import RoundGaps, certified_accuracy, proven_error
from dpopt.releases.plan import Encoding
from tests.algorithms.small_runs import SCHEMA, job, small_release


def test_the_figures_are_the_theorem_with_the_mean_gaps() -> None:
    made = job()
    found = certified_accuracy(made, [RoundGaps(4, None), RoundGaps(2, 1), RoundGaps(0, 5)])
    assert found is not None
    usual: dict[str, Any] = {
        "rounds": 3,
        "draws": 8,
        "step": 1.4,
        "queries": len(made.workload),
        "log_universe": math.fsum(math.log(size) for size in SCHEMA.sizes.tolist()),
    }
    for name, gaps in (("by_proven_bounds", [4, 2, 0]), ("by_reported_bounds", [4, 1, 0])):
        mean = float(Fraction(sum(gaps), 3 * 8))
        expected = proven_error(**usual, solver_gap=mean)
        assert found[name]["bound"] == pytest.approx(expected.bound, rel=1e-12)
        assert found[name]["mean_gap_over_draws"] == mean
        assert found[name]["largest_gap_over_draws"] == max(gaps) / 8
        assert found[name]["says_something"] == (expected.bound < 1)
        assert found[name]["rounds"] == 3
    assert found["by_reported_bounds"]["rounds_with_a_reported_bound"] == 2
    assert "proven" in found["by_proven_bounds"]["kind"]
    assert "no proofs" in found["by_reported_bounds"]["kind"]


def test_a_smaller_proven_gap_is_not_spoiled_by_a_larger_reported_one() -> None:
    assert RoundGaps(3, 7).by_any_word == 3
    assert RoundGaps(7, 3).by_any_word == 3
    assert RoundGaps(7, None).by_any_word == 7


def test_without_rounds_there_is_no_statement() -> None:
    assert certified_accuracy(job(), []) is None


def test_free_bits_have_a_larger_universe() -> None:
    gaps = [RoundGaps(0, None)]
    records, bits = certified_accuracy(job(), gaps), certified_accuracy(job(encoding=Encoding.BITS), gaps)
    assert records is not None
    assert bits is not None
    assert bits["by_proven_bounds"]["sampling"] > records["by_proven_bounds"]["sampling"]


def test_a_release_states_what_its_rounds_prove_and_what_was_reported() -> None:
    finished = small_release(solver="cp-sat", seconds=20.0)
    certified = finished.statement["accuracy"]["certified"]
    proven = [done.certificate.proven_gap for done in finished.rounds]
    reported = [done.certificate.gap for done in finished.rounds]
    assert None not in proven
    expected = sum(gap for gap in proven if gap is not None) / (6 * 8)
    assert certified["by_proven_bounds"]["mean_gap_over_draws"] == expected
    assert certified["by_reported_bounds"]["rounds_with_a_reported_bound"] == sum(
        gap is not None for gap in reported
    )
    assert certified["by_reported_bounds"]["mean_gap_over_draws"] <= expected
    json.dumps(finished.statement, allow_nan=False)
