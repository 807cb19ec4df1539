"""Errors of the paper's own release of a table of bits, in both bases and through disjunctions, beside their predictions."""

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
from dpopt.synopses.sanitizers.sanitizer_plan import CRUDE, EXACT, SanitizerPlan
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary_plan import plan_summary
from experiments.papers_sanitizer.best_degree import plan_symmetric
from experiments.papers_sanitizer.disjunctions import (
    of_polynomial,
    of_summary,
    predicted_through_disjunctions,
    predicted_through_polynomial,
    through_disjunctions,
)

Result = dict[str, Any]
SEED = 2012
PREDICATES = ("or", "and", "atleast:2", "atleast:3")
BUDGETS = {
    "rho = 0.1": Budget(None, 1e-9, 0.1, Accountant.ZCDP),
    "epsilon = 1": Budget(1.0, 0.0, None, Accountant.PURE),
}
RELEASES = {
    "as printed": (POWERS, CRUDE),
    "monomials": (POWERS, EXACT),
    "binomials": (SETS, EXACT),
}
"""The generic sanitizer: basis, and sensitivity that the noise is for."""
SUMMARY, THROUGH = "summary", ", through or"
_RELATION = NeighbouringRelation.REPLACE_ONE


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A table of bits and random queries of k of them.

    Attributes
    ----------
    dataset : PrivateDataset
    literals : ChosenLiterals
    size : int
    queries : (q, k) int64
    shares : (q, k + 1) float64
        The share of the records of which exactly s of the bits are 1.
    """

    dataset: PrivateDataset
    literals: ChosenLiterals
    size: int
    queries: NDArray[np.int64]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, bits: NDArray[np.uint8], width: int, queries: int) -> Asked:
        """Return random queries of a table, (d, n), the same each time."""
        schema = Schema(
            tuple(
                Attribute(f"b{place}", AttributeKind.CATEGORICAL, values=(0, 1)) for place in range(len(bits))
            )
        )
        order = np.random.default_rng(SEED + width).random((queries, len(bits)))
        asked = np.unique(np.sort(np.argsort(order, axis=1)[:, :width], axis=1), axis=0)
        counts = [np.bincount(bits[one].sum(axis=0, dtype=np.int64), minlength=width + 1) for one in asked]
        size = bits.shape[1]
        literals = ChosenLiterals.of(schema, None, "positive")
        return cls(
            PrivateDataset.from_codes(schema, list(bits)), literals, size, asked, np.array(counts) / size
        )

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

    Each release is planned for the queries that are asked of it, with the degree of least predicted error; those through
    disjunctions are planned for disjunctions of the same k bits. Records are replaced. Errors are those of answers cut at 0 and
    1, over all queries and runs.
    """
    asked = Asked.of(bits, width, queries)
    for budget, bought in BUDGETS.items():
        for release in (*RELEASES, SUMMARY):
            through: list[str] = [one for one in PREDICATES if needed_of(one, width) not in {1, width}]
            for predicate in PREDICATES:
                if needed_of(predicate, width) == width and predicate != "and":
                    continue
                direct, others = _measured(asked, release, bought, predicate, through, runs)
                first = {
                    "table": name,
                    "records": asked.size,
                    "attributes": len(bits),
                    "k": width,
                    "budget": budget,
                }
                yield {**first, "queries": predicate, "release": release, **direct}
                for kind, found in others.items():
                    yield {**first, "queries": kind, "release": release + THROUGH, **found}


def _measured(
    asked: Asked, release: str, budget: Budget, predicate: str, through: list[str], runs: int
) -> tuple[Result, dict[str, Result]]:
    """Return the figures of a release for its own queries, and if these are disjunctions of others answered through them."""
    errors: dict[str, list[NDArray[np.float64]]] = {predicate: []}
    more = through if predicate == "or" else []
    plan = _plan(asked, release, budget, predicate)
    spent: Any = None
    for _ in range(runs):
        if isinstance(plan, SanitizerPlan):
            made = release_sanitizer(asked.dataset, plan)
            values, disjunctions, spent = made.answers_of(asked.queries)[0], of_polynomial(made), _spent(made)
        else:
            summary = release_summary(asked.dataset, plan)
            values, disjunctions = summary.conjunctions_of(asked.queries, predicate)[0], of_summary(summary)
            spent = _spent(summary)
        errors[predicate].append(_off(values, asked.exact(predicate)))
        for kind in more:
            values, _ = through_disjunctions(disjunctions, asked.queries, needed_of(kind, asked.width))
            errors.setdefault(kind, []).append(_off(values, asked.exact(kind)))
    figures = _figures(plan) | {"spent": spent}
    others = {}
    for kind in more:
        needed = needed_of(kind, asked.width)
        if isinstance(plan, SanitizerPlan):
            predicted = predicted_through_polynomial(plan.figures, needed)
        else:
            predicted = predicted_through_disjunctions(plan, needed)
        others[kind] = {**figures, "theorem": None, "predicted": predicted, **_summed(errors[kind])}
    return {**figures, **_summed(errors[predicate])}, others


def _plan(asked: Asked, release: str, budget: Budget, predicate: str) -> Any:
    if release == SUMMARY:
        return plan_summary(
            asked.literals, asked.width, budget, size=asked.size, predicate=predicate, relation=_RELATION
        )
    basis, sensitivity = RELEASES[release]
    return plan_symmetric(
        asked.literals,
        asked.width,
        budget,
        size=asked.size,
        predicate=predicate,
        basis=basis,
        relation=_RELATION,
        sensitivity=sensitivity,
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


def _off(values: NDArray[np.float64], exact: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(np.clip(values, 0.0, 1.0) - exact)


def _summed(errors: list[NDArray[np.float64]]) -> Result:
    return {"worst": float(max(one.max() for one in errors)), "mean": float(np.mean(errors))}
