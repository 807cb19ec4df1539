"""Released values: what the curator has drawn or noised, charged first, and is now public."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.accounting.charges import Charge
from dpopt.arrays import freeze, frozen
from dpopt.errors import TranscriptError


@dataclass(frozen=True, slots=True, eq=False)
class SampledQueries:
    """The queries that one round of DualQuery drew, netted.

    Attributes
    ----------
    round : int
        Number of the round, from 1.
    queries : (r,) int64 array
        Positions of base queries in the workload, strictly increasing.
    counts : (r,) int64 array
        Net counts, never 0: how often the query was drawn minus how often its negation was.
    charge : Charge
        What the draw cost; it was charged before the draw was made.
    pairs : (p,) int64 array
        Base queries drawn together with their negations, once for each such pair, in increasing order: where the next round
        may keep what was drawn (DQRS). Empty elsewhere.

    Notes
    -----
    Constructed in `dpopt.private` only, and where a saved transcript is read. A query drawn as often as its negation adds
    the same constant to every record's objective, so its net count 0 is left out (post-processing).
    """

    round: int
    queries: NDArray[np.int64]
    counts: NDArray[np.int64]
    charge: Charge
    pairs: NDArray[np.int64] = field(default_factory=lambda: freeze(np.empty(0, dtype=np.int64)))

    def __post_init__(self) -> None:
        if not isinstance(self.round, int) or self.round < 1:
            raise TranscriptError(f"rounds are numbered from 1, found {self.round!r}")
        for name in ("queries", "counts", "pairs"):
            values = _whole_numbers(getattr(self, name), f"round {self.round}: {name}")
            object.__setattr__(self, name, values)
        if len(self.queries) != len(self.counts):
            raise TranscriptError(
                f"round {self.round}: {len(self.queries)} queries but {len(self.counts)} counts"
            )
        if len(self.queries) and (self.queries[0] < 0 or np.any(np.diff(self.queries) <= 0)):
            raise TranscriptError(
                f"round {self.round}: positions of queries must be strictly increasing from 0 up"
            )
        if np.any(self.counts == 0):
            raise TranscriptError(f"round {self.round}: net counts must not be 0")
        if len(self.pairs) and (self.pairs[0] < 0 or np.any(np.diff(self.pairs) < 0)):
            raise TranscriptError(f"round {self.round}: pairs must be in increasing order from 0 up")

    def to_json(self) -> dict[str, Any]:
        """Return the draw as a journal entry."""
        return {
            "kind": "draw",
            "round": self.round,
            "queries": self.queries.tolist(),
            "counts": self.counts.tolist(),
            **({"pairs": self.pairs.tolist()} if len(self.pairs) else {}),
        }

    @classmethod
    def from_json(cls, entry: dict[str, Any], charge: Charge) -> SampledQueries:
        """Read a draw back from its journal entry and the charge that precedes it.

        Raises
        ------
        TranscriptError
            If the entry is damaged, or so many draws were not paid for.
        """
        read = cls(entry["round"], entry["queries"], entry["counts"], charge, entry.get("pairs", ()))
        netted = sum(map(abs, read.counts.tolist()), start=2 * len(read.pairs))
        if netted > charge.count or (charge.count - netted) % 2:
            raise TranscriptError(
                f"round {read.round}: net counts of {netted:,} in all do not come from the {charge.count:,} draws charged"
            )
        return read


@dataclass(frozen=True, slots=True, eq=False)
class NoisyAnswers:
    """Counts with noise added, charged first.

    Attributes
    ----------
    name : str
        What was counted, for example ``"one-way marginals"``.
    values : (r,) int64 array
        Exact counts plus integer noise.
    noise : str
        Law of the noise, for example ``"discrete Gaussian"``.
    scale : float
        Its scale: the parameter sigma of the discrete Gaussian, or b of the discrete Laplace law.
    charge : Charge
        What the measurement cost.

    Notes
    -----
    Constructed in `dpopt.private` only, and where a saved transcript is read.
    """

    name: str
    values: NDArray[np.int64]
    noise: str
    scale: float
    charge: Charge

    def __post_init__(self) -> None:
        values = _whole_numbers(self.values, f"{self.name}: noisy answers")
        if not self.scale > 0:
            raise TranscriptError(f"{self.name}: the noise must have a positive scale, found {self.scale}")
        object.__setattr__(self, "values", values)

    def to_json(self) -> dict[str, Any]:
        """Return the measurement as a journal entry."""
        return {
            "kind": "measurement",
            "name": self.name,
            "values": self.values.tolist(),
            "noise": self.noise,
            "scale": self.scale,
        }

    @classmethod
    def from_json(cls, entry: dict[str, Any], charge: Charge) -> NoisyAnswers:
        """Read a measurement back from its journal entry and the charge that precedes it."""
        return cls(
            str(entry["name"]),
            entry["values"],
            str(entry["noise"]),
            float(entry["scale"]),
            charge,
        )


@dataclass(frozen=True, slots=True)
class SelectedMarginal:
    """The candidate that one round selected, charged first.

    Attributes
    ----------
    round : int
        Number of the round, from 1.
    candidate : int
        Position among the round's candidates.
    charge : Charge
        What the selection cost.

    Notes
    -----
    Constructed in `dpopt.private` only, and where a saved transcript is read.
    """

    round: int
    candidate: int
    charge: Charge

    def __post_init__(self) -> None:
        if type(self.round) is not int or self.round < 1:
            raise TranscriptError(f"rounds are numbered from 1, found {self.round!r}")
        if type(self.candidate) is not int or self.candidate < 0:
            raise TranscriptError(
                f"round {self.round}: candidates are numbered from 0, found {self.candidate!r}"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the selection as a journal entry."""
        return {"kind": "selection", "round": self.round, "candidate": self.candidate}

    @classmethod
    def from_json(cls, entry: dict[str, Any], charge: Charge) -> SelectedMarginal:
        """Read a selection back from its journal entry and the charge that precedes it."""
        return cls(entry["round"], entry["candidate"], charge)


def _whole_numbers(values: ArrayLike, what: str) -> NDArray[np.int64]:
    try:
        array = frozen(values, np.int64)
    except (OverflowError, TypeError, ValueError) as error:
        raise TranscriptError(f"{what} must be whole numbers below 2**63 in size") from error
    if array.ndim != 1:
        raise TranscriptError(f"{what} must be one-dimensional")
    return array
