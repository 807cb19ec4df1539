"""Every algorithm by its name, as a value: from a request to a plan, from a plan to predictions, proofs and a run.

What plays, simulates or fits is loaded when it is used: a replay needs neither a solver nor a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from dpopt.algorithms.dualquery.accuracy import proven_error
from dpopt.algorithms.dualquery.dqrs_plan import DQRS, DqrsPlan, make_dqrs_plan
from dpopt.algorithms.dualquery.plan import ALGORITHM, DualQueryPlan
from dpopt.algorithms.dualquery.planning import log_universe, make_plan
from dpopt.algorithms.fem.plan import FEM_ALGORITHMS, FemPlan, make_fem_plan
from dpopt.algorithms.measured.accuracy import proven_measured
from dpopt.algorithms.measured.plan import ADAPTIVE, NOISE, PROJECTION, MeasuredPlan
from dpopt.algorithms.measured.planning import make_measured_plan
from dpopt.algorithms.multiplicative_weights.accuracy import proven_multiplicative
from dpopt.algorithms.multiplicative_weights.plan import MULTIPLICATIVE, MultiplicativePlan
from dpopt.algorithms.small_database.plan import SMALLDB, SmallDatabasePlan
from dpopt.algorithms.small_database.planning import make_small_database_plan, proven_small_database
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import Plan
from dpopt.releases.plan_request import PlanRequest
from dpopt.releases.run import Driver

if TYPE_CHECKING:
    from dpopt.algorithms.dualquery.simulation import PredictedError

OnCandidate = Callable[[int, int], None]
Proven = dict[str, Any] | None


class Predict(Protocol):
    """The errors that a plan shows on public populations."""

    def __call__(self, plan: Any, workload: Workload, *, runs: int, fill: float | None) -> PredictedError:
        """Play so many runs; `fill` is the public share of ones in a wide table, where it is declared."""
        ...


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm of `dpopt release`.

    Attributes
    ----------
    name : str
        As on the command line.
    read : callable
        From a plan as a JSON object to the plan.
    make : callable
        From a request, a workload, and whom to tell of candidates that are simulated, to a plan that the budget covers.
    predict : callable
        The errors of a plan on public populations.
    prove : callable or None
        What is proven of a plan's errors beforehand, as a JSON object.
    driver : callable
        Loads the module that plays runs.
    """

    name: str
    read: Callable[[dict[str, Any]], Plan]
    make: Callable[[PlanRequest, Workload, OnCandidate], Plan]
    predict: Predict
    prove: Callable[[Any, Workload], Proven] | None
    driver: Callable[[], Driver]


def _dualquery_driver() -> Driver:
    from dpopt.algorithms.dualquery import driver

    return driver


def _fem_driver() -> Driver:
    from dpopt.algorithms.fem import driver

    return driver


def _measured_driver() -> Driver:
    from dpopt.algorithms.measured import driver

    return driver


def _multiplicative_driver() -> Driver:
    from dpopt.algorithms.multiplicative_weights import driver

    return driver


def _small_database_driver() -> Driver:
    from dpopt.algorithms.small_database import driver

    return driver


def _predict_dualquery(
    plan: DualQueryPlan, workload: Workload, *, runs: int, fill: float | None
) -> PredictedError:
    from dpopt.algorithms.dualquery.simulation import predict_error

    return predict_error(plan, workload, runs=runs, fill=fill)


def _predict_fem(plan: FemPlan, workload: Workload, *, runs: int, fill: float | None) -> PredictedError:
    from dpopt.algorithms.fem.simulation import predict_fem

    return predict_fem(plan, workload, runs=runs, fill=fill)


def _predict_measured(
    plan: MeasuredPlan, workload: Workload, *, runs: int, fill: float | None
) -> PredictedError:
    from dpopt.algorithms.measured.simulation import predict_measured

    return predict_measured(plan, workload, runs=runs, fill=fill)


def _predict_multiplicative(
    plan: MultiplicativePlan, workload: Workload, *, runs: int, fill: float | None
) -> PredictedError:
    from dpopt.algorithms.multiplicative_weights.simulation import predict_multiplicative

    return predict_multiplicative(plan, workload, runs=runs, fill=fill)


def _predict_small_database(
    plan: SmallDatabasePlan, workload: Workload, *, runs: int, fill: float | None
) -> PredictedError:
    from dpopt.algorithms.small_database.simulation import predict_small_database

    return predict_small_database(plan, workload, runs=runs, fill=fill)


