"""The exact privacy loss of noisy counts of conjunctions, over all neighbours of tiny universes.

The real curator, and the real driver, play with noise that notes the exact counts, the law and the scale of each draw. A
discrete Laplace law is cut into cells within which the ratio of two laws is one number, and joint outcomes with one and the
same ratio are put together: no divergence is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from unittest import mock

from dpopt.accounting.accountants import total_rho
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.curators.conjunction_curator import ConjunctionCounts, ConjunctionCurator
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan
from tests.exact_bin_loss import AMPLE, Drawn, Watching, laplace_cells, stated
from tests.exact_loss import DIGITS, ORDERS, as_decimal, check_losses
from tests.exact_measuring_loss import log_moment
from tests.tiny_runs import ADD_REMOVE, EventJournal, Record, Table, bits_schema, dataset_of, universe

ROWS = 3
"""Records under replace-one; add-remove has one to three."""
MIXED = Schema(
    (
        Attribute("a", AttributeKind.BOOLEAN),
        Attribute("b", AttributeKind.CATEGORICAL, ("x", "y", "z")),
    )
)
UNIVERSES: dict[str, ChosenLiterals] = {
    "mixed": ChosenLiterals.of(MIXED, None, "all"),
    "mixed, positive": ChosenLiterals.of(MIXED, None, "positive"),
    "bits": ChosenLiterals.of(bits_schema(3), None, "all"),
    "bits, positive": ChosenLiterals.of(bits_schema(3), None, "positive"),
}


def tiny_plan(
    literals: ChosenLiterals,
    relation: NeighbouringRelation,
    *,
    gaussian: bool,
    sizes: tuple[int, ...] | None = None,
    size: int = ROWS,
    width: int | None = None,
    scales: tuple[float, ...] = (4.0, 6.0, 9.0),
) -> SummaryPlan:
    """Return a plan within an ample budget, of all sizes unless some are named."""
    width = len(literals.schema) if width is None else width
    sizes = tuple(range(1, width + 1)) if sizes is None else sizes
    return SummaryPlan(
        literals=literals,
        width=width,
        predicate="and",
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        sizes=sizes,
        scales=scales[: len(sizes)],
        size=size,
        predicted=1.0,
        approximation=0.0,
        direct=1.0,
    )


def held_literals(literals: ChosenLiterals, record: Record) -> list[int]:
    """Return the numbers of the literals that a record satisfies, counted one by one."""
    numbered = [(at, code) for at, codes in enumerate(literals.codes) for code in codes]
    return [number for number, (at, code) in enumerate(numbered) if record[at] == code]


def counted(literals: ChosenLiterals, table: Iterable[Record], size: int) -> list[int]:
    """Return how many records satisfy each conjunction, in lexicographic order, by enumeration."""
    groups = literals.groups
    every = [
        one
        for one in combinations(range(groups.literals), size)
        if len({int(groups.group[number]) for number in one}) == size
    ]
    found = Counter(one for record in table for one in combinations(held_literals(literals, record), size))
    return [found[one] for one in every]


@lru_cache(maxsize=16)
def table_neighbours(schema: Schema, relation: NeighbouringRelation) -> list[tuple[Table, Table]]:
    """Return neighbouring tables: of 1 to 3 records, or of 3 under replace-one."""
    records = universe(schema)

    def with_one_more(table: Table, record: Record) -> Table:
        return tuple(sorted((*table, record)))

    if relation is ADD_REMOVE:
        return [
            (table, with_one_more(table, record))
            for rows in range(1, ROWS)
            for table in combinations_with_replacement(records, rows)
            for record in records
        ]
    return [
        (with_one_more(table, one), with_one_more(table, other))
        for table in combinations_with_replacement(records, ROWS - 1)
        for one, other in combinations(records, 2)
    ]


Play = Callable[[PrivateDataset, Watching], Sequence[Charge]]


@dataclass(frozen=True)
class SummaryGame:
    """A measurement or a whole release, small enough to enumerate."""

    schema: Schema
    relation: NeighbouringRelation
    play: Play

    def played(self, table: Table) -> tuple[tuple[Drawn, ...], tuple[Charge, ...]]:
        noise = Watching()
        # The laws are the real ones, so that the claim of this noise to be private is taken.
        with mock.patch("dpopt.private.curators.conjunction_curator.is_trusted", return_value=True):
            charges = tuple(self.play(dataset_of(self.schema, table), noise))
        assert len(noise.drawn) == len(charges), (
            f"drawn {len(noise.drawn)} times, charged {len(charges)} times"
        )
        for drawn, charge in zip(noise.drawn, charges, strict=True):
            assert f"discrete {drawn.law} noise" in charge.mechanism, (
                f"{drawn.law} noise for {charge.mechanism}"
            )
        return tuple(noise.drawn), charges


def measurement_game(
    literals: ChosenLiterals, what: ConjunctionCounts, relation: NeighbouringRelation
) -> SummaryGame:
    """Return the game of one measurement by the curator alone."""

    def play(dataset: PrivateDataset, noise: Watching) -> Sequence[Charge]:
        ledger = Ledger(AMPLE[what.gaussian], relation)
        ledger.reserve([what.charge(literals, relation)])
        curator = ConjunctionCurator(dataset, literals, ledger, EventJournal([]), size=ROWS, noise=noise)
        curator.measure(what)
        return ledger.entries

    return SummaryGame(literals.schema, relation, play)


def release_game(plan: SummaryPlan) -> SummaryGame:
    """Return the game of a whole release."""

    def play(dataset: PrivateDataset, noise: Watching) -> Sequence[Charge]:
        return stated(release_summary(dataset, plan, noise=noise).privacy)

    return SummaryGame(plan.literals.schema, plan.relation, play)


def check_summary_game(game: SummaryGame) -> float:
    """Check all neighbours; return the largest share of the charged parameter that a pair uses up."""
    known = {
        table: game.played(table)
        for table in sorted({one for pair in table_neighbours(game.schema, game.relation) for one in pair})
    }
    (charges,) = {charged for _, charged in known.values()}
    shapes = {
        tuple((draw.law, len(draw.counts), draw.scale) for draw in drawn) for drawn, _ in known.values()
    }
    assert len(shapes) == 1, f"shape of the draws: {shapes}"
    moves = {
        moves_between(known[one][0], known[two][0])
        for one, two in table_neighbours(game.schema, game.relation)
    }
    if all(charge.kind is ChargeKind.PURE for charge in charges):
        return max(_pure_share(charges, one) for one in moves)
    return max(_concentrated_share(charges, one) for one in moves)


Moves = tuple[tuple[float, tuple[int, ...]], ...]


def moves_between(one: Sequence[Drawn], two: Sequence[Drawn]) -> Moves:
    """Return, draw by draw, the scale and the differences of the counts that differ, sorted: all that a loss depends on."""
    return tuple(
        (left.scale, tuple(sorted(b - a for a, b in zip(left.counts, right.counts, strict=True) if a != b)))
        for left, right in zip(one, two, strict=True)
    )


def _pure_share(charges: Sequence[Charge], moves: Moves) -> float:
    law: dict[Fraction, tuple[Fraction, Fraction]] = {Fraction(1): (Fraction(1), Fraction(1))}
    for scale, differences in moves:
        for difference in differences:
            low, high = min(0, difference), max(0, difference)
            cells = [laplace_cells(centre, scale, low, high) for centre in (0, difference)]
            law = _merged(law, list(zip(*cells, strict=True)))
    one, two = zip(*law.values(), strict=True)
    with localcontext(DIGITS):
        return float(check_losses(charges, *([as_decimal(share) for share in side] for side in (one, two))))


def _merged(
    law: dict[Fraction, tuple[Fraction, Fraction]], cells: Iterable[tuple[Fraction, ...]]
) -> dict[Fraction, tuple[Fraction, Fraction]]:
    found: dict[Fraction, tuple[Fraction, Fraction]] = {}
    for p, q in cells:
        for ratio, (a, b) in law.items():
            before = found.get(ratio * p / q, (Fraction(0), Fraction(0)))
            found[ratio * p / q] = (before[0] + a * p, before[1] + b * q)
    return found


def _concentrated_share(charges: Sequence[Charge], moves: Moves) -> float:
    charged, reached = total_rho(charges), 0.0
    for order in ORDERS:
        found = sum(log_moment(scale, tuple(map(abs, one)), order) for scale, one in moves)
        rho = found / (order * (order - 1))
        assert rho <= charged * (1 + 1e-9), f"order {order}: rho {rho}, charged {charged}"
        reached = max(reached, rho / charged)
    return reached
