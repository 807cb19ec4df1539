"""The exact privacy loss of noisy counts of decision lists, over all neighbours of tiny families.

The real curator, and the real driver, play with noise that notes the exact counts, the law and the scale of each draw; the
loss is computed from the laws, cell by cell, as for summaries of records (`tests/exact_summary_loss.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from unittest import mock

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.curators.list_curator import ListCounts, ListCurator
from dpopt.private.tables.list_table import PrivateLists
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.queries.decision_lists.families import ListFamily
from dpopt.synopses.decision_lists.list_plan import ListPlan
from dpopt.synopses.decision_lists.release_lists import release_lists
from tests.exact_bin_loss import AMPLE, Drawn, Watching, stated
from tests.exact_summary_loss import _concentrated_share, _pure_share, moves_between
from tests.tiny_lists import Row, family_of, private, random_coefficients, rows_of
from tests.tiny_runs import ADD_REMOVE, EventJournal

ROWS = 2
"""Under replace-one; add-remove has one more or less."""
FAMILIES: dict[str, ListFamily] = {
    "lists": family_of(2, 2),
    "one change": family_of(2, 2, "lists", 1),
    "disjunctions": family_of(4, 2, "disjunctions"),
    "conjunctions": family_of(4, 2, "conjunctions"),
}
Table = tuple[Row, ...]
Play = Callable[[PrivateLists, Watching], Sequence[Charge]]


@lru_cache
def coefficients_of(kind: str) -> ListCoefficients:
    """Return small ones, under which a row counts several units in conjunctions of each size."""
    return random_coefficients(FAMILIES[kind], 2, 1, bits=1, largest=2)


def tiny_plan(
    kind: str,
    relation: NeighbouringRelation,
    *,
    gaussian: bool,
    scales: tuple[float, ...] = (8.0, 8.0, 8.0),
) -> ListPlan:
    """Return a plan within an ample budget."""
    return ListPlan(
        coefficients=coefficients_of(kind),
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        sizes=(0, 1, 2),
        scales=scales,
        size=ROWS,
        points=1,
    )


@dataclass(frozen=True)
class ListGame:
    """A measurement or a whole release, small enough to enumerate."""

    family: ListFamily
    relation: NeighbouringRelation
    play: Play

    def played(self, table: Table) -> tuple[tuple[Drawn, ...], tuple[Charge, ...]]:
        noise = Watching()
        # The laws are the real ones, so that the claim of this noise to be private is taken.
        with mock.patch("dpopt.private.curators.list_curator.is_trusted", return_value=True):
            charges = tuple(self.play(private(self.family, table), noise))
        assert len(noise.drawn) == len(charges), (
            f"drawn {len(noise.drawn)} times, charged {len(charges)} times"
        )
        for drawn, charge in zip(noise.drawn, charges, strict=True):
            assert f"discrete {drawn.law} noise" in charge.mechanism, (
                f"{drawn.law} noise for {charge.mechanism}"
            )
        return tuple(noise.drawn), charges

    def neighbours(self) -> Iterator[tuple[Table, Table]]:
        """Yield a row beside each other one, and each with another one in its place."""
        rows = rows_of(self.family)
        first = rows[len(rows) // 2]
        if self.relation is ADD_REMOVE:
            yield from (((first,), (first, row)) for row in rows)
        else:
            yield from (((first, one), (first, other)) for one, other in combinations(rows, 2))


def measurement_game(kind: str, what: ListCounts, relation: NeighbouringRelation) -> ListGame:
    """Return the game of one measurement by the curator alone."""
    coefficients = coefficients_of(kind)

    def play(lists: PrivateLists, noise: Watching) -> Sequence[Charge]:
        ledger = Ledger(AMPLE[what.gaussian], relation)
        ledger.reserve([what.charge(coefficients, relation)])
        ListCurator(lists, coefficients, ledger, EventJournal([]), size=ROWS, noise=noise).measure(what)
        return ledger.entries

    return ListGame(coefficients.family, relation, play)


def release_game(plan: ListPlan) -> ListGame:
    """Return the game of a whole release."""

    def play(lists: PrivateLists, noise: Watching) -> Sequence[Charge]:
        return stated(release_lists(lists, plan, noise=noise).privacy)

    return ListGame(plan.family, plan.relation, play)


def check_list_game(game: ListGame) -> float:
    """Check all neighbours; return the largest share of the charged parameter that a pair uses up."""
    pairs = list(game.neighbours())
    known = {table: game.played(table) for table in dict.fromkeys(table for pair in pairs for table in pair)}
    (charges,) = {charged for _, charged in known.values()}
    shapes = {
        tuple((draw.law, len(draw.counts), draw.scale) for draw in drawn) for drawn, _ in known.values()
    }
    assert len(shapes) == 1, f"shape of the draws: {shapes}"
    moves = {moves_between(known[one][0], known[two][0]) for one, two in pairs}
    # The laws are symmetric: a loss depends on the sizes of differences alone, draw by draw.
    found = {tuple((scale, tuple(sorted(map(abs, one)))) for scale, one in each) for each in moves}
    if all(charge.kind is ChargeKind.PURE for charge in charges):
        return max(_pure_share(charges, one) for one in _largest(found, 1))
    return max(_concentrated_share(charges, one) for one in _largest(found, 2))


Moves = tuple[tuple[float, tuple[int, ...]], ...]


def _largest(moves: set[Moves], power: int) -> list[Moves]:
    """Return the four of the largest loss as the formulas of the laws have it."""

    def loss(each: Moves) -> float:
        return float(sum(abs(one) ** power / scale**power for scale, moved in each for one in moved))

    return sorted(moves, key=loss)[-4:]
