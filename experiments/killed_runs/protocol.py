"""What must hold of a run however often it was killed, decided from the files alone.

1. What is on file stays on file: the whole lines that a kill left are the first lines of the final transcript.
2. Nothing that was drawn is drawn again: every draw has a charge of its own before it, and no round or measurement two draws.
3. What may have been seen is charged: of a draw that a kill tore, a part may have been seen; the ledger has a charge for it
   and another one for the draw that took its place.
4. The ledger spends at least what an unbroken run of as many rounds spends, and at most what was reserved.

Written without the reader of `dpopt.algorithms`, which is what is put to the test.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpopt.transcript.journal import line_of, read_journal

Entry = dict[str, Any]
DRAWS = {"draw", "measurement", "selection", "query selection"}
TRANSCRIPT = "transcript.jsonl"
_MARK = line_of({"kind": "torn"})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The transcript as a kill left it."""

    whole: bytes
    """Its whole lines."""
    torn: bytes
    """The part of a further line."""
    entries: list[Entry]
    """What the whole lines hold."""

    @classmethod
    def of(cls, folder: Path) -> Snapshot:
        """Read the transcript of a folder; one that is not there is empty."""
        path = folder / TRANSCRIPT
        if not path.exists():
            return cls(b"", b"", [])
        contents, data = read_journal(path), path.read_bytes()
        return cls(data[: contents.length], data[contents.length :], contents.entries)

    def open_charge(self) -> Entry | None:
        """Return the charge whose draw is missing, if the last line is one."""
        last = self.entries[-1] if self.entries else None
        return last["charge"] if last is not None and last["kind"] == "charge" else None

    def lost(self) -> int:
        """Return how many draws were torn: each costs a round, or is left out."""
        pairs = zip(self.entries, self.entries[1:], strict=False)
        return sum(one["kind"] == "charge" and other["kind"] == "torn" for one, other in pairs)


def problems_of_run(snapshots: Sequence[Snapshot], final: Snapshot, statement: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a finished run: its transcript, what kills left of it, and its release.json."""
    found = [*_not_kept(snapshots, final), *_out_of_order(final.entries)]
    spent = [charge["label"] for charge in statement["privacy"]["charges"]]
    on_file = [entry["charge"]["label"] for entry in final.entries if entry["kind"] == "charge"]
    if spent[: len(on_file)] != on_file:
        found.append("the ledger's charges are not those on file")
    for label, number in _seen(snapshots, final).items():
        if number > spent.count(label):
            found.append(f"{label}: {number} draws may have been seen, {spent.count(label)} are charged")
    return [*found, *_wrong_totals(final, statement)]


def problems_of_folder(folder: Path) -> list[str]:
    """Return what a finished folder should not have: files that were left half-written, and times that differ."""
    hidden = sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
    times = {int(path.stat().st_mtime) for path in folder.iterdir()}
    found = [f"left behind: {', '.join(hidden)}"] if hidden else []
    return found if len(times) == 1 else [*found, "the times of the files differ"]


def cost(charges: Iterable[Mapping[str, Any]]) -> float:
    """Return the rho of some charges, by the formulas of each kind."""
    total = 0.0
    for charge in charges:
        one = charge["parameter"]
        rho = {"bounded range": one * one / 8, "pure": one * one / 2, "concentrated": one}[charge["kind"]]
        total += charge["count"] * rho
    return total


def _not_kept(snapshots: Sequence[Snapshot], final: Snapshot) -> list[str]:
    found = []
    for number, left in enumerate(snapshots, start=1):
        if not final.whole.startswith(left.whole):
            found.append(f"lines that kill {number} left on file are not the first of the final transcript")
        elif left.torn and final.entries[len(left.entries)]["kind"] != "torn":
            found.append(f"the line that kill {number} tore is not marked")
    return found if not final.torn else [*found, "the final transcript is torn"]


def _out_of_order(entries: Sequence[Entry]) -> list[str]:
    """Return where a draw has no charge of its own, or is made twice."""
    found: list[str] = []
    drawn: Counter[str] = Counter()
    paying: str | None = None
    for number, entry in enumerate(entries, start=1):
        kind = entry["kind"]
        if kind == "charge":
            if paying is not None:
                found.append(f"line {number} charges again though nothing was torn")
            paying = entry["charge"]["label"]
        elif kind == "torn":
            paying = None  # that charge has paid for what may have been seen
        elif kind in DRAWS:
            if paying is None:
                found.append(f"line {number} is a draw without a charge of its own")
            else:
                drawn[paying] += 1
            paying = None
    return found + [f"{label}: {number} draws on file" for label, number in drawn.items() if number > 1]


def _seen(snapshots: Sequence[Snapshot], final: Snapshot) -> Counter[str]:
    """Return how many draws of each charge may have been seen: those on file, and those that a kill tore."""
    seen: Counter[str] = Counter()
    for before, entry in zip(final.entries, final.entries[1:], strict=False):
        if before["kind"] == "charge" and entry["kind"] in DRAWS:
            seen[before["charge"]["label"]] += 1
    # The same part of a line, found by two kills, is one draw: the second came before it was marked, or while it was.
    torn: set[tuple[bytes, bytes]] = set()
    for left in snapshots:
        charge, marking = left.open_charge(), _MARK.startswith(left.torn)
        again = any(whole == left.whole and (marking or part == left.torn) for whole, part in torn)
        if charge is not None and left.torn and not again:
            seen[charge["label"]] += 1
            torn.add((left.whole, left.torn))
    return seen


def _wrong_totals(final: Snapshot, statement: Mapping[str, Any]) -> list[str]:
    privacy = statement["privacy"]
    reserved = next(entry["charges"] for entry in final.entries if entry["kind"] == "reserve")
    if not privacy["private"]:
        return ["the ledger says that the run was not private"]
    spent, told = cost(privacy["charges"]), privacy["rho"]
    # What an unbroken run of as many rounds spends: each charge on file once.
    unbroken = cost({json.dumps(charge): charge for charge in privacy["charges"]}.values())
    slack = 1 + 1e-9
    found = []
    if spent * slack < unbroken:
        found.append(f"spent rho {spent!r}, an unbroken run of as many rounds {unbroken!r}")
    if spent > cost(reserved) * slack:
        found.append(f"spent rho {spent!r}, reserved {cost(reserved)!r}")
    if told is not None and told * slack < spent:
        found.append(f"release.json says rho {told!r}, its charges are {spent!r}")
    return found
