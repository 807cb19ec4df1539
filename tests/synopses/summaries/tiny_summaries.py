"""Summaries of tiny tables without noise, and the answers that they should give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.models.polynomials.answer_polynomial import AnswerPolynomial, best_answer, best_mixed_answer
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.synopses.summaries import budget_spread
from dpopt.synopses.summaries import summary as summary_module
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan
from tests.exact_summary_loss import counted
from tests.tiny_runs import Record

SCHEMA = Schema(
    (
        Attribute("a", AttributeKind.BOOLEAN),
        Attribute("b", AttributeKind.NUMERIC, edges=(0.0, 10.0, 20.0, 30.0), integer=True),
        Attribute("c", AttributeKind.CATEGORICAL, ("no", "yes")),
    )
)
RHO = Budget(None, 1e-9, 0.1, Accountant.ZCDP)
PURE = Budget(1.0, 0.0, None, Accountant.PURE)
PRIVACY = {"epsilon": 1.0, "delta": 0.0, "neighbours": "replace-one"}


@dataclass(frozen=True)
class Asked:
    """A condition in words, and which codes of which attribute it holds for."""

    text: str
    attribute: int
    codes: frozenset[int]


def asked(text: str, attribute: int, *codes: int) -> Asked:
    return Asked(text, attribute, frozenset(codes))


CONDITIONS = [
    [asked("a=true", 0, 1), asked("a!=true", 0, 0)],
    [asked("b<10", 1, 0), asked("b>=10", 1, 1, 2), asked("b>=20", 1, 2), asked("b<20", 1, 0, 1)],
    [asked("c=yes", 2, 1), asked("c=no", 2, 0)],
]


def silent(plan: SummaryPlan, table: Iterable[Record]) -> Summary:
    """Return the summary of a table without noise."""
    records = list(table)
    noisy = tuple(np.array(counted(plan.literals, records, size), dtype=np.int64) for size in plan.sizes)
    return Summary(plan, noisy, PRIVACY)


def needed(predicate: str, conditions: int) -> int:
    """Return how many conditions have to hold."""
    if predicate == "and":
        return conditions
    return 1 if predicate == "or" else int(predicate.removeprefix("atleast:"))


def true_share(table: Sequence[Record], query: Sequence[Asked], predicate: str, size: int) -> float:
    """Return the share of the records that satisfy a query, by enumeration."""
    least = needed(predicate, len(query))
    satisfied = [record for record in table if sum(record[one.attribute] in one.codes for one in query) >= least]
    return len(satisfied) / size


@cache
def _searched(target: Any, deviations: tuple[float, ...], zeta: float) -> AnswerPolynomial:
    return best_answer(target, np.array(deviations), zeta)


@cache
def _searched_mixed(target: Any, deviations: Any, zeta: float) -> AnswerPolynomial:
    return best_mixed_answer(target, np.array(deviations), zeta)


def remember_polynomials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each polynomial be searched once by all tests: it depends on the plan and the query alone."""
    monkeypatch.setattr(
        budget_spread, "best_answer", lambda target, u, zeta, solver=None: _searched(target, tuple(u.tolist()), zeta)
    )
    monkeypatch.setattr(
        summary_module,
        "best_mixed_answer",
        lambda target, u, zeta, solver=None: _searched_mixed(target, tuple(map(tuple, u.tolist())), zeta),
    )
