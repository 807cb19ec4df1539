"""What the transcript of a run that measures holds, read in order and checked against its plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.algorithms.dualquery.past import check_reservation
from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.errors import AccountingError, TranscriptError
from dpopt.files.codec import decode
from dpopt.releases.folder_files import TRANSCRIPT
from dpopt.transcript.journal import Entry, JournalContents
from dpopt.transcript.released import NoisyAnswers, SelectedMarginal


@dataclass(slots=True, eq=False)
class PastDraw:
    """One charge on file, and what followed.

    Attributes
    ----------
    charge : Charge
    value : NoisyAnswers, SelectedMarginal or None
        What was drawn, if it is on file.
    torn : bool
        Whether the draw was being written when the journal was torn: part of it may have been seen, so it is lost.
    """

    charge: Charge
    value: NoisyAnswers | SelectedMarginal | None = None
    torn: bool = False


@dataclass(slots=True, eq=False)
class MeasuredPast:
    """What the transcript of a folder holds.

    Attributes
    ----------
    started : bool
        Whether the plan has been reserved.
    draws : list of PastDraw
        In the order of the plan. A round whose selection was lost measures nothing.
    records : Entry or None
        The fitted records.
    finished : bool
        Whether the run has ended.
    """

    started: bool = False
    draws: list[PastDraw] = field(default_factory=list)
    records: Entry | None = None
    finished: bool = False


def read_measured_past(contents: JournalContents, plan: MeasuredPlan, reserved: Entry) -> MeasuredPast:
    """Read the transcript of a plan; `reserved` is the entry that it begins with.

    Raises
    ------
    TranscriptError
        If entries are out of order or do not belong to the plan.
    """
    past, charges = MeasuredPast(), plan.charges()
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


def _read(
    past: MeasuredPast, entry: Entry, plan: MeasuredPlan, charges: Sequence[Charge], reserved: Entry
) -> None:
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
        _charge(
            past, decode(Charge, entry["charge"], "a charge", AccountingError), _next(past, plan, charges)
        )
    elif kind in {"measurement", "selection"}:
        _value(past, entry, plan)
    elif kind in {"records", "finish"}:
        if past.records is not None and kind == "records":
            raise TranscriptError("records were fitted before")
        if _next(past, plan, charges) is not None or _is_open(past):
            raise TranscriptError("the run ends before its plan does")
        past.records = entry if kind == "records" else past.records
        past.finished = kind == "finish"
    else:
        raise TranscriptError(f"unknown kind {kind!r}")


def place_in_plan(draws: Sequence[PastDraw], plan: MeasuredPlan) -> int:
    """Return how many of the plan's charges are made or passed over after these draws.

    A round whose selection was lost has nothing to measure, so its measurement is passed over, unspent.
    """
    place = 0
    for known in draws:
        is_selection = place >= len(plan.measurements) and (place - len(plan.measurements)) % 2 == 0
        place += 2 if is_selection and known.torn else 1
    return place


def _next(past: MeasuredPast, plan: MeasuredPlan, charges: Sequence[Charge]) -> Charge | None:
    place = place_in_plan(past.draws, plan)
    return charges[place] if place < len(charges) else None


def _charge(past: MeasuredPast, charge: Charge, planned: Charge | None) -> None:
    if _is_open(past) or charge != planned:
        raise TranscriptError(f"the charge {charge.label!r} is not the next of the plan")
    past.draws.append(PastDraw(charge))


def _value(past: MeasuredPast, entry: Entry, plan: MeasuredPlan) -> None:
    if not _is_open(past):
        raise TranscriptError("a draw without its charge")
    current = past.draws[-1]
    if entry["kind"] == "selection":
        selected = SelectedMarginal.from_json(entry, current.charge)
        if plan.selections is None or current.charge != plan.charge_of_selection(selected.round):
            raise TranscriptError(
                f"round {selected.round} selected a marginal, {current.charge.label!r} was charged"
            )
        current.value = selected
        return
    measured = NoisyAnswers.from_json(entry, current.charge)
    if measured.name != current.charge.label or current.charge.kind is ChargeKind.BOUNDED_RANGE:
        raise TranscriptError(f"{measured.name!r} was measured, {current.charge.label!r} was charged")
    if (measured.noise, measured.scale) != (plan.noise, plan.scale_of(measured.name)):
        raise TranscriptError(
            f"{measured.name!r} has {measured.noise} noise of scale {measured.scale!r} on file, the plan says {plan.noise} "
            f"noise of scale {plan.scale_of(measured.name)!r}"
        )
    current.value = measured


def _is_open(past: MeasuredPast) -> bool:
    """Return whether the last charge has no draw on file and may still get one."""
    return bool(past.draws) and past.draws[-1].value is None and not past.draws[-1].torn


def _tear(past: MeasuredPast) -> None:
    if _is_open(past):
        past.draws[-1].torn = True
