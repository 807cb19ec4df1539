"""What one round of an algorithm that draws queries released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.certificate import Certificate
from dpopt.releases.kept_records import KeptRecord, codes_of, record_to_json
from dpopt.transcript.journal import Entry
from dpopt.transcript.released import SampledQueries


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """What one round released.

    Attributes
    ----------
    sampled : SampledQueries
        The drawn queries.
    kept : KeptRecord
        The synthetic record: its codes, or its bits where there are many attributes of two codes.
    certificate : Certificate
        Its value, recomputed exactly from the drawn queries and the record.
    stopped : str
        Why the solver stopped.
    fallback : str or None
        Why the public fallback rule was used, or None if the solver gave the record.
    solver : str
        Name and version of the solver that was asked.
    solve_seconds : float or None
        How long it took, for the owner's log; None for a round read from file. Never written to a release.

    Notes
    -----
    Held as long as the run lasts: 16 bytes for each distinct query of the draw, and the record in 4 bytes an attribute, or in
    one bit.
    """

    sampled: SampledQueries
    kept: KeptRecord
    certificate: Certificate
    stopped: str
    fallback: str | None
    solver: str
    solve_seconds: float | None = None

    @property
    def record(self) -> NDArray[np.int32]:
        """The synthetic record, (d,) codes, read-only: the next round hands it to a solver as its hint."""
        return codes_of(self.kept)

    def to_json(self) -> Entry:
        """Return the record as a journal entry."""
        return {
            "kind": "record",
            "round": self.sampled.round,
            "record": record_to_json(self.kept),
            "objective": self.certificate.objective,
            "bound": self.certificate.bound,
            "stopped": self.stopped,
            "fallback": self.fallback,
            "solver": self.solver,
        }
