"""`python -m experiments.distributional_privacy`: distributional privacy, and what is impossible, in exact numbers."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Hashable, Iterator
from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import picture, series
from experiments.distributional_privacy.attacks import median_chain, reconstruct
from experiments.distributional_privacy.definition import distributional_privacy
from experiments.distributional_privacy.exact import (
    far_apart,
    far_apart_of_bits,
    geometric_distribution,
    mirrored_mod,
    share_of_one_pair,
)
from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances

Report = dict[str, Any]
PICTURE = "two_neighbours.svg"
OUTPUTS = range(-12, 17)


def main(arguments: list[str] | None = None) -> int:
    """Compute the numbers, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.distributional_privacy")
    parser.add_argument("--quick", action="store_true", help="the smallest cases: shows that it still runs")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--document", type=Path, help="put the tables into this document, and the picture beside it")
    options = parser.parse_args(arguments)
    report: Report = {**describe_circumstances(), "runs": "no", "quick": options.quick}
    report["tiny"] = list(_tiny(quick=options.quick))
    report["mirrored"] = list(_mirrored(quick=options.quick))
    report["medians"] = list(_medians(quick=options.quick))
    report["attacks"] = list(_attacks(quick=options.quick))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    lines = list(_markdown(report))
    print("\n".join(lines))
    if options.document is not None:
        draw(options.document.parent / PICTURE)
        write_results(options.document, [circumstances(report), "", *lines])
    return 0


def _tiny(*, quick: bool) -> Iterator[Report]:
    """Yield both definitions of a mechanism on sets of a universe: a noisy count, and a noisy mirrored count."""
    epsilon = Fraction(1, 2)
    for n, size in [(2, 4)] if quick else [(2, 4), (2, 6), (3, 6), (3, 7)]:
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


def _mirrored(*, quick: bool) -> Iterator[Report]:
    """Yield the numbers of Theorem 7.5."""
    for m in (4, 8) if quick else (4, 8, 16, 32):
        bits = 100 if quick else 2_000
        yield {
            "m": m,
            "epsilon": 2 / m,
            "uniform": float(far_apart(m)),
            "bits": bits,
            "fair_bits": float(far_apart_of_bits(bits, m)),
        }


def _medians(*, quick: bool) -> Iterator[Report]:
    for size in (16, 256) if quick else (16, 256, 4_096, 65_536):
        chain = median_chain(10, size, "0.5")
        yield {"size": size, "useful": chain.useful, "allowed": chain.allowed, "first": chain.steps[0]}


def _attacks(*, quick: bool) -> Iterator[Report]:
    for dimension in (4, 6) if quick else (4, 6, 8):
        for epsilon in ("0.5",) if quick else ("0.1", "0.5", "1", "4"):
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


def _markdown(report: Report) -> Iterator[str]:
    yield "**Both definitions on tiny universes (Theorem 7.3).**"
    yield ""
    yield "| mechanism | n | universe | epsilon of DP | beta at this epsilon | beta at half of it | 1 / (n + 1)^2 |"
    yield "|---|---|---|---|---|---|---|"
    for one in report["tiny"]:
        yield (
            f"| {one['mechanism']} | {one['n']} | {one['universe']} | {one['differential_epsilon']:.4f} | "
            f"{one['beta_at_epsilon']} | {one['beta_at_half']} | {one['one_pair']} |"
        )
    yield ""
    yield "**The mirrored sum (Theorem 7.5).** P(|Q(D1) - Q(D2)| >= 1 / epsilon) for m = 2 / epsilon."
    yield ""
    yield "| m | epsilon | uniform values | fair bits | number of bits |"
    yield "|---|---|---|---|---|"
    for one in report["mirrored"]:
        yield (f"| {one['m']} | {one['epsilon']:g} | {one['uniform']:.4f} | {one['fair_bits']:.4f} | {one['bits']:,} |")
    yield ""
    yield "**Medians (Theorem 5.1).** n = 10 equal values, epsilon = 0.5: the probability of the one useful answer."
    yield ""
    yield "| points of the domain | exponential mechanism | any mechanism, at most |"
    yield "|---|---|---|"
    for one in report["medians"]:
        yield f"| {one['size']:,} | {one['useful']:.3g} | {one['allowed']:.3g} |"
    yield ""
    yield "**Reconstruction (Theorem 3.11).** The net mechanism with all subsets as queries, n = d / 2 records."
    yield ""
    yield "| d | epsilon | expected largest error | record in T' | other in T' | ratio | e^epsilon | least error | printed |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for one in report["attacks"]:
        printed = "–" if one["printed"] is None else f"{one['printed']:.3f}"
        yield (
            f"| {one['dimension']} | {one['epsilon']:g} | {one['error']:.3f} | {one['in_place']:.3f} | "
            f"{one['elsewhere']:.3f} | {one['ratio']:.3f} | {one['allowed']:.3f} | {one['least_error']:.3f} | "
            f"{printed} |"
        )


def draw(path: Path) -> None:
    """Draw the output distributions of two databases of the same bits: far apart by the mirrored sum, close by the mean."""
    epsilon, m, sums = Fraction(1, 2), 4, (5_003, 5_008)
    with picture(path, (7, 3.2)) as ((axes,),):
        for number, ones in enumerate(sums):
            distribution = geometric_distribution(mirrored_mod(ones, m), epsilon, OUTPUTS)
            likely = [float(distribution[k]) for k in OUTPUTS]
            axes.plot(list(OUTPUTS), likely, label=f"{ones:,} ones of 10,000 bits", **series(number))
        axes.set(
            xlabel="answer: mirrored sum, m = 4, with two-sided geometric noise, epsilon = 0.5", ylabel="probability"
        )
        axes.legend()


if __name__ == "__main__":
    sys.exit(main())
