"""SmallDB from a job and a table to an outcome, and from a transcript back to it.

One draw: of all databases of m records, one is selected with probability proportional to exp(-epsilon n e / 2), e its largest
error over the workload, by the net mechanism. Everything else is public.

Source: Blum, Ligett and Roth 2013, "A Learning Theory Approach to Noninteractive Database Privacy", section 3 (2008: the
exponential mechanism over small databases).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.dualquery.past import check_reservation, reservation
from dpopt.algorithms.small_database.plan import SmallDatabasePlan
from dpopt.algorithms.small_database.universe import Universe
from dpopt.errors import AccountingError, PlanError, TranscriptError
from dpopt.files.codec import decode
from dpopt.private.curators.net_curator import NetCurator
from dpopt.private.mechanisms.net.net_draw import MOST_LISTED
from dpopt.private.mechanisms.net.net_multisets import Multisets
from dpopt.releases.folder_files import TRANSCRIPT
from dpopt.releases.job import Job
from dpopt.releases.outcome import Outcome, Run
from dpopt.releases.progress import stage
from dpopt.releases.records import SyntheticRecords
from dpopt.transcript.journal import Entry, JournalContents
from dpopt.transcript.released import SelectedDatabase

LOST = (
    "the selection was torn by an interruption: part of it may have been seen, so it stays charged, and there is nothing to "
    "release. Begin another run, with a budget of its own"
)


@dataclass(slots=True, eq=False)
class SmallDatabasePast:
    """What the transcript of a folder holds.

    Attributes
    ----------
    started : bool
        Whether the plan has been reserved.
    charge : Charge or None
        What the selection cost, if it was charged.
    selected : SelectedDatabase or None
        What was selected, if it is on file.
    torn : bool
        Whether the selection was being written when the journal was torn.
    finished : bool
        Whether the run has ended.
    """

    started: bool = False
    charge: Charge | None = None
    selected: SelectedDatabase | None = None
    torn: bool = False
    finished: bool = False


def play(run: Run) -> Outcome:
    """Select a database, or take the one on file; it is charged before it is drawn.

    Raises
    ------
    PlanError
        If the one selection was torn on file: it stays charged and is never drawn again.
    """
    job, progress, journal = run.job, run.progress, run.journal
    plan = _plan_of(job)
    universe = Universe.of(job.workload)
    multisets = Multisets(universe.answers, plan.records)
    reserved = reservation(job)
    past = read_small_database_past(run.contents, plan, reserved)
    if past.torn:
        raise PlanError(LOST)
    ledger = run.ledger()
    with stage(progress, "counting exact answers"):
        curator = NetCurator(
            run.dataset,
            job.workload.queries,
            ledger,
            journal,
            size=plan.size,
            range_=plan.range_,
            words=run.sources.words,
            progress=progress.share,
        )
    if not past.started:
        journal.append(reserved)
    with stage(progress, f"selecting one of {float(multisets.number):.2g} databases"):
        selected = past.selected
        if past.charge is not None:
            curator.recall(past.charge, drawn=selected is not None)
        if selected is None and past.charge is None:
            selected = curator.select_database(multisets, reach=plan.reach)
        elif selected is None:
            selected = curator.complete_database(multisets, reach=plan.reach)
    if not past.finished:
        journal.append({"kind": "finish"})
    return _outcome(job, ledger, universe, selected)


def rebuild(job: Job, contents: JournalContents) -> Outcome | None:
    """Return the outcome that a transcript gives; None if the run has not ended.

    Raises
    ------
    TranscriptError
        If what is on file contradicts itself.
    """
    plan = _plan_of(job)
    past = read_small_database_past(contents, plan, reservation(job))
    if not past.finished or past.selected is None or past.charge is None:
        return None
    ledger = job.ledger(None)
    ledger.spend(past.charge)
    return _outcome(job, ledger, Universe.of(job.workload), past.selected)


def read_small_database_past(
    contents: JournalContents, plan: SmallDatabasePlan, reserved: Entry
) -> SmallDatabasePast:
    """Read the transcript of a plan; `reserved` is the entry that it begins with.

    Raises
    ------
    TranscriptError
        If entries are out of order or do not belong to the plan.
    """
    past = SmallDatabasePast()
    for number, entry in enumerate(contents.entries, start=1):
        try:
            _read(past, entry, plan, reserved)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise TranscriptError(
                f"line {number} of {TRANSCRIPT} does not fit what precedes it: {error}"
            ) from error
    if contents.torn:
        _tear(past)
    return past


def _read(past: SmallDatabasePast, entry: Entry, plan: SmallDatabasePlan, reserved: Entry) -> None:
    kind = entry["kind"]
    if past.finished:
        raise TranscriptError("the run had ended")
    if kind == "reserve":
        check_reservation(entry, reserved, started=past.started)
        past.started = True
    elif kind == "torn":
        _tear(past)
    elif not past.started:
        raise TranscriptError("nothing was reserved")
    elif kind == "charge":
        charge = decode(Charge, entry["charge"], "a charge", AccountingError)
        if past.charge is not None or (charge,) != plan.charges():
            raise TranscriptError(f"the charge {charge.label!r} is not that of the plan")
        past.charge = charge
    elif kind == "database":
        if past.charge is None or past.selected is not None or past.torn:
            raise TranscriptError("a database without its charge")
        past.selected = _database(entry, past.charge, plan)
    elif kind == "finish":
        if past.selected is None:
            raise TranscriptError("the run ends before its plan does")
        past.finished = True
    else:
        raise TranscriptError(f"unknown kind {kind!r}")


def _database(entry: Entry, charge: Charge, plan: SmallDatabasePlan) -> SelectedDatabase:
    selected = SelectedDatabase.from_json(entry, charge)
    found = int(selected.counts.sum())
    if found != plan.records:
        raise TranscriptError(f"the database has {found:,} records, the plan says {plan.records:,}")
    return selected


def _tear(past: SmallDatabasePast) -> None:
    """Take note that a part of a further entry is on file: of the database, if it was charged and is missing."""
    past.torn = past.charge is not None and past.selected is None


def _plan_of(job: Job) -> SmallDatabasePlan:
    if not isinstance(job.plan, SmallDatabasePlan):
        raise PlanError(f"expected a plan of smalldb, found one of {job.plan.algorithm}")
    return job.plan


def _outcome(job: Job, ledger: Ledger, universe: Universe, selected: SelectedDatabase) -> Outcome:
    plan = _plan_of(job)
    if int(selected.elements[-1]) >= universe.elements:
        raise TranscriptError(
            f"the database has element {int(selected.elements[-1]):,}; the universe has {universe.elements:,}, numbered from 0"
        )
    records = universe.spread(selected.elements, selected.counts, seed=plan.seed)
    number = Multisets(universe.answers, plan.records).number
    sections: dict[str, Any] = {
        "small_database": {
            "records": plan.records,
            "elements": universe.elements,
            "databases": number,
            "drawn": "from a list" if number <= MOST_LISTED else "by branch and bound",
        }
    }
    return Outcome(ledger, SyntheticRecords.of(list(records)), sections=sections)
