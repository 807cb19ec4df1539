"""Every algorithm as a value: its options, from a request to a plan, from a plan to predictions, proofs and a run.

A new algorithm is a line below. Nothing of it is loaded before it is used: the help of the command line needs the
options alone, a replay neither a solver nor a table.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
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
from dpopt.errors import PlanError
from dpopt.releases.plan import refuse_removed

if TYPE_CHECKING:
    from dpopt.accounting.charges import Charge
    from dpopt.algorithms.memory import ExpectedMemory
    from dpopt.algorithms.prediction import PredictedError
    from dpopt.queries.workloads.workload import Workload
    from dpopt.releases.plan import Plan
    from dpopt.releases.run import Driver
    from dpopt.releases.values import ValuesPlan


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm of `dpopt release`; what makes, predicts, proves and plays its plans is loaded when it is used."""

    options: type[Options]
    """What a user may say; has the name as on the command line."""
    plan_type: str
    """The class of its plans."""
    maker: str
    """Function from a `PlanRequest` and a workload to a plan that the budget covers."""
    predictor: str | None
    """Function that returns the errors of a plan on public populations. None: the player has a `stand_in`, a plan for a
    public population, that is played like any other."""
    prover: str | None
    """Function that returns what is proven of a plan's errors beforehand, as a JSON object."""
    player: str
    """Module that plays runs; see `Driver`."""
    candidate: bool = False
    """Whether `auto` chooses it where it has the least predicted mean error; on public tables a candidate always
    had."""
    predicts_wide: bool = False
    """Whether its predictions stay short for very many binary attributes."""
    knows_density: bool = False
    """Whether its rule for rounds and draws asks whether a table of zeros and ones is sparse."""
    memory: str | None = None
    pricer: str | None = None
    """Functions that return the memory of a run, and what each accountant charges for one; None where neither is
    foreseen."""

    @property
    def name(self) -> str:
        """Name, as on the command line."""
        return self.options.algorithm

    def read(self, obj: dict[str, Any]) -> Plan:
        """Return the plan that a JSON object holds."""
        plan: Plan = _load(self.plan_type).from_json(obj)
        return plan

    def prove(self, plan: Plan, workload: Workload) -> dict[str, Any] | None:
        """Return what is proven of a plan's errors beforehand, as a JSON object."""
        return None if self.prover is None else _load(self.prover)(plan, workload)

    def expected_memory(
        self, plan: Plan, workload: Workload, *, streamed: bool = False, resumed: bool = False
    ) -> ExpectedMemory | None:
        """Return the memory of a run, the table aside; None where it is not foreseen.

        With `streamed` the table is read in parts; with `resumed` the transcript of an interrupted run is read, too.
        """
        if self.memory is None:
            return None
        found: ExpectedMemory | None = _load(self.memory)(plan, workload, streamed=streamed, resumed=resumed)
        return found

    def prices(self, plan: Plan, charges: Sequence[Charge]) -> dict[str, Any]:
        """Return what each accountant charges for a release, under "accountants"; nothing where one accountant alone can."""
        return {} if self.pricer is None else {"accountants": _load(self.pricer)(plan, charges)}

    def predict(self, plan: Plan, workload: Workload, **options: Any) -> PredictedError:
        """Return the errors that a plan shows on public populations; options and errors as of `predict` below."""
        if self.predictor is None:
            stand_in = _load(f"{self.player}:stand_in")(plan, workload)
            predict = partial(_load("prediction:predict_played"), self.driver(), stand_in)
        else:
            predict = partial(_load(self.predictor), plan)
        found: PredictedError = predict(workload, **options)
        return found

    def driver(self) -> Driver:
        """Load the module that plays runs."""
        player: Driver = _load(self.player)
        return player


def _load(name: str) -> Any:
    """Return a module of this room, or what it defines under the name after the colon."""
    module, _, inner = name.partition(":")
    found = import_module(f"dpopt.algorithms.{module}")
    return getattr(found, inner) if inner else found


def _measured(options: type[Options], *, candidate: bool) -> Algorithm:
    return Algorithm(
        options, "measured.plan:MeasuredPlan", "measured.planning:make_measured_plan",
        "measured.simulation:predict_measured", "measured.planning:proven_measured", "measured.driver", candidate=candidate,
        memory="memory:memory_of_fit",
    )  # fmt: skip


def _fem(options: type[Options]) -> Algorithm:
    return Algorithm(
        options, "fem.plan:FemPlan", "fem.plan:make_fem_plan", None, None, "fem.driver"
    )  # fmt: skip


