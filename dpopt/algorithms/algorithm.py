"""What every algorithm of `dpopt release` gives: plans, predictions, proofs and a driver of its runs.

A subclass imports inside its methods: the help of the command line reads the options alone, and a replay needs neither
a solver nor a table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from dpopt.algorithms.options import Options

if TYPE_CHECKING:
    from dpopt.accounting.charges import Charge
    from dpopt.algorithms.memory import ExpectedMemory
    from dpopt.algorithms.options import PlanRequest
    from dpopt.algorithms.prediction import PredictedError
    from dpopt.queries.workloads.workload import Workload
    from dpopt.releases.plan import Plan
    from dpopt.releases.run import Driver

OptionsT = TypeVar("OptionsT", bound=Options)
PlanT = TypeVar("PlanT", bound="Plan")


@dataclass(frozen=True)
class Algorithm(ABC, Generic[OptionsT, PlanT]):
    """An algorithm of `dpopt release`."""

    options: type[OptionsT]
    """What a user may say; has the name as on the command line."""
    candidate: bool = False
    """Whether `auto` chooses it where it has the least predicted mean error; on public tables a candidate always
    had."""
    predicts_wide: ClassVar[bool] = False
    """Whether its predictions stay short for very many binary attributes."""
    knows_density: ClassVar[bool] = False
    """Whether its rule for rounds and draws asks whether a table of zeros and ones is sparse."""

    @property
    def name(self) -> str:
        """Name, as on the command line."""
        return self.options.algorithm

    @abstractmethod
    def plan(self, request: PlanRequest[OptionsT], workload: Workload) -> PlanT:
        """Return a plan that the budget covers."""

    @abstractmethod
    def read(self, obj: dict[str, Any]) -> PlanT:
        """Return the plan that a JSON object holds."""

    @abstractmethod
    def predict(
        self, plan: PlanT, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        """Return the errors that a plan shows on public populations; see `dpopt.algorithms.registry.predict`."""

    @abstractmethod
    def driver(self) -> Driver:
        """Return the module that plays runs."""

    def prove(self, plan: PlanT, workload: Workload) -> dict[str, Any] | None:
        """Return what is proven of a plan's errors beforehand, as a JSON object."""
        return None

    def expected_memory(
        self, plan: PlanT, workload: Workload, *, streamed: bool = False, resumed: bool = False
    ) -> ExpectedMemory | None:
        """Return the memory of a run, the table aside; None where it is not foreseen.

        With `streamed` the table is read in parts; with `resumed` the transcript of an interrupted run is read, too.
        """
        return None

    def prices(self, plan: PlanT, charges: Sequence[Charge]) -> dict[str, Any]:
        """Return what each accountant charges for a release, under "accountants"; nothing where one accountant alone can."""
        return {}
