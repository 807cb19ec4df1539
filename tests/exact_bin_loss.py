"""The exact privacy loss of histograms and sorted counts, over all neighbours of tiny universes.

The real curator, and the real drivers, play with noise that notes the exact counts, the law and the scale of each draw. The
laws themselves are known by their formulas, which `tests/statistics/test_noise_law.py` holds OpenDP's samplers against. A
discrete Laplace law is cut into the cells "at most the smaller count", each number between the two counts, and "at least the
larger": within a cell the ratio of two laws is one number, so that no divergence is lost. Where the number of sorted counts
is bought, the release that follows is played for each of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, pairwise, product
from math import prod
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant, total_rho
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.files.codec import decode
from dpopt.private.curators.bin_curator import BinCurator
from dpopt.private.measurements.bin_measurement import BinMeasurement
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.synopses.histograms.grids.grid_plan import GridPlan
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.sorted.release_sorted import SortedPlan, release_sorted
from dpopt.synopses.histograms.tree_plan import TreePlan
from tests.exact_law import exp_minus
from tests.exact_loss import DIGITS, ORDERS, as_decimal, check_losses
from tests.exact_measuring_loss import log_moment
from tests.tiny_runs import ADD_REMOVE, EventJournal

BINS = NODES = 5
ROWS, EDGES = 3, 4
AMPLE = {
    True: Budget(None, 1e-9, 1e9, Accountant.ZCDP),
    False: Budget(1e9, 0.0, None, Accountant.PURE),
}
WINDOW = 60  # standard deviations of Gaussian noise; beyond them lies less than any double

Counts = tuple[int, ...]
Pair = tuple[Counts, Counts]
Laws = tuple[list[Fraction], list[Fraction]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One draw: the exact counts that got noise, its law and its scale."""

    law: str
    counts: Counts
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

    def _draw(self, law: str, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        place = len(self.drawn)
        self.events.append(law)
        self.drawn.append(Drawn(law, tuple(counts.tolist()), scale))
        return np.full_like(counts, self.script[place]) if place < len(self.script) else counts.copy()


@dataclass(frozen=True, slots=True)
class Played:
    """What was drawn in a run, and what the run was charged."""

    drawn: tuple[Drawn, ...]
    charges: tuple[Charge, ...]


Play = Callable[[BinCounts, Watching], Sequence[Charge]]


@dataclass(frozen=True)
class BinGame:
    """A measurement or a whole release, small enough to enumerate.

    Attributes
    ----------
    graph : bool
        Whether records are edges between five nodes, or lie in one bin each.
    relation : NeighbouringRelation
    play : callable
        Plays with exact counts and noise, and returns what was charged.
    adaptive : bool
        Whether all draws but the first depend on what the first one gave.
    bins : int
        How many bins there are.
    """

    graph: bool
    relation: NeighbouringRelation
    play: Play
    adaptive: bool = False
    bins: int = BINS

    def pairs(self) -> list[Pair]:
        """Return all neighbours."""
        return edge_neighbours(self.relation) if self.graph else record_neighbours(self.relation, self.bins)

    def played(self, counts: Counts, script: Sequence[int] = ()) -> Played:
        noise = Watching(script)
        # The laws are the real ones, so that the claim of this noise to be private is taken.
        with mock.patch("dpopt.private.curators.bin_curator.is_trusted", return_value=True):
            charges = tuple(self.play(bin_counts(counts, graph=self.graph), noise))
        assert len(noise.drawn) == len(charges), (
            f"drawn {len(noise.drawn)} times, charged {len(charges)} times"
        )
        for drawn, charge in zip(noise.drawn, charges, strict=True):
            assert f"discrete {drawn.law} noise" in charge.mechanism, (
                f"{drawn.law} noise for {charge.mechanism}"
            )
        return Played(tuple(noise.drawn), charges)

    def scripts(self) -> list[tuple[int, ...]]:
        """Return the values of the first draw that the rest may depend on, the first and the last one standing for tails."""
        return [(value,) for value in range(NODES + 1)] if self.adaptive else [()]


def measurement_game(what: BinMeasurement, relation: NeighbouringRelation, *, graph: bool) -> BinGame:
    """Return the game of one measurement by the curator alone."""

    def play(counts: BinCounts, noise: Watching) -> Sequence[Charge]:
        ledger = Ledger(AMPLE[what.gaussian], relation)
        ledger.reserve([what.charge(counts, relation)])
        BinCurator(counts, ledger, EventJournal([]), size=ROWS, noise=noise).measure(what)
        return ledger.entries

    return BinGame(graph, relation, play)


def histogram_game(plan: TreePlan) -> BinGame:
    """Return the game of a whole release of a histogram."""

    def play(counts: BinCounts, noise: Watching) -> Sequence[Charge]:
        return stated(release_histogram(counts, plan, noise=noise).privacy)

    return BinGame(False, plan.relation, play, bins=plan.bins)


def grid_game(plan: GridPlan) -> BinGame:
    """Return the game of a whole release of a histogram of several columns."""

    def play(counts: BinCounts, noise: Watching) -> Sequence[Charge]:
        return stated(release_grid(counts, plan, noise=noise).privacy)

    return BinGame(False, plan.relation, play, bins=prod(plan.shape))


def sorted_game(plan: SortedPlan) -> BinGame:
    """Return the game of a whole release of sorted counts, or of degrees."""

    def play(counts: BinCounts, noise: Watching) -> Sequence[Charge]:
        return stated(release_sorted(counts, plan, noise=noise).privacy)

    return BinGame(plan.bins_of_a_record == 2, plan.relation, play, adaptive=plan.length is None)


def stated(privacy: object) -> tuple[Charge, ...]:
    """Return the charges that a release states."""
    assert isinstance(privacy, dict)
    assert privacy["private"]
    return tuple(decode(Charge, charge, "a charge") for charge in privacy["charges"])


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

    if relation is ADD_REMOVE:
        found = {
            (counts(t), counts((*t, b))) for rows in range(ROWS) for t in tables(rows) for b in range(bins)
        }
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
            if relation is ADD_REMOVE:
                pairs = [(common, common + one) for one in ends]
            elif number == ROWS - 1:
                pairs = [(common + one, common + other) for one, other in combinations(ends, 2)]
            else:
                pairs = []
            found |= {tuple(sorted(zip(a.tolist(), b.tolist(), strict=True))) for a, b in pairs}
    return [(tuple(a for a, _ in nodes), tuple(b for _, b in nodes)) for nodes in sorted(found)]


def check_bin_game(game: BinGame) -> float:
    """Check all neighbours; return the largest share of the charged parameter that a pair uses up."""
    known: dict[tuple[Counts, tuple[int, ...]], Played] = {}

    def played(counts: Counts, script: tuple[int, ...]) -> Played:
        if (counts, script) not in known:
            known[counts, script] = game.played(counts, script)
        return known[counts, script]

    shares: dict[object, float] = {}
    for one, two in game.pairs():
        runs = [(played(one, script), played(two, script)) for script in game.scripts()]
        (charges,) = {run.charges for pair in runs for run in pair}
        for pair in runs:
            check_alike(*pair)
        matters = (charges, *(what_matters(game, *pair) for pair in runs))
        if matters in shares:
            continue
        if all(charge.kind is ChargeKind.PURE for charge in charges):
            shares[matters] = _pure_share(game, charges, tuple(runs))
        else:
            shares[matters] = _concentrated_share(game, charges, tuple(runs))
    assert len(game.pairs()) > 1
    return max(shares.values())


def what_matters(game: BinGame, one: Played, two: Played) -> object:
    """Return all that the laws of two runs depend on: the first draw as it is if others depend on it, else differences.

    Noise is added to counts, so that the laws of counts further up are the same laws, further up.
    """
    skipped = 1 if game.adaptive else 0
    first = tuple((tuple(drawn.counts), drawn.scale) for run in (one, two) for drawn in run.drawn[:skipped])
    moves = tuple(
        (left.scale, right.scale, tuple(b - a for a, b in zip(left.counts, right.counts, strict=True)))
        for left, right in zip(one.drawn[skipped:], two.drawn[skipped:], strict=True)
    )
    return first, moves


def check_alike(one: Played, two: Played) -> None:
    """Assert that two runs draw the same number of values with the same noise; only the counts below it may differ."""
    shapes = [[(drawn.law, len(drawn.counts), drawn.scale) for drawn in run.drawn] for run in (one, two)]
    assert shapes[0] == shapes[1], f"shape of the draws: {shapes[0]} and {shapes[1]}"


def _pure_share(game: BinGame, charges: tuple[Charge, ...], runs: tuple[tuple[Played, Played], ...]) -> float:
    firsts, skipped = [[Fraction(1)], [Fraction(1)]], 0
    if game.adaptive:
        draws, skipped = [run.drawn[0] for run in runs[0]], 1
        firsts = [laplace_cells(draw.counts[0], draw.scale, 0, NODES) for draw in draws]
    laws: Laws = ([], [])
    for place, (one, two) in enumerate(runs):
        rests = joint_law(one.drawn[skipped:], two.drawn[skipped:])
        for law, first, rest in zip(laws, firsts, rests, strict=True):
            law.extend(first[place] * share for share in rest)
    with localcontext(DIGITS):
        return float(check_losses(charges, *([as_decimal(share) for share in law] for law in laws)))


def joint_law(one: Sequence[Drawn], two: Sequence[Drawn]) -> Laws:
    """Return the two laws of everything drawn, of the counts that differ alone: the others say nothing."""
    cells: tuple[list[list[Fraction]], list[list[Fraction]]] = ([], [])
    for left, right in zip(one, two, strict=True):
        for a, b in zip(left.counts, right.counts, strict=True):
            if a != b:
                for side, count in zip(cells, (a, b), strict=True):
                    side.append(laplace_cells(count, left.scale, min(a, b), max(a, b)))
    first, second = ([prod(shares, start=Fraction(1)) for shares in product(*side)] for side in cells)
    return first, second


@lru_cache(maxsize=10_000)
def laplace_cells(centre: int, scale: float, low: int, high: int) -> list[Fraction]:
    """Return P(X <= low), P(X = low + 1), ..., P(X >= high) of discrete Laplace noise around a centre from low to high."""
    ratio = exp_minus(1 / Fraction(scale))

    def beyond(distance: int) -> Fraction:
        """Return P(X >= centre + distance) for a distance of at least 0."""
        return ratio**distance / (1 + ratio)

    def at_least(value: int) -> Fraction:
        return beyond(value - centre) if value >= centre else 1 - beyond(centre - value + 1)

    assert low <= centre <= high
    assert low < high
    levels = [Fraction(1), *(at_least(value) for value in range(low + 1, high + 1)), Fraction(0)]
    return [above - below for above, below in pairwise(levels)]


def _concentrated_share(
    game: BinGame, charges: tuple[Charge, ...], runs: tuple[tuple[Played, Played], ...]
) -> float:
    charged, reached = total_rho(charges), 0.0
    skipped = 1 if game.adaptive else 0
    moved = [
        tuple(
            (left.scale, tuple(abs(a - b) for a, b in zip(left.counts, right.counts, strict=True)))
            for left, right in zip(one.drawn[skipped:], two.drawn[skipped:], strict=True)
        )
        for one, two in runs
    ]
    first = [run.drawn[0] for run in runs[0]] if game.adaptive else []
    for order in ORDERS:
        rest = np.array([sum(log_moment(scale, moves, order) for scale, moves in draws) for draws in moved])
        if first:
            (a, b), scale = (drawn.counts[0] for drawn in first), first[0].scale
            values = np.arange(-int(WINDOW * scale), NODES + int(WINDOW * scale) + 1)
            parts = order * gaussian_logs(values, a, scale) + (1 - order) * gaussian_logs(values, b, scale)
            found = float(np.logaddexp.reduce(parts + rest[np.clip(values, 0, NODES)]))
        else:
            found = float(rest[0])
        rho = found / (order * (order - 1))
        assert rho <= charged * (1 + 1e-9), f"order {order}: rho {rho}, charged {charged}"
        reached = max(reached, rho / charged)
    return reached


def gaussian_logs(values: NDArray[np.int64], centre: int, scale: float) -> NDArray[np.float64]:
    """Return ln of the probabilities of discrete Gaussian noise around a centre."""
    exponents = -((values - float(centre)) ** 2) / (2 * scale**2)
    return np.asarray(exponents - np.logaddexp.reduce(exponents))
