"""Distributional privacy of a mechanism with finitely many outputs, exactly, beside its differential privacy.

Definition (Blum, Ligett and Roth 2013, 7.1 and 7.2, as Theorem 7.3 needs it): D1 and D2 are drawn without replacement from one
set S, each uniformly and independently of the other. A mechanism A is (epsilon, beta)-distributionally private if for every S
of at least n elements, with probability at least 1 - beta over D1 and D2, P(A(D1) in E) <= e^epsilon P(A(D2) in E) for all E.

Theorem 7.3: where beta is below 1 / (n + 1)^2, an ordered pair of neighbours with S of n + 1 elements, it implies differential
privacy of the same epsilon. No mechanism of dpopt counts on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, inf, isnan, log

from dpopt.errors import AccountingError

Distribution = Mapping[Hashable, Fraction]
Database = frozenset[Hashable]
MOST_PAIRS = 1_000_000
"""Pairs of databases, and sets that they are drawn from, at most."""
_ROUNDING = 1e-12  # losses are logarithms in floating-point arithmetic


@dataclass(frozen=True, slots=True)
class DistributionalPrivacy:
    """What a mechanism gives away of every pair of databases."""

    universe: tuple[Hashable, ...]
    """The elements of databases."""
    records: int
    """n."""
    losses: Mapping[tuple[Database, Database], float]
    """Of each ordered pair of databases: the least epsilon with P(A(D1) in E) <= e^epsilon P(A(D2) in E) for all E."""

    @property
    def differential_epsilon(self) -> float:
        """The least epsilon of differential privacy: the largest loss of databases that differ in one element."""
        return max(value for (one, two), value in self.losses.items() if len(one - two) == 1)

    def beta(self, epsilon: float) -> Fraction:
        """Return the least beta for which the mechanism is (epsilon, beta)-distributionally private, over all sets S."""
        if isnan(epsilon) or epsilon < 0:
            raise AccountingError(f"found epsilon = {epsilon!r}; expected a number from 0 on")
        beyond = Counter(one | two for (one, two), value in self.losses.items() if value > epsilon * (1 + _ROUNDING))
        worst = Fraction(0)
        for size in range(self.records, len(self.universe) + 1):
            for drawn_from in map(frozenset, combinations(self.universe, size)):
                pairs = sum(number for together, number in beyond.items() if together <= drawn_from)
                worst = max(worst, Fraction(pairs, comb(size, self.records) ** 2))
        return worst


def distributional_privacy(
    mechanism: Callable[[Database], Distribution], universe: Sequence[Hashable], records: int
) -> DistributionalPrivacy:
    """Return the exact losses of a mechanism on all databases of so many elements of a small universe.

    Parameters
    ----------
    mechanism
        Gives for a database the probability of each output, as fractions that add up to 1.
    universe
        Different elements, more than `records`.
    records
        n, at least 1: the elements of a database.

    Examples
    --------
    >>> from fractions import Fraction
    >>> def told_with_noise(database):
    ...     right = Fraction(2, 3)
    ...     return {0 in database: right, 0 not in database: 1 - right}
    >>> found = distributional_privacy(told_with_noise, range(4), 2)
    >>> round(found.differential_epsilon, 3), found.beta(0.5), found.beta(0.7)
    (0.693, Fraction(1, 2), Fraction(0, 1))
    """
    elements = tuple(universe)
    if len(set(elements)) != len(elements) or not 1 <= records < len(elements):
        raise AccountingError(
            f"found {records} records of {len(elements)} elements, {len(set(elements))} of them different; expected "
            f"different elements, and from 1 record to one less than there are elements"
        )
    if max(comb(len(elements), records) ** 2, 2 ** len(elements)) > MOST_PAIRS:
        raise AccountingError(
            f"{records} records of {len(elements)} elements are more than {MOST_PAIRS:,} pairs of databases or sets; "
            f"take a smaller universe"
        )
    outputs = {database: _checked(mechanism(database)) for database in map(frozenset, combinations(elements, records))}
    losses = {(one, two): _loss(outputs[one], outputs[two]) for one in outputs for two in outputs}
    return DistributionalPrivacy(elements, records, losses)


def _checked(given: Distribution) -> Distribution:
    if any(value < 0 for value in given.values()) or sum(given.values(), start=Fraction(0)) != 1:
        raise AccountingError(
            f"the probabilities of a mechanism add up to {sum(given.values())}; expected fractions from 0 on that add "
            f"up to 1 exactly"
        )
    return given


def _loss(one: Distribution, two: Distribution) -> float:
    """Return the logarithm of the largest ratio of an output's probabilities."""
    worst = Fraction(1)
    for output, probability in one.items():
        other = two.get(output, Fraction(0))
        if probability and not other:
            return inf
        if probability:
            worst = max(worst, probability / other)
    return log(worst)
