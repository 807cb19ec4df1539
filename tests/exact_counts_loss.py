"""The exact privacy loss of noisy counts, over all neighbours of tiny universes.

The real curator, and the real drivers, play with noise that notes the exact counts, the distribution and the scale of each
draw. The distributions themselves are known by their formulas, which `tests/statistics/test_draws.py` holds
OpenDP's samplers against. A discrete Laplace distribution is cut into the cells "at most the smaller count", each number
between the two counts, and "at least the larger": within a cell the ratio of two distributions is one number, and joint
outcomes with one and the same ratio are put together, so that no divergence is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations, combinations_with_replacement, pairwise
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError
from dpopt.files.codec import decode
from dpopt.private.curators.counting_curator import Counted, CountingCurator
from dpopt.private.curators.prefix_curator import RoundsCurator
from dpopt.private.measurements.bin_measurement import SumsInRounds
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.closed import Closed
from tests.exact_distribution import gaussian_logs, laplace_tail
from tests.exact_loss import Divergences, as_decimal, check_divergences, check_rho
from tests.exact_measuring_loss import log_moment
from tests.tiny_runs import EventJournal, trusted

ROWS = 3
"""Records under replace-one; add-remove has fewer, too."""
AMPLE = {True: Budget(None, 1e-9, 1e9, Accountant.ZCDP), False: Budget(1e9, 0.0, None, Accountant.PURE)}
WINDOW = 60  # standard deviations of Gaussian noise; beyond them lies less than any double

Pairs = Sequence[tuple[Any, Any]]
Moves = tuple[tuple[float, tuple[int, ...]], ...]
Joint = dict[Fraction, tuple[Fraction, Fraction]]


def neighbours_of(
    records: Sequence[Any], relation: NeighbouringRelation
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Return neighbouring tables: of 1 to 3 records, or of 3 under replace-one."""

    def with_one_more(table: tuple[Any, ...], record: Any) -> tuple[Any, ...]:
        return tuple(sorted((*table, record)))

    ordered = sorted(records)
    if relation is NeighbouringRelation.ADD_REMOVE:
        return [
            (table, with_one_more(table, record))
            for rows in range(1, ROWS)
            for table in combinations_with_replacement(ordered, rows)
            for record in records
        ]
    return [
        (with_one_more(table, one), with_one_more(table, other))
        for table in combinations_with_replacement(ordered, ROWS - 1)
        for one, other in combinations(records, 2)
    ]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One draw: the exact counts that got noise, its distribution and its scale."""

    distribution: str
    counts: tuple[int, ...]
    scale: float


@dataclass
class Watching:
    """Noise that notes what it is asked for; draw number k gives only the k-th value of the script, or else no noise."""

    script: Sequence[int] = ()
    events: list[str] = field(default_factory=list)
    drawn: list[Drawn] = field(default_factory=list)
    is_private: bool = True

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return self._draw("Gaussian", counts, scale)

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return self._draw("Laplace", counts, scale)

    def _draw(self, distribution: str, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        place = len(self.drawn)
        self.events.append(distribution)
        self.drawn.append(Drawn(distribution, tuple(counts.tolist()), scale))
        return np.full_like(counts, self.script[place]) if place < len(self.script) else counts.copy()


@dataclass(frozen=True, slots=True)
class Played:
    """What was drawn in a run, and what the run was charged."""

    drawn: tuple[Drawn, ...]
    charges: tuple[Charge, ...]


@dataclass(frozen=True)
class CountingGame:
    """A measurement or a whole release, small enough to enumerate.

    Attributes
    ----------
    pairs : sequence
        All neighbouring tables.
    play : callable
        Plays with a table and noise, and returns what was charged.
    first : int or None
        Where all draws but the first depend on what that one gave, of which they depend on 0, ..., `first`.
    most : int or None
        Look at so many pairs only, those of the largest loss as the formulas of the distributions have it.
    """

    pairs: Pairs
    play: Callable[[Any, Watching], Sequence[Charge]]
    first: int | None = None
    most: int | None = None

    def played(self, table: Any, script: Sequence[int] = ()) -> Played:
        noise = Watching(script)
        # The distributions are the real ones, so that the claim of this noise to be private is taken.
        with mock.patch("dpopt.private.curators.door.is_trusted", trusted):
            charges = tuple(self.play(table, noise))
        assert len(noise.drawn) == len(charges), f"drawn {len(noise.drawn)} times, charged {len(charges)} times"
        for drawn, charge in zip(noise.drawn, charges, strict=True):
            assert f"discrete {drawn.distribution} noise" in charge.mechanism, (
                f"{drawn.distribution} noise for {charge.mechanism}"
            )
        return Played(tuple(noise.drawn), charges)


@dataclass(frozen=True)
class TinyTables:
    """Tables that are small enough to enumerate, and what the private side makes of one.

    Attributes
    ----------
    neighbours : callable
        All neighbouring tables under a relation.
    read : callable
        What a release reads, of a table.
    hold : callable
        What the curator measures, of what is read.
    most : int or None
        As in `CountingGame`.
    """

    neighbours: Callable[[NeighbouringRelation], Pairs]
    read: Callable[[Any], Any]
    hold: Callable[[Any], Closed] = lambda read: read
    most: int | None = None

    def held(self, table: Any) -> Closed:
        return self.hold(self.read(table))

    def measuring(self, what: Counted, relation: NeighbouringRelation) -> CountingGame:
        """Return the game of one measurement by the curator alone."""
        pairs = self.neighbours(relation)
        rows = self.held(pairs[0][0])._rows

        def play(table: Any, noise: Watching) -> Sequence[Charge]:
            held, ledger = self.held(table), Ledger(AMPLE[what.gaussian], relation)
            ledger.reserve([what.charge(held._public, relation)])
            CountingCurator(held, ledger, EventJournal([]), size=rows, noise=noise).measure(what)
            return ledger.entries

        return CountingGame(pairs, play, most=self.most)

    def releasing(self, release: Callable[..., Any], plan: Any, *, first: int | None = None) -> CountingGame:
        """Return the game of a whole release: `release` makes it of what is read, a plan and noise."""
        return CountingGame(
            self.neighbours(plan.relation),
            lambda table, noise: stated(release(self.read(table), plan, noise=noise).privacy),
            first,
            self.most,
        )


def stated(privacy: object) -> tuple[Charge, ...]:
    """Return the charges that a release states."""
    assert isinstance(privacy, dict)
    assert privacy["private"]
    return tuple(decode(Charge, charge, "a charge") for charge in privacy["charges"])


def check_game(game: CountingGame) -> float:
    """Check all neighbours; return the largest share of the charged parameter that a pair uses up."""
    scripts: list[tuple[int, ...]] = [()] if game.first is None else [(one,) for one in range(game.first + 1)]
    tables = dict.fromkeys(table for pair in game.pairs for table in pair)
    known = {table: [game.played(table, script) for script in scripts] for table in tables}
    (charges,) = {run.charges for runs in known.values() for run in runs}
    for runs in zip(*known.values(), strict=True):
        shapes = {tuple((one.distribution, len(one.counts), one.scale) for one in run.drawn) for run in runs}
        assert len(shapes) == 1, f"shape of the draws: {shapes}"
    pure = all(charge.kind is ChargeKind.PURE for charge in charges)
    assert len(game.pairs) > 1
    if game.first is not None:
        share = _adaptive_pure_share if pure else _adaptive_concentrated_share
        seen = {first_and_rest(known[one], known[two]) for one, two in game.pairs}
        return max(share(game.first, charges, *each) for each in seen)
    moves = {moves_between(known[one][0].drawn, known[two][0].drawn) for one, two in game.pairs}
    if game.most is not None:
        # The distributions are symmetric: a loss depends on the sizes of differences alone, draw by draw.
        found = {tuple((scale, tuple(sorted(map(abs, one)))) for scale, one in each) for each in moves}
        moves = set(sorted(found, key=lambda each: _loss(each, 1 if pure else 2))[-game.most :])
    if pure:
        return max(float(check_divergences(charges, divergences(one))) for one in moves)
    return max(check_rho(charges, partial(moment, one)) for one in moves)


def _loss(moves: Moves, power: int) -> float:
    return float(sum(abs(one) ** power / scale**power for scale, sensitivity in moves for one in sensitivity))


def moves_between(one: Sequence[Drawn], two: Sequence[Drawn]) -> Moves:
    """Return, draw by draw, the scale and the differences of the counts that differ, sorted: all that a loss depends on."""
    return tuple(
        (left.scale, tuple(sorted(b - a for a, b in zip(left.counts, right.counts, strict=True) if a != b)))
        for left, right in zip(one, two, strict=True)
    )


def joint(moves: Moves) -> Joint:
    """Return the two joint distributions of noise around counts that differ so, by the ratio of the two."""
    distribution: Joint = {Fraction(1): (Fraction(1), Fraction(1))}
    for scale, differences in moves:
        for difference in differences:
            low, high = min(0, difference), max(0, difference)
            cells = [laplace_cells(centre, scale, low, high) for centre in (0, difference)]
            distribution = _merged(distribution, zip(*cells, strict=True))
    return distribution


def _merged(distribution: Joint, cells: Iterable[tuple[Fraction, ...]]) -> Joint:
    found: Joint = {}
    for p, q in cells:
        for ratio, (a, b) in distribution.items():
            before = found.get(ratio * p / q, (Fraction(0), Fraction(0)))
            found[ratio * p / q] = (before[0] + a * p, before[1] + b * q)
    return found


@lru_cache(maxsize=10_000)
def divergences(moves: Moves) -> Divergences:
    """Return what tells noise around counts that differ so apart, computed once for all measurements."""
    return _apart(joint(moves))


def _apart(distribution: Joint) -> Divergences:
    one, two = zip(*distribution.values(), strict=True)
    return Divergences([as_decimal(share) for share in one], [as_decimal(share) for share in two])


def moment(moves: Moves, order: float) -> float:
    return sum(log_moment(scale, tuple(map(abs, one)), order) for scale, one in moves)


First = tuple[int, int, float]


def first_and_rest(one: Sequence[Played], two: Sequence[Played]) -> tuple[First, tuple[Moves, ...]]:
    """Return the two counts of the first draw and its scale, and the moves of the others after each of its values."""
    left, right = one[0].drawn[0], two[0].drawn[0]
    rest = tuple(moves_between(a.drawn[1:], b.drawn[1:]) for a, b in zip(one, two, strict=True))
    return (left.counts[0], right.counts[0], left.scale), rest


def _adaptive_pure_share(last: int, charges: Sequence[Charge], first: First, rest: Sequence[Moves]) -> float:
    *counts, scale = first
    cells = [laplace_cells(int(count), scale, 0, last) for count in counts]
    found: Joint = {}
    for moves, p, q in zip(rest, *cells, strict=True):
        for ratio, (a, b) in _merged(joint(moves), [(p, q)]).items():
            before = found.get(ratio, (Fraction(0), Fraction(0)))
            found[ratio] = (before[0] + a, before[1] + b)
    return float(check_divergences(charges, _apart(found)))


def _adaptive_concentrated_share(last: int, charges: Sequence[Charge], first: First, rest: Sequence[Moves]) -> float:
    a, b, scale = first
    values = np.arange(-int(WINDOW * scale), last + int(WINDOW * scale) + 1)

    def log(order: float) -> float:
        after = np.array([moment(each, order) for each in rest])
        parts = order * gaussian_logs(values, a, scale) + (1 - order) * gaussian_logs(values, b, scale)
        return float(np.logaddexp.reduce(parts + after[np.clip(values, 0, last)]))

    return check_rho(charges, log)


@lru_cache(maxsize=10_000)
def laplace_cells(centre: int, scale: float, low: int, high: int) -> list[Fraction]:
    """Return P(X <= low), P(X = low + 1), ..., P(X >= high) of discrete Laplace noise around a centre from low to high."""
    assert low <= centre <= high
    assert low < high
    tails = (laplace_tail(value - centre, scale) for value in range(low + 1, high + 1))
    return [above - below for above, below in pairwise([Fraction(1), *tails, Fraction(0)])]


# Histograms and graphs.

BINS = NODES = 5
EDGES = 4
Counts = tuple[int, ...]
Pair = tuple[Counts, Counts]


def bin_counts(counts: Counts, *, graph: bool) -> BinCounts:
    given = np.array(counts, dtype=np.int64)
    return BinCounts.of_degrees(given, int(given.sum()) // 2) if graph else BinCounts.from_counts(given)


@lru_cache(maxsize=4)
def record_neighbours(relation: NeighbouringRelation, bins: int = BINS) -> list[Pair]:
    """Return neighbouring tables as counts of bins: of 0 to 3 records, or of 3 under replace-one."""

    def counts(records: Iterable[int]) -> Counts:
        return tuple(np.bincount(np.array(tuple(records), dtype=np.int64), minlength=bins).tolist())

    def tables(rows: int) -> Iterator[tuple[int, ...]]:
        return combinations_with_replacement(range(bins), rows)

    if relation is NeighbouringRelation.ADD_REMOVE:
        found = {(counts(t), counts((*t, b))) for rows in range(ROWS) for t in tables(rows) for b in range(bins)}
    else:
        moves = list(combinations(range(bins), 2))
        found = {(counts((*t, a)), counts((*t, b))) for t in tables(ROWS - 1) for a, b in moves}
    return sorted(found)


@lru_cache(maxsize=4)
def edge_neighbours(relation: NeighbouringRelation) -> list[Pair]:
    """Return neighbouring graphs of up to four edges as degrees of five nodes, each pair once up to the names of nodes."""
    edges = list(combinations(range(NODES), 2))
    found = set()
    for number in range(EDGES):
        for graph in combinations(edges, number):
            common = np.bincount(np.array(graph, dtype=np.int64).reshape(-1), minlength=NODES)
            ends = [np.bincount(edge, minlength=NODES) for edge in edges if edge not in graph]
            if relation is NeighbouringRelation.ADD_REMOVE:
                pairs = [(common, common + one) for one in ends]
            elif number == ROWS - 1:
                pairs = [(common + one, common + other) for one, other in combinations(ends, 2)]
            else:
                pairs = []
            found |= {tuple(sorted(zip(a.tolist(), b.tolist(), strict=True))) for a, b in pairs}
    return [(tuple(a for a, _ in nodes), tuple(b for _, b in nodes)) for nodes in sorted(found)]


def binned(bins: int = BINS) -> TinyTables:
    """Return tables as exact counts of bins."""
    return TinyTables(partial(record_neighbours, bins=bins), partial(bin_counts, graph=False))


def graphs() -> TinyTables:
    """Return graphs as degrees of nodes."""
    return TinyTables(edge_neighbours, partial(bin_counts, graph=True))


HALVES, ENDED = np.array([0, 0, 1, 1]), np.array([[True, True], [True, False], [False, True], [False, False]])


def rounds_share(relation: NeighbouringRelation, *, gaussian: bool) -> float:
    """Check three rounds over four bins; return the largest share of all charges that neighbours use up.

    The first noisy count decides of which half the second round is the last. The third asks for all bins, and where that is
    refused for those that are left.
    """
    what = SumsInRounds("sums", (6.0, 9.0, 4.0), gaussian)
    pairs = binned(4).neighbours(relation)

    def played(table: Any, value: int) -> Played:
        held, noise, ledger = bin_counts(table, graph=False), Watching((value,)), Ledger(AMPLE[gaussian], relation)
        ledger.reserve([what.charge(held._public, relation)])
        with mock.patch("dpopt.private.curators.door.is_trusted", trusted):
            curator = RoundsCurator(held, ledger, EventJournal([]), size=ROWS, noise=noise)
        curator.measure_round(what, np.zeros(4, dtype=np.int64), np.zeros(1, dtype=np.bool_))
        curator.measure_round(what, HALVES, ENDED[value])
        try:
            curator.measure_round(what, np.arange(4), np.zeros(4, dtype=np.bool_))
        except BudgetError:
            left = ~ENDED[value][HALVES]
            groups = np.where(left, np.cumsum(left) - 1, -1)
            curator.measure_round(what, groups, np.zeros(int(left.sum()), dtype=np.bool_))
        return Played(tuple(noise.drawn), ledger.entries)

    known = {table: [played(table, value) for value in range(len(ENDED))] for pair in pairs for table in pair}
    (charges,) = {run.charges for runs in known.values() for run in runs}
    share = _adaptive_concentrated_share if gaussian else _adaptive_pure_share
    seen = {first_and_rest(known[one], known[two]) for one, two in pairs}
    return max(share(len(ENDED) - 1, charges, *each) for each in seen)
