"""Branch and bound over multisets: what makes its distribution exact holds in every state that it comes through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import PlanError, ProgramError
from dpopt.private.mechanisms.net import net_boxes
from dpopt.private.mechanisms.net.net_boxes import BoxSampler
from dpopt.private.mechanisms.net.net_distribution import Multisets, NetDistribution
from dpopt.private.mechanisms.randomness import RandomWords, SeededWords
from tests.tiny_nets import all_multisets, cells, distance_of, prefixes

SIZE = 23


def sampler_of(
    answers: NDArray[np.int8], records: int, seed: int, *, range_: str = "0.8"
) -> tuple[BoxSampler, list[int]]:
    """Return a sampler for a random table of 23 records, and its targets."""
    table = np.random.default_rng(seed).multinomial(
        SIZE, np.random.default_rng(seed + 1).dirichlet(np.full(answers.shape[1], 0.5))
    )
    targets = records * (answers.astype(np.int64) @ table)
    distribution = NetDistribution(Decimal(range_), 2 * records, 2 * records * SIZE)
    sampler = BoxSampler(
        Multisets(answers, records), targets, size=SIZE, distribution=distribution, source=SeededWords(seed)
    )
    return sampler, targets.tolist()


NETS = [(prefixes(4), 4), (cells(2, 1), 5), (cells(2, 2), 4), (cells(3, 2), 3), (prefixes(7), 3)]


@settings(max_examples=12, deadline=None)
@given(net=st.sampled_from(range(len(NETS))), seed=st.integers(0, 10**6), cuts=st.integers(0, 25))
def test_boxes_are_a_partition_with_bounds_below_every_distance_and_exact_rates(net: int, seed: int, cuts: int) -> None:
    """So a round proposes n with probability bound(box of n) / sum of rates: the theorem of `BoxSampler` applies."""
    answers, records = NETS[net]
    sampler, targets = sampler_of(answers, records, seed)
    generator = np.random.default_rng(seed)
    for _ in range(cuts):
        wide = [place for place, box in enumerate(sampler._boxes) if (box.low < box.high).any()]
        if wide:
            sampler._cut(int(generator.choice(wide)))
    everything = all_multisets(answers.shape[1], records)
    inside: Counter[tuple[int, ...]] = Counter()
    total = 0
    for place, box in enumerate(sampler._boxes):
        members = [
            counts
            for counts in everything
            if all(low <= c <= high for low, c, high in zip(box.low, counts, box.high, strict=True))
        ]
        assert members
        inside.update(members)
        nearest = min(distance_of(answers, targets, SIZE, counts) for counts in members)
        assert box.bound <= nearest
        if len(members) == 1:
            assert box.bound == nearest
        rate = len(members) * sampler._distribution.weight(box.bound)
        assert sampler._sums._nodes[place + sampler._sums._capacity] == rate
        total += rate
    assert inside == Counter(everything)
    assert sampler._sums.total == total


class Points:
    """Uniform points that the test chooses, in the place of `whole_below`; the totals that were asked for."""

    def __init__(self, points: Sequence[int]) -> None:
        self.points, self.totals = list(points), list[int]()

    def __call__(self, total: int, source: RandomWords) -> int:
        self.totals.append(total)
        point = self.points.pop(0)
        assert 0 <= point < total
        return point


def test_a_round_draws_box_member_and_acceptance_by_their_points() -> None:
    """Every box by the first and last point of its rate, every member by its rank, acceptance just below its weight."""
    answers, records = cells(2, 1), 3
    sampler, targets = sampler_of(answers, records, 5)
    for place in (0, 0, 1):
        sampler._cut(place)
    start = 0
    seen: set[tuple[int, ...]] = set()
    for box in sampler._boxes:
        number = int(sampler._rate(box)) // sampler._distribution.weight(box.bound)
        end = start + number * sampler._distribution.weight(box.bound)
        for rank in range(number):
            for point in (start, end - 1):
                taken = Points([point, rank, 0])
                with mock.patch.object(net_boxes, "whole_below", taken):
                    found = tuple(sampler.draw().tolist())
                assert taken.totals == [sampler._sums.total, number, sampler._distribution.weight(box.bound)]
                weight = sampler._distribution.weight(distance_of(answers, targets, SIZE, found))
                with mock.patch.object(net_boxes, "whole_below", Points([point, rank, weight - 1])):
                    assert tuple(sampler.draw().tolist()) == found
            seen.add(found)
        start = end
    assert seen == set(all_multisets(4, records))
    assert start == sampler._sums.total


def test_a_point_at_the_weight_is_rejected_and_the_box_is_cut() -> None:
    answers, records = prefixes(4), 3
    sampler, targets = sampler_of(answers, records, 2, range_="5")
    far = max(all_multisets(4, records), key=lambda counts: distance_of(answers, targets, SIZE, counts))
    weight = sampler._distribution.weight(distance_of(answers, targets, SIZE, far))
    rank = next(
        rank
        for rank in range(len(all_multisets(4, records)))
        if drawn_with(sampler_of(answers, records, 2, range_="5")[0], [0, rank, 0]) == far
    )
    assert drawn_with(sampler, [0, rank, weight, 0, 0, 0]) is not None
    assert sampler.boxes == 2
    assert sampler.rounds == 2


def drawn_with(sampler: BoxSampler, points: list[int]) -> tuple[int, ...]:
    with mock.patch.object(net_boxes, "whole_below", Points(points)):
        return tuple(sampler.draw().tolist())


def test_after_the_last_box_none_is_cut_and_the_draw_still_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net_boxes, "MOST_BOXES", 3)
    sampler, _ = sampler_of(cells(3, 2), 3, 4, range_="1.5")
    assert int(sampler.draw().sum()) == 3
    assert sampler.boxes <= 3 < sampler.rounds


def test_a_bound_that_does_not_hold_is_an_error_and_no_draw() -> None:
    sampler, _ = sampler_of(prefixes(4), 3, 2)
    whole = sampler._boxes[0]
    sampler._boxes[0] = net_boxes._Box(whole.low, whole.high, whole.multipliers, 10**6)
    with pytest.raises(ProgramError, match="does not hold"):
        sampler.draw()


@pytest.mark.parametrize(
    ("answers", "records", "message"),
    [
        (np.zeros((2, 0), dtype=np.int8), 2, "matrix"),
        (np.full((1, 3), 2, dtype=np.int8), 2, "0 or 1"),
        (prefixes(3), 0, "the number of records of a small database must be"),
        (prefixes(3), 1001, "the number of records of a small database must be"),
        (prefixes(50), 60, "fewer than 2\\^62"),
        (np.zeros((1, 5000), dtype=np.int8), 1, "at most 4,096"),
    ],
)
def test_multisets_out_of_range_are_refused(answers: NDArray[np.int8], records: int, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Multisets(answers, records)
