"""`python -m experiments.error_falls`: errors of releases from epsilon .03 to 100, beside those of independent columns."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from dpopt.cli.pictures import COLOURS, logarithmic
from experiments import documents
from experiments.error_falls.measuring import BOUNDS, FIGURES, Shares, measured
from experiments.error_falls.tables import KINDS, PUBLIC, TABLES, TINY, kind_of
from experiments.experiment import Report, Result, carry_out, in_processes, over_tables
from experiments.narrow import narrow_picture

EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
LEVEL = 0.01
"""Probability of a false alarm over all comparisons together (Holm)."""
PUBLIC_RUNS = 5

Rows = Mapping[tuple[str, float], Result]


def main(arguments: list[str] | None = None) -> int:
    """Measure the runs that are not on file, and compare every error with that at the next smaller epsilon."""
    parser = over_tables("error_falls", TABLES, EPSILONS, runs=20)
    return carry_out(parser, arguments, {"rows": _rows}, markdown, continues=True, draw=_draw)


def _rows(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    tables, epsilons = (TINY[1:2], (0.1, 10.0)) if options.quick else (options.tables, options.epsilon)
    missing = []
    for name, epsilon in itertools.product(tables, epsilons):
        wanted = 2 if options.quick else min(options.runs, PUBLIC_RUNS) if kind_of(name) == PUBLIC else options.runs
        held = sum(row["runs"] for row in known if (row["table"], row["epsilon"]) == (name, epsilon))
        if held < wanted:
            missing.append((name, epsilon, wanted - held))
    yield from in_processes(options, measured, missing)


def merged(rows: Sequence[Result]) -> dict[tuple[str, float], Result]:
    """Return one row for each table and epsilon: runs, and of each figure means (3,) and standard deviations (3,)."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["table"], row["epsilon"]].append(row)
    found: dict[tuple[str, float], Result] = {}
    for key in sorted(groups, key=lambda one: ((*TABLES, *TINY).index(one[0]), one[1])):
        runs = np.array([row["runs"] for row in groups[key]])
        found[key] = {"runs": int(runs.sum())}
        for figure in FIGURES:
            means, deviations = (
                np.array([list(map(float, row[figure][part].split())) for row in groups[key]])
                for part in ("means", "deviations")
            )
            level = runs @ means / runs.sum()
            moved = _compared(means) - _compared(level[None])
            squares = (runs - 1) @ deviations**2 + runs @ moved**2
            found[key][figure] = level, np.sqrt(squares / max(runs.sum() - 1, 1))
    return found


def _compared(means: Shares) -> Shares:
    """Return the mean of the release, and how far it is above both bounds, for means (n, 3)."""
    return np.concatenate([means[:, :1], means[:, :1] - means[:, 1:] * np.array(list(BOUNDS.values()))], axis=1)


def failures(found: Rows) -> tuple[int, int, list[list[object]]]:
    """Return the number of comparisons, that of excesses in the mean, and what fails by Holm's method.

    An entry that fails has table, error, epsilon, figures and probability.
    """
    tests = sorted(_comparisons(found), key=lambda one: one[0])
    bounds = LEVEL / np.arange(len(tests), 0, -1)
    failed = list(itertools.takewhile(lambda one: one[0][0] <= one[1], zip(tests, bounds, strict=True)))
    excesses = sum(chance < 0.5 for chance, _ in tests)
    return len(tests), excesses, [[*entry, f"{chance:.1g}"] for (chance, entry), _ in failed]


def _comparisons(found: Rows) -> Iterator[tuple[float, list[object]]]:
    """Yield the probability and the entries of every comparison with a baseline, or with the next smaller epsilon."""
    for ((table, epsilon), row), figure in itertools.product(found.items(), FIGURES):
        means, deviations = row[figure]
        release, *above = _compared(means[None])[0].tolist()
        errors = (deviations / np.sqrt(row["runs"])).tolist()
        entry = [table, FIGURES[figure], f"{epsilon:g}"]
        for name, other, excess, error in zip(BOUNDS, means[1:], above, errors[1:], strict=True):
            yield _chance(excess, error, row["runs"]), [*entry, f"{release:.4g} where {name} has {other:.4g}"]
        smaller = max((other for name, other in found if name == table and other < epsilon), default=None)
        if smaller is not None:
            before = found[table, smaller]
            level, error = before[figure][0][0], before[figure][1][0] / np.sqrt(before["runs"])
            chance = _chance(release - level, float(np.hypot(errors[0], error)), min(row["runs"], before["runs"]))
            yield chance, [*entry, f"{release:.4g} where {level:.4g} at {smaller:g}"]


def _chance(excess: float, error: float, runs: int) -> float:
    """Return the probability of an excess as large where there is none (one-sided, Student's t)."""
    if excess <= 1e-6 or runs < 2:
        return 1.0
    return float(stats.t.sf(excess / error, runs - 1)) if error > 0 else 0.0


def markdown(report: Report) -> Iterator[str]:
    """Yield the failures by name, and the errors of each kind of table."""
    found = merged(report["rows"])
    number, excesses, failed = failures(found)
    judged, wrong = {name for name, _ in found}, {one[0] for one in failed}
    counts = ["of", "tables", "comparisons", "above in the mean", "that fail", "tables that fail"]
    yield from documents.table(counts, [["all", len(judged), number, excesses, len(failed), len(wrong)]])
    yield ""
    if failed:
        titles = ["table", "error", "epsilon", "is", "probability of as much by chance"]
        yield from documents.captioned("Failures, the surest first:", titles, failed)
    titles = ["kind", "epsilon", "runs", *(f"{title} | product | independent" for title in FIGURES.values())]
    yield from documents.captioned("Means over the tables of each kind:", titles, _by_kind(found))


def _by_kind(found: Rows) -> Iterator[list[object]]:
    for kind, epsilon in dict.fromkeys((kind_of(name), epsilon) for name, epsilon in found):
        rows = [row for (name, other), row in found.items() if (kind_of(name), other) == (kind, epsilon)]
        means = [f"{mean:.3g}" for figure in FIGURES for mean in np.mean([row[figure][0] for row in rows], axis=0)]
        yield [kind, f"{epsilon:g}", sum(row["runs"] for row in rows), *means]


def _draw(report: Report, folder: Path) -> None:
    draw(report["rows"], folder / "errors.svg")


def draw(rows: Sequence[Result], path: Path) -> None:
    """Draw total variation against epsilon, a panel for each kind and a line for each table."""
    found = merged(rows)
    kinds = [kind for kind in (*KINDS, PUBLIC) if any(kind_of(name) == kind for name, _ in found)]
    height = -(-len(kinds) // 2)
    with narrow_picture(path, 2 * height + 0.4, height, 2, sharex=True) as panels:
        for axes, kind in itertools.zip_longest(np.ravel(panels), kinds):
            if kind is None:
                axes.axis("off")
                continue
            for name in dict.fromkeys(name for name, _ in found if kind_of(name) == kind):
                lines = [(epsilon, row["tv"][0]) for (other, epsilon), row in found.items() if other == name]
                epsilons, means = np.array([one[0] for one in lines]), np.array([one[1] for one in lines])
                axes.plot(epsilons, np.maximum(means[:, 0], 1e-5), color=COLOURS[0], linewidth=1.2)
                axes.plot(epsilons, np.maximum(means[:, 2], 1e-5), "--", color="0.65", linewidth=0.8)
            axes.set(xscale="log", title=kind)
            logarithmic(axes.yaxis)
        panels[0][0].set_ylabel("total variation")
        panels[-1][0].set_xlabel("epsilon")


if __name__ == "__main__":
    sys.exit(main())
