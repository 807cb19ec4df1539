"""The result of an evaluation: errors, the weakest figures, scores, and all of it in words. NOT private."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
from scipy.special import gammaincc

from dpopt.files.codec import encode
from dpopt.html_pages.shown import Shown, answer_in_words, figure
from dpopt.private.evaluation import NonPrivateNumbers
from dpopt.private.marginal_comparison import LEAST_GROUP, MOST_UNSEEN, NonPrivateMarginal
from dpopt.private.readers.table_reading import OnInvalid
from dpopt.schema.attribute import AttributeKind
from dpopt.schema.schema import Schema

NOTE = "NOT private: computed from the exact answers; keep it with the table"
ADVICE = (
    "Tell readers not to rely on figures like these. Another release, which costs privacy again, keeps them better with "
    "fewer columns, fewer counts (--workload), {}or a larger epsilon."
)
LOWER_END = "upper ends as low as public knowledge allows, "
NAMED = 3
"""Weakest figures of a kind that are named: the first one, and others that are bad by themselves."""
NOTABLE = 2.0
"""Sampling errors that a mean may be off, and be as good as that of another sample of the same population."""
KINDS = {
    "correlations": ("weakest correlation", 0.1),
    "dependences": ("weakest dependence (0: none, 1: complete)", 0.1),
    "means": ("weakest mean", 3.0),
    "group_means": ("weakest mean within a group", 0.1),
    "differences": ("weakest difference", 0.1),
    "shares": ("weakest share", 0.1),
}
"""Names of figures, and the error from which each is bad: of a correlation or Cramer's V, per cent, part of the spread
(standard deviation) of the column, part of the difference, of a share."""
CRAMERS_V = "Cramer's V"
CHANCE = 0.01
"""Probability that any pair of independent columns counts as dependent (by Bonferroni's inequality)."""
LEAST_DEPENDENCE = 0.1
"""A score is given if shuffled columns are further from the table than the sampling error, by this part of it at least."""
Found = Mapping[str, Any]
"""One figure, as in the JSON form."""


@dataclass(frozen=True, slots=True, repr=False)
class Weakest(Shown):
    """The figures of each kind that are furthest off, at most three, the worst first; a score hides them."""

    correlations: tuple[Found, ...]
    dependences: tuple[Found, ...]
    """Of pairs of columns: "columns", "measure" (of two columns of numbers "correlation", "correlation of bins" where
    there are codes alone; of others Cramer's V), "real", "synthetic"."""
    means: tuple[Found, ...]
    """"column", "real", "synthetic", "sampling_errors", "percent" (None where the real one is 0)."""
    group_means: tuple[Found, ...]
    """Means of the numbers of a "column" in a "group" as for shares: "rows" with a number, "real", "synthetic",
    "spreads" (how far off, in standard deviations of the column). One for each pair of columns."""
    differences: tuple[Found, ...]
    """Of columns that a rule orders, as `Evaluation.differences`."""
    shares: tuple[Found, ...]
    """Of a "value" in a "group" of at least 100 rows and 1 % of all ("column" and "value" of both): "rows", "real",
    "synthetic". One for each pair of columns."""
    words: tuple[str, ...]
    """All of it, a line for each kind."""
    advice: str

    def _said(self) -> Iterable[str]:
        return self.words


@dataclass(frozen=True, slots=True, repr=False)
class Scores(Shown):
    """SDMetrics' scores from 0 to 100 (`dpopt.private.marginal_comparison`); shuffled columns can score 99."""

    overall: float
    """Mean of the two below."""
    columns: float
    pairs: float | None
    by_column: Mapping[str, float]
    """By name."""
    by_pair: tuple[Found, ...]
    """"columns", "score"."""
    left_out: int
    """Columns that are not compared."""

    def _said(self) -> Iterable[str]:
        pairs = () if self.pairs is None else (f"pairs={self.pairs:.1f} %",)
        return f"overall={self.overall:.1f} %", f"columns={self.columns:.1f} %", *pairs


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Shown):
    """The result of `dpopt.evaluate`: a release against its table. NOT private: for the owner of the table alone.

    Attributes
    ----------
    queries : int
    max_error, mean_error : float
        Absolute differences of the answers, as shares of the records.
    worst_query : str
        The one with the largest error, in words.
    baselines : dict
        "zeros" and "uniform", each with "max_error" and "mean_error".
    marginals : dict or None
        Of a workload of marginals: how many "marginals", total variation distances "mean_distance" and
        "largest_distance", and "largest_of" (columns).
    columns : dict
        For each numeric column "real" and "synthetic", with "mean", "quartiles" (three numbers), "missing" (a share)
        and "sampling" (standard error of the mean). Real numbers are those of the file. Empty for a table of codes.
    changed : dict or None
        What the reading changed: "rows" of the file, those that are "counted", and the "columns" with values that were
        clipped or replaced ("column", "values": how many, and the means "real", "counted", "synthetic"), in "words".
    differences
        Of neighbours in an `ordered` rule, the worst first: "columns", mean of the second less the first "real" and
        "synthetic", and "unit" (days of dates, else None).
    weakest : Weakest or None
        Read it before the scores; None without records.
    dependence : dict or None
        How much of the dependence between columns is kept: "percent" from 0 (columns shuffled on their own) to 100
        (sampling error), None where no columns depend on each other; how many "pairs" do, their mean "distance", that
        of "shuffled" columns, and the "sampling" error; "words".
    intervals : dict or None
        The "figures" that README.txt shows with intervals of 95 %, each with the table's, "real", and whether it is "held";
        "words". None where nothing was measured.
    scores : Scores or None
        Those of SDMetrics.
    unseen
        The most frequent values and pairs of values of synthetic records that no record of the table has: "columns",
        "values" in words, "share" of the synthetic records, and the "rule" that would forbid them, as a line of a
        schema: for what is impossible in the world, and never because the table lacks it, which a rule would publish.

    Examples
    --------
    >>> import dpopt, pandas
    >>> rows = pandas.DataFrame({"smoker": [False, True, True, True]})
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> found = dpopt.evaluate(rows, rows[:2], schema=schema, workload="marginals:1")
    >>> isinstance(found, dpopt.Evaluation), found.scores.by_column
    (True, {'smoker': 75.0})
    >>> found
    Evaluation(NOT private, 2 queries, mean error=0.25, largest error=0.25, SDMetrics' score=75.0 %)
    >>> found.to_json()["private"], found.words
    (False, [])
    """

    queries: int
    max_error: float
    mean_error: float
    worst_query: str
    baselines: Mapping[str, Mapping[str, float]]
    marginals: Found | None
    columns: Mapping[str, Mapping[str, Any]]
    changed: Found | None
    differences: tuple[Found, ...]
    weakest: Weakest | None = None
    dependence: Found | None = None
    scores: Scores | None = None
    unseen: tuple[Found, ...] | None = None
    intervals: Found | None = None

    def to_json(self) -> dict[str, Any]:
        """Return all of it as a JSON object, marked as not private."""
        return encode(self, {"private": False, "note": NOTE})

    @property
    def words(self) -> list[str]:
        """The weakest figures and the changes by the reading, in words; to be read first."""
        changed = [] if self.changed is None else self.changed["words"]
        weakest = None if self.weakest is None or not self.weakest.words else self.weakest
        return changed if weakest is None else [*weakest.words, *changed, weakest.advice]

    def _said(self) -> Iterable[str]:
        errors = f"mean error={self.mean_error:.2g}", f"largest error={self.max_error:.2g}"
        percent = None if self.dependence is None else self.dependence["percent"]
        kept = () if percent is None else (f"dependence kept={percent:.1f} %",)
        score = () if self.scores is None else (f"SDMetrics' score={self.scores.overall:.1f} %",)
        return "NOT private", f"{self.queries:,} queries", *errors, *kept, *score

    def _rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        return (NOTE,), ([line] for line in self.words)