def _multiplicative(options: type[Options]) -> Algorithm:
    return Algorithm(
        options,
        "multiplicative_weights.plan:MultiplicativePlan",
        "multiplicative_weights.planning:make_multiplicative_plan",
        None,
        "multiplicative_weights.planning:proven_of_plan",
        "multiplicative_weights.driver",
    )


_ALL = (
    _measured(Projection, candidate=True),
    Algorithm(
        DualQuery, "dualquery.plan:DualQueryPlan", "dualquery.planning:make_plan", "dualquery.simulation:predict_error",
        "dualquery.planning:proven_of_plan", "dualquery.driver", candidate=True, predicts_wide=True, knows_density=True,
        memory="memory:memory_of_rounds", pricer="explain:costs_of_plan",
    ),
    _fem(FEM),
    _multiplicative(MWEM),
    _multiplicative(PMW),
    Algorithm(
        SmallDatabase, "small_database.plan:SmallDatabasePlan", "small_database.planning:make_small_database_plan",
        "small_database.simulation:predict_small_database", "small_database.planning:proven_small_database",
        "small_database.driver",
    ),
    _measured(Noise, candidate=False),
)  # fmt: skip
ALGORITHMS = {algorithm.name: algorithm for algorithm in _ALL}
"""Every algorithm by its name."""
_ON_FILE = {**ALGORITHMS, "adaptive": ALGORITHMS[Projection.algorithm]}  # the last had a name of its own once
OPTIONS: Mapping[str, type[Options]] = {
    Auto.algorithm: Auto,
    **{name: algorithm.options for name, algorithm in ALGORITHMS.items()},
}
"""The options of every algorithm that a user may name."""


def takers_of(option: str) -> tuple[str, ...]:
    """Return the names of the algorithms that have an option."""
    return tuple(name for name in ALGORITHMS if option in OPTIONS[name].known)


def options_named(algorithm: str, given: Mapping[str, Any]) -> Options:
    """Return the options of an algorithm by its name."""
    for option, value in {"algorithm": algorithm, **given}.items():
        refuse_removed(option, value)
    if algorithm not in OPTIONS:
        near = difflib.get_close_matches(algorithm, OPTIONS, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise PlanError(f"--algorithm is one of {', '.join(OPTIONS)}; found {algorithm!r}{hint}")
    for name in given:
        if name not in OPTIONS[algorithm].known:
            raise PlanError(
                f"--{name.replace('_', '-')} is an option of {', '.join(takers_of(name))}, and not of {algorithm}; "
                f"leave it out, or name another algorithm"
            )
    return OPTIONS[algorithm](**given)


def candidates_for(options: Options) -> tuple[Options, ...]:
    """Return the options of every algorithm that a plan may be of; `auto` stands for several, which get what they share."""
    if not isinstance(options, Auto):
        return (options,)
    kinds = [algorithm.options for algorithm in _ALL if algorithm.candidate]
    return tuple(kind(**options.shared_with(kind)) for kind in kinds)


def algorithm_of(plan: Plan) -> Algorithm:
    """Return the algorithm that a plan is of."""
    return _ON_FILE[plan.algorithm]


def plan_of(request: PlanRequest[Options], workload: Workload) -> Plan:
    """Return a plan of the algorithm whose options a request has; only public values are read.

    What numbers within bins cost (`values_plan`) is left for them: the plan is made for the rest of the budget.
    """
    make: Callable[[PlanRequest[Options], Workload], Plan] = _load(ALGORITHMS[request.options.algorithm].maker)
    values = values_plan(request, workload)
    if values is None:
        return make(request, workload)
    beside = values.charges(request.relation)
    budget = replace(request.budget, earlier=(*request.budget.earlier, *beside))
    plan = make(replace(request, budget=budget), workload)
    return replace(plan, budget=request.budget)  # type: ignore[type-var]  # each plan is a dataclass


def values_plan(request: PlanRequest[Options], workload: Workload) -> ValuesPlan | None:
    """Return what is measured of numbers within bins beside a plan; None where nothing is."""
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
    if not isinstance(name, str) or name not in _ON_FILE:
        raise PlanError(f"the plan is for algorithm {name!r}; this dpopt reads plans of {', '.join(ALGORITHMS)}")
    return _ON_FILE[name].read(obj)


def predict(plan: Plan, workload: Workload, *, runs: int = 1, density: float | None = None) -> PredictedError:
    """Return the errors that a plan shows on public populations; those of noise alone follow from its scale.

    `density` is the public share of ones in a table of zeros and ones, where it is declared.
    """
    return algorithm_of(plan).predict(plan, workload, runs=runs, density=density)
