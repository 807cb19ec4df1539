from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpopt.public_random import permutation, public_stream, uniforms


def test_a_stream_is_the_same_for_ever() -> None:
    assert public_stream(3, "test").words(3).tolist() == [642508951755972114, 4915339194060558015, 11387369541072854210]
    assert uniforms(public_stream(3, "test"), 3).tolist() == [
        0.03483048006676037,
        0.2664610716351802,
        0.6173105397663224,
    ]
    assert permutation(public_stream(3, "test"), 8).tolist() == [0, 5, 1, 3, 6, 7, 4, 2]


def test_each_seed_and_each_purpose_has_a_stream_of_its_own() -> None:
    first = {int(public_stream(seed, purpose).words(1)[0]) for seed in (0, 1, 10, -1) for purpose in ("a", "b", "")}
    assert len(first) == 12


def test_a_stream_goes_on_where_it_stopped() -> None:
    whole, parts = public_stream(0, "x"), public_stream(0, "x")
    assert whole.words(5).tolist() == [*parts.words(2).tolist(), *parts.words(3).tolist()]


@given(seed=st.integers(-(2**70), 2**70), count=st.integers(0, 200))
def test_uniforms_are_multiples_of_2_to_the_minus_53_below_1(seed: int, count: int) -> None:
    numbers = uniforms(public_stream(seed, "numbers"), count)
    assert numbers.shape == (count,)
    assert np.all((numbers >= 0) & (numbers < 1))
    assert np.all(numbers * 2.0**53 == np.floor(numbers * 2.0**53))


@given(seed=st.integers(0, 2**32), length=st.integers(0, 100))
def test_a_permutation_holds_each_position_once(seed: int, length: int) -> None:
    assert sorted(permutation(public_stream(seed, "order"), length).tolist()) == list(range(length))
