"""Run an algorithm: replay the steps on file, pay for and make the rest.

An algorithm is a function that asks a `Walk` for one step after the other, in the order of its paper. With a curator
the walk makes what is not on file: the run is played, or resumed. Without one it stops there: a transcript is read
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Account, Ledger
from dpopt.files.codec import encode
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.inference.records.problem import KeptMarginals
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS, Door
from dpopt.private.engines.fine_counts import count_columns
from dpopt.private.measurements.bin_measurement import ColumnSums
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE, Noise
from dpopt.private.mechanisms.randomness import RandomWords
from dpopt.private.selections.query_weights import QuerySampler
from dpopt.private.tables.dataset import PrivateDataset, check_size
from dpopt.programs.solver import Solver
from dpopt.queries.marginal_set import MarginalSet
from dpopt.releases.declared_size import Total
from dpopt.releases.job import Job
from dpopt.releases.kept_records import Round
from dpopt.releases.plan import Plan
from dpopt.releases.progress import Figures, Progress
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.rows import ChosenRows, choose_rows
from dpopt.releases.values import Values, ValuesPlan, check_values, measured_values
from dpopt.transcript.journal import Entry, FileJournal, Journal, MemoryJournal
from dpopt.transcript.past import MEASUREMENT, Past
from dpopt.transcript.released import NoisyAnswers

_Curator = TypeVar("_Curator", bound=Door[Any])
_Counting = TypeVar("_Counting", bound=CountingCurator)
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Where draws come from; None is the operating system's generator and OpenDP. Others: for tests and public tables."""

    sampler: QuerySampler | None = None
    noise: Noise | None = None
    words: RandomWords | None = None
    because: str = NOT_PRIVATE_DRAWS
    """Why a run is not private if they are others."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The inputs with which a job is played."""

    dataset: PrivateDataset
    journal: FileJournal | MemoryJournal = field(default_factory=lambda: MemoryJournal(keep=False))
    """Where charge, draw and record go."""
    past: Past = field(default_factory=Past)
    """The entries on file, if a run is resumed."""
    sources: Sources = field(default_factory=Sources)
    progress: Progress = field(default_factory=Progress)
    account: Account | None = None
    """From where the run is paid besides its own budget."""
    solver: Solver | None = None
    """The best-response solver, where it was given as such and not by name."""

    def clause_solver(self, plan: Plan) -> Solver:
        """Return the best-response solver, made to take weighted clauses."""
        from dpopt.releases.solver_choice import clause_solver  # a replay needs no solver, and loads none

        return clause_solver(plan.solver if self.solver is None else self.solver)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The result of a run; a function of plan and transcript alone."""

    ledger: Ledger
    """Everything that was charged."""
    records: SyntheticRecords | None
    """The synthetic records with their weights; None where noisy answers alone are released."""
    rounds: Sequence[Round] = ()
    """Draw, record and certificate of each round of DualQuery."""
    answers: NDArray[np.float64] | None = None
    """Shape (m,). Answers of a release without records."""
    sections: Mapping[str, Any] = field(default_factory=dict)
    """The algorithm's entries in release.json."""
    values: Values = field(default_factory=dict)
    """For each numeric column measured within its bins, the estimates of its numbers."""
    measured: Callable[[], MeasuredResiduals | None] = lambda: None
    """Gives the measurements of marginals; None without any."""
    kept: KeptMarginals | None = None
    """Marginals that the rows keep."""
    rows: ChosenRows | None = None
    """The rows without weights that stand for them, where rows are written."""
    totals: Sequence[Total] = ()
    """The number of records by released values."""
    ended: bool = True
    """Whether the run has ended; else the rounds are those that are on file."""


class NotEnded(Exception):  # noqa: N818  no error: the transcript of a run that goes on ends somewhere
    """A transcript that is only read holds no more, and the run has not ended."""


