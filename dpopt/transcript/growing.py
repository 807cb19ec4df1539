"""The journal of measurements that one charge pays for, made a few at a time: its entries about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.errors import TranscriptError
from dpopt.files.codec import decode
from dpopt.transcript.journal import Entry
from dpopt.transcript.released import NoisyAnswers

SEEDED = "not private"


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """The draws so far."""

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
    """Return the content of the entries after the first one."""
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
