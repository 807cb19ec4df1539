"""Every algorithm in one table; a new one is its options in `OPTIONS`, its class in `_algorithm`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpopt.algorithms.options import (
    FEM,
    MWEM,
    PMW,
    Auto,
    DualQuery,
    Noise,
    Options,
    PlanRequest,
    Projection,
    SmallDatabase,
)
from dpopt.errors import PlanError, meant
from dpopt.releases.plan import refuse_removed

if TYPE_CHECKING:
    from dpopt.algorithms.algorithm import Algorithm
    from dpopt.algorithms.prediction import PredictedError
    from dpopt.queries.workloads.workload import Workload
    from dpopt.releases.plan import Plan
    from dpopt.releases.values import ValuesPlan


OPTIONS: Mapping[str, type[Options]] = {
    kind.algorithm: kind for kind in (Auto, Projection, DualQuery, FEM, MWEM, PMW, SmallDatabase, Noise)
}
"""The options of every algorithm that a user may name."""
ALGORITHMS = tuple(name for name in OPTIONS if name != Auto.algorithm)
"""The names of all algorithms."""


def _algorithm(name: str) -> Algorithm[Any, Any]:
    """Load an algorithm: the help of the command line reads options alone, and a replay loads no other one."""
    match name:
        case Projection.algorithm | Noise.algorithm | "adaptive":  # the last had a name of its own once
            from dpopt.algorithms.measured.algorithm import MeasuredAlgorithm

            return MeasuredAlgorithm()
        case DualQuery.algorithm:
            from dpopt.algorithms.dualquery.algorithm import DualQueryAlgorithm

            return DualQueryAlgorithm()
        case FEM.algorithm:
            from dpopt.algorithms.fem.algorithm import FemAlgorithm

            return FemAlgorithm()
        case MWEM.algorithm | PMW.algorithm:
            from dpopt.algorithms.multiplicative_weights.algorithm import MultiplicativeAlgorithm

            return MultiplicativeAlgorithm()
        case SmallDatabase.algorithm:
            from dpopt.algorithms.small_database.algorithm import SmallDatabaseAlgorithm

            return SmallDatabaseAlgorithm()
    raise PlanError(f"the plan is for algorithm {name!r}; this dpopt reads plans of {', '.join(ALGORITHMS)}")


def takers_of(option: str) -> tuple[str, ...]:
    """Return the names of the algorithms that have an option."""
    return tuple(name for name in ALGORITHMS if option in OPTIONS[name].known)


def options_named(algorithm: str, given: Mapping[str, Any]) -> Options:
    """Return the options of an algorithm by its name."""
    for option, value in {"algorithm": algorithm, **given}.items():
        refuse_removed(option, value)
    if algorithm not in OPTIONS:
        raise PlanError(f"--algorithm is one of {', '.join(OPTIONS)}; found {algorithm!r}{meant(algorithm, OPTIONS)}")
    for name in given:
        if name not in OPTIONS[algorithm].known:
            raise PlanError(
                f"--{name.replace('_', '-')} is an option of {', '.join(takers_of(name))}, and not of {algorithm}; "
                f"leave it out, or name another algorithm"
            )
    return OPTIONS[algorithm](**given)


def candidates_for(options: Options) -> tuple[Options, ...]:
    """Return the options of every algorithm that a plan can be of; `auto` stands for several and has their shared ones."""
    if not isinstance(options, Auto):
        return (options,)
    named = {name for name in ("figures", "target") if getattr(options, name) is not None}
    kinds = [kind for kind in OPTIONS.values() if kind.candidate and named <= kind.known.keys()]
    return tuple(kind(**options.shared_with(kind)) for kind in kinds)


def algorithm_of(asked: Plan | Options) -> Algorithm[Any, Any]:
    """Return the algorithm of a plan or of options."""
    return _algorithm(asked.algorithm)


def plan_of(request: PlanRequest[Options], workload: Workload) -> Plan:
    """Return a plan of the algorithm whose options a request has; only public values are read.

    What numbers within bins cost (`values_plan`) is left for them: the plan is made for the rest of the budget.
    """
    algorithm = algorithm_of(request.options)
    values = values_plan(request, workload)
    if values is None:
        unshared: Plan = algorithm.plan(request, workload)
        return unshared
    earlier = (*request.budget.earlier, *values.charges(request.relation))
    plan: Plan = algorithm.plan(replace(request, budget=replace(request.budget, earlier=earlier)), workload)
    return replace(plan, budget=request.budget)  # type: ignore[type-var]  # each plan is a dataclass


def values_plan(request: PlanRequest[Options], workload: Workload) -> ValuesPlan | None:
    """Return the measurements of numbers within bins for a plan; None without any."""
    from dpopt.releases.values import ValuesPlan

    share = 0.0 if request.options.answers_only else request.values_share
    return ValuesPlan.of(workload.schema, request.budget, request.relation, share)


def read_plan(obj: dict[str, Any]) -> Plan:
    """Read a plan back."""
    name = obj.get("algorithm")
    learning, budget = obj.get("learning"), obj.get("budget")
    for inner in (obj, learning, budget):
        for option, value in inner.items() if isinstance(inner, dict) else ():
            refuse_removed(option, value)
    plan: Plan = _algorithm(str(name)).plans.from_json(obj)
    return plan


def predict(plan: Plan, workload: Workload, *, runs: int = 1, density: float | None = None) -> PredictedError:
    """Return the errors that a plan shows on public populations; those of noise alone follow from its scale.

    `density` is the public share of ones in a table of zeros and ones, where it is declared.
    """
    found: PredictedError = algorithm_of(plan).predict(plan, workload, runs=runs, density=density)
    return found
