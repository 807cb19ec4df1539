"""One count of records, drawn from the matrix of least expected loss: plan, release, and the interval of a draw."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf, nextafter, sqrt
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.matrices import matrix_charges, ratio_below
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import OneOf, Whole, constrain
from dpopt.errors import PlanError, ProgramError, TranscriptError
from dpopt.models.optimal_mechanism import least_loss, losses_of, optimal_mechanism, whole_weights
from dpopt.private.curators.net_curator import MatrixCurator
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.condition import Condition
from dpopt.releases.descriptions.verdict import Note
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.counts_plan import check_confidence, whole_amount
from dpopt.synopses.release import Request, RequestKeywords, Reserved, Running
from dpopt.synopses.synopsis import PlannedSynopsis, SynopsisPlan

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable

MOST = 64
"""Largest count of a matrix."""
MOST_EPSILON = 16.0
"""The most that is spent: ratios beyond are too large for solvers, and the count is wrong once in millions of draws."""
LOSSES = ("absolute", "squared", "wrong")
_BELOW = 1.0 - 1e-12  # of an amount: more than the roundings of a charge


@dataclass(frozen=True, eq=False)
class CountPlan(SynopsisPlan):
    """The matrix that is drawn from, with the proof that hardly any has less loss."""

    relation: NeighbouringRelation
    budget: Budget
    most: Annotated[int, Whole("the largest count", most=MOST)]
    """Larger counts are taken as this one."""
    loss: Annotated[str, OneOf("the loss", LOSSES)]
    """Of an output: how far it is off, the square of that, or 1 if it is wrong."""
    epsilon: float
    """Of the mechanism; ratios of probabilities are at most e^epsilon, but for delta."""
    weights: NDArray[np.int64]
    """Shape (most + 1, most + 1). Row i: weights of the outputs 0, ..., most where the count is i."""
    bound: float
    """No mechanism of this epsilon and delta has a smaller largest expected loss."""
    size: int | None = None
    """The public number of records under replace-one."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        if self.weights.shape != (self.most + 1, self.most + 1):
            raise PlanError(f"found a matrix of shape {self.weights.shape} for counts from 0 to {self.most}")
        self.charges()

    def charges(self) -> list[Charge]:
        """Return the charge of a draw, computed from the weights."""
        return list(matrix_charges(self.weights, self.epsilon, self.relation))

    def derived(self) -> dict[str, Any]:
        """Return the expected losses, and the figures that every plan states."""
        return {**super().derived(), "largest_expected_loss": self.expected_error}

    @property
    def expected_error(self) -> float:
        """The expected loss for the worst count."""
        return float(max(losses_of(self.weights, losses(self.loss, self.most)).tolist()))

    def notes(self) -> list[Note]:
        """Return that the draw is at less than the epsilon that was asked for, where the budget counts it as rho."""
        asked = self.budget.epsilon
        if asked is None or self.budget.accountant is Accountant.PURE:
            return []
        alone = min(whole_amount(replace(self.budget, delta=0.0, accountant=Accountant.PURE)), MOST_EPSILON)
        if alone <= self.epsilon:
            return []
        text = (
            f"the one draw is pure, at epsilon {self.epsilon:.3g}: the most whose rho is within the {self.budget.amount:.3g} "
            f"that epsilon {asked:g} at delta {self.budget.delta:g} is worth beside other releases. With delta 0 the draw is "
            f"at epsilon {alone:.3g}, errs less, and costs up to rho {alone**2 / 2:.3g}"
        )
        return [Note(text, f"drawn at epsilon {self.epsilon:.3g}")]


def losses(loss: str, most: int) -> NDArray[np.float64]:
    """Return the loss of each output given each count, (most + 1, most + 1)."""
    away: NDArray[np.float64] = np.abs(np.arange(most + 1.0)[:, None] - np.arange(most + 1.0))
    return {"absolute": away, "squared": away**2, "wrong": (away > 0).astype(np.float64)}[loss]


def plan_count(
    budget: Budget, *, most: int, relation: NeighbouringRelation, loss: str = "absolute", solver: str | None = None
) -> CountPlan:
    """Return the plan of the mechanism whose largest expected loss is least, for all of a budget.

    Of a pure budget its epsilon, and delta where it has one; of one in rho the largest epsilon with epsilon^2 / 2 <= rho.
    """
    if not 1 <= most <= MOST:
        raise PlanError(
            f"the largest count is from 1 to {MOST}, found {most:,}; for larger counts use 'dpopt histogram'"
        )
    if loss not in LOSSES:
        raise PlanError(f"--loss is one of {', '.join(LOSSES)}; found {loss!r}")
    pure, amount = budget.accountant is Accountant.PURE, whole_amount(budget)
    epsilon = min(amount if pure else _BELOW * sqrt(2.0 * amount), MOST_EPSILON)
    ratio, delta = ratio_below(epsilon), budget.delta * _BELOW if pure else 0.0
    own = losses(loss, most)
    model = optimal_mechanism(own, ratio, delta=delta)
    found = model.solve(solver)
    if "x" not in found.value:
        raise ProgramError(f"{found.result.solver} found no mechanism: {found.ended}; give another solver")
    weights = whole_weights(found.value["x"], ratio, delta=delta)
    above = nextafter(nextafter(ratio, inf), inf)  # not below e^epsilon, so that the bound is that of epsilon
    bound = least_loss(model, found, own, above, delta=budget.delta if pure else 0.0)
    return CountPlan(relation, budget, most, loss, epsilon, weights, nextafter(float(bound), 0.0))


