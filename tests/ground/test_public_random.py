from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt import public_random
from dpopt.public_random import PublicRandom, permutation, public_stream, shuffled


class Scripted(PublicRandom):
    """Gives words from a list."""

    def __init__(self, words: list[int]) -> None:
        self._script = words

    def words(self, count: int) -> NDArray[np.uint64]:
        taken, self._script = self._script[:count], self._script[count:]
        assert len(taken) == count
        return np.array(taken, dtype=np.uint64)

    @property
    def left(self) -> int:
        return len(self._script)


def bounds(*numbers: int) -> NDArray[np.uint64]:
    return np.array(numbers, dtype=np.uint64)


def chi_squared(counts: NDArray[np.int64]) -> float:
    expected = counts.sum() / counts.size
    return float(((counts - expected) ** 2 / expected).sum())


def test_the_stream_is_pinned() -> None:
    assert PublicRandom(0).words(3).tolist() == [213000021201967259, 4455796210202625458, 2055444239878205049]
    assert PublicRandom(2**64 - 1).words(2).tolist() == [4333907348786404347, 13232047798055274199]


def test_taking_words_one_by_one_gives_the_same_stream() -> None:
    random = PublicRandom(7)
    parts = np.concatenate([random.words(size) for size in (1, 2, 0, 5, 3)])
    assert np.array_equal(parts, PublicRandom(7).words(11))


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10, 41, 65_535, 2**32, 2**63, 2**63 + 1, 2**64 - 1])
def test_exactly_the_words_above_the_largest_multiple_are_drawn_again(bound: int) -> None:
    multiple = 2**64 // bound * bound
    kept = Scripted([multiple - 1, 0, bound - 1, min(bound, multiple - 1)])
    assert kept.below(bounds(*[bound] * 4)).tolist() == [
        (multiple - 1) % bound,
        0,
        bound - 1,
        min(bound, multiple - 1) % bound,
    ]
    if multiple < 2**64:
        rejected = Scripted([multiple, 0, 2**64 - 1, 5])
        assert rejected.below(bounds(bound, bound)).tolist() == [5 % bound, 0]
        assert rejected.left == 0


def test_each_word_is_reduced_by_its_own_bound() -> None:
    drawn = Scripted([100, 100, 100, 100]).below(bounds(1, 7, 9, 1000).reshape(2, 2))
    assert drawn.tolist() == [[0, 2], [1, 100]]


@pytest.mark.statistics
@pytest.mark.parametrize("bound", [2, 3, 10, 41])
def test_integers_below_a_bound_are_uniform(bound: int) -> None:
    """200,000 numbers of a fixed seed. Critical value: mean plus 5 standard deviations of chi squared, so about 1e-5.

    Taking numbers modulo bound + 1, or a bias of 2 percent, is rejected.
    """
    counts = np.bincount(PublicRandom(3).below(np.full(200_000, bound, np.uint64)).astype(np.int64))
    assert counts.size == bound
    assert chi_squared(counts) < (bound - 1) + 5 * (2 * (bound - 1)) ** 0.5


@pytest.mark.statistics
def test_half_of_large_words_are_rejected_and_the_rest_stays_uniform() -> None:
    """100,000 numbers below 2^63 + 1, where every other word is drawn again; false alarm about 1e-5."""
    bound = 2**63 + 1
    drawn = PublicRandom(4).below(np.full(100_000, bound, np.uint64))
    assert int(drawn.max()) < bound
    counts = np.bincount((drawn >> np.uint64(60)).astype(np.int64), minlength=8)[:8]
    assert chi_squared(counts) < 7 + 5 * 14**0.5


