"""Errors of the paper's own release of a table of bits, as printed and in the better basis, beside their predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.queries.conjunctions.monomials import POWERS, SETS
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.sanitizers.sanitized import SanitizedPolynomial
from dpopt.synopses.sanitizers.sanitizer_plan import SanitizerPlan
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary_plan import plan_summary
from experiments.papers_sanitizer.best_degree import plan_symmetric

Result = dict[str, Any]
SEED = 2012
PREDICATES = ("or", "and", "atleast:2", "atleast:3")
BUDGETS = {
    "rho = 0.1": Budget(None, 1e-9, 0.1, Accountant.ZCDP),
    "epsilon = 1": Budget(1.0, 0.0, None, Accountant.PURE),
}
RELEASES = {"as printed": POWERS, "binomials": SETS}
"""The generic sanitizer, by its basis."""
SUMMARY = "summary"
_RELATION = NeighbouringRelation.REPLACE_ONE


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A table of bits and random queries of k of them."""

    dataset: PrivateDataset
    literals: ChosenLiterals
    size: int
    queries: NDArray[np.int64]
    """Shape (q, k)."""
    shares: NDArray[np.float64]
    """The share of the records of which exactly s of the bits are 1, (q, k + 1)."""

    @classmethod
    def of(cls, bits: NDArray[np.uint8], width: int, queries: int) -> Asked:
        """Return random queries of a table, (d, n), the same each time."""
        schema = Schema(
            tuple(Attribute(f"b{place}", AttributeKind.CATEGORICAL, values=(0, 1)) for place in range(len(bits)))
        )
        order = np.random.default_rng(SEED + width).random((queries, len(bits)))
        asked = np.unique(np.sort(np.argsort(order, axis=1)[:, :width], axis=1), axis=0)
        counts = [np.bincount(bits[one].sum(axis=0, dtype=np.int64), minlength=width + 1) for one in asked]
        size = bits.shape[1]
        literals = ChosenLiterals.of(schema, None, "positive")
        return cls(PrivateDataset.from_codes(schema, list(bits)), literals, size, asked, np.array(counts) / size)

    @property
    def width(self) -> int:
        """How many bits a query asks for, k."""
        return int(self.queries.shape[1])

    def exact(self, predicate: str) -> NDArray[np.float64]:
        """Return the true answers, (q,)."""
        return np.asarray(self.shares[:, needed_of(predicate, self.width) :].sum(axis=1))


def needed_of(predicate: str, width: int) -> int:
    """Return r of "at least r of k"."""
    named = {"or": 1, "and": width}
    return named[predicate] if predicate in named else int(predicate.removeprefix("atleast:"))


def papers_release(
    bits: NDArray[np.uint8], width: int, *, runs: int = 5, queries: int = 1000, name: str = ""
) -> Iterator[Result]:
    """Yield the errors of each release, budget and kind of queries on a table of bits, (d, n).

    Each release is planned for the queries that are asked of it, with the degree of least predicted error. Records are
    replaced. Errors are those of answers cut at 0 and 1, over all queries and runs.
    """
    asked = Asked.of(bits, width, queries)
    for budget, bought in BUDGETS.items():
        for release in (*RELEASES, SUMMARY):
            for predicate in PREDICATES:
                if needed_of(predicate, width) == width and predicate != "and":
                    continue
                yield {
                    "table": name,
                    "records": asked.size,
                    "attributes": len(bits),
                    "k": width,
                    "budget": budget,
                    "queries": predicate,
                    "release": release,
                    **_measured(asked, release, bought, predicate, runs),
                }


def _measured(asked: Asked, release: str, budget: Budget, predicate: str, runs: int) -> Result:
    """Return the figures of a release for its queries."""
    errors: list[NDArray[np.float64]] = []
    plan = _plan(asked, release, budget, predicate)
    spent: Any = None
    for _ in range(runs):
        made: Any
        if isinstance(plan, SanitizerPlan):
            made = release_sanitizer(asked.dataset, plan)
            values = made.answers_of(asked.queries)[0]
        else:
            made = release_summary(asked.dataset, plan)
            values = made.conjunctions_of(asked.queries, predicate)[0]
        spent = _spent(made)
        errors.append(np.abs(np.clip(values, 0.0, 1.0) - asked.exact(predicate)))
    worst, mean = float(max(one.max() for one in errors)), float(np.mean(errors))
    return {**_figures(plan), "spent": spent, "worst": worst, "mean": mean}


def _plan(asked: Asked, release: str, budget: Budget, predicate: str) -> Any:
    if release == SUMMARY:
        return plan_summary(
            asked.literals, asked.width, budget, size=asked.size, predicate=predicate, relation=_RELATION
        )
    return plan_symmetric(
        asked.literals,
        asked.width,
        budget,
        size=asked.size,
        predicate=predicate,
        basis=RELEASES[release],
        relation=_RELATION,
    )


def _figures(plan: Any) -> Result:
    if isinstance(plan, SanitizerPlan):
        figures = plan.figures
        return {
            "degree": figures.monomials.degree,
            "coefficients": figures.monomials.count,
            "theorem": figures.paper,
            "predicted": figures.predicted,
            "approximation": figures.approximation,
        }
    groups = plan.literals.groups
    return {
        "degree": plan.sizes[-1],
        "coefficients": sum(groups.conjunctions(size) for size in plan.sizes),
        "theorem": None,
        "predicted": plan.predicted,
        "approximation": plan.approximation,
    }


def _spent(released: SanitizedPolynomial | Any) -> float:
    """Return the share of the budget, in rho or epsilon, that was spent."""
    (kind, *_), total = (
        [charge["kind"] for charge in released.privacy["charges"]],
        sum(charge["parameter"] for charge in released.privacy["charges"]),
    )
    return float(total) / (0.1 if kind == "concentrated" else 1.0)
