"""The verdict on a release, before all else: what it is good for and what not, from released values alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

from dpopt.errors import AccuracyWarning, DpoptWarning
from dpopt.releases.descriptions.pair_errors import rows_needed

UNUSABLE = 0.2
"""Shares of single columns that can be off by more are not to be used."""
LITTLE = 0.5
"""Part of the error of unrelated columns above which rows keep little dependence: about half or less, on public tables."""
FEW = 3
"""One of so many pairs, or fewer, were measured: relationships between many columns can be missing."""
FEW_GROUPS = 4
"""If means of a column need groups so large that there are fewer, they are not to be used within groups at all."""
MOST_NAMED = 3
"""Columns that are named."""
_HELP = (
    "What helps in another release, which costs privacy again: fewer columns, a workload of the pairs that matter, or a "
    "larger epsilon."
)
_UNKNOWN = "Compare {} and table (dpopt evaluate) before anyone relies on them"


@dataclass(frozen=True, slots=True)
class Note:
    """A warning in sentences, and in a few words."""

    text: str
    brief: str
    kind: type[DpoptWarning] = AccuracyWarning
    of_run: bool = False
    """Whether released values show it; else the plan does, and it is shown before anything is spent."""
    advice: str = ""
    """What the owner of the table can do, for the terminal."""

    def warning(self) -> DpoptWarning:
        """Return the note as a warning."""
        return self.kind(" ".join(filter(None, (self.text, self.advice))))


def verdict_of(statement: Mapping[str, Any]) -> Note:
    """Return the verdict on a release, given the contents of its release.json; with advice if relationships are lost.

    Examples
    --------
    >>> single = {"columns": 3, "all_columns": 3, "share_error": 0.0027}
    >>> both = {"pairs": 3, "all_pairs": 3, "count_error": 40.0, "release": 50.0, "unrelated": 400.0, "better": True}
    >>> stated = {"accuracy": {"one_way": single, "two_way": both}, "privacy": {"public_size": 50000}}
    >>> verdict_of(stated).text
    'Shares of single columns: within 0.27 points. Shares of pairs of values: most within 0.1 points. Do not use: anything \
on groups below 2,000 rows.'
    """
    accuracy, size = statement["accuracy"], statement["privacy"]["public_size"]
    if accuracy.get("size") is not None:
        return Note("Do not use: anything; the declared number of records is wrong, and all shares with it.", "")
    single, pairs = accuracy.get("one_way"), accuracy.get("two_way") or {"pairs": 0, "all_pairs": 0}
    if single is None and not pairs["pairs"]:
        return Note(f"{_of_workload(statement)}.", "")
    error, lost = 0.0 if single is None else single["share_error"], _lost(pairs)
    good = [] if single is None or error > UNUSABLE else [_of_columns(single)]
    bad = [f"shares of single columns, which can be off by {points(min(error, 1.0))}"] if error > UNUSABLE else []
    bad += [f"relationships between columns, {lost}"] if lost else []
    if pairs["pairs"] and not lost:
        error = pairs.get("release", pairs["count_error"]) / size
        good.append(f"Shares of pairs of values{_of(pairs, 'pairs')}: most within {points(error)}")
        bad += _of_groups(pairs, size)
    text = ". ".join((*good, *([f"Do not use: {'; '.join(bad)}"] if bad else [])))
    warned = pairs["pairs"] > 0 and (bool(lost) or FEW * pairs["pairs"] <= pairs["all_pairs"])
    return Note(f"{text}.", "", of_run=warned, advice=_HELP if warned else "")


def verdict_of_answers(known: tuple[str, float, bool] | None) -> str:
    """Return the verdict on a release without records, of what its answers are of and how far off they are predicted to be.

    >>> verdict_of_answers(("counts of ranges", 12.3, False))
    'Counts of ranges: off by about 12 records. Do not use: counts below 120, which are off by more than a tenth.'
    >>> verdict_of_answers(("shares of rows", 0.31, True))
    'Do not use: shares of rows, which can be off by 31 points.'
    """
    if known is None:
        return "Nothing in this release tells how good it is."
    what, error, share = known
    if share and error > UNUSABLE:
        return f"Do not use: {what}, which can be off by {points(min(error, 1.0))}."
    if share:
        return f"{what.capitalize()}: within {points(error)}."
    small = f"counts below {rounded(10 * error)}, which are off by more than a tenth"
    return f"{what.capitalize()}: off by about {rounded(error)} records. Do not use: {small}."


def points(share: float) -> str:
    """Return a share of all records in points, rounded up to two digits."""
    shown = 100 * share
    digits = 1 - floor(log10(shown)) if shown > 0 else 0
    return f"{round(ceil(shown * 10**digits * (1 - 1e-9)) / 10**digits, max(digits, 0)):,.9g} points"


def _of(found: Mapping[str, Any], what: str) -> str:
    some, every = found[what], found[f"all_{what}"]
    return f" (in {some:,} of {every:,} {what.replace('pairs', 'pairs of columns')})" if some < every else ""


def _of_columns(single: Mapping[str, Any]) -> str:
    return f"Shares of single columns{_of(single, 'columns')}: within {points(single['share_error'])}"


def _lost(found: Mapping[str, Any]) -> str:
    """Return why relationships between columns are not to be used at all; empty if they are, or if there are none."""
    if not found["pairs"]:
        return "of which nothing was measured" if found["all_pairs"] else ""
    if not found.get("dependence", True):
        return "of which none was seen beyond noise and sampling"
    if not found.get("better", True):
        return "which are no better here than if columns were unrelated"
    if found.get("release", 0.0) > LITTLE * found.get("unrelated", found.get("release", 0.0) / LITTLE):
        return "many of which are lost here, and others weaker than in the table"
    return ""


def _of_groups(found: Mapping[str, Any], size: int) -> Iterator[str]:
    """Yield in which groups percentages and means are often far off, and relationships that were not measured."""
    least, means = rows_needed(found), found.get("rows_for_means", {})
    yield "percentages within groups" if least >= size else f"anything on groups below {rounded(least)} rows"
    never = [name for name, rows in sorted(means.items(), key=lambda one: -one[1]) if rows >= size / FEW_GROUPS]
    if never and least < size:
        named = ", ".join(never[:MOST_NAMED]) + (f" and {len(never) - MOST_NAMED:,} others" * (len(never) > MOST_NAMED))
        yield "means within groups" if len(never) == len(means) else f"means of {named} within groups"
    more = max((rows for rows in means.values() if rows < size / FEW_GROUPS), default=0.0)
    if more > least:
        yield f"{'other ' if never else ''}means within groups below {rounded(more)} rows"
    if found["pairs"] < found["all_pairs"]:
        yield "the other pairs of columns, which were not measured"


def _of_workload(statement: Mapping[str, Any]) -> str:
    """Return what a theorem, or else a prediction, says of the counts that a release was made for."""
    accuracy, counts = statement["accuracy"], f"The {statement['workload']['queries']:,} counts it is made for"
    what = "answers" if statement["records"] is None else "rows"
    unknown = f"Compare {what} and table (dpopt evaluate) before anyone relies on them"
    certified = (accuracy.get("certified") or {}).get("by_proven_bounds") or {}
    sure = [one for one in (certified, accuracy.get("proven") or {}) if one.get("says_something")]
    said = [(which, one) for which in ("expected", "predicted") if (one := accuracy.get(which)) is not None]
    if sure and (sure[0]["bound"] <= UNUSABLE or not said):
        chance = f"{100 * (1 - sure[0]['failure_probability']):g} %"
        under = "" if sure[0] is certified else sure[0].get("if", ", if every best response is optimal")
        bound = points(sure[0]["bound"])
        return f"{counts}: all within {bound} with probability {chance}{under}, as its theorem says. {unknown}"
    if not said:
        return f"Nothing in this release tells how good it is. {unknown}"
    which, errors = said[0]
    if errors.get("verdict") is not None:
        return f"Trivial answers are predicted to be as good. {unknown}"
    how = "as predicted on public data" if which == "predicted" else "judged by this release"
    return f"{counts}: off by {points(errors['mean_error'])} on average, {how}. {unknown}"


def rounded(number: float) -> str:
    """Return a number with two digits, in full."""
    return f"{float(f'{number:.2g}'):,.9g}"
