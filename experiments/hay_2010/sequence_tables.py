"""Tables on sorted counts: Figures 3, 5 and 7, and Theorem 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.documents import captioned, figure
from experiments.hay_2010 import unattributed as sequences

Result = dict[str, Any]


def example_table(example: Result) -> Iterator[str]:
    """Yield the errors of the parts of the short sequence."""
    runs = example["counts"].count(example["counts"][0])
    of_a_position = [error / example["noise_variance"] for error in example["error"]]
    titles = [f"positions | squared error over that of S~ ({example['samples']:,} draws) | bound of Theorem 2"]
    rows = []
    for first, last in ((0, runs), (runs, runs + 1), (runs + 1, len(of_a_position))):
        error = sum(of_a_position[first:last]) / (last - first)
        bound = sum(1.0 / place for place in range(1, last - first + 1)) / (last - first)
        rows.append([f"{first + 1} to {last}", f"{error:.3f}", f"{bound:.3f}"])
    yield from captioned("**Figure 3**: 20 equal counts, a single one, four equal ones (`example.svg`)", titles, rows)
    yield f"Draws in which the single count stays as it is: {example['single_count_left_as_it_is']:.0%}."
    yield ""


def error_tables(results: Sequence[Result]) -> Iterator[str]:
    """Yield the errors of all estimates, and where the default does least well."""
    pairs = (
        (sequences.NOISY, sequences.REAL),
        (sequences.SORTED, sequences.ROUNDED),
        (sequences.SORTED, sequences.DEFAULT),
        (sequences.ROUNDED, sequences.DEFAULT),
    )
    names = [*sequences.ESTIMATES, *(" / ".join(pair) for pair in pairs)]
    rows = []
    for result in results:
        means = _means(result)
        cells = [result["set"], f"{result['counts']:,}", f"{result['distinct']:,}", _noise(result)]
        cells += [figure(means[name]) for name in sequences.ESTIMATES]
        cells += [f"{means[one] / means[other]:.3g}" for one, other in pairs]
        rows.append(cells)
    caption = "**Figure 5**: total squared error, mean of all draws (`sorted_errors.svg`)"
    yield from captioned(caption, ["set | counts | distinct | noise / sensitivity", *names], rows)
    yield from _extremes(results)


def _extremes(results: Sequence[Result]) -> Iterator[str]:
    """Yield where the default does least well."""
    for name in (sequences.SORTED, sequences.ROUNDED):
        worst = max(results, key=lambda result: _ratio(result, sequences.DEFAULT, name))
        yield (
            f"Largest ratio of dpopt's default to {name}: {_ratio(worst, sequences.DEFAULT, name):.3g} "
            f"({worst['set']}, {_noise(worst)})."
        )
        yield ""
    draws = sum(result["draws_where_the_default_is_worse_than_sorting"] for result in results)
    total = sum(result["draws"] for result in results)
    yield f"Single draws in which dpopt's default is worse than S~r: {draws:,} of {total:,}."
    yield ""


def bound_table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the errors over the bound."""
    yield "**Theorem 2**: error of S-bar over v sum_r (1 + 1/2 + ... + 1/n_r), with its standard error"
    yield ""
    rows = []
    for result in results:
        cells = [result["set"], _noise(result), figure(result["bound"])]
        cells += [f"{result['bound'] / result['error_of_the_noise']:.2g}"]
        rows.append([*cells, *(_over(result[key], result["bound"]) for key in ("error", "error_with_wide_gaps"))])
    yield from captioned(
        f"{results[0]['draws']} draws of their own; last column: distinct values moved apart, {sequences.GAP} scales "
        "of the noise between neighbours.",
        ["set | noise / sensitivity | bound | bound / error of S~ | error / bound | error / bound, far apart"],
        rows,
    )


def position_table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the errors of positions by how often their value occurs."""
    rows = []
    for result in results:
        for row in result["classes"]:
            least, most = row["occurs"]
            occurs = "once" if most == 1 else f"{least}{f' to {most}' if most else ' or more'} times"
            cells = [result["set"], occurs, f"{row['values']:,}", f"{row['positions']:,}"]
            rows.append(
                [*cells, *(f"{row[key]:.2g}" for key in ("error", "error_in_the_middle_half", "error_over_bound"))]
            )
    yield from captioned(
        "**Figure 7**: squared error of S-bar by position, over that of S~ (`positions.svg`)",
        [
            "set | value occurs | values | positions | error of a position / v | in the middle half of a run",
            "error / bound of Theorem 2",
        ],
        rows,
    )


def _means(result: Result) -> dict[str, float]:
    return {name: row["mean"] for name, row in result["errors"].items()}


def _ratio(result: Result, one: str, other: str) -> float:
    means = _means(result)
    return means[one] / means[other]


def _noise(result: Result) -> str:
    return f"epsilon {result['epsilon']:g} / {result['sensitivity']}"


def _over(mean: dict[str, float], bound: float) -> str:
    return f"{mean['mean'] / bound:.4f} ± {mean['standard_error'] / bound:.4f}"
