"""What a driver is given, and what it hands back, whichever algorithm it plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Account, Ledger
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.mechanisms.randomness import RandomWords
from dpopt.private.selections.query_weights import QuerySampler
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.solver import Solver
from dpopt.releases.job import Job
from dpopt.releases.progress import Progress
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.rounds import Round
from dpopt.releases.solver_choice import clause_solver
from dpopt.transcript.journal import Journal, JournalContents


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Where draws come from; None stands for the operating system's generator and OpenDP. For tests, never private."""

    sampler: QuerySampler | None = None
    noise: Noise | None = None
    words: RandomWords | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Everything that a driver plays with.

    Attributes
    ----------
    dataset : PrivateDataset
    job : Job
    journal : Journal
        Where charge, draw and record go.
    contents : JournalContents
        What is on file, when a run is resumed.
    sources : Sources
    progress : Progress
    account : Account or None
        From where the run is paid besides its own budget.
    solver : Solver or None
        The best-response solver, where it was given as such and not by name.
    """

    dataset: PrivateDataset
    job: Job
    journal: Journal
    contents: JournalContents
    sources: Sources
    progress: Progress
    account: Account | None = None
    solver: Solver | None = None

    def ledger(self) -> Ledger:
        """Return a ledger in which the plan of the job is reserved; see `Job.ledger`."""
        return self.job.ledger(self.account)

    def clause_solver(self) -> Solver:
        """Return the best-response solver, made to take weighted clauses."""
        return clause_solver(self.job.plan.solver if self.solver is None else self.solver)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a run ended with; a function of plan and transcript alone.

    Attributes
    ----------
    ledger : Ledger
        Everything that was charged.
    records : SyntheticRecords or None
        The synthetic records; None where noisy answers alone are released.
    rounds : sequence of Round
        Draw, record and certificate of each round of DualQuery or DQRS.
    answers : (m,) float64 array or None
        Answers of a release without records.
    sections : Mapping
        What the algorithm adds to release.json.
    """

    ledger: Ledger
    records: SyntheticRecords | None
    rounds: Sequence[Round] = ()
    answers: NDArray[np.float64] | None = None
    sections: Mapping[str, Any] = field(default_factory=dict)