def changed_sheet(numbers: NonPrivateNumbers, columns: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the changes by the reading: rows that are not counted, values clipped or replaced; None without any."""
    found, words = [], []
    ends, others = OnInvalid.CLIP in numbers.repairs, OnInvalid.OTHER in numbers.repairs
    what = "did not fit" if others else "lay outside its range"
    where = " or ".join(["its end bins"] * ends + ["its bucket for other values"] * others)
    for name, (values, counted) in numbers.changed.items():
        if isinstance(counted, str):
            found.append({"column": name, "values": values, "real": None, "counted": None, "synthetic": None})
            words.append(
                f"{values:,} of {numbers.counted:,} values of {name} did not fit and were counted as {counted}"
            )
            continue
        own, real = columns.get(name, {}).get("synthetic", {}).get("mean"), numbers.columns.get(name)
        means = {"real": None, "counted": None, "synthetic": own}
        if real is not None:
            means |= {"real": real.mean, "counted": counted}
        found.append({"column": name, "values": values, **means})
        shown = zip(means.values(), ("in the file", "as counted", "in the release"), strict=True)
        line = ", ".join(f"{mean:,.6g} {place}" for mean, place in shown if mean is not None)
        words.append(
            f"{values:,} of {numbers.counted:,} values of {name} {what} and were counted in {where}"
            + (f": mean {line}" if line else "")
        )
    if lost := numbers.rows - numbers.counted:
        words.append(f"{lost:,} of {numbers.rows:,} rows were dropped; these figures exclude them")
    return {"rows": numbers.rows, "counted": numbers.counted, "columns": found, "words": words} if words else None


def unseen_sheet(
    schema: Schema, ones: Sequence[NonPrivateMarginal], pairs: Sequence[NonPrivateMarginal]
) -> tuple[Found, ...]:
    """Return combinations in most synthetic records and no real one, the most frequent first, with rules against them.

    Pairs with a value that is itself unseen are left to that value.
    """
    alone = {(one.attributes[0], codes[0]) for one in ones for codes, _ in one.unseen}
    found = [
        (share, one.attributes, codes)
        for one in (*ones, *pairs)
        for codes, share in one.unseen
        if len(codes) == 1 or not alone & set(zip(one.attributes, codes, strict=True))
    ]
    return tuple(
        {
            "columns": [schema.attributes[place].name for place in places],
            "values": [schema.attributes[place].label(code) for place, code in zip(places, codes, strict=True)],
            "share": share,
            "rule": _rule_against(schema, places, codes),
        }
        for share, places, codes in sorted(found, key=lambda one: -one[0])[:MOST_UNSEEN]
    )


def _rule_against(schema: Schema, places: Sequence[int], codes: Sequence[int]) -> str:
    """Return the rule that no record has these values, as a line of a schema."""
    attributes = [schema.attributes[place] for place in places]
    values: list[object] = []
    for attribute, code in zip(attributes, codes, strict=True):
        if code == attribute.missing_code:
            values.append(None)
        elif attribute.kind is AttributeKind.NUMERIC:
            values.append(attribute.label(code))
        else:
            values.append(attribute.values[code])
    rule = {"forbidden": [attribute.name for attribute in attributes], "combinations": [values]}
    return json.dumps(rule, ensure_ascii=False)


def interval_sheet(figures: Sequence[Found]) -> Found | None:
    """Return how many intervals of the figures that are shown hold that of the table; None without figures."""
    if not figures:
        return None
    missed = [(answer_in_words(one), figure(one["real"])) for one in figures if not one["held"]]
    words = f"{len(figures) - len(missed)} of {len(figures)} intervals of 95 % contain the table's figure" + "".join(
        f"; missed: {name}, {real} in the table, {interval}" for (name, _, interval, _), real in missed
    )
    return {"figures": list(figures), "words": words}


def weakest_sheet(
    schema: Schema,
    pairs: Sequence[NonPrivateMarginal],
    columns: Mapping[str, Any],
    differences: Sequence[Found],
    groups: Sequence[Found],
    measure: str = "correlation",
) -> Weakest:
    """Return the associations, means, differences, and shares within groups with the largest errors.

    Correlations, called `measure`, count by what they moved, Cramer's V by what it lost: noise about what is rare adds
    to it. Of means that are more than `NOTABLE` sampling errors off the one with the largest percentage is taken; where
    there are none, that with the most sampling errors. Differences come in order, the one that is furthest off first,
    and `groups` from `weakest_groups`.
    """
    associations = _of_pairs(schema, pairs, measure)
    found: dict[str, list[tuple[float, Any]]] = {
        "correlations": [one for one in associations if one[1]["measure"] != CRAMERS_V],
        "dependences": [one for one in associations if one[1]["measure"] == CRAMERS_V],
        "means": _of_means(columns),
        "group_means": [(one["spreads"], one) for one in groups],
        "differences": [(difference_off(one), one) for one in differences],
        "shares": _of_shares(schema, pairs),
    }
    named: dict[str, tuple[Found, ...]] = {
        kind: tuple(one for place, (far, one) in enumerate(some[:NAMED]) if not place or far >= KINDS[kind][1])
        for kind, some in found.items()
    }
    decided = {name for one in named["correlations"][:1] for name in one["columns"]}
    decided |= {one["column"] for one in named["means"][:1]}
    skewed = any(_is_skewed(columns[name]["real"]) for name in decided & columns.keys())
    words = tuple(_in_words(kind, some) for kind, some in named.items() if some)
    return Weakest(**named, words=words, advice=ADVICE.format(LOWER_END if skewed else ""))


def _of_pairs(schema: Schema, pairs: Sequence[NonPrivateMarginal], measure: str) -> list[tuple[float, dict[str, Any]]]:
    lost: list[tuple[float, dict[str, Any]]] = []
    for one in pairs:
        numbers = one.correlation is not None and one.own_correlation is not None
        real = one.correlation if numbers else one.association
        own = one.own_correlation if numbers else one.own_association
        if real is not None and own is not None:
            names = [schema.attributes[place].name for place in one.attributes]
            both = {"columns": names, "measure": measure if numbers else CRAMERS_V, "real": real, "synthetic": own}
            lost.append((abs(real - own) if numbers else real - own, both))
    return sorted(lost, key=lambda one: -one[0])


def _of_means(columns: Mapping[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    off: list[tuple[tuple[float, float], dict[str, Any]]] = []
    for name, both in columns.items():
        real, own, sampling = both["real"]["mean"], both["synthetic"]["mean"], both["real"]["sampling"]
        if own is not None and sampling:
            percent = 100 * (own - real) / abs(real) if real else None
            apart = abs(own - real) / sampling
            far = 0.0 if apart <= NOTABLE else inf if percent is None else abs(percent)
            found = {"column": name, "real": real, "synthetic": own, "sampling_errors": apart, "percent": percent}
            off.append(((far, apart), found))
    return [(far, found) for (far, _), found in sorted(off, key=lambda one: one[0], reverse=True)]


def _of_shares(schema: Schema, pairs: Sequence[NonPrivateMarginal]) -> list[tuple[float, dict[str, Any]]]:
    shares = []
    for one in pairs:
        if (found := one.share) is not None:
            named = [
                {"column": schema.attributes[place].name, "value": schema.attributes[place].label(code)}
                for place, code in zip(one.attributes, found.codes, strict=True)
            ]
            group, value = named if found.group == 0 else named[::-1]
            both = {"group": group, "value": value, "rows": found.rows, "real": found.real, "synthetic": found.own}
            shares.append((abs(found.real - found.own), both))
    return sorted(shares, key=lambda one: -one[0])


def weakest_groups(
    schema: Schema, groups: Sequence[int], real: NonPrivateNumbers, own: NonPrivateNumbers
) -> list[Found]:
    """Return the means within groups that are furthest off, against the spread of their column; one for a pair of columns."""
    names = [name for name in real.groups if name in own.groups and real.columns[name].sampling]
    if not groups or not names:
        return []
    (rows, sums), (own_rows, own_sums) = (np.stack([one.groups[name] for name in names], axis=1) for one in (real, own))
    spread = [
        (real.columns[name].sampling or 0) * sqrt((1 - real.columns[name].missing) * real.counted) for name in names
    ]
    large = (rows >= max(LEAST_GROUP[0], LEAST_GROUP[1] * real.counted)) & (own_rows > 0)
    means, own_means = (
        np.divide(total, number, out=np.zeros_like(total), where=large)
        for total, number in ((sums, rows), (own_sums, own_rows))
    )
    off = np.abs(means - own_means) / np.array(spread)[:, None]
    starts = np.cumsum([0, *schema.sizes[list(groups)]])
    found: dict[tuple[int, int], Found] = {}
    for cell in np.argsort(-off, axis=None, kind="stable").tolist():
        number, code = divmod(cell, off.shape[1])
        place = int(np.searchsorted(starts, code, side="right")) - 1
        if len(found) == NAMED or not large[number, code]:
            break
        group = schema.attributes[groups[place]]
        found.setdefault(
            (number, place),
            {
                "column": names[number],
                "group": {"column": group.name, "value": group.label(code - int(starts[place]))},
                "rows": int(rows[number, code]),
                "real": float(means[number, code]),
                "synthetic": float(own_means[number, code]),
                "spreads": float(off[number, code]),
            },
        )
    return list(found.values())


def difference_off(one: Found) -> float:
    """Return how far the mean difference of ordered columns is off, as a part of it."""
    return float(abs(one["synthetic"] - one["real"]) / max(abs(one["real"]), 1e-9))


def _is_skewed(figures: Mapping[str, Any]) -> bool:
    """Return whether few large numbers decide a mean: it lies beyond the upper quartile, or far from the median."""
    if figures["quartiles"] is None:
        return False
    low, middle, high = figures["quartiles"]
    return bool(figures["mean"] - middle > (high - low) / 4)


def _in_words(kind: str, found: Sequence[Found]) -> str:
    """Return a line on the figures of a kind: the first one in full, the others after it."""
    (what, real, own, remark), *others = (_figure(kind, one) for one in found)
    then = "; ".join(f"{what}, {real} and {own}" for what, real, own, _ in others)
    return f"{KINDS[kind][0]}: {what}, {real} in the table, {own} in the release{remark}" + (
        f"; then {then}" if then else ""
    )


def _figure(kind: str, one: Found) -> tuple[str, str, str, str]:
    """Return a figure's name, its real and its synthetic value, and a remark."""
    both = one["real"], one["synthetic"]
    if kind in ("correlations", "dependences"):
        bins = " of bins" if one["measure"].endswith("bins") else ""
        return " x ".join(one["columns"]) + bins, f"{both[0]:.2f}", f"{both[1]:.2f}", ""
    if kind == "group_means":
        group = f"{one['group']['column']} = {one['group']['value']}"
        what = f"{one['column']} among {group} ({one['rows']:,} rows)"
        error = abs(both[0] - both[1]) / 10
        return what, figure(both[0], error), figure(both[1], error), ""
    if kind == "means":
        percent = "" if one["percent"] is None else f"{one['percent']:+.1f} %, "
        remark = f" ({percent}{one['sampling_errors']:.1f} times its standard error)"
        error = abs(both[0] - both[1]) / one["sampling_errors"] if one["sampling_errors"] else None
        return one["column"], figure(both[0], error), figure(both[1], error), remark
    if kind == "differences":
        unit = "" if one["unit"] is None else f" {one['unit']}"
        return " to ".join(one["columns"]), f"{both[0]:,.4g}{unit}", f"{both[1]:,.4g}", ""
    value, group = (f"{part['column']} = {part['value']}" for part in (one["value"], one["group"]))
    return f"{value} among {group} ({one['rows']:,} rows)", f"{both[0]:.1%}", f"{both[1]:.1%}", ""


def dependence_sheet(pairs: Sequence[NonPrivateMarginal]) -> Found:
    """Return how much of the dependence between the columns of a table its release keeps.

    Pairs count that depend in the table beyond sampling: shuffles reach their chi-square with a probability of at most
    `CHANCE` over the number of pairs. It is that of the gamma distribution with the exact mean and variance over all
    shuffles. With D the mean total variation distance of these pairs from the table, D0 the same of the release's
    columns shuffled on their own, and s the sampling error of the table, the score is

        1 - (D - s) / (D0 - s), at least 0 and at most 1.

    No shuffle is drawn: D0 is that of the product of the one-way shares, which is the mean of all shuffles. A distance
    is convex, so that shuffles are at least so far from the table in the mean, and score 0.
    """
    some = [one for one in pairs if one.dependence and _chance(*one.dependence) * len(pairs) <= CHANCE]
    figures = np.array([(one.distance, one.shuffled, one.sampling) for one in some], dtype=float).reshape(-1, 3)
    distance, shuffled, sampling = figures.sum(axis=0) / max(1, len(some))
    found = {"pairs": len(some), "distance": float(distance), "shuffled": float(shuffled), "sampling": float(sampling)}
    words = "dependence between columns kept: "
    if not some or shuffled < (1 + LEAST_DEPENDENCE) * sampling:
        return {
            **found,
            "percent": None,
            "words": f"{words}not applicable, since the table shows none beyond its sampling error",
        }
    kept = 100 * float(np.clip(1 - (distance - sampling) / (shuffled - sampling), 0, 1))
    words += (
        f"{kept:.1f} % (0 %: unrelated columns, 100 %: as near to the table as its sampling error; distances of the "
        f"{len(some):,} of {len(pairs):,} dependent pairs: release {distance:.4f}, unrelated "
        f"{shuffled:.4f}, sampling {sampling:.4f})"
    )
    return {**found, "percent": kept, "words": words}


def _chance(found: float, mean: float, variance: float) -> float:
    """Return the probability of this chi-square or a larger one."""
    return float(gammaincc(mean**2 / variance, found * mean / variance))


def score_sheet(schema: Schema, ones: Sequence[NonPrivateMarginal], pairs: Sequence[NonPrivateMarginal]) -> Scores:
    """Return the scores of columns and pairs, in per cent, and their means."""
    names = [schema.attributes[one.attributes[0]].name for one in ones]
    means = [100 * float(np.mean([one.score for one in some])) for some in (ones, pairs) if some]
    return Scores(
        overall=float(np.mean(means)),
        columns=means[0],
        pairs=means[1] if len(means) > 1 else None,
        by_column={name: 100 * one.score for name, one in zip(names, ones, strict=True)},
        by_pair=tuple(
            {"columns": [names[place] for place in one.attributes], "score": 100 * one.score} for one in pairs
        ),
        left_out=len(schema) - len(ones),
    )
