from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.private.mechanisms.randomness import SeededWords, SystemWords, uniform_below
from tests.scripted import ScriptedWords

WORD = 2**64
JUNK = 0xDEADBEEFCAFEF00D


def as_integers(pairs: np.ndarray) -> list[int]:
    return [(int(high) << 64) + int(low) for high, low in pairs]


@pytest.mark.parametrize("total", range(1, 18))
def test_over_all_words_each_integer_below_a_small_total_comes_out_once(total: int) -> None:
    """Exact: of the 2**bits patterns that the mask leaves, exactly one gives each integer; others are rejected."""
    bits = (total - 1).bit_length()
    patterns = [(JUNK, (JUNK << bits) % WORD + low) for low in range(2**bits)]
    script = [word for pair in patterns for word in pair]
    found = as_integers(uniform_below(total, total, ScriptedWords([*script, *[0] * len(script)])))
    assert sorted(found) == list(range(total))


@pytest.mark.parametrize("high_total", [1, 2, 3, 5])
def test_over_all_high_words_each_high_part_comes_out_once(high_total: int) -> None:
    """A total with one low word only beyond a multiple of 2**64: high words from 0 to the total's, low word 0."""
    total = high_total * WORD + 1
    bits = (total - 1).bit_length() - 64
    found: Counter[int] = Counter()
    for high, low in product(range(2**bits), (0, 1, WORD - 1)):
        words = ScriptedWords([high + (JUNK << bits) % WORD, low, 0, 0])
        found[as_integers(uniform_below(total, 1, words))[0]] += 1
    below = [high * WORD + low for high in range(high_total) for low in (0, 1, WORD - 1)]
    rejected = 3 * 2**bits - len(below) - 1
    assert found == Counter({**dict.fromkeys(below, 1), high_total * WORD: 1}) + Counter({0: rejected})


@given(st.integers(1, 2**127), st.lists(st.integers(0, WORD - 1), min_size=2, max_size=12))
def test_words_are_masked_then_kept_if_below_the_total(total: int, words: list[int]) -> None:
    pairs = list(zip(words[::2], words[1::2], strict=False))
    bits = (total - 1).bit_length()
    values = [((high << 64) + low) & ((1 << bits) - 1) for high, low in pairs]
    kept = [value for value in values if value < total]
    source = ScriptedWords([word for pair in pairs for word in pair] + [0] * 24)
    found = as_integers(uniform_below(total, len(pairs), source))
    assert found == kept + [0] * (len(pairs) - len(kept))


@pytest.mark.parametrize("total", [1, 2, WORD - 1, WORD, WORD + 1, 2**104, 3 * 2**104 + 1, 2**127 - 1, 2**127])
def test_the_last_integer_comes_out_and_the_total_does_not(total: int) -> None:
    last = total - 1
    words = [last >> 64, last % WORD]
    if total & last:  # no power of two: the total itself fits the mask and is rejected
        words = [total >> 64, total % WORD, *words]
    source = ScriptedWords(words)
    assert as_integers(uniform_below(total, 1, source)) == [last]
    with pytest.raises(IndexError):
        source.words(1)


def test_a_total_of_one_gives_zeros() -> None:
    assert as_integers(uniform_below(1, 3, SystemWords())) == [0, 0, 0]


@pytest.mark.parametrize("total", [0, -1, 2**127 + 1])
def test_a_total_out_of_range_is_refused(total: int) -> None:
    with pytest.raises(ValueError, match="the range must be between 1 and 2\\*\\*127"):
        uniform_below(total, 1, ScriptedWords([0, 0]))


def test_system_words_are_the_operating_systems_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    original = os.urandom

    def recording(count: int) -> bytes:
        asked.append(original(count))
        return asked[-1]

    monkeypatch.setattr(os, "urandom", recording)
    words = SystemWords().words(5)
    assert words.dtype == np.uint64
    assert [len(part) for part in asked] == [40]
    assert words.tobytes() == asked[0]


def test_system_words_do_not_repeat() -> None:
    """False alarm with probability below 2**-38: 4,000 words of 64 bits, two of them equal."""
    source = SystemWords()
    words = np.concatenate([source.words(1000) for _ in range(4)])
    assert len(np.unique(words)) == 4000


def test_seeded_words_repeat_with_their_seed_and_go_on() -> None:
    one, same, other = SeededWords(3), SeededWords(3), SeededWords(4)
    first = one.words(6)
    assert np.array_equal(first, np.concatenate([same.words(2), same.words(4)]))
    assert not np.array_equal(first, other.words(6))
    assert not np.intersect1d(first, one.words(6)).size


def test_scripted_words_come_in_order_and_end() -> None:
    source = ScriptedWords([5, 2**64 - 1, 7])
    assert source.words(2).tolist() == [5, 2**64 - 1]
    with pytest.raises(IndexError, match="the script holds 3 words, 4 were asked for"):
        source.words(2)


# A forked process draws other noise and other words than its parent, whatever the parent had drawn before.

SCRIPT = """
import os, sys
import numpy as np
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.mechanisms.randomness import SystemWords

def draw():
    zeros = np.zeros(8, dtype=np.int64)
    return {drawn}.tolist()

draw()  # the generator is seeded before the fork
sys.stdout.flush()
child = os.fork()
print(draw(), flush=True)
if child:
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize(
    "drawn",
    [
        "OpendpNoise().discrete_gaussian(zeros, 1e9)",
        "OpendpNoise().discrete_laplace(zeros, 1e9)",
        "SystemWords().words(8)",
    ],
)
def test_parent_and_child_draw_differently(drawn: str) -> None:
    """Two lists of eight draws from a billion values: independent ones share a value with probability below 1e-7."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(drawn=drawn)], capture_output=True, text=True, check=True
    )
    first, second = done.stdout.splitlines()
    assert not set(first.strip("[]").split(", ")) & set(second.strip("[]").split(", "))
