"""Distributional privacy: a mechanism that tells nothing, one that tells all, coins, and the definition by brute force."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import combinations
from math import e, inf, log

import numpy as np
import pytest

from dpopt.errors import AccountingError
from experiments.distributional_privacy.definition import Database, Distribution, distributional_privacy

ONE = Fraction(1)


def test_a_mechanism_that_tells_nothing_is_private_and_one_that_tells_all_is_not() -> None:
    nothing = distributional_privacy(lambda _: {0: ONE}, range(4), 2)
    assert nothing.differential_epsilon == 0 == nothing.beta(0.0)
    everything = distributional_privacy(lambda database: {database: ONE}, range(4), 2)
    assert everything.differential_epsilon == inf
    assert everything.beta(9.0) == Fraction(5, 6)  # all pairs but a database with itself: S is the universe
    assert everything.beta(inf) == 0


def test_a_coin_has_the_epsilon_of_its_odds() -> None:
    coin = distributional_privacy(
        lambda one: {0: Fraction(1 + (0 in one), 3), 1: Fraction(2 - (0 in one), 3)}, range(4), 2
    )
    assert coin.differential_epsilon == pytest.approx(log(2), abs=1e-12)
    assert coin.beta(coin.differential_epsilon) == coin.beta(0.7) == 0
    assert coin.beta(0.69) >= Fraction(1, 9)  # Theorem 7.3: else it would be 0.69-differentially private


@pytest.mark.parametrize("seed", range(4))
def test_losses_and_beta_are_those_of_the_definition(seed: int) -> None:
    """Over all events E and all sets S, with every ordered pair as likely as another."""
    generator, universe = np.random.default_rng(seed), "abcd"
    odds = {
        frozenset(one): [Fraction(int(part)) for part in generator.integers(1, 9, 3)]
        for one in combinations(universe, 2)
    }
    outputs = {one: [part / sum(parts) for part in parts] for one, parts in odds.items()}
    found = distributional_privacy(lambda one: dict(enumerate(outputs[one])), universe, 2)  # type: ignore[index]
    for epsilon in (0.0, 0.2, 0.5, 1.0, 2.0):

        def kept(one: frozenset[str], two: frozenset[str], factor: float = e**epsilon) -> bool:
            events = (event for size in (1, 2, 3) for event in combinations(range(3), size))
            return all(
                sum(outputs[one][at] for at in event)
                <= factor * (1 + 1e-9) * float(sum(outputs[two][at] for at in event))
                for event in events
            )

        shares = []
        for size in (2, 3, 4):
            for drawn_from in combinations(universe, size):
                databases = [frozenset(one) for one in combinations(drawn_from, 2)]
                broken = sum(not kept(one, two) for one in databases for two in databases)
                shares.append(Fraction(broken, len(databases) ** 2))
        assert found.beta(epsilon) == max(shares)


BAD: list[tuple[Callable[[Database], Distribution], list[Hashable], int, str]] = [
    (lambda _: {0: ONE}, [0, 1, 1], 1, "2 of them different"),
    (lambda _: {0: ONE}, [0, 1, 2], 3, "3 records of 3 elements"),
    (lambda _: {0: ONE}, [0, 1, 2], 0, "0 records of 3 elements"),
    (lambda _: {0: ONE}, list(range(14)), 7, "smaller universe"),
    (lambda _: {0: ONE}, list(range(21)), 1, "smaller universe"),
    (lambda _: {0: ONE / 2}, [0, 1, 2], 1, "add up to 1/2"),
    (lambda _: {0: 2 * ONE, 1: -ONE}, [0, 1, 2], 1, "from 0 on"),
]


@pytest.mark.parametrize(("mechanism", "universe", "records", "message"), BAD)
def test_what_cannot_be_computed_is_refused(
    mechanism: Callable[[Database], Distribution], universe: list[Hashable], records: int, message: str
) -> None:
    with pytest.raises(AccountingError, match=message):
        distributional_privacy(mechanism, universe, records)


@pytest.mark.parametrize("epsilon", [-0.1, float("nan")])
def test_an_epsilon_that_is_none_is_refused(epsilon: float) -> None:
    with pytest.raises(AccountingError, match="from 0 on"):
        distributional_privacy(lambda _: {0: ONE}, range(3), 1).beta(epsilon)
