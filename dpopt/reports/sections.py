"""The sections of a report: columns, rounds and pairs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.after.judgement import Judgement
from dpopt.algorithms.evaluate import answers_of_records, are_numbers, figures_of_records, names_of
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.queries.associations import cramers_v
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.releases.kept_records import round_rows
from dpopt.reports.charts import column_chart, line_chart, short, square_map
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema

Numbers = NDArray[np.float64]
Pairs = dict[tuple[int, ...], tuple[float | None, float | None]]
"""Cramer's V and the correlation, by the positions of two columns."""

MOST_COLUMNS, MOST_MAPPED, LARGEST_PAIR = 60, 32, 1 << 20
"""Columns that are drawn; columns of a map of pairs; cells of a pair that is looked at. Of more, the first ones."""
_GAUSSIAN, _LAPLACE = 1.96, 2.12  # deviations that 95 % of the noise stays within


def column_charts(
    finished: SyntheticRelease, measured: MeasuredResiduals | None, judged: Judgement | None
) -> list[dict[str, Any]]:
    """Return the picture of each column: synthetic shares, intervals of the noise, and shares of the table."""
    schema, answers = finished.job.schema, answers_of_records(finished)
    number = min(len(schema), MOST_COLUMNS)
    own = None if answers is None else _one_way(schema, answers, number)
    real = {} if judged is None else {one.attributes[0]: one for one in judged.columns}
    charts = []
    for place in range(number):
        attribute, low, high, one = schema.attributes[place], None, None, real.get(place)
        if measured is not None and measured.missing((place,)) is None:
            factor = _GAUSSIAN if measured.gaussian else _LAPLACE
            near, reach = measured.shares(place, attribute.size), factor * measured.deviation((place,)) / measured.size
            low, high = np.clip(near - reach, 0, 1), np.clip(near + reach, 0, 1)
        if own is None and low is None:
            continue
        shares, off = None if own is None else own[place], np.zeros(0)
        if shares is not None and low is not None and high is not None:
            off = np.maximum(low - shares, shares - high)
        about = {
            "name": short(attribute.measured, 80),
            "codes": attribute.size,
            "missing_text": short(attribute.missing or "", 60),
            "outside": (int(np.count_nonzero(off > 1e-12)), off.size),
        }
        charts.append(about | column_chart(attribute, shares, None if one is None else one.real, low, high))
    return charts


def _one_way(schema: Schema, answers: RecordAnswers, number: int) -> list[Numbers]:
    marginals = MarginalSet(Domains.of(schema, occurring=False), np.arange(number, dtype=np.int32)[:, None])
    return np.split(answers.on(marginals, schema.sizes), marginals.starts[1:-1])


def rounds_section(finished: SyntheticRelease) -> dict[str, Any] | None:
    """Return the rounds of DualQuery: lines of values and bounds per draw, and a text; None without rounds."""
    found = round_rows(finished.played, finished.job.plan.solver)
    if not found:
        return None
    words = {"the record": "value", "bound that the solver states": "reported_bound", "proven bound": "proven_bound"}
    lines = {
        word: [(row["round"], row[name] / row["draws"]) for row in found if row[name] is not None]
        for word, name in words.items()
    }
    return {
        "chart": line_chart(lines),
        "number": len(found),
        "draws": found[0]["draws"],
        "gap": sum(row["gap"] / row["draws"] for row in found) / len(found),
        "fallbacks": sum(row["fallback"] is not None for row in found),
        "answered": sorted({row["answered_by"] for row in found}),
    }


def association_maps(finished: SyntheticRelease, judged: Judgement | None) -> list[dict[str, Any]]:
    """Return maps of Cramer's V, and of correlations of numeric columns: synthetic, real, and their difference."""
    schema, answers = finished.job.schema, answers_of_records(finished)
    places = list(range(min(len(schema), MOST_MAPPED)))
    if answers is None or len(places) < 2:
        return []
    real: Pairs = {}
    if judged is None:
        own = _associations(finished, answers, places)
    else:
        real = {one.attributes: (one.association, one.correlation) for one in judged.pairs}
        own = {one.attributes: (one.own_association, one.own_correlation) for one in judged.pairs}
    numbers = [place for place in places if any(pair[1] is not None for key, pair in own.items() if place in key)]
    maps = []
    for which, title, shown in ((0, "Dependence (Cramer's V)", places), (1, "Correlation of numbers", numbers)):
        if len(shown) < 2:
            continue
        names = [schema.attributes[place].name for place in shown]
        matrices = {"synthetic": _matrix(own, shown, which)}
        if judged is not None:
            matrices = {"real": _matrix(real, shown, which), **matrices}
            matrices["synthetic minus real"] = matrices["synthetic"] - matrices["real"]
        drawn = []
        for caption, values in matrices.items():
            apart = "minus" in caption
            map_ = square_map(names, values, signed=which == 1 or apart, top=None if apart else 1.0)
            drawn.append({"caption": caption, **map_})
        maps.append({"title": title, "maps": drawn, "left_out": len(schema) - len(places)})
    return maps


def _associations(finished: SyntheticRelease, answers: RecordAnswers, places: list[int]) -> Pairs:
    schema = finished.job.schema
    found: Pairs = {}
    domains, sizes = Domains.of(schema, occurring=False), schema.sizes
    numbers = [pair for pair in combinations(places, 2) if are_numbers(schema, pair)]
    named = {pair: names_of(schema, pair) for pair in numbers}
    correlations = figures_of_records(finished, list(named.values())).correlations
    for row in places[1:]:
        pairs = [(column, row) for column in range(row) if int(sizes[row]) * int(sizes[column]) <= LARGEST_PAIR]
        if not pairs:
            continue
        marginals = MarginalSet(domains, np.array(pairs, dtype=np.int32))
        for pair, part in zip(pairs, np.split(answers.on(marginals, sizes), marginals.starts[1:-1]), strict=True):
            shares = part.reshape([int(sizes[place]) for place in pair])
            found[pair] = cramers_v(shares), correlations.get(named[pair]) if pair in named else None
    return found


def _matrix(pairs: Pairs, places: list[int], which: int) -> Numbers:
    """Return the lower half of a matrix over these columns; NaN where there is nothing."""
    matrix = np.full((len(places), len(places)), np.nan)
    at = {place: number for number, place in enumerate(places)}
    for (column, row), values in pairs.items():
        value = values[which]
        if column in at and row in at and value is not None:
            matrix[at[row], at[column]] = value
    return matrix
