"""Codes that rules tell apart: found by marks, and right even where marks agree by chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from dpopt.programs import circuit_reduction
from dpopt.programs.circuit_reduction import codes_told_apart
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from tests.circuits import circuits

SIZES = (4, 3, 5)
OFFSETS = np.array([0, 4, 7, 12])
NONE = np.zeros(0, dtype=np.int64)


def signatures(rules: ThresholdCircuit) -> dict[tuple[int, tuple[int, ...]], list[int]]:
    """Return the codes of each attribute that have the same values in every term, in plain Python."""
    classes: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for attribute in rules.attributes().tolist():
        terms = np.flatnonzero(rules.term_attributes == attribute)
        for code in range(SIZES[attribute]):
            values = tuple(int(rules.values[rules.value_starts[term] + code]) for term in terms)
            classes.setdefault((attribute, values), []).append(code)
    return classes


@given(circuits(SIZES))
def test_codes_with_the_same_values_are_one_class(rules: ThresholdCircuit) -> None:
    owners, codes = codes_told_apart(rules, OFFSETS, np.zeros(3, dtype=np.int32), NONE)
    expected = sorted((attribute, members[0]) for (attribute, _), members in signatures(rules).items())
    assert list(zip(owners.tolist(), codes.tolist(), strict=True)) == expected


@given(circuits(SIZES))
def test_codes_whose_marks_agree_by_chance_are_kept_apart(rules: ThresholdCircuit) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            circuit_reduction, "_marks", lambda term, values, column, columns: np.zeros(columns, np.uint64)
        )
        owners, codes = codes_told_apart(rules, OFFSETS, np.zeros(3, dtype=np.int32), NONE)
    kept = set(zip(owners.tolist(), codes.tolist(), strict=True))
    for (attribute, _), members in signatures(rules).items():
        assert any((attribute, code) in kept for code in members)
