"""Numbers of the theorems on distributional privacy (Blum, Ligett and Roth 2013, section 7), and mechanisms to try them on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from math import comb, exp


def share_of_one_pair(n: int) -> Fraction:
    """Return how likely one ordered pair is with S of n + 1 elements: 1 / (n + 1)^2 (printed: 2 / n^2 for an unordered one).

    So (epsilon, beta)-distributional privacy with any beta below it is epsilon-differential privacy (Theorem 7.3).
    """
    return Fraction(1, comb(n + 1, n) ** 2)


def mirrored_mod(number: int, m: int) -> int:
    """Return F_m: x mod m if x mod 2 m < m, else (-x - 1) mod m: a triangle wave with steps of at most 1 (Definition 7.4)."""
    return number % m if number % (2 * m) < m else (-number - 1) % m


def geometric_distribution(centre: int, epsilon: Fraction, outputs: range) -> dict[Hashable, Fraction]:
    """Return the distribution of centre + two-sided geometric noise, epsilon-DP for steps of 1, cut off at the ends.

    The ratio of neighbouring probabilities is a rational number just above e^-epsilon, so that the distribution is exact and
    epsilon-DP.
    """
    ratio = Fraction(-int(-exp(-epsilon) * 10**9 // 1), 10**9)
    low, high = outputs[0], outputs[-1]
    inner: dict[Hashable, Fraction] = {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k - centre) for k in outputs}
    inner[low] = ratio ** abs(low - centre) / (1 + ratio)
    inner[high] = ratio ** abs(high - centre) / (1 + ratio)
    return inner


def far_apart(m: int) -> Fraction:
    """Return the share of pairs in {0, ..., m - 1}^2 at a distance of at least m / 2 (Theorem 7.5, m = 2 / epsilon)."""
    return Fraction(sum(2 * abs(a - b) >= m for a in range(m) for b in range(m)), m * m)


def far_apart_of_bits(n: int, m: int) -> Fraction:
    """Return P(|Q_m(D1) - Q_m(D2)| >= m / 2) for two databases of n fair bits: exact, by the binomial distribution."""
    of_value: Counter[int] = Counter()
    for ones in range(n + 1):
        of_value[mirrored_mod(ones, m)] += comb(n, ones)
    far = sum(a * b for x, a in of_value.items() for y, b in of_value.items() if 2 * abs(x - y) >= m)
    return Fraction(far, 4**n)
