"""What a fit refuses before it begins, and which records are legal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpopt.errors import ProgramError, SchemaError, WorkloadError
from dpopt.inference import FitProblem, FitSettings, Fitted, FitTerm
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.rules.threshold_circuit import NO_RULES
from tests.circuits import among, circuit_of, some
from tests.inference.fits import all_codes, domains_of

SIZES = np.array([2, 3], dtype=np.int32)
MARGINALS = MarginalSet(all_codes([2, 3]), np.array([[0, 1]], dtype=np.int32))
TERM = FitTerm(MARGINALS, np.zeros(6))


@pytest.mark.parametrize(
    ("values", "weight", "message"),
    [
        (np.zeros(5), 1.0, "6 queries and values of shape"),
        (np.zeros((6, 1)), 1.0, "6 queries and values of shape"),
        (np.array([0, 0, 0, 0, 0, np.inf]), 1.0, "not finite"),
        (np.zeros(6), 0.0, "weight 0.0"),
        (np.zeros(6), np.nan, "weight nan"),
    ],
)
def test_a_term_needs_a_finite_value_for_every_query(values: np.ndarray, weight: float, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        FitTerm(MARGINALS, values, weight)


def test_a_problem_needs_parts_that_fit_together() -> None:
    good = FitProblem(SIZES, (TERM,), NO_RULES, all_codes([2, 3]))
    with pytest.raises(ProgramError, match="one attribute or more"):
        replace(good, sizes=np.zeros(0, dtype=np.int32))
    with pytest.raises(ProgramError, match="over 1 attributes"):
        replace(good, domains=all_codes([2]))
    with pytest.raises(ProgramError, match="no code of attribute 1"):
        replace(good, domains=domains_of([(0, 1), ()]))
    with pytest.raises(ProgramError, match="a code that does not exist"):
        replace(good, domains=domains_of([(0, 1), (0, 3)]))
    wide = MarginalSet(all_codes([2, 4]), np.array([[1]], dtype=np.int32))
    with pytest.raises(ProgramError, match="marginals of term 0"):
        replace(good, terms=(FitTerm(wide, np.zeros(4)),))
    clause = Clauses.conjunctions([[1]], [[3]], [[True]])
    with pytest.raises(WorkloadError, match="asks for code 3"):
        replace(good, terms=(FitTerm(clause, np.zeros(1)),))
    with pytest.raises(SchemaError, match="outside 0"):
        replace(good, rules=circuit_of({"far": [some(among(2, [0], [2, 3, 2]))]}))


def test_legal_records_have_allowed_codes_and_obey_the_rules() -> None:
    rules = circuit_of({"one": [some(among(0, [1], [2, 3]), among(1, [2], [2, 3]))]})
    problem = FitProblem(SIZES, (TERM,), rules, domains_of([(0, 1), (0, 2)]))
    records = np.array([[0, 0], [0, 2], [1, 0], [1, 1], [2, 0], [0, -1], [1, 3]], dtype=np.int32)
    assert problem.illegal(records).tolist() == [True, False, False, True, True, True, True]
    with pytest.raises(ProgramError, match="record 0 of 7"):
        problem.require_legal(records)
    with pytest.raises(ProgramError, match="2 attributes"):
        problem.illegal(records[:, :1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"records": 0},
        {"records": 10**9},
        {"sweeps": -1},
        {"rounds": -1},
        {"seed": 2**31},
        {"threads": 0},
        {"smoothing": -1.0},
        {"smoothing": np.inf},
        {"improvement": np.nan},
        {"seconds": 0.0},
        {"seconds": np.nan},
        {"gap": -1.0},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ProgramError, match=next(iter(wrong))):
        FitSettings(**wrong)  # type: ignore[arg-type]


def test_what_a_fit_gives_is_checked() -> None:
    records = np.zeros((2, 2), dtype=np.int32)
    with pytest.raises(ProgramError, match="each record has one"):
        Fitted(records, np.ones(1), 1.0, None, None, None, "", ())
    with pytest.raises(ProgramError, match="sum to 1"):
        Fitted(records, np.ones(2), 1.0, None, None, None, "", ())
    with pytest.raises(ProgramError, match="comes with"):
        Fitted(records, np.full(2, 0.5), 1.0, 0.5, None, None, "", ())
