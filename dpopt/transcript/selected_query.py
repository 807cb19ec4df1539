"""A released value: the query that one round of FEM selected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpopt.accounting.charges import Charge
from dpopt.errors import TranscriptError


@dataclass(frozen=True, slots=True)
class SelectedQuery:
    """The query that the exponential mechanism selected in one round.

    Attributes
    ----------
    round : int
        Number of the round, from 1.
    query : int
        Position of the base query in the workload, from 0; of a workload of marginals, the cell in the flat order.
    negated : bool
        Whether its negation was selected: the records answer the base query too high.
    charge : Charge
        What the selection cost; it was charged before it was made.

    Notes
    -----
    Constructed in `dpopt.private` only, and where a saved transcript is read.

    Raises
    ------
    TranscriptError
        A number that is none, or out of range.
    """

    round: int
    query: int
    negated: bool
    charge: Charge

    def __post_init__(self) -> None:
        if type(self.round) is not int or self.round < 1:
            raise TranscriptError(f"rounds are numbered from 1, found {self.round!r}")
        if type(self.query) is not int or not 0 <= self.query < 2**62:
            raise TranscriptError(
                f"round {self.round}: queries are whole numbers from 0 on, found {self.query!r}"
            )
        if type(self.negated) is not bool:
            raise TranscriptError(
                f"round {self.round}: a query is negated or not (true or false), found {self.negated!r}"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the selection as a journal entry."""
        return {
            "kind": "query selection",
            "round": self.round,
            "query": self.query,
            "negated": self.negated,
        }

    @classmethod
    def from_json(cls, entry: dict[str, Any], charge: Charge) -> SelectedQuery:
        """Read a selection back from its journal entry and the charge that precedes it.

        Raises
        ------
        TranscriptError
            If the entry is damaged.
        """
        return cls(entry["round"], entry["query"], entry["negated"], charge)