@pytest.mark.statistics
def test_bits_are_fair() -> None:
    """100,000 bits of a fixed seed: 5 standard deviations, false alarm below 1e-6."""
    assert abs(np.count_nonzero(PublicRandom(5).bits(100_000)) - 50_000) < 5 * 158.2


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 130])
def test_bits_are_those_of_the_words_lowest_first(count: int) -> None:
    random = PublicRandom(9)
    bits = random.bits(count)
    words = PublicRandom(9).words(-(-count // 64) + 1).tolist()
    assert bits.tolist() == [bool(words[i // 64] >> (i % 64) & 1) for i in range(count)]
    assert random.words(1).tolist() == words[-1:]


def test_one_integer_below_a_bound_of_any_size_is_cut_from_words_and_rejected() -> None:
    assert PublicRandom(0).one_below(1) == 0
    assert Scripted([15, 8 + 4, 16 + 3]).one_below(10) == 3
    assert Scripted([1, 2**64 - 1, 0, 5]).one_below(2**64 + 6) == 5
    assert Scripted([1, 5]).one_below(2**64 + 6) == 2**64 + 5


@pytest.mark.statistics
def test_every_set_of_distinct_integers_is_equally_likely() -> None:
    """10,000 sets of 2 out of 5 (10 sets), fixed seed; false alarm about 1e-5."""
    random = PublicRandom(6)
    drawn = Counter(tuple(random.distinct_below(5, 2)) for _ in range(10_000))
    assert set(drawn) == set(combinations(range(5), 2))
    assert chi_squared(np.array(list(drawn.values()))) < 9 + 5 * 18**0.5


@pytest.mark.parametrize(("bound", "count"), [(5, 5), (5, 0), (10**30, 50), (1, 1)])
def test_distinct_integers_are_distinct_sorted_and_in_range(bound: int, count: int) -> None:
    drawn = PublicRandom(1).distinct_below(bound, count)
    assert len(set(drawn)) == count
    assert drawn == sorted(drawn)
    assert all(0 <= number < bound for number in drawn)


@pytest.mark.parametrize("given", [[2, 4, 2**40, 1], [3, 10, 41], [2, 2**63 + 1, 5, 2**64 - 1], [2**63 + 1] * 5, []])
@pytest.mark.parametrize("count", [0, 1, 9])
def test_many_bounds_at_once_read_the_same_stream_as_one_after_the_other(given: list[int], count: int) -> None:
    for seed in range(4):
        once, singly = PublicRandom(seed), PublicRandom(seed)
        found = once.below_each(bounds(*given), count)
        expected = [singly.below(np.full(count, bound, dtype=np.uint64)) for bound in bounds(*given)]
        assert found.shape == (len(given), count)
        assert found.tolist() == [row.tolist() for row in expected]
        assert once.words(3).tolist() == singly.words(3).tolist()


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_every_order_of_rows_is_equally_likely(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """The exact law for five rows of three records: each order of five words is equally likely, and so is each of rows."""
    monkeypatch.setattr(public_random, "_SORTED_AT_ONCE", at_once)
    monkeypatch.setattr(public_random, "_DRAWN_AT_ONCE", 2)
    found: Counter[tuple[int, ...]] = Counter()
    for words in permutations((0, 2**62 - 1, 2**62, 3 * 2**62, 2**64 - 1)):
        monkeypatch.setattr(public_random, "public_stream", lambda *_, words=words: Scripted(list(words)))
        found[tuple(np.concatenate(list(shuffled(0, "", np.array([2, 2, 1])))).tolist())] += 1
    assert set(found) == set(permutations((0, 0, 1, 1, 2)))
    assert set(found.values()) == {4}


@pytest.mark.parametrize("at_once", [7, 10**6])
def test_parts_of_an_order_are_the_permutation(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(public_random, "_SORTED_AT_ONCE", at_once)
    monkeypatch.setattr(public_random, "_DRAWN_AT_ONCE", 16)
    counts = np.array([3, 0, 40, 1, 56])
    parts = list(shuffled(9, "rows", counts))
    whole = np.repeat(np.arange(5), counts)[permutation(public_stream(9, "rows"), 100)]
    assert np.concatenate(parts).tolist() == whole.tolist()
    assert len(parts) == -(-100 // at_once)


@pytest.mark.parametrize("words", [[5, 1, 5, 5, 1], [2**40 + 3, 2**40 + 1, 2**63, 2**40 + 2, 0], [2**63, 8, 2**64 - 1]])
def test_equal_and_close_words_have_their_stable_order(words: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_random, "public_stream", lambda *_: Scripted(words))
    expected = np.argsort(np.array(words, dtype=np.uint64), kind="stable").tolist()
    assert [part.tolist() for part in shuffled(0, "", np.ones(len(words), dtype=np.int64))] == [expected]


@pytest.mark.parametrize("groups", [[0, 0, 0, 0, 0], [1, 0, 1, 0, 1], [0, 70_000, 2, 2, 70_000]])
@pytest.mark.parametrize("words", [[5, 1, 5, 5, 1], [2**40 + 3, 2**40 + 1, 2**63, 2**40 + 2, 0]])
def test_groups_are_put_in_order_first(words: list[int], groups: list[int]) -> None:
    expected = sorted(range(5), key=lambda place: (groups[place], words[place], place))
    assert permutation(Scripted(words), 5, np.array(groups, dtype=np.int32)).tolist() == expected
