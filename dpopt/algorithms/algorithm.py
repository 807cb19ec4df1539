"""The interface of every algorithm of `dpopt release`: plans, predictions, proofs, and runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from dpopt.algorithms.options import Options

if TYPE_CHECKING:
    from dpopt.accounting.charges import Charge
    from dpopt.accounting.ledger import Ledger
    from dpopt.algorithms.memory import ExpectedMemory
    from dpopt.algorithms.options import PlanRequest
    from dpopt.algorithms.prediction import PredictedError
    from dpopt.queries.workloads.workload import Workload
    from dpopt.releases.job import Job
    from dpopt.releases.plan import Plan
    from dpopt.releases.run import Outcome, Run

OptionsT = TypeVar("OptionsT", bound=Options)
PlanT = TypeVar("PlanT", bound="Plan")


class Algorithm(ABC, Generic[OptionsT, PlanT]):
    """An algorithm of `dpopt release`; its runs are played by `dpopt.releases.run` (`Driver`)."""

    plans: type[PlanT]
    """The class of its plans."""
    predicts_wide: ClassVar[bool] = False
    """Whether its predictions stay short for very many binary attributes."""
    knows_density: ClassVar[bool] = False
    """Whether its rule for rounds and draws asks whether a table of zeros and ones is sparse."""

    @abstractmethod
    def plan(self, request: PlanRequest[OptionsT], workload: Workload) -> PlanT:
        """Return a plan that the budget covers; only public values are read."""

    @abstractmethod
    def predict(
        self, plan: PlanT, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        """Return the errors that a plan shows on public populations; see `dpopt.algorithms.registry.predict`."""

    def prove(self, plan: PlanT, workload: Workload) -> dict[str, Any] | None:
        """Return the proven bound on a plan's errors as a JSON object; None without one."""
        return None

    def expected_memory(
        self, plan: PlanT, workload: Workload, *, streamed: bool = False, resumed: bool = False
    ) -> ExpectedMemory | None:
        """Return the memory of a run, the table aside; None where it is not foreseen.

        With `streamed` the table is read in parts; with `resumed` the transcript of an interrupted run is read, too.
        """
        return None

    def prices(self, plan: PlanT, charges: Sequence[Charge]) -> dict[str, Any]:
        """Return the total of each accountant for a release, under "accountants"; empty if only one applies."""
        return {}

    def prepare(self, job: Job, run: Run) -> Any:
        """Return the public player's data; refuse runs that cannot end well, before there is a folder."""
        return None

    @abstractmethod
    def open_door(self, job: Job, run: Run, ledger: Ledger) -> Any:
        """Return the curator, with its exact counts where it needs them from the start."""

    @abstractmethod
    def play(self, job: Job, walk: Any, prepared: Any) -> Outcome:
        """Ask for every step of the run in the paper's order; `prepared` is None where a transcript is read."""