def _prove_dualquery(plan: DualQueryPlan, workload: Workload) -> Proven:
    return proven_error(
        rounds=plan.rounds,
        draws=plan.draws,
        step=float(plan.step),
        queries=len(workload),
        log_universe=log_universe(workload.schema, plan.encoding),
    ).to_json()


def _prove_multiplicative(plan: MultiplicativePlan, workload: Workload) -> Proven:
    from dpopt.algorithms.multiplicative_weights.universe import log_cells

    cells = log_cells(workload, plan.algorithm)
    return proven_multiplicative(plan, len(workload), cells, rules=bool(workload.schema.rules))


def _make_multiplicative(
    algorithm: str,
    request: PlanRequest,
    workload: Workload,
    on_candidate: OnCandidate,  # noqa: ARG001  no candidates are simulated
) -> Plan:
    from dpopt.algorithms.multiplicative_weights.planning import make_multiplicative_plan

    return make_multiplicative_plan(algorithm, request, workload)


def _make_dualquery(request: PlanRequest, workload: Workload, on_candidate: OnCandidate) -> Plan:
    return make_plan(request, workload, on_candidate=on_candidate)


def _made_by(
    make: Callable[[PlanRequest, Workload], Plan],
) -> Callable[[PlanRequest, Workload, OnCandidate], Plan]:
    return lambda request, workload, on_candidate: make(request, workload)


def _fem(name: str) -> Algorithm:
    make = _made_by(partial(make_fem_plan, algorithm=name))
    return Algorithm(name, FemPlan.from_json, make, _predict_fem, None, _fem_driver)


def _measured(name: str) -> Algorithm:
    make = _made_by(partial(make_measured_plan, name))
    return Algorithm(name, MeasuredPlan.from_json, make, _predict_measured, proven_measured, _measured_driver)


def _multiplicative(name: str) -> Algorithm:
    make = partial(_make_multiplicative, name)
    return Algorithm(
        name,
        MultiplicativePlan.from_json,
        make,
        _predict_multiplicative,
        _prove_multiplicative,
        _multiplicative_driver,
    )


_ALL = (
    Algorithm(
        ALGORITHM,
        DualQueryPlan.from_json,
        _make_dualquery,
        _predict_dualquery,
        _prove_dualquery,
        _dualquery_driver,
    ),
    _measured(PROJECTION),
    _measured(ADAPTIVE),
    *map(_fem, FEM_ALGORITHMS),
    # The theorem of DualQuery needs fresh draws in every round, which dqrs does not make.
    Algorithm(
        DQRS, DqrsPlan.from_json, _made_by(make_dqrs_plan), _predict_dualquery, None, _dualquery_driver
    ),
    *map(_multiplicative, MULTIPLICATIVE),
    Algorithm(
        SMALLDB,
        SmallDatabasePlan.from_json,
        _made_by(make_small_database_plan),
        _predict_small_database,
        proven_small_database,
        _small_database_driver,
    ),
    _measured(NOISE),
)
ALGORITHMS = {algorithm.name: algorithm for algorithm in _ALL}
"""Every algorithm by its name; a new one is a line above."""


def algorithm_of(plan: Plan) -> Algorithm:
    """Return the algorithm that a plan is of."""
    return ALGORITHMS[plan.algorithm]


def plan_of(
    algorithm: str,
    request: PlanRequest,
    workload: Workload,
    *,
    on_candidate: OnCandidate = lambda number, candidates: None,
) -> Plan:
    """Return a plan of an algorithm that the budget covers; only public values are read.

    Raises
    ------
    PlanError
        If the algorithm cannot serve this workload or budget, with what to do.
    AccountingError
        If the accountant has no figure for the plan.
    """
    if algorithm not in ALGORITHMS:
        raise PlanError(f"there is no plan of algorithm {algorithm!r}")
    return ALGORITHMS[algorithm].make(request, workload, on_candidate)


def read_plan(obj: dict[str, Any]) -> Plan:
    """Read a plan back.

    Raises
    ------
    PlanError
        If a field is missing or of the wrong kind, or another version or algorithm wrote the plan.
    """
    name = obj.get("algorithm")
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise PlanError(
            f"the plan is for algorithm {name!r}; this dpopt reads plans of {', '.join(ALGORITHMS)}"
        )
    return ALGORITHMS[name].read(obj)


def predict(plan: Plan, workload: Workload, *, runs: int = 1, fill: float | None = None) -> PredictedError:
    """Return the errors that a plan shows on public populations; those of noise alone follow from its scale.

    `fill` is the public share of ones in a table of zeros and ones, where it is declared.

    Raises
    ------
    PlanError
        If a simulation would take as long as a run.
    """
    return algorithm_of(plan).predict(plan, workload, runs=runs, fill=fill)