class Walk(Generic[_Curator]):
    """One run, step by step: what is on file in `past` is taken from there, and the rest is made.

    The whole plan is reserved in the ledger. The curator, the private side, charges, draws and writes what is not on
    file, and the journal gets what is public; both are None where a transcript is only read.
    """

    def __init__(
        self,
        ledger: Ledger,
        curator: _Curator | None,
        journal: Journal | None,
        past: Past | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.ledger = ledger
        self.progress = progress or Progress()
        self.lost = 0  # draws that were torn on file: part of them may have been seen, so they are never made again
        self.rounds: list[Round] = []  # of DualQuery, so far
        self._curator, self._journal, self._past = curator, journal, past or Past()

    @property
    def plays(self) -> bool:
        """Whether the run is played, and not only read."""
        return self._curator is not None

    @property
    def curator(self) -> _Curator:
        """The private side.

        Raises NotEnded if the transcript is only read.
        """
        if self._curator is None:
            raise NotEnded
        return self._curator

    def following(self) -> Entry | None:
        """Return the next entry on file; None where the next step is made anew.

        Raises NotEnded if the transcript is only read, and ends here.
        """
        found = self._past.following
        if found is None and not self.plays:
            raise NotEnded
        return found

    def reserve(self, job: Job) -> None:
        """Write every charge of the plan, with its purpose, to the file before the first draw."""
        planned = reservation(job)
        if self._past.reservation(planned):
            return
        self.curator  # noqa: B018  what is only read reserves nothing
        self._write(planned)

    def draw(
        self,
        kind: str,
        charge: Charge,
        make: Callable[[bool], _Made],
        *,
        round: int | None = None,  # noqa: A002  the journal's word
        given_up: tuple[int, Charge] | None = None,
        on_file: Callable[[_Made], object] = lambda value: None,
    ) -> _Made | None:
        """Return the draw that a charge pays for, from file if it is there; None if it was torn on file, and is lost.

        `make` asks the curator to charge and draw; or, given True, to draw for the charge on file, of which nothing had
        left. `given_up` is the later round, with its charge, that pays for a draw that is made again. Others are those
        of `dpopt.transcript.past.Past.draw`. Privacy: A5 in docs/privacy.
        """
        known = self._past.draw(
            kind, charge, round=round, given_up=None if given_up is None else given_up[0], on_file=on_file
        )
        if known.charged:
            self._recall(charge, None if given_up is None else given_up[1], known.torn, known.value)
        if known.torn:
            self.lost += 1
            return None
        return make(known.charged) if known.value is None else known.value

    def public(
        self,
        kind: str,
        *,
        read: Callable[[Entry], _Made],
        make: Callable[[], _Made],
        write: Callable[[_Made], Entry],
        wait: bool = True,
    ) -> _Made:
        """Return a result of public values alone, from file if it is there; else compute and write it.

        Without `wait` the next write makes it safe: it can be computed again.
        """
        known = self._past.public(kind, read)
        if known is not None:
            return known
        if not self.plays:
            raise NotEnded
        made = make()
        self._write(write(made), wait=wait)
        return made

    def entry(
        self, kind: str, make: Callable[[], Entry], check: Callable[[Entry], Entry] = lambda found: found
    ) -> Entry:
        """Return an entry of public values alone, from file if it passes a check, or made."""
        return self.public(kind, read=check, make=make, write=lambda made: made)

    def finish(self) -> None:
        """Put on file that the run has ended."""
        if not self._past.finished():
            self._write({"kind": "finish"})

    def step(self, number: int, steps: int, what: str) -> None:
        """Report a finished step to the owner, and the spending so far."""
        self.progress.figures(lambda: spent_so_far(self.ledger))
        self.progress.step(number, steps, what)

    def _recall(self, charge: Charge, given_up: Charge | None, torn: bool, value: object) -> None:  # noqa: FBT001
        if self._curator is not None:
            self._curator.recall(charge, given_up=given_up, drawn=torn or value is not None)
        elif given_up is None:
            self.ledger.spend(charge)
        else:
            self.ledger.substitute(charge, given_up)

    def _write(self, entry: Entry, *, wait: bool = True) -> None:
        if self._journal is None:
            raise NotEnded
        self._journal.append(entry, wait=wait)


def noisy_answers(
    walk: Walk[_Counting], measurement: Measurement, charge: Charge, number: int = 0
) -> NoisyAnswers | None:
    """Return the counts of a round's measurement (0: of none), from file if they are there; None if they are lost."""
    queries, noise = measurement.queries, DISCRETE_GAUSSIAN if measurement.gaussian else DISCRETE_LAPLACE
    size = queries.number_of_cells if isinstance(queries, MarginalSet) else len(queries)
    return walk.draw(
        MEASUREMENT,
        charge,
        lambda again: walk.curator.measure(measurement, again=again, round=number),
        round=number,
        on_file=lambda values: values.check_planned(noise, measurement.scale, size),
    )


class Driver(Protocol):
    """Plays runs of an algorithm; its control flow depends on the plan and on released values only."""

    def prepare(self, job: Job, run: Run) -> Any:
        """Return the public player's data; refuse runs that cannot end well, before there is a folder."""

    def open_door(self, job: Job, run: Run, ledger: Ledger) -> Any:
        """Return the curator, with its exact counts where it needs them from the start."""

    def play(self, job: Job, walk: Any, prepared: Any) -> Outcome:
        """Ask for every step of the run in order; `prepared` is None where a transcript is read."""


def play_run(driver: Driver, job: Job, run: Run, prepared: Any = None) -> Outcome:
    """Play a run, continuing after the steps on file; everything is charged before it is drawn.

    `prepared` is what `driver.prepare` gave, where it was asked before. What is on file is read first, so that a
    transcript that does not fit is refused before the table is counted.
    """
    check_size(run.dataset, job.plan.relation, job.plan.size)
    found = rebuild_so_far(driver, job, copy(run.past), run.journal, run.account)
    if found.ended:
        return found
    prepared = driver.prepare(job, run) if prepared is None else prepared
    ledger, values = job.ledger(run.account), job.values
    counts = None if values is None else count_columns(run.dataset, values.finer(job.schema))
    curator = driver.open_door(job, run, ledger)
    walk = Walk(ledger, curator, run.journal, run.past, run.progress)
    beside: Walk[CountingCurator] | None = None
    if counts is not None:
        size, noise = job.plan.size, run.sources.noise
        door = CountingCurator(counts, ledger, run.journal, size=size, noise=noise)
        beside = Walk(ledger, door, run.journal, run.past, run.progress)
    return _walked(driver, job, walk, prepared, beside)


def rebuild_so_far(
    driver: Driver, job: Job, past: Past, journal: Journal | None = None, account: Account | None = None
) -> Outcome:
    """Return the outcome that a transcript gives, or, of a run that has not ended, its rounds so far and no records.

    Needs no table and no solver. With the journal of a run that goes on, one of which nothing is missing but the mark
    of its end gets it; `account` is from where that run is paid.
    """
    ledger = job.ledger(account)
    walks = [Walk[Any](ledger, None, journal, past) for _ in range(2)]
    try:
        return _walked(driver, job, walks[0], None, walks[1])
    except NotEnded:
        return Outcome(ledger, None, tuple(walks[0].rounds), ended=False)


def _walked(
    driver: Driver, job: Job, walk: Walk[Any], prepared: object, beside: Walk[CountingCurator] | None
) -> Outcome:
    walk.reserve(job)
    outcome = driver.play(job, walk, prepared)
    if job.values is not None and beside is not None and outcome.records is not None:
        outcome = _with_values(job, job.values, outcome, outcome.records, beside)
    if outcome.records is not None and job.rows is not None:
        chosen = choose_rows(job, outcome.records, partial(walk.entry, "rows"), walk.progress, outcome.kept)
        outcome = replace(outcome, rows=chosen)
    walk.finish()
    return outcome


def _with_values(
    job: Job, plan: ValuesPlan, outcome: Outcome, records: SyntheticRecords, walk: Walk[CountingCurator]
) -> Outcome:
    """Measure the numbers in bins of numeric columns, or take them from file. Privacy: C19 in docs/privacy."""
    torn: list[str] = []

    def measure(measurement: ColumnSums, charge: Charge) -> NoisyAnswers | None:
        found = walk.draw(
            MEASUREMENT,
            charge,
            lambda again: walk.curator.measure(measurement, again=again),
            on_file=lambda values: check_values(measurement, values),
        )
        if found is None:
            torn.append(measurement.name)
        return found

    values, totals = measured_values(plan, job.schema, records, job.plan.size, job.plan.relation, measure)
    sections = {"values": plan.statement(torn), **outcome.sections}
    return replace(outcome, values=values, sections=sections, totals=(*outcome.totals, *totals))


def reservation(job: Job) -> Entry:
    """Return the journal's first entry: every charge of the plan, reserved before the first draw, and its purpose."""
    return {"kind": "reserve", "charges": [encode(charge) for charge in job.charges()], "inputs": job.fingerprint()}


def spent_so_far(ledger: Ledger) -> Figures:
    """Return the spending of a ledger so far, in the terms of its accountant."""
    spent = ledger.spent()
    return {"epsilon": spent.epsilon, "delta": spent.delta, "rho": spent.rho}
