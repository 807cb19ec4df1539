"""The exact privacy loss of intervals and boxes, over all neighbours of tiny domains, through the real drivers and curators.

Comparisons are played with noise that makes each come out as a script says; a run is a path of outcomes, and all paths are
played. The distribution of a path is the product of the distributions of its outcomes: that exact count plus discrete noise
of the scale that was asked for reaches the threshold. Sums that are measured after a path get independent noise around exact
sums that the run notes: under Laplace noise their loss reaches the sum of all moves over the scale, whatever the path; under
Gaussian noise the moments multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.synopses.intervals.interval_plan import IntervalPlan
from dpopt.synopses.intervals.partition_release import PartitionRelease
from dpopt.synopses.intervals.release_intervals import release_partition
from dpopt.synopses.intervals.split_plan import SplitPlan
from tests.exact_counts_loss import AMPLE, ROWS, Counts, Pair, record_neighbours, stated
from tests.exact_distribution import laplace_tail, logarithm
from tests.exact_loss import check_rho
from tests.exact_measuring_loss import log_moment
from tests.tiny_runs import trusted

FAR = 10**9
ROUNDING = 1e-9


@dataclass
class Deciding:
    """Noise that makes comparisons come out as scripted (and then as "no"), and notes what it is asked for.

    Draws of `mass_scales` are sums: they come out exact.
    """

    script: tuple[bool, ...]
    mass_scales: frozenset[float]
    gaussian: bool
    outcomes: list[bool] = field(default_factory=list)
    compared: list[tuple[int, float]] = field(default_factory=list)
    measured: list[tuple[Counts, float]] = field(default_factory=list)
    draws: list[float] = field(default_factory=list)
    is_private: bool = True

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        assert self.gaussian
        return self._draw(counts, scale)

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        assert not self.gaussian
        return self._draw(counts, scale)

    def _draw(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        self.draws.append(scale)
        if scale in self.mass_scales:
            self.measured.append((tuple(counts.tolist()), scale))
            return counts.copy()
        found = np.empty_like(counts)
        for place, count in enumerate(counts.tolist()):
            number = len(self.outcomes)
            says = self.script[number] if number < len(self.script) else False
            self.outcomes.append(says)
            self.compared.append((count, scale))
            found[place] = FAR if says else -FAR
        return found


@dataclass(frozen=True, slots=True)
class Path:
    """One sequence of outcomes: with which exact counts they were compared, and which exact sums were measured then."""

    outcomes: tuple[bool, ...]
    compared: tuple[tuple[int, float], ...]
    measured: tuple[tuple[Counts, float], ...]
    draws: tuple[float, ...]
    charges: tuple[Charge, ...]


@dataclass(frozen=True)
class SearchGame:
    """A release of intervals or boxes, small enough to enumerate.

    Attributes
    ----------
    relation : NeighbouringRelation
    gaussian : bool
    bins : int
        Bins or cells.
    threshold : int
        What noisy counts or differences are compared with.
    mass_scales : frozenset of float
        Scales of sums, different from those of comparisons.
    play : callable
        Plays with exact counts and noise.
    """

    relation: NeighbouringRelation
    gaussian: bool
    bins: int
    threshold: int
    mass_scales: frozenset[float]
    play: Callable[[BinCounts, Noise], PartitionRelease]

    def paths(self, counts: Counts) -> Iterator[Path]:
        """Yield all paths of a table."""
        script: tuple[bool, ...] = ()
        while True:
            noise = Deciding(script, self.mass_scales, self.gaussian)
            # The distributions are the real ones, so that the claim of this noise to be private is taken.
            with mock.patch("dpopt.private.curators.door.is_trusted", trusted):
                released = self.play(BinCounts.from_counts(np.array(counts, dtype=np.int64)), noise)
            yield Path(
                tuple(noise.outcomes),
                tuple(noise.compared),
                tuple(noise.measured),
                tuple(noise.draws),
                tuple(sorted(stated(released.privacy), key=lambda charge: charge.label)),
            )
            outcomes = noise.outcomes
            while outcomes and outcomes[-1]:
                outcomes.pop()
            if not outcomes:
                return
            script = (*outcomes[:-1], True)

    def distribution(self, path: Path) -> Fraction:
        """Return the probability of the outcomes of a path."""
        found = Fraction(1)
        for says, (count, scale) in zip(path.outcomes, path.compared, strict=True):
            reached = self.probability(self.threshold - count, scale)
            found *= reached if says else 1 - reached
        return found

    def probability(self, distance: int, scale: float) -> Fraction:
        """Return P(noise >= distance)."""
        return gaussian_tail(distance, scale) if self.gaussian else laplace_tail(distance, scale)


def interval_game(plan: IntervalPlan) -> SearchGame:
    """Return the game of a release of intervals."""
    return SearchGame(
        plan.relation,
        plan.gaussian,
        plan.bins,
        plan.threshold,
        frozenset(plan.mass_scales),
        lambda counts, noise: release_partition(counts, plan, noise=noise),
    )


def split_game(plan: SplitPlan) -> SearchGame:
    """Return the game of a release of boxes."""
    return SearchGame(
        plan.relation,
        plan.gaussian,
        int(np.prod(plan.shape)),
        0,
        frozenset(plan.mass_scales),
        lambda counts, noise: release_partition(counts, plan, noise=noise),
    )


@cache
def gaussian_tail(distance: int, scale: float) -> Fraction:
    """Return P(X >= distance) of discrete Gaussian noise, to 14 digits of the smaller tail."""
    width = int(60 * scale) + abs(distance) + 2
    values = np.arange(-width, width + 1, dtype=np.float64)
    weights = np.exp(-(values**2) / (2 * scale**2))
    inside = values >= distance
    above, below = (Fraction(float(np.sort(weights[inside]).sum())), Fraction(float(np.sort(weights[~inside]).sum())))
    return above / (above + below)


def check_search_game(game: SearchGame) -> float:
    """Check the loss of all pairs of neighbours against what is charged; return the largest share of it that was reached.

    Raises
    ------
    AssertionError
        If a pair loses more than the charges, or what is charged or drawn depends on the table.
    """
    pairs: list[Pair] = record_neighbours(game.relation, game.bins)
    known: dict[Counts, dict[tuple[bool, ...], tuple[Path, Fraction]]] = {}
    for counts in {counts for pair in pairs for counts in pair}:
        found = {path.outcomes: (path, game.distribution(path)) for path in game.paths(counts)}
        assert abs(float(sum(distribution for _, distribution in found.values())) - 1) < 1e-12
        known[counts] = found
    reached = 0.0
    for one, two in pairs:
        assert set(known[one]) == set(known[two]), "which comparisons are made depends on more than their outcomes"
        for first, second in ((known[one], known[two]), (known[two], known[one])):
            for (path, _), (other, _) in ((first[key], second[key]) for key in first):
                assert path.draws == other.draws
                assert path.charges == other.charges, "what is charged depends on the table"
            reached = max(reached, _share(game, first, second))
    return reached


Known = dict[tuple[bool, ...], tuple[Path, Fraction]]


def _share(game: SearchGame, first: Known, second: Known) -> float:
    charges = next(iter(first.values()))[0].charges
    assert len({path.charges for path, _ in first.values()}) == 1, "what is charged depends on outcomes"
    if not game.gaussian:
        charged = sum(charge.parameter * charge.count for charge in charges)
        assert all(charge.kind is ChargeKind.PURE for charge in charges)
        loss = max(
            float(logarithm(distribution / second[key][1])) + sum(_moves(path, second[key][0]))
            for key, (path, distribution) in first.items()
        )
        assert loss <= charged * (1 + ROUNDING), f"lost {loss}, charged {charged}"
        return loss / charged

    def log_moment_of_all(order: float) -> float:
        terms = []
        for key, (path, distribution) in first.items():
            other, other_distribution = second[key]
            moment = order * log_of(distribution) + (1 - order) * log_of(other_distribution)
            for (a, scale), (b, _) in zip(path.measured, other.measured, strict=True):
                sensitivity = tuple(abs(x - y) for x, y in zip(a, b, strict=True))
                moment += log_moment(scale, sensitivity, order)
            terms.append(moment)
        return float(np.logaddexp.reduce(terms))

    return check_rho(charges, log_moment_of_all, slack=1e-7)


def _moves(path: Path, other: Path) -> Iterator[float]:
    for (a, scale), (b, _) in zip(path.measured, other.measured, strict=True):
        yield sum(abs(x - y) for x, y in zip(a, b, strict=True)) / scale


def log_of(distribution: Fraction) -> float:
    """Return ln of a probability."""
    return float(logarithm(distribution)) if distribution else -np.inf


def check_draws_are_paid(game: SearchGame) -> None:
    """Check that no run draws more often than it is charged for: comparisons, and sums.

    Raises
    ------
    AssertionError
        If one does.
    """
    rows = ROWS if game.relation is NeighbouringRelation.REPLACE_ONE else 1
    for place in (0, game.bins - 1):
        for path in game.paths(tuple(rows * (place == bin_) for bin_ in range(game.bins))):
            drawn = len(path.draws)
            paid = sum(charge.count for charge in path.charges)
            assert drawn <= paid, f"drawn {drawn} times, charged for {paid}"


# Tiny plans.


def tiny_intervals(
    relation: NeighbouringRelation,
    *,
    gaussian: bool,
    bins: int = 4,
    intervals: int = 3,
    threshold: int = 2,
    scale: float = 3.0,
    mass_scale: float = 5.0,
) -> IntervalPlan:
    return IntervalPlan(
        shape=(bins,),
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        size=ROWS,
        intervals=intervals,
        threshold=threshold,
        scale=scale,
        mass_scales=(mass_scale,),
        beta=0.05,
        error=3.0,
    )


def tiny_split(
    relation: NeighbouringRelation,
    *,
    gaussian: bool,
    shape: tuple[int, ...] = (2, 3),
    rounds: int = 1,
    scale: float = 3.0,
    mass_scales: tuple[float, ...] = (7.0, 5.0),
) -> SplitPlan:
    depth = rounds * len(shape)
    return SplitPlan(
        shape=shape,
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        size=ROWS,
        rounds=rounds,
        scale=scale,
        mass_depths=(0, depth) if len(mass_scales) == 2 else (depth,),
        mass_scales=mass_scales,
        beta=0.05,
        error=3.0,
        expected=3.0,
    )
