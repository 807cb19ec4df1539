"""`python -m experiments.distributional_privacy`: distributional privacy, and what is impossible, in exact numbers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Hashable, Iterator
from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import series
from experiments.distributional_privacy.attacks import median_chain, reconstruct
from experiments.distributional_privacy.definition import distributional_privacy
from experiments.distributional_privacy.exact import (
    far_apart,
    far_apart_of_bits,
    geometric_distribution,
    mirrored_mod,
    share_of_one_pair,
)
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.narrow import legend_below, narrow_picture

PICTURE = "two_neighbours.svg"
OUTPUTS = range(-12, 17)


def main(arguments: list[str] | None = None) -> int:
    """Compute the numbers, and print the tables."""
    parser = parser_of("distributional_privacy")
    parser.set_defaults(runs="no")
    parts = {"tiny": _tiny, "mirrored": _mirrored, "medians": _medians, "attacks": _attacks}
    return carry_out(parser, arguments, parts, markdown, draw=lambda _, folder: draw(folder / PICTURE))


def _tiny(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    """Yield both definitions of a mechanism on sets of a universe: a noisy count, and a noisy mirrored count."""
    epsilon = Fraction(1, 2)
    for n, size in [(2, 4)] if options.quick else [(2, 4), (2, 6), (3, 6), (3, 7)]:
        universe = tuple(range(size))
        for name, value in (
            ("count of odd elements", lambda database: sum(x % 2 for x in database)),
            ("mirrored sum, m = 4", lambda database: mirrored_mod(sum(x % 2 for x in database), 4)),
            ("sum of the elements", sum),
        ):
            scale = max(universe) if name.startswith("sum") else 1

            def mechanism(database: frozenset[Hashable], value: Any = value, scale: int = scale) -> Any:
                return geometric_distribution(value(database), epsilon / scale, OUTPUTS)

            private = distributional_privacy(mechanism, universe, n)
            found = private.differential_epsilon
            yield {
                "mechanism": name,
                "n": n,
                "universe": size,
                "differential_epsilon": found,
                "beta_at_epsilon": str(private.beta(found)),
                "beta_at_half": str(private.beta(found / 2)),
                "one_pair": str(share_of_one_pair(n)),
            }


def _mirrored(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    """Yield the numbers of Theorem 7.5."""
    for m in (4, 8) if options.quick else (4, 8, 16, 32):
        bits = 100 if options.quick else 2_000
        yield {
            "m": m,
            "epsilon": 2 / m,
            "uniform": float(far_apart(m)),
            "bits": bits,
            "fair_bits": float(far_apart_of_bits(bits, m)),
        }


def _medians(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    for size in (16, 256) if options.quick else (16, 256, 4_096, 65_536):
        chain = median_chain(10, size, "0.5")
        yield {"size": size, "useful": chain.useful, "allowed": chain.allowed, "first": chain.steps[0]}


def _attacks(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    for dimension in (4, 6) if options.quick else (4, 6, 8):
        for epsilon in ("0.5",) if options.quick else ("0.1", "0.5", "1", "4"):
            one = reconstruct(dimension, epsilon)
            yield {
                "dimension": one.dimension,
                "epsilon": one.epsilon,
                "error": one.error,
                "in_place": one.in_place,
                "elsewhere": one.elsewhere,
                "ratio": one.ratio,
                "allowed": exp(one.epsilon),
                "least_error": one.least_error,
                "printed": 1 / (4 + 16 * one.epsilon) if one.epsilon <= 1 else None,
            }


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables."""
    yield "**Both definitions on tiny universes (Theorem 7.3).**"
    yield ""
    titles = ["mechanism | n | universe | epsilon of DP | beta at this epsilon | beta at half of it"]
    rows: Iterator[list[object]] = (
        [
            *(one["mechanism"], one["n"], one["universe"], f"{one['differential_epsilon']:.4f}"),
            *(one["beta_at_epsilon"], one["beta_at_half"], one["one_pair"]),
        ]
        for one in report["tiny"]
    )
    yield from table([*titles, "1 / (n + 1)^2"], rows)
    yield ""
    yield "**The mirrored sum (Theorem 7.5).** P(|Q(D1) - Q(D2)| >= 1 / epsilon) for m = 2 / epsilon."
    yield ""
    rows = (
        [one["m"], f"{one['epsilon']:g}", f"{one['uniform']:.4f}", f"{one['fair_bits']:.4f}", f"{one['bits']:,}"]
        for one in report["mirrored"]
    )
    yield from table(["m | epsilon | uniform values | fair bits | number of bits"], rows)
    yield ""
    yield "**Medians (Theorem 5.1).** n = 10 equal values, epsilon = 0.5: the probability of the one useful answer."
    yield ""
    rows = ([f"{one['size']:,}", f"{one['useful']:.3g}", f"{one['allowed']:.3g}"] for one in report["medians"])
    yield from table(["points of the domain | exponential mechanism | any mechanism, at most"], rows)
    yield ""
    yield "**Reconstruction (Theorem 3.11).** The net mechanism with all subsets as queries, n = d / 2 records."
    yield ""
    titles = ["d | epsilon | expected largest error | record in T' | other in T' | ratio | e^epsilon"]
    figures = ("error", "in_place", "elsewhere", "ratio", "allowed", "least_error", "printed")
    rows = (
        [
            *(one["dimension"], f"{one['epsilon']:g}"),
            *("–" if one[name] is None else f"{one[name]:.3f}" for name in figures),
        ]
        for one in report["attacks"]
    )
    yield from table([*titles, "least error", "printed"], rows)


def draw(path: Path) -> None:
    """Draw the output distributions of two databases of the same bits: far apart by the mirrored sum, close by the mean."""
    epsilon, m, sums = Fraction(1, 2), 4, (5_003, 5_008)
    with narrow_picture(path, 3.6) as panels:
        axes = panels[0, 0]
        for number, ones in enumerate(sums):
            distribution = geometric_distribution(mirrored_mod(ones, m), epsilon, OUTPUTS)
            likely = [float(distribution[k]) for k in OUTPUTS]
            axes.plot(list(OUTPUTS), likely, label=f"{ones:,} ones of 10,000 bits", **series(number))
        axes.set(xlabel="mirrored sum (m = 4) with two-sided geometric\nnoise, epsilon = 0.5", ylabel="probability")
        legend_below(panels)


if __name__ == "__main__":
    sys.exit(main())
