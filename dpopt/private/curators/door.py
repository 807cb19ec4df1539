"""The door of the private side: the checks, charges and records that every curator makes before a value leaves.

Whatever leaves has been charged first, then drawn, then written to the journal, in this order. A curator is a subclass:
it holds what its mechanism needs besides the records, and lets out released values with the methods below only.

    charge = self._charged(charge, round=3)       spend it, then put it on file
    value = ...                                   draw
    return self._released(value, value.to_json()) put the value on file, then hand it out

A draw that may have been recalled, and of which there is one for each label, is paid for with `_paid_once`. All
selections are paid for and drawn with `_select`. Wherever a method takes `again`, it says that the charge was recalled
without its draw, and pays for this one; nothing had left the curator.

What is done with released values afterwards costs nothing. Privacy: A3, A6 in docs/privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Generic, Required, TypedDict, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.errors import BudgetError
from dpopt.files.codec import encode
from dpopt.private.measurements.noisy_counts import Noised, with_noise
from dpopt.private.mechanisms.noise import Noise, OpendpNoise
from dpopt.private.mechanisms.randomness import RandomWords, SystemWords
from dpopt.private.selections.query_weights import ExactSampler, QuerySampler
from dpopt.private.tables.closed import Closed, StaysHere
from dpopt.private.tables.dataset import Progress, check_size
from dpopt.threads import USUAL
from dpopt.transcript.journal import Entry, Journal
from dpopt.transcript.released import (
    NoisyAnswers,
    SampledQueries,
    SelectedCandidate,
    SelectedDatabase,
    SelectedMarginal,
    SelectedQuery,
)

NOT_PRIVATE_DRAWS = "draws came from a seeded or scripted source"


def _net_counts(number: int, signed: NDArray[np.int64], charge: Charge) -> SampledQueries:
    queries, inverse = np.unique(signed // 2, return_inverse=True)
    net = np.zeros(len(queries), dtype=np.int64)
    np.add.at(net, inverse, 1 - 2 * (signed % 2))
    return SampledQueries(number, queries[net != 0], net[net != 0], charge)


SELECTIONS: Mapping[type, Callable[[int, Any, Charge], object]] = {
    SampledQueries: _net_counts,
    SelectedQuery: lambda number, signed, charge: SelectedQuery(number, signed // 2, signed % 2 == 1, charge),
    SelectedMarginal: SelectedMarginal,
    SelectedDatabase: lambda _, counts, charge: SelectedDatabase(np.flatnonzero(counts), counts[counts > 0], charge),
    SelectedCandidate: lambda _, candidate, charge: SelectedCandidate(candidate, charge),
}
"""Selections with proven charges (docs/privacy): each type, and how its value is made of number, draw and charge."""


_Released = TypeVar("_Released")
_Held = TypeVar("_Held", bound=Closed)


def is_trusted(sampler: QuerySampler | None, noise: Noise | None, words: RandomWords | None = None) -> bool:
    """Return whether draws come from the operating system's words by this project's samplers, and from OpenDP by its own.

    None stands for the default. Decided by exact types, not by what an object says of itself. Privacy: A7 in
    docs/privacy.
    """
    exact = sampler is None or (type(sampler) is ExactSampler and sampler.reads_the_system)
    from_the_system = words is None or type(words) is SystemWords
    return exact and from_the_system and (noise is None or type(noise) is OpendpNoise)


class Use(TypedDict, total=False):
    """How a door uses the data behind it.

    `noise`, `words` and `sampler` are sources of noise for counts, of random words, and of drawn queries; anything but the
    defaults, which `is_trusted` names, marks the ledger as not private.
    """

    size: Required[int]
    """Public size: n under replace-one, n0 under add-remove."""
    noise: Noise | None
    words: RandomWords | None
    sampler: QuerySampler | None
    progress: Progress | None
    """Called with the share of the work of one measurement that is done. Its timing depends on public sizes only."""


class Door(StaysHere, Generic[_Held]):
    """Records, ledger and journal, and the order in which they are used.

    Privacy: A2, A3 in docs/privacy.

    The ledger holds the reservation of the whole plan, and every charge is spent there before its draw is made. The
    journal gets charge, then draw, each before anything else sees it. The rest as `Use` says.

    Raises PrivateDataError under replace-one, if the table does not have exactly `size` records.
    """

    def __init__(self, dataset: _Held, ledger: Ledger, journal: Journal, **use: Unpack[Use]) -> None:
        self._size = use["size"]
        check_size(dataset, ledger.relation, self._size)
        self._dataset = dataset
        self._ledger = ledger
        self._journal = journal
        noise, words = use.get("noise"), use.get("words")
        self._noise: Noise = OpendpNoise() if noise is None else noise
        self._words: RandomWords = SystemWords() if words is None else words
        self._threads = USUAL
        self._progress = use.get("progress")
        self._paid: Charge | None = None
        self._labels: set[str] = set()  # of charges whose draws were made, or may have been seen
        if ledger.is_private and not is_trusted(use.get("sampler"), self._noise, self._words):
            ledger.mark_not_private(NOT_PRIVATE_DRAWS)

    def recall(self, charge: Charge, *, given_up: Charge | None = None, drawn: bool) -> None:
        """Spend a charge that is on file, when a run is resumed.

        Where it repeats a torn draw, a later round was given up to pay for it. `drawn` says whether its draw may have been
        seen: it is on file, or torn. If not, it is made when it is asked for with `again`. Privacy: A5 in docs/privacy.
        """
        if given_up is None:
            self._ledger.spend(charge)
        else:
            self._ledger.substitute(charge, given_up)
        self._paid = None if drawn else charge
        if drawn:
            self._labels.add(charge.label)

    @property
    def _relation(self) -> NeighbouringRelation:
        return self._ledger.relation

    def _charged(self, charge: Charge, **where: int) -> Charge:
        """Spend a charge, then put it on file. `where` goes into its line: ``round=3``.

        Raises BudgetError if it is not reserved or not unspent; nothing is on file then.
        """
        self._ledger.spend(charge)
        return self._on_file(charge, **where)

    def _exchanged(self, charge: Charge, given_up: Charge, /, **where: int) -> Charge:
        """Spend a charge once more in place of a reserved one that is given up, then put it on file."""
        self._ledger.substitute(charge, given_up)
        return self._on_file(charge, **where)

    def _recalled(self, expected: Charge, what: str) -> Charge:
        """Return the charge that was recalled without its draw, once, if it is the expected one.

        Raises BudgetError if no such charge was recalled, or it is another one. `what` says in the message what it
        should pay for.
        """
        paid, self._paid = self._paid, None
        if paid is None or paid != expected:
            raise BudgetError(f"the charge on file is not that of {what}; transcript and plan do not fit together")
        return paid

    def _not_drawn(self, label: str) -> None:
        """Raise BudgetError for a second draw with a label whose draw was made, or was possibly seen."""
        if label in self._labels:
            raise BudgetError(
                f"{label!r} was drawn before, and no draw is repeated; each draw of a plan has a name or a round of "
                f"its own"
            )

    def _paid_once(self, charge: Charge, what: str = "", *, again: bool = False, **where: int) -> Charge:
        """Spend a charge and put it on file, or with `again` take the one that was recalled; once for each label.

        Privacy: A3, A5 in docs/privacy.

        Raises BudgetError as `_not_drawn`, `_charged` and `_recalled`; nothing is to be drawn then.
        """
        self._not_drawn(charge.label)
        paid = self._recalled(charge, what or repr(charge.label)) if again else self._charged(charge, **where)
        self._labels.add(charge.label)
        return paid

    def _select(
        self,
        kind: type[_Released],
        number: int,
        range_: Decimal,
        draw: Callable[[], object],
        *,
        again: bool = False,
        **where: int,
    ) -> _Released:
        """Charge the selection of round `number` by its range, then make it; BudgetError as `_paid_once`, before any draw.

        Privacy: A3, A5, E1 in docs/privacy.
        """
        charge = selection_charge(number, range_, self._relation)
        paid = self._paid_once(charge, f"the selection of round {number}", again=again, **where)
        return self._drawn(kind, number, draw, paid)

    def _drawn(self, kind: type[_Released], number: int, draw: Callable[[], object], charge: Charge) -> _Released:
        """Draw, put on file, hand out; `charge` is on file. Privacy: A3 in docs/privacy."""
        selected: Any = SELECTIONS[kind](number, draw(), charge)
        return cast("_Released", self._released(selected, selected.to_json()))

    def _noisy(self, exact: NDArray[np.int64], measurement: Noised, charge: Charge, **where: int) -> NoisyAnswers:
        """Add noise, put on file, hand out. The charge was spent and is on file. Privacy: A3, C1 in docs/privacy."""
        answers = with_noise(exact, measurement, charge, self._noise, self._progress)
        return self._released(answers, {**answers.to_json(), **where})

    def _released(self, value: _Released, entry: Entry) -> _Released:
        """Put a value that was drawn on file, then hand it out."""
        self._journal.append(entry)
        return value

    def _on_file(self, charge: Charge, **where: int) -> Charge:
        self._journal.append({"kind": "charge", "charge": encode(charge), **where})
        return charge
