"""What the transcript of an earlier run holds, read in order and checked against its plan."""

from __future__ import annotations

from dataclasses import dataclass

from dpopt.accounting.charges import Charge
from dpopt.algorithms.dualquery.driver import PastRound
from dpopt.algorithms.dualquery.plan import DualQueryPlan, dualquery_plan
from dpopt.errors import AccountingError, TranscriptError
from dpopt.files.codec import decode, encode
from dpopt.releases.folder_files import TRANSCRIPT
from dpopt.releases.job import Job
from dpopt.transcript.journal import Entry, JournalContents
from dpopt.transcript.released import NoisyAnswers, SampledQueries


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """What the transcript of a folder holds.

    Attributes
    ----------
    started : bool
        Whether the plan has been reserved.
    one_way_charge, one_way :
        Charge and values of the one-way marginals, where they are on file.
    one_way_torn : bool
        Whether the values were being written when the journal was torn.
    rounds : list of PastRound
    finished : bool
        Whether the run has ended.
    """

    started: bool
    one_way_charge: Charge | None
    one_way: NoisyAnswers | None
    one_way_torn: bool
    rounds: list[PastRound]
    finished: bool


def read_past(contents: JournalContents, job: Job) -> Past:
    """Read the transcript of a job.

    Raises
    ------
    TranscriptError
        If entries are out of order or do not belong to the job.
    """
    reader = _Reader(job)
    for number, entry in enumerate(contents.entries, start=1):
        try:
            reader.read(entry)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise TranscriptError(
                f"line {number} of {TRANSCRIPT} does not fit what precedes it: {error}"
            ) from error
    if contents.torn:
        reader.tear()
    return Past(
        reader.started,
        reader.one_way_charge,
        reader.one_way,
        reader.one_way_torn,
        reader.rounds,
        reader.finished,
    )


class _Reader:
    """Reads the entries of a transcript in order."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._plan: DualQueryPlan = dualquery_plan(job.plan)
        self.started = False
        self.finished = False
        self.one_way_charge: Charge | None = None
        self.one_way: NoisyAnswers | None = None
        self.one_way_torn = False
        self.rounds: list[PastRound] = []

    def read(self, entry: Entry) -> None:
        """Take note of one entry."""
        kind = entry["kind"]
        readers = {
            "charge": self._charge,
            "measurement": self._measurement,
            "draw": self._draw,
            "record": self._record,
            "torn": lambda _: self.tear(),
            "finish": self._finish,
        }
        if self.finished:
            raise TranscriptError("the run had ended")
        if kind == "reserve":
            self._reserve(entry)
        elif not self.started and kind != "torn":  # a torn reservation: nothing had been charged
            raise TranscriptError("nothing was reserved")
        elif kind in readers:
            readers[kind](entry)
        else:
            raise TranscriptError(f"unknown kind {kind!r}")

    def tear(self) -> None:
        """Take note that a part of a further entry is on file."""
        if self.rounds:
            self.rounds[-1].torn = self.rounds[-1].sampled is None
        else:
            self.one_way_torn = self.one_way_charge is not None and self.one_way is None

    def _reserve(self, entry: Entry) -> None:
        check_reservation(entry, reservation(self._job), started=self.started)
        self.started = True

    def _finish(self, entry: Entry) -> None:
        if len(self.rounds) != self._last_round() or not self._is_complete():
            raise TranscriptError("the run ends before its plan does")
        self.finished = True

    def _is_complete(self) -> bool:
        """Return whether nothing is open: only a torn draw of the last round stays without a record."""
        measured = self._plan.one_way is None or self.one_way is not None or self.one_way_torn
        return measured and all(known.record is not None or known.torn for known in self.rounds)

    def _measurement(self, entry: Entry) -> None:
        if self.one_way_charge is None or self.one_way is not None:
            raise TranscriptError("a measurement without its charge")
        self.one_way = NoisyAnswers.from_json(entry, self.one_way_charge)

    def _draw(self, entry: Entry) -> None:
        current = self._current(entry)
        if current.sampled is not None:
            raise TranscriptError("a second draw for one charge")
        if current.torn:
            raise TranscriptError("a draw that may have been seen is made again without a second charge")
        current.sampled = SampledQueries.from_json(entry, current.charges[-1])

    def _record(self, entry: Entry) -> None:
        current = self._current(entry)
        if current.sampled is None or current.record is not None:
            raise TranscriptError("a record without its draw")
        current.record = entry

    def _charge(self, entry: Entry) -> None:
        number, charge = entry["round"], decode(Charge, entry["charge"], "a charge", AccountingError)
        if number == 0:
            if self.one_way_charge is not None or self.rounds:
                raise TranscriptError("one-way marginals are measured once, before the first round")
            self.one_way_charge = charge
        elif "given_up" in entry:
            current = self._current(entry)
            if current.sampled is not None:
                raise TranscriptError("a round is charged again only while its draw is missing")
            if entry["given_up"] != self._last_round():
                raise TranscriptError(f"round {entry['given_up']} is given up, which is not the last one")
            current.charges.append(charge)
            current.torn = False
        else:
            if number != len(self.rounds) + 1 or (self.rounds and self.rounds[-1].record is None):
                raise TranscriptError(f"round {number} is charged out of order")
            self.rounds.append(PastRound([charge]))

    def _last_round(self) -> int:
        """Return the number of the last round that is not given up."""
        return self._plan.rounds - sum(len(known.charges) - 1 for known in self.rounds)

    def _current(self, entry: Entry) -> PastRound:
        if entry["round"] != len(self.rounds):
            raise TranscriptError(f"round {entry['round']} out of order")
        return self.rounds[-1]


def reservation(job: Job) -> Entry:
    """Return the journal's first entry: every charge of the plan, reserved before the first draw, and what it is for."""
    return {
        "kind": "reserve",
        "charges": [encode(charge) for charge in job.plan.charges()],
        "inputs": job.fingerprint(),
    }


def check_reservation(entry: Entry, planned: Entry, *, started: bool) -> None:
    """Refuse a reservation on file that is not the plan's, or not the first.

    Raises
    ------
    TranscriptError
        With what changed.
    """
    if started or entry["charges"] != planned["charges"]:
        raise TranscriptError("the reservation is not that of plan.json")
    if entry["inputs"] != planned["inputs"]:
        raise TranscriptError(
            "plan.json, schema.json or workload.json changed after the run had begun; restore them"
        )