@dataclass(frozen=True, slots=True)
class CountAnswer:
    """The estimate of the count by a draw."""

    value: int
    """The drawn output."""
    low: int
    high: int | None
    """Ends of an interval that holds the count with this confidence; None: no upper end, as larger counts than that of
    the plan are taken as it."""
    confidence: float


@dataclass(frozen=True, eq=False, repr=False)
class OptimalCount(PlannedSynopsis):
    """A count that was drawn once. Everything it holds may be published."""

    KEY, WHAT, MADE_BY = "dpopt_count", "count", "'dpopt count release'"
    DECLARED, PLAN = {"where": str}, CountPlan
    where: str
    """The condition on the records that were counted."""
    plan: CountPlan
    noisy: tuple[NDArray[np.int64], ...]
    privacy: dict[str, Any]

    def __post_init__(self) -> None:
        if [one.shape for one in self.noisy] != [(1,)] or not 0 <= self.value <= self.plan.most:
            raise TranscriptError(f"a count is one number from 0 to {self.plan.most}")

    def _contents(self) -> list[str]:
        return [repr(self.where), str(self.answer())]

    def notes(self) -> list[Note]:
        """Return the warnings for a reader, among them a draw at less than the wanted epsilon."""
        return [*super().notes(), *self.plan.notes()]

    def _error(self) -> tuple[str, float, bool]:
        away = losses_of(self.plan.weights, losses("absolute", self.plan.most))
        return "the count", float(max(away.tolist())), False

    @cached_property
    def value(self) -> int:
        """The drawn output."""
        return int(self.noisy[0][0])

    def answer(self, *, confidence: float = 0.95) -> CountAnswer:
        """Return the draw, and the counts under which it is in neither tail of its distribution (Neyman's interval)."""
        check_confidence(confidence)
        weights = self.plan.weights / float(self.plan.weights[0].sum())
        below, above = weights[:, : self.value + 1].sum(axis=1), weights[:, self.value :].sum(axis=1)
        tail = (1.0 - confidence) / 2.0 * (1.0 - 1e-9)  # rounding widens the interval
        held = np.flatnonzero((below >= tail) & (above >= tail)).tolist() or [self.value]
        high = None if held[-1] == self.plan.most and self.plan.size != held[-1] else held[-1]
        return CountAnswer(self.value, held[0], high, confidence)


def count(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    where: str,
    *,
    most: int,
    loss: str = "absolute",
    solver: str | None = None,
    **keywords: Unpack[RequestKeywords],
) -> OptimalCount:
    """Release how many records satisfy a condition, by the mechanism of least expected loss for the worst count.

    Parameters
    ----------
    table : path or DataFrame
        Private.
    schema : Schema or path
        Declares the columns. Public.
    where : str
        A condition, such as "age >= 65 and job in (nurse, cook)".
    most : int
        Public; a larger count is taken as this one. At most 64.
    loss : str
        What is least: how far the output is off ("absolute"), its square ("squared"), or how often it is wrong ("wrong").
    solver : str, optional
        Who solves the linear program; highs if left out. The guarantee and the stated bound do not depend on it.
    **keywords
        epsilon, and delta for an (epsilon, delta) mechanism (left out: pure), or rho; neighbours, reading, accept_draft,
        progress, budget: see `dpopt.synopses.release.RequestKeywords`.

    Returns
    -------
    OptimalCount
        Answers by `answer()`, with an interval, and is kept by `write(path)`.
    Raises DpoptError for whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote
    the table.

    Examples
    --------
    >>> import dpopt, pandas
    >>> age = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 18, 65, 120))
    >>> table = pandas.DataFrame({"age": [8, 30, 40, 70, 71]})
    >>> released = dpopt.count(table, dpopt.Schema((age,)), "age >= 65", most=8, epsilon=10)
    >>> released.answer(confidence=0.9999).low <= 2
    True
    """
    request = Request(**keywords)
    declared = request.declared(schema)
    condition = Condition.of(where, declared)

    def plan(budget: Budget, _: int | None) -> CountPlan:
        return planned_count(request, budget, most=most, loss=loss, solver=solver)

    measure = partial(release_count, condition=condition)
    return pure_unless_rho(request).release(
        "count", table, plan, lambda: request.table(table, declared), measure, tried=None
    )


def pure_unless_rho(request: Request) -> Request:
    """Return the request whose budget is a pure epsilon, unless rho is asked for, or an owner's budget decides.

    One draw needs no composition: a delta that is asked for is that of the mechanism (`planned_count`).
    """
    if request.rho is not None or request.budget is not None:
        return request
    request.warn_of_delta()
    return replace(request, delta=0.0)


def planned_count(request: Request, budget: Budget, *, most: int, loss: str, solver: str | None) -> CountPlan:
    """Return the plan for a request; a delta that is named belongs to the mechanism, if its noise is pure."""
    if request.delta and request.budget is not None:
        raise PlanError("a budget over many releases has no sum for a delta of one draw; leave --delta out")
    if budget.accountant is Accountant.PURE and request.delta:
        if budget.group > 1:
            raise PlanError("a delta of a count is for one record; leave --delta out for persons of several rows")
        budget = replace(budget, delta=request.delta)
    return plan_count(budget, most=most, relation=request.relation, loss=loss, solver=solver)


def release_count(
    dataset: PrivateDataset, plan: CountPlan, *, condition: Condition, **how: Unpack[Running]
) -> OptimalCount:
    """Charge and draw, as `dpopt.synopses.release.Measure` says."""
    run = Reserved.of(plan, how)
    curator = run.curator(MatrixCurator, dataset)
    with run.stage("measuring"):
        drawn = curator.draw(condition, plan.weights, epsilon=plan.epsilon)
    return OptimalCount(condition.text, plan, (np.array([drawn.candidate]),), run.privacy())
