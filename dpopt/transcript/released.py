"""Released values: drawn or noised by the curator, charged first, and now public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.constraints import Array, Number, Whole, constrain
from dpopt.errors import TranscriptError
from dpopt.files.codec import decode, encode

_Numbers = Annotated[NDArray[np.int64], Array(dimensions=1)]
_Round = Annotated[int, Whole("the number of a round")]
_Place = Annotated[int, Whole(least=0)]
_Scale = Annotated[float, Number("the scale of noise", above=0)]


class Released:
    """The base of released values: an entry of the journal, without the charge, which has an entry of its own.

    Constructed in `dpopt.private` only, and where a saved transcript is read. A number that is none, or out of range,
    is a TranscriptError.
    """

    __slots__ = ()
    KIND: ClassVar[str]

    def __post_init__(self) -> None:
        constrain(self, TranscriptError)

    def to_json(self) -> dict[str, Any]:
        """Return the value as a journal entry."""
        entry = encode(self, {"kind": self.KIND})
        return {name: part for name, part in entry.items() if name != "charge"}

    @classmethod
    def from_json(cls, entry: dict[str, Any], charge: Charge) -> Self:
        """Read a value back from its journal entry and the charge that precedes it."""
        known = {*cls.__dataclass_fields__, "kind"}  # type: ignore[attr-defined]  # all of them are dataclasses
        known |= {"pairs"} if entry.get("pairs") else set()  # an earlier draw of DualQuery has `pairs`, always empty
        fields = {name: part for name, part in entry.items() if name not in ("round", "pairs") or name in known}
        what = f"an entry of the kind {cls.KIND!r}"
        header = {"kind": cls.KIND}
        read = decode(cls, {**fields, "charge": encode(charge)}, what, TranscriptError, header=header)
        read.check_paid()
        return read

    def check_paid(self) -> None:
        """Refuse values that draws of this charge cannot give; called when a transcript is read."""


@dataclass(frozen=True, slots=True, eq=False)
class SampledQueries(Released):
    """The queries that one round of DualQuery drew, netted.

    A query drawn as often as its negation adds the same constant to every record's objective, so its net count 0 is
    left out (post-processing).
    """

    KIND: ClassVar[str] = "draw"
    round: _Round
    """Number of the round, from 1."""
    queries: _Numbers
    """Shape (r,). Positions of base queries in the workload, strictly increasing."""
    counts: _Numbers
    """Shape (r,). Net counts, never 0: how often the query was drawn minus how often its negation was."""
    charge: Charge
    """The charge of the draw, made before the draw."""

    def __post_init__(self) -> None:
        Released.__post_init__(self)
        if len(self.queries) != len(self.counts):
            raise TranscriptError(f"round {self.round}: {len(self.queries)} queries but {len(self.counts)} counts")
        if len(self.queries) and (self.queries[0] < 0 or np.any(np.diff(self.queries) <= 0)):
            raise TranscriptError(f"round {self.round}: positions of queries must be strictly increasing from 0 up")
        if np.any(self.counts == 0):
            raise TranscriptError(f"round {self.round}: net counts must not be 0")

    def check_paid(self) -> None:
        """Refuse more draws than were paid for."""
        netted = sum(map(abs, self.counts.tolist()))
        if netted > self.charge.count or (self.charge.count - netted) % 2:
            raise TranscriptError(
                f"round {self.round}: net counts of {netted:,} in all do not come from the {self.charge.count:,} draws "
                f"charged"
            )


@dataclass(frozen=True, slots=True, eq=False)
class NoisyAnswers(Released):
    """Counts with noise added, charged first."""

    KIND: ClassVar[str] = "measurement"
    name: str
    """Name of the counts, for example ``"one-way marginals"``."""
    values: _Numbers
    """Shape (r,). Exact counts plus integer noise."""
    noise: str
    """Distribution of the noise, for example ``"discrete Gaussian"``."""
    scale: _Scale
    """Its scale: the parameter sigma of the discrete Gaussian, or b of the discrete Laplace distribution."""
    charge: Charge
    """The charge of the measurement."""

    def check_planned(self, noise: str, scale: float, number: int) -> None:
        """Refuse answers with other noise than a plan's, or of another number of queries; where a transcript is read."""
        if (self.noise, self.scale) != (noise, scale):
            raise TranscriptError(
                f"{self.name!r} has {self.noise} noise of scale {self.scale!r} on file, the plan says {noise} noise of "
                f"scale {scale!r}"
            )
        if len(self.values) != number:
            raise TranscriptError(f"{self.name!r} has {len(self.values):,} values on file, its queries are {number:,}")


