"""Which algorithm suits a workload, a schema, a public size and a budget: by predicted error, from public values alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpopt.algorithms.dualquery.plan import ALGORITHM
from dpopt.algorithms.dualquery.simulation import PredictedError
from dpopt.algorithms.registry import plan_of, predict
from dpopt.errors import AccountingError, DpoptError, PlanError
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import Encoding, FreeAttributes, Plan
from dpopt.releases.plan_request import PlanBy, PlanRequest
from dpopt.releases.public_population.public_table import MOST_ATTRIBUTES, has_binary_population

CANDIDATES = ("projection", "adaptive", "dualquery")
"""Algorithms with records that `auto` chooses among: on public tables one of them always had the least mean error."""

COMPARED = ("fem", "sepfem", "dqrs", "mwem", "pmw", "smalldb", "noise")
"""The others, whose errors are predicted too where somebody wants to compare."""

_WIDE = (
    f"on more than {MOST_ATTRIBUTES} binary attributes, predicting its errors would take as long as a run; name it with "
    "--algorithm and give --no-predict to use it all the same"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What `auto` chose, and why.

    Attributes
    ----------
    plan : Plan
        The chosen plan.
    predicted : PredictedError or None
        Its predicted errors; None where the choice needed no prediction.
    because : str
        The reason in a sentence.
    considered : Mapping
        For each algorithm its predicted errors as a JSON object, or why it is out of the question.
    """

    plan: Plan
    predicted: PredictedError | None
    because: str
    considered: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the choice as a JSON object."""
        return {
            "algorithm": self.plan.algorithm,
            "because": self.because,
            "considered": dict(self.considered),
        }


def choose(
    request: PlanRequest,
    workload: Workload,
    *,
    on_algorithm: Callable[[str], None] = lambda name: None,
    compare: bool = False,
) -> Choice:
    """Return a plan of the algorithm with the least predicted mean error; only public values are read.

    Options of one algorithm alone leave no choice: rounds, draws, step or indicator bits mean DualQuery. With `compare` the
    errors of the algorithms that are never chosen are predicted too. Tables of more than 100 binary attributes leave DualQuery:
    only its simulation stays short, whatever the width.

    Raises
    ------
    DpoptError
        If no algorithm can serve the request; the message says why each cannot.
    """
    fixed = _fixed_by_options(request)
    if fixed is not None:
        algorithm, because = fixed
        return Choice(plan_of(algorithm, request, workload), None, because, {})
    plans: dict[str, Plan] = {}
    considered: dict[str, Any] = {}
    for algorithm in CANDIDATES:
        if algorithm != ALGORITHM and _is_wide(request, workload):
            considered[algorithm] = {"out_of_the_question": _WIDE}
            continue
        try:
            plans[algorithm] = plan_of(algorithm, request, workload)
        except (PlanError, AccountingError) as error:
            considered[algorithm] = {"out_of_the_question": str(error)}
    if not plans:
        reasons = "; ".join(f"{name}: {found['out_of_the_question']}" for name, found in considered.items())
        raise PlanError(f"no algorithm can serve this request. {reasons}")
    predicted: dict[str, PredictedError] = {}
    for algorithm, plan in plans.items():
        on_algorithm(algorithm)
        try:
            predicted[algorithm] = predict(plan, workload, fill=request.fill)
        except DpoptError as error:
            considered[algorithm] = {"out_of_the_question": str(error)}
            continue
        considered[algorithm] = predicted[algorithm].to_json()
    if not predicted:
        raise PlanError("no algorithm's errors could be predicted; name one with --algorithm")
    best = min(predicted, key=lambda name: predicted[name].mean_error)
    if compare and not _is_wide(request, workload):
        for algorithm in COMPARED:
            on_algorithm(algorithm)
            considered[algorithm] = _compared(algorithm, request, workload)
    return Choice(plans[best], predicted[best], _because(best, predicted), considered)


def _is_wide(request: PlanRequest, workload: Workload) -> bool:
    """Return whether the attributes are so many, all of zeros and ones, that nothing but DualQuery is predicted."""
    return len(workload.schema) > MOST_ATTRIBUTES and has_binary_population(workload, request.fill)


def _compared(algorithm: str, request: PlanRequest, workload: Workload) -> dict[str, Any]:
    """Return the predicted errors of an algorithm as a JSON object, or why there are none."""
    try:
        return predict(plan_of(algorithm, request, workload), workload, fill=request.fill).to_json()
    except DpoptError as error:
        return {"out_of_the_question": str(error)}


def _because(best: str, predicted: Mapping[str, PredictedError]) -> str:
    others = [f"{name} {found.mean_error:.2g}" for name, found in predicted.items() if name != best]
    compared = f", against {' and '.join(others)}" if others else ""
    return f"{best} has the least predicted mean error, {predicted[best].mean_error:.2g}{compared}"


def _fixed_by_options(request: PlanRequest) -> tuple[str, str] | None:
    given = [name for name in ("rounds", "draws", "step") if getattr(request, name) is not None]
    if given:
        return "dualquery", f"{given[0]} is an option of DualQuery"
    if request.plan_by is not PlanBy.RULE:
        return "dualquery", f"choosing rounds by {request.plan_by.value} is an option of DualQuery"
    if request.free_attributes is not FreeAttributes.FIRST:
        return "dualquery", "attributes that no drawn query mentions are a matter of DualQuery"
    if request.encoding is Encoding.BITS:
        return "dualquery", "free indicator bits are a coding of DualQuery"
    if request.selections is not None:
        return "adaptive", "selections are an option of the adaptive algorithm"
    return None
