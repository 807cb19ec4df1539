"""What the transcript of a run of multiplicative weights holds, read in order and checked against its plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dpopt.accounting.charges import Charge
from dpopt.algorithms.dualquery.past import check_reservation
from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan
from dpopt.algorithms.options import MARGINALS
from dpopt.errors import AccountingError, TranscriptError
from dpopt.files.codec import decode
from dpopt.releases.folder_files import TRANSCRIPT
from dpopt.transcript.journal import Entry, JournalContents
from dpopt.transcript.released import NoisyAnswers, SelectedMarginal, SelectedQuery

Value = SelectedQuery | SelectedMarginal | NoisyAnswers


@dataclass(slots=True, eq=False)
class PastCharge:
    """One charge on file, and what followed.

    Attributes
    ----------
    round : int
    charge : Charge
    value : SelectedQuery, SelectedMarginal, NoisyAnswers or None
        What was drawn, if it is on file.
    torn : bool
        Whether the draw was being written when the journal was torn: part of it may have been seen, so it is lost.
    """

    round: int
    charge: Charge
    value: Value | None = None
    torn: bool = False


@dataclass(slots=True, eq=False)
class MultiplicativePast:
    """What the transcript of a folder holds.

    Attributes
    ----------
    started : bool
        Whether the plan has been reserved.
    draws : list of PastCharge
        In order. A round whose selection was lost measures nothing.
    records : Entry or None
        The weighted records.
    finished : bool
        Whether the run has ended.
    """

    started: bool = False
    draws: list[PastCharge] = field(default_factory=list)
    records: Entry | None = None
    finished: bool = False


def read_multiplicative_past(
    contents: JournalContents, plan: MultiplicativePlan, reserved: Entry
) -> MultiplicativePast:
    """Read the transcript of a plan; `reserved` is the entry that it begins with.

    Raises
    ------
    TranscriptError
        If entries are out of order or do not belong to the plan.
    """
    past = MultiplicativePast()
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


def next_charge(draws: Sequence[PastCharge], plan: MultiplicativePlan) -> tuple[int, Charge] | None:
    """Return round and charge of what follows these draws in a plan whose rounds are all played; None at the end.

    A round whose selection was lost has nothing to measure, so its measurement is passed over, unspent.
    """
    if not draws:
        return 1, plan.charges_of(1)[0]
    last = draws[-1]
    selection, measurement = plan.charges_of(last.round)
    if last.charge == selection and not last.torn:
        return last.round, measurement
    following = last.round + 1
    return (following, plan.charges_of(following)[0]) if following <= plan.rounds else None


def _read(past: MultiplicativePast, entry: Entry, plan: MultiplicativePlan, reserved: Entry) -> None:
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
        _charge(past, entry, plan)
    elif kind in {"query selection", "selection", "measurement"}:
        _value(past, entry, plan)
    elif kind in {"records", "finish"}:
        if _is_open(past) or (past.records is not None) == (kind == "records"):
            raise TranscriptError("the run ends where its plan does not")
        if kind == "records" and plan.alpha is None and next_charge(past.draws, plan) is not None:
            raise TranscriptError("the run ends before its plan does")
        past.records = entry if kind == "records" else past.records
        past.finished = kind == "finish"
    else:
        raise TranscriptError(f"unknown kind {kind!r}")


def _charge(past: MultiplicativePast, entry: Entry, plan: MultiplicativePlan) -> None:
    charge, following = (
        decode(Charge, entry["charge"], "a charge", AccountingError),
        next_charge(past.draws, plan),
    )
    if past.records is not None or _is_open(past) or following is None or charge != following[1]:
        raise TranscriptError(f"the charge {charge.label!r} is not the next of the plan")
    past.draws.append(PastCharge(following[0], charge))


def _value(past: MultiplicativePast, entry: Entry, plan: MultiplicativePlan) -> None:
    if not _is_open(past):
        raise TranscriptError("a draw without its charge")
    current = past.draws[-1]
    is_selection = current.charge == plan.charges_of(current.round)[0]
    expected = (
        ("selection" if plan.select == MARGINALS else "query selection") if is_selection else "measurement"
    )
    if entry["kind"] != expected or entry["round"] != current.round:
        raise TranscriptError(f"{entry['kind']!r} follows the charge {current.charge.label!r}")
    if expected == "selection":
        current.value = SelectedMarginal.from_json(entry, current.charge)
    elif expected == "query selection":
        current.value = SelectedQuery.from_json(entry, current.charge)
    else:
        measured = NoisyAnswers.from_json(entry, current.charge)
        if (measured.name, measured.noise, measured.scale) != (current.charge.label, plan.noise, plan.scale):
            raise TranscriptError(f"{measured.name!r} is not measured as the plan says")
        current.value = measured


def _is_open(past: MultiplicativePast) -> bool:
    """Return whether the last charge has no draw on file and may still get one."""
    return bool(past.draws) and past.draws[-1].value is None and not past.draws[-1].torn


def _tear(past: MultiplicativePast) -> None:
    if _is_open(past):
        past.draws[-1].torn = True
