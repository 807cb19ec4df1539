from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.measurements import one_way_charge
from dpopt.algorithms.dualquery.rounds import FreeAttributeRule
from dpopt.programs.max_csp import MaxCsp
from dpopt.public_random import public_stream, uniforms
from dpopt.releases.plan import FreeAttributes
from dpopt.schema.schema import Schema
from dpopt.transcript.released import NoisyAnswers
from tests.algorithms.small_runs import REPLACE, SCHEMA
from tests.strategies import clauses_of

RECORD = np.array([2, 1, 1, 3], dtype=np.int32)
ROUNDS = 4000
FIRST, RANDOM, ESTIMATED = FreeAttributes.FIRST, FreeAttributes.RANDOM, FreeAttributes.ESTIMATED


def problem(sizes: NDArray[np.int32], *mentioned: int) -> MaxCsp:
    """Return a problem whose clauses mention these attributes only."""
    clauses = clauses_of([([(attribute, 0, True)], 2) for attribute in mentioned])
    return MaxCsp(sizes, clauses, np.ones(len(mentioned), dtype=np.int64))


def measured(*counts: int) -> NoisyAnswers:
    """Return noisy one-way marginals, all attributes one behind the other."""
    charge = one_way_charge(4, scale=1.0, gaussian=True, relation=REPLACE)
    return NoisyAnswers("one-way marginals", np.array(counts, dtype=np.int64), "discrete Gaussian", 1.0, charge)


def rule(kind: FreeAttributes, marginals: NoisyAnswers | None = None, seed: int = 7) -> FreeAttributeRule:
    return FreeAttributeRule(kind, SCHEMA, seed=seed, marginals=marginals)


def filled(made: FreeAttributeRule, asked: MaxCsp, record: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the records of many rounds, (ROUNDS, d)."""
    return np.stack([made.fill(asked, record, number) for number in range(1, ROUNDS + 1)])


def shares(values: NDArray[np.int32], size: int) -> NDArray[np.float64]:
    return np.bincount(values, minlength=size) / len(values)


ASKED = problem(SCHEMA.sizes, 0, 2)


@pytest.mark.parametrize("kind", [FIRST, RANDOM, ESTIMATED])
def test_attributes_that_the_draw_mentions_stay_and_the_given_record_is_not_touched(kind: FreeAttributes) -> None:
    made = rule(kind, measured(*range(12)) if kind is ESTIMATED else None)
    assert np.all(filled(made, ASKED, RECORD)[:, [0, 2]] == RECORD[[0, 2]])
    assert RECORD.tolist() == [2, 1, 1, 3]
    everything = problem(SCHEMA.sizes, 0, 1, 2, 3)
    assert made.fill(everything, RECORD, 1).tolist() == RECORD.tolist()


def test_the_first_rule_gives_the_first_value() -> None:
    assert rule(FIRST).fill(ASKED, RECORD, 5).tolist() == [2, 0, 1, 0]


def test_the_random_rule_is_uniform_over_the_values() -> None:
    """4000 rounds: each share within 5 standard deviations, at most 0.04."""
    found = filled(rule(RANDOM), ASKED, RECORD)
    assert shares(found[:, 1], 3) == pytest.approx([1 / 3] * 3, abs=0.04)
    assert shares(found[:, 3], 4) == pytest.approx([1 / 4] * 4, abs=0.04)
    joint = np.bincount(found[:, 1] * 4 + found[:, 3], minlength=12) / ROUNDS
    assert joint == pytest.approx([1 / 12] * 12, abs=0.025)


def test_the_estimated_rule_follows_the_noisy_marginals_and_reads_negative_counts_as_zero() -> None:
    marginals = measured(9, 9, 9, 30, -8, 10, 50, 50, 0, 40, -1, 10)
    found = filled(rule(ESTIMATED, marginals), ASKED, RECORD)
    assert shares(found[:, 1], 3) == pytest.approx([0.75, 0, 0.25], abs=0.04)
    assert shares(found[:, 3], 4) == pytest.approx([0, 0.8, 0, 0.2], abs=0.04)
    assert not np.isin(found[:, 1], [1]).any()
    assert not np.isin(found[:, 3], [0, 2]).any()


def test_a_histogram_without_a_positive_count_is_read_as_uniform() -> None:
    marginals = measured(0, 0, 0, -3, 0, -1, 1, 1, -5, -5, -5, -5)
    found = filled(rule(ESTIMATED, marginals), ASKED, RECORD)
    assert shares(found[:, 1], 3) == pytest.approx([1 / 3] * 3, abs=0.04)


def test_a_lost_measurement_leaves_uniform_values() -> None:
    """Where the measurement on file was torn, no marginals are there."""
    found = filled(rule(ESTIMATED, None), ASKED, RECORD)
    assert shares(found[:, 3], 4) == pytest.approx([1 / 4] * 4, abs=0.04)


def test_each_round_and_each_seed_has_values_of_its_own_that_repeat() -> None:
    """Whatever rounds were before it."""
    one = filled(rule(RANDOM), ASKED, RECORD)
    assert np.array_equal(one, filled(rule(RANDOM), ASKED, RECORD))
    assert not np.array_equal(one, filled(rule(RANDOM, seed=8), ASKED, RECORD))
    assert any(not np.array_equal(before, after) for before, after in pairwise(one))
    assert np.array_equal(rule(RANDOM).fill(ASKED, RECORD, 9), one[8])
    assert one.dtype == np.int32


WIDE = Schema.binary(3000)


@pytest.mark.parametrize(
    ("schema", "marginals"),
    [
        (SCHEMA, None),
        (SCHEMA, measured(9, 9, 9, 30, -8, 10, 60, 40, 0, 40, -1, 10)),
        (WIDE, None),
        (WIDE, measured(*(np.arange(6000) % 17).tolist())),
    ],
)
def test_codes_are_where_the_public_points_fall_into_the_distributions(
    schema: Schema, marginals: NoisyAnswers | None
) -> None:
    """One attribute after the other, by bisection, against all at once."""
    kind = RANDOM if marginals is None else ESTIMATED
    made = FreeAttributeRule(kind, schema, seed=3, marginals=marginals)
    counts = np.ones(schema.number_of_columns) if marginals is None else np.maximum(marginals.values, 0.0)
    shares = [part / part.sum() for part in np.split(counts, schema.offsets[1:-1])]
    sizes = np.array([share.size for share in shares], dtype=np.int32)
    asked, record = problem(sizes, 1), np.zeros(sizes.size, dtype=np.int32)
    for number in (1, 2):
        points = uniforms(public_stream(3, f"free attributes of round {number}"), sizes.size)
        expected = [
            min(int(np.searchsorted(np.cumsum(share), point, side="right")), share.size - 1)
            for share, point in zip(shares, points, strict=True)
        ]
        expected[1] = 0
        assert made.fill(asked, record, number).tolist() == expected