@dataclass(frozen=True, slots=True)
class SelectedMarginal(Released):
    """The candidate that one round selected, charged first."""

    KIND: ClassVar[str] = "selection"
    round: _Round
    """Number of the round, from 1."""
    candidate: _Place
    """Position among the round's candidates."""
    charge: Charge
    """The charge of the selection."""

    @property
    def chosen(self) -> int:
        """The candidate."""
        return self.candidate


@dataclass(frozen=True, slots=True)
class SelectedQuery(Released):
    """The query that the exponential mechanism selected in one round."""

    KIND: ClassVar[str] = "query selection"
    round: _Round
    """Number of the round, from 1."""
    query: _Place
    """Position of the base query in the workload, from 0; of a workload of marginals, the cell in the flat order."""
    negated: bool
    """Whether its negation was selected: the records answer the base query too high."""
    charge: Charge
    """The charge of the selection, made before it."""

    @property
    def chosen(self) -> int:
        """The query."""
        return self.query


@dataclass(frozen=True, slots=True, eq=False)
class SelectedDatabase(Released):
    """A multiset of elements of a public universe."""

    KIND: ClassVar[str] = "database"
    elements: _Numbers
    """Shape (r,). Positions of the elements that occur, strictly increasing from 0 up."""
    counts: _Numbers
    """Shape (r,). How often each occurs, at least once."""
    charge: Charge
    """The charge of the selection, made before it."""

    def __post_init__(self) -> None:
        Released.__post_init__(self)
        if self.elements.shape != self.counts.shape or not self.elements.size:
            raise TranscriptError(
                f"a small database of {self.elements.shape} elements with {self.counts.shape} counts is damaged"
            )
        if self.elements[0] < 0 or np.any(np.diff(self.elements) <= 0) or np.any(self.counts < 1):
            raise TranscriptError(
                "the elements of a small database are positions in increasing order, and each occurs at least once"
            )


@dataclass(frozen=True, slots=True)
class SelectedCandidate(Released):
    """A candidate of a public list."""

    KIND: ClassVar[str] = "candidate"
    candidate: _Place
    """Its position, from 0."""
    charge: Charge
    """The charge of the selection, made before it."""


@dataclass(frozen=True, slots=True, eq=False)
class NoisySearch(Released):
    """Where binary searches with noisy comparisons ended, charged first."""

    KIND: ClassVar[str] = "search"
    name: str
    """Name of the search, for example ``"comparisons of search 3"``."""
    ends: _Numbers
    """Shape (c,). The position at which each of c simultaneous searches ended. A binary search from a public range to a
    position has one sequence of outcomes only, so that this is all that its comparisons released."""
    noise: str
    """Distribution of the noise of each comparison."""
    scale: _Scale
    """Its scale, in records."""
    charge: Charge | None
    """The charge of all comparisons that the search can make, whether it made them or not; None if it compared nothing.
    """

    def __post_init__(self) -> None:
        Released.__post_init__(self)
        if self.ends.size and self.ends.min() < 0:
            raise TranscriptError(f"{self.name}: expected a row of positions from 0 on")


def check_selected(selected: SelectedMarginal | SelectedQuery, number: int) -> None:
    """Refuse a selection that is none of these queries or marginals; called when a transcript is read."""
    if selected.chosen >= number:
        what = "query" if isinstance(selected, SelectedQuery) else "marginal"
        raise TranscriptError(
            f"round {selected.round} selects {what} {selected.chosen:,}; there are {number:,}, numbered from 0"
        )
