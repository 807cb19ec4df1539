"""Which algorithm suits a workload, a schema, a public size and a budget: by predicted error, from public values alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpopt.algorithms.dualquery.simulation import PredictedError
from dpopt.algorithms.options import Options, PlanRequest
from dpopt.algorithms.registry import ALGORITHMS, candidates_for, plan_of, predict
from dpopt.errors import AccountingError, DpoptError, PlanError
from dpopt.files.codec import encode
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import Plan
from dpopt.releases.public_population.public_table import MOST_ATTRIBUTES, has_binary_population

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
    predicted : PredictedError
        Its predicted errors.
    because : str
        The reason in a sentence.
    considered : Mapping
        For each algorithm its predicted errors as a JSON object, or why it is not applicable.
    """

    plan: Plan
    predicted: PredictedError
    because: str
    considered: Mapping[str, Any]


def choose(
    request: PlanRequest[Options],
    workload: Workload,
    *,
    on_algorithm: Callable[[str], None] = lambda name: None,
    compare: bool = False,
) -> Choice:
    """Return a plan of the algorithm with the least predicted mean error; only public values are read.

    Every candidate gets the options that it shares with the request's. With `compare` the errors of the algorithms that are
    never chosen are predicted too. Tables of more than 100 binary attributes leave those whose simulation stays short, whatever
    the width.

    Raises
    ------
    DpoptError
        If no algorithm can serve the request; the message says why each cannot.
    """
    plans: dict[str, Plan] = {}
    considered: dict[str, Any] = {}
    wide = _is_wide(workload, request.density)
    for options in candidates_for(request.options):
        algorithm = options.algorithm
        if wide and not ALGORITHMS[algorithm].predicts_wide:
            considered[algorithm] = {"not_applicable": _WIDE}
            continue
        try:
            plans[algorithm] = plan_of(replace(request, options=options), workload)
        except (PlanError, AccountingError) as error:
            considered[algorithm] = {"not_applicable": str(error)}
    if not plans:
        reasons = "; ".join(f"{name}: {found['not_applicable']}" for name, found in considered.items())
        raise PlanError(f"no algorithm can serve this request. {reasons}")
    predicted: dict[str, PredictedError] = {}
    for algorithm, plan in plans.items():
        on_algorithm(algorithm)
        try:
            predicted[algorithm] = predict(plan, workload, density=request.density)
        except DpoptError as error:
            considered[algorithm] = {"not_applicable": str(error)}
            continue
        considered[algorithm] = encode(predicted[algorithm])
    if not predicted:
        raise PlanError("no algorithm's errors could be predicted; name one with --algorithm")
    best = min(predicted, key=lambda name: predicted[name].mean_error)
    if compare and not wide:
        for name, other in ALGORITHMS.items():
            if not other.candidate:
                on_algorithm(name)
                own = other.options(**request.options.shared_with(other.options))
                considered[name] = _compared(replace(request, options=own), workload)
    return Choice(plans[best], predicted[best], _because(best, predicted), considered)


def _is_wide(workload: Workload, density: float | None) -> bool:
    """Return whether the attributes are so many, all of zeros and ones, that hardly any algorithm is predicted."""
    return len(workload.schema) > MOST_ATTRIBUTES and has_binary_population(workload, density)


def _compared(request: PlanRequest[Options], workload: Workload) -> dict[str, Any]:
    """Return the predicted errors of an algorithm as a JSON object, or why there are none."""
    try:
        return encode(predict(plan_of(request, workload), workload, density=request.density))
    except DpoptError as error:
        return {"not_applicable": str(error)}


def _because(best: str, predicted: Mapping[str, PredictedError]) -> str:
    others = [f"{name} {found.mean_error:.2g}" for name, found in predicted.items() if name != best]
    compared = f", against {' and '.join(others)}" if others else ""
    return f"{best} has the least predicted mean error, {predicted[best].mean_error:.2g}{compared}"
