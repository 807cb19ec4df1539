"""The transcript of an earlier run, read step by step in the order in which the run would make it.

The reader knows no algorithm. Whoever plays the run says what comes next, a charge with the value that it pays for, or
a public entry; anything else on file is refused with its line. What a torn line may have held counts as seen.
`read_grown` reads measurements that one charge pays for, made a few at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.errors import AccountingError, TranscriptError
from dpopt.files.codec import decode
from dpopt.transcript.journal import Entry, JournalContents
from dpopt.transcript.released import NoisyAnswers, SampledQueries, SelectedDatabase, SelectedMarginal, SelectedQuery

DRAW, MEASUREMENT, SELECTION = "draw", "measurement", "selection"
QUERY_SELECTION, DATABASE = "query selection", "database"
_READERS: dict[str, Callable[[Entry, Charge], object]] = {
    DRAW: SampledQueries.from_json,
    MEASUREMENT: NoisyAnswers.from_json,
    SELECTION: SelectedMarginal.from_json,
    QUERY_SELECTION: SelectedQuery.from_json,
    DATABASE: SelectedDatabase.from_json,
}
_RESERVE, _CHARGE, _TORN, _FINISH = "reserve", "charge", "torn", "finish"

NOTHING_ON_FILE = JournalContents([], 0, torn=False)
Drawn = TypeVar("Drawn")


@dataclass(frozen=True, slots=True, eq=False)
class DrawOnFile(Generic[Drawn]):
    """The entries of one draw."""

    charged: bool
    """Whether its charge is on file."""
    value: Drawn | None = None
    """What was drawn, if it is on file."""
    torn: bool = False
    """Whether the draw was being written when the journal was torn: part of it may have been seen, so it is lost."""


class Past:
    """A transcript, read in order; each method takes the entries of one step."""

    def __init__(self, contents: JournalContents = NOTHING_ON_FILE) -> None:
        self._contents = contents
        self._place = 0

    @property
    def following(self) -> Entry | None:
        """The next entry on file, None at its end; marks that nothing was lost at are passed over."""
        entries = self._contents.entries
        while self._place < len(entries) and entries[self._place].get("kind") == _TORN:
            self._place += 1
        return entries[self._place] if self._place < len(entries) else None

    def reservation(self, planned: Entry) -> bool:
        """Return whether the plan's reservation is on file."""
        entry = self._taken(_RESERVE, "the reservation of the plan")
        if entry is None:
            return False
        with self._fitting():
            if entry["charges"] != planned["charges"]:
                raise TranscriptError("the reservation is not that of plan.json")
            if entry["inputs"] != planned["inputs"]:
                raise TranscriptError(
                    "plan.json, schema.json or workload.json changed after the run had begun; restore them"
                )
        return True

    def draw(
        self,
        kind: str,
        charge: Charge,
        *,
        round: int | None = None,  # noqa: A002  the journal's word
        given_up: int | None = None,
        on_file: Callable[[Drawn], object] = lambda value: None,
    ) -> DrawOnFile[Drawn]:
        """Return the entries of a draw of a kind, such as `DRAW`, for which the next charge of the plan pays.

        `given_up` is the later round whose charge pays for a draw that is made again. `on_file` is called with a value
        that is on file, and refuses one that the plan or the workload cannot have.
        """
        entry = self._taken(_CHARGE, f"the charge of {charge.label!r}")
        if entry is None:
            return DrawOnFile(charged=False)
        with self._fitting():
            found = decode(Charge, entry["charge"], "a charge", AccountingError)
            if found != charge or (entry.get("round"), entry.get("given_up")) != (round, given_up):
                raise TranscriptError(f"the charge {found.label!r} is not the next of the plan")
        if self._is_torn():
            return DrawOnFile(charged=True, torn=True)
        entry = self._taken(kind, f"the {kind} that {charge.label!r} paid for")
        if entry is None:
            return DrawOnFile(charged=True)
        with self._fitting():
            if entry.get("round", round) != round:
                raise TranscriptError(f"a {kind} of round {entry['round']!r} follows {charge.label!r}")
            value = cast("Drawn", _READERS[kind](entry, charge))
            if isinstance(value, NoisyAnswers) and value.name != charge.label:
                raise TranscriptError(f"{value.name!r} was measured, {charge.label!r} was charged")
            on_file(value)
        return DrawOnFile(charged=True, value=value)

    def public(self, kind: str, read: Callable[[Entry], Drawn]) -> Drawn | None:
        """Return the next entry, which no charge pays for, as read by `read`; None at the end of the file."""
        entry = self._taken(kind, f"a public {kind!r}")
        if entry is None:
            return None
        with self._fitting():
            return read(entry)

    def finished(self) -> bool:
        """Return whether the run has ended, which comes last."""
        if self._taken(_FINISH, "the end of the run") is None:
            return False
        if self._place < len(self._contents.entries):
            raise TranscriptError(self._misfit("the run had ended", self._place + 1))
        return True

    def _is_torn(self) -> bool:
        """Take the mark of a torn line, or note that the file ends in one."""
        entries = self._contents.entries
        if self._place == len(entries):
            return self._contents.torn
        return entries[self._place].get("kind") == _TORN

    def _taken(self, kind: str, what: str) -> Entry | None:
        entry = self.following
        if entry is None:
            return None
        self._place += 1
        if entry.get("kind") != kind:
            raise TranscriptError(self._misfit(f"found {entry.get('kind')!r}, expected {what}", self._place))
        return entry

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        try:
            yield
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise TranscriptError(self._misfit(str(error), self._place)) from error

    def _misfit(self, why: str, line: int) -> str:
        return f"line {line} of the transcript does not fit what precedes it: {why}"


SEEDED = "not private"


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """The draws so far of measurements that one charge pays for."""

    paid: Charge | None
    """None before anything was paid."""
    noisy: NDArray[np.int64]
    """Shape (t,). All values, in order."""
    noise: str
    scale: float
    """Of the values; empty and 0 where there are none."""
    seeded: bool
    """Whether draws came from another source than the system's."""
    torn: bool
    """Whether a draw was torn: it may have been seen."""


def read_grown(entries: Sequence[Entry], *, torn: bool) -> Grown:
    """Return the draws of a growing release from the entries after its first one."""
    charge, parts, noises, seeded, measured = None, [np.zeros(0, dtype=np.int64)], {("", 0.0)}, False, 0
    for entry in entries:
        kind = entry.get("kind")
        if kind == "torn":
            torn = True
        elif kind == SEEDED:
            seeded = True
        elif kind == "charge" and charge is None:
            charge = decode(Charge, entry.get("charge"), "the charge", TranscriptError)
        elif kind == NoisyAnswers.KIND and charge is not None and entry.get("first") == measured:
            answers = NoisyAnswers.from_json({name: entry[name] for name in entry if name != "first"}, charge)
            parts.append(answers.values)
            noises = {(answers.noise, answers.scale), *(noises - {("", 0.0)})}
            measured += answers.values.size
        else:
            raise TranscriptError(f"found a line of kind {kind!r} out of its place")
    if len(noises) > 1:
        raise TranscriptError("found values with noise of several scales; expected one")
    ((noise, scale),) = noises
    return Grown(charge, np.concatenate(parts), noise, scale, seeded, torn)
