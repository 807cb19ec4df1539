"""FEM and sepFEM: the driver, and what is on file of an earlier run.

Each round makes s records, the best responses to the queries selected so far under s random perturbations (follow the
perturbed leader), and the exponential mechanism selects a query that they answer badly. The last batches are released.

Source: Vietri, Tian, Bun, Steinke and Wu 2020, "New Oracle-Efficient Algorithms for Private Synthetic Data Release",
Algorithms 1 and 2; with the charge of `dpopt.accounting.selections`, and no selection after the last batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpopt.accounting.charges import Charge
from dpopt.algorithms.dualquery.past import check_reservation
from dpopt.algorithms.fem.plan import FemPlan
from dpopt.algorithms.fem.responder import Batch, PerturbedResponder
from dpopt.arrays import freeze
from dpopt.errors import AccountingError, TranscriptError
from dpopt.files.codec import decode
from dpopt.private.curators.fem_curator import FemCurator
from dpopt.releases.folder_files import TRANSCRIPT
from dpopt.releases.records import SyntheticRecords
from dpopt.transcript.journal import Entry, Journal, JournalContents
from dpopt.transcript.released import SelectedQuery


@dataclass(slots=True, eq=False)
class PastSelection:
    """One round as found on file: its batch, and the selection after it.

    Attributes
    ----------
    batch : Batch
    charge : Charge or None
        What the selection cost, if it was charged.
    selected : SelectedQuery or None
        What was selected, if it is on file.
    torn : bool
        Whether the selection was being written when the journal was torn: part of it may have been seen, so it is lost.
    """

    batch: Batch
    charge: Charge | None = None
    selected: SelectedQuery | None = None
    torn: bool = False


@dataclass(slots=True, eq=False)
class FemPast:
    """What the transcript of a folder holds.

    Attributes
    ----------
    started : bool
        Whether the plan has been reserved.
    rounds : list of PastSelection
        In order; the last batch of a complete run has no selection.
    finished : bool
        Whether the run has ended.
    """

    started: bool = False
    rounds: list[PastSelection] = field(default_factory=list)
    finished: bool = False

    def charges(self) -> list[Charge]:
        """Return the charges on file, in order."""
        return [known.charge for known in self.rounds if known.charge is not None]


def read_fem_past(contents: JournalContents, plan: FemPlan, reserved: Entry) -> FemPast:
    """Read the transcript of a plan; `reserved` is the entry that it begins with.

    Raises
    ------
    TranscriptError
        If entries are out of order or do not belong to the plan.
    """
    past, charges = FemPast(), plan.charges()
    for number, entry in enumerate(contents.entries, start=1):
        try:
            _read(past, entry, plan, charges, reserved)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise TranscriptError(
                f"line {number} of {TRANSCRIPT} does not fit what precedes it: {error}"
            ) from error
    if contents.torn:
        _tear(past)
    return past


def run(
    plan: FemPlan,
    curator: FemCurator,
    responder: PerturbedResponder,
    journal: Journal,
    *,
    past: Sequence[PastSelection] = (),
    on_round: Callable[[int, int, SelectedQuery | None], None] = lambda number, rounds, selected: None,
) -> list[Batch]:
    """Play the rounds of a plan, continuing after those on file.

    Parameters
    ----------
    plan : FemPlan
        Its charges are reserved in the curator's ledger.
    curator : FemCurator
        The private side. It is told each batch and gives selected queries only.
    responder : PerturbedResponder
        The public side.
    journal : Journal
        Gets each batch; the curator writes charges and selections.
    past : sequence of PastSelection
        Rounds on file, when a run is resumed.
    on_round : callable
        Called as ``on_round(number, rounds, selected)`` after each selection; `selected` is None where it is lost.

    Returns
    -------
    list of Batch
        T + 1 batches. A selection that was torn on file may have been seen in part: it stays charged, and its round selects
        nothing.
    """
    batches: list[Batch] = []
    selected: list[SelectedQuery] = []
    for number in range(1, plan.rounds + 2):
        known = past[number - 1] if number <= len(past) else None
        if known is None:
            batch = responder.respond(number, selected)
            journal.append(batch_entry(batch), wait=False)  # the next charge's write makes it safe
        else:
            batch = responder.check(known.batch)
        batches.append(batch)
        if number > plan.rounds:
            break
        found = _selection(curator, batch, known)
        if found is not None:
            selected.append(found)
        on_round(number, plan.rounds, found)
    return batches


def released_records(plan: FemPlan, batches: Sequence[Batch]) -> SyntheticRecords:
    """Return the records of the batches that the plan keeps, with equal weights, merged."""
    kept = np.concatenate([batch.records for batch in batches if batch.round >= plan.kept_from])
    return SyntheticRecords.of(list(kept))


def batch_entry(batch: Batch) -> Entry:
    """Return a batch as a journal entry."""
    return {
        "kind": "records",
        "round": batch.round,
        "records": batch.records.tolist(),
        "fallbacks": batch.fallbacks,
    }


def _selection(curator: FemCurator, batch: Batch, known: PastSelection | None) -> SelectedQuery | None:
    """Return the selection of a round, from file where it is there; None where it is lost."""
    if known is None or known.charge is None:
        return curator.select(batch.records, round=batch.round)
    curator.recall(known.charge, drawn=known.torn or known.selected is not None)
    if known.torn or known.selected is not None:
        return known.selected
    return curator.complete_select(batch.records, round=batch.round)


def _read(past: FemPast, entry: Entry, plan: FemPlan, charges: Sequence[Charge], reserved: Entry) -> None:
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
    elif kind == "records":
        _records(past, entry, plan)
    elif kind == "charge":
        _charge(past, entry, charges)
    elif kind == "query selection":
        _selected(past, entry)
    elif kind == "finish":
        if len(past.rounds) != plan.rounds + 1:
            raise TranscriptError("the run ends before its plan does")
        past.finished = True
    else:
        raise TranscriptError(f"unknown kind {kind!r}")


def _records(past: FemPast, entry: Entry, plan: FemPlan) -> None:
    number = entry["round"]
    open_ = past.rounds and past.rounds[-1].selected is None and not past.rounds[-1].torn
    if number != len(past.rounds) + 1 or number > plan.rounds + 1 or open_:
        raise TranscriptError(f"records of round {number!r} out of order")
    records = np.array(entry["records"])
    if records.ndim != 2 or records.dtype.kind != "i":
        raise TranscriptError(f"round {number}: the records on file are damaged")
    fallbacks = entry["fallbacks"]
    if type(fallbacks) is not int or not 0 <= fallbacks <= len(records):
        raise TranscriptError(f"round {number}: {fallbacks!r} fallbacks among {len(records)} records")
    past.rounds.append(PastSelection(Batch(number, freeze(records.astype(np.int32)), fallbacks)))


def _charge(past: FemPast, entry: Entry, charges: Sequence[Charge]) -> None:
    current, charge = past.rounds[-1], decode(Charge, entry["charge"], "a charge", AccountingError)
    if entry["round"] != len(past.rounds) or current.charge is not None:
        raise TranscriptError(f"round {entry['round']!r} is charged out of order")
    if charge != charges[len(past.rounds) - 1]:
        raise TranscriptError(f"the charge {charge.label!r} is not the next of the plan")
    current.charge = charge


def _selected(past: FemPast, entry: Entry) -> None:
    current = past.rounds[-1]
    if current.charge is None or current.selected is not None or current.torn:
        raise TranscriptError("a selection without its charge")
    if entry["round"] != len(past.rounds):
        raise TranscriptError(f"a selection of round {entry['round']!r} out of order")
    current.selected = SelectedQuery.from_json(entry, current.charge)


def _tear(past: FemPast) -> None:
    """Take note that a part of a further entry is on file: of a selection, if one was charged and is missing."""
    if past.rounds and past.rounds[-1].charge is not None and past.rounds[-1].selected is None:
        past.rounds[-1].torn = True
