"""The verdict that begins each description of a release: its uses and limits, from released values alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

from dpopt.errors import AccuracyWarning, DpoptWarning
from dpopt.releases.descriptions.pair_errors import FAR, rows_needed

UNUSABLE = 0.2
"""Shares of single columns are of no use if they can be off by more."""
LITTLE = 0.5
"""Part of the error of unrelated columns above which rows keep little dependence: about half or less, on public tables."""
FEW = 3
"""If at most one of this many pairs was measured, relationships between many columns can be missing."""
FEW_GROUPS = 4
"""A column's means are of no use within groups if they need groups so large that fewer than this many exist."""
MOST_NAMED = 3
"""Columns that are named."""
_HELP = (
    "Another release, which costs privacy again, is better with fewer columns, a workload of the pairs that matter, or a "
    "larger epsilon."
)
_UNKNOWN = "Compare {} with the table (dpopt evaluate) before anyone relies on them"


@dataclass(frozen=True, slots=True)
class Note:
    """A warning in sentences, and in a few words."""

    text: str
    brief: str
    kind: type[DpoptWarning] = AccuracyWarning
    of_run: bool = False
    """Whether released values show it; else the plan does, before anything is spent."""
    advice: str = ""
    """Advice to the owner of the table, for the terminal."""

    @property
    def sentence(self) -> str:
        """The text as it stands by itself: with a capital letter, but for a symbol ("n0 = 5"), and a full stop."""
        symbol = self.text.partition(" ")[2].startswith("= ")
        return (self.text if symbol else self.text[:1].upper() + self.text[1:]).rstrip(".") + "."

    def warning(self) -> DpoptWarning:
        """Return the note as a warning."""
        return self.kind(" ".join(filter(None, (self.text, self.advice))))


def verdict_of(statement: Mapping[str, Any]) -> Note:
    """Return the verdict on a release, given the contents of its release.json; with advice if relationships are lost."""
    accuracy, size = statement["accuracy"], statement["privacy"]["public_size"]
    if accuracy.get("size") is not None:
        return Note("Do not use anything: the declared number of records is wrong, and so are all shares.", "")
    single, pairs = accuracy.get("one_way"), accuracy.get("two_way") or {"pairs": 0, "all_pairs": 0}
    if single is None and not pairs["pairs"]:
        return Note(f"{_of_workload(statement)}.", "")
    error, lost = 0.0 if single is None else single["share_error"], _lost(pairs)
    good = [] if single is None or error > UNUSABLE else [_of_columns(single)]
    bad = [f"shares of single columns, which can be off by {points(min(error, 1.0))}"] if error > UNUSABLE else []
    bad += _of_means({} if single is None else single.get("mean_errors", {}))
    bad += [f"relationships between columns, {lost}"] if lost else []
    if pairs["pairs"] and not lost:
        error = pairs.get("release", pairs["count_error"]) / size
        good.append(f"Shares of pairs of values{_of(pairs, 'pairs')}: most within {points(error)}")
        bad += _of_groups(pairs, size)
    text = ". ".join((*good, *([f"Do not use: {'; '.join(bad)}"] if bad else [])))
    warned = pairs["pairs"] > 0 and (bool(lost) or FEW * pairs["pairs"] <= pairs["all_pairs"])
    return Note(f"{text}.", "", of_run=warned, advice=_HELP if warned else "")


def verdict_of_answers(known: tuple[str, float, bool] | None) -> str:
    """Return the verdict on a release without records, given what it answers and the predicted error.

    >>> verdict_of_answers(("counts of ranges", 12.3, False))
    'Counts of ranges: off by about 12 records. Do not use: counts below 120, which are off by more than a tenth.'
    >>> verdict_of_answers(("shares of rows", 0.31, True))
    'Do not use: shares of rows, which can be off by 31 percentage points.'
    """
    if known is None:
        return "Nothing in this release shows how accurate it is."
    what, error, share = known
    if share and error > UNUSABLE:
        return f"Do not use: {what}, which can be off by {points(min(error, 1.0))}."
    if share:
        return f"{what.capitalize()}: within {points(error)}."
    small = f"counts below {rounded(10 * error)}, which are off by more than a tenth"
    return f"{what.capitalize()}: off by about {rounded(error)} records. Do not use: {small}."


def points(share: float) -> str:
    """Return a share of all records in percentage points, rounded up to two digits."""
    shown = 100 * share
    digits = 1 - floor(log10(shown)) if shown > 0 else 0
    return f"{round(ceil(shown * 10**digits * (1 - 1e-9)) / 10**digits, max(digits, 0)):,.9g} percentage points"


def _of(found: Mapping[str, Any], what: str) -> str:
    some, every = found[what], found[f"all_{what}"]
    return f" (in {some:,} of {every:,} {what.replace('pairs', 'pairs of columns')})" if some < every else ""


def _of_columns(single: Mapping[str, Any]) -> str:
    return f"Shares of single columns{_of(single, 'columns')}: within {points(single['share_error'])}"


def _of_means(errors: Mapping[str, float]) -> Iterator[str]:
    """Yield the columns whose means over all rows can be far off, the worst first."""
    if far := sorted((name for name, error in errors.items() if error > FAR), key=lambda one: -errors[one]):
        yield f"means over all rows of {_named(far)}"


def _named(columns: Sequence[str]) -> str:
    more = len(columns) - MOST_NAMED
    others = f" and {more:,} other{'s' * (more > 1)}" if more > 0 else ""
    return ", ".join(map(repr, columns[:MOST_NAMED])) + others


def _lost(found: Mapping[str, Any]) -> str:
    """Return why no relationship between columns should be used; empty if some can be, or if there are none."""
    if not found["pairs"]:
        return "because none were measured" if found["all_pairs"] else ""
    if not found.get("dependence", True):
        return "because none stands out from noise and sampling"
    if not found.get("better", True):
        return "because they are no better than those of unrelated columns"
    if found.get("release", 0.0) > LITTLE * found.get("unrelated", found.get("release", 0.0) / LITTLE):
        return "because many are lost and others are weaker than in the table"
    return ""


def _of_groups(found: Mapping[str, Any], size: int) -> Iterator[str]:
    """Yield the groups whose percentages and means are often far off, and that some pairs were not measured."""
    least, means = rows_needed(found), found.get("rows_for_means", {})
    yield "percentages within groups" if least >= size else f"figures for groups below {rounded(least)} rows"
    never = [name for name, rows in sorted(means.items(), key=lambda one: -one[1]) if rows >= size / FEW_GROUPS]
    if never and least < size:
        yield "means within groups" if len(never) == len(means) else f"means of {_named(never)} within groups"
    more = max((rows for rows in means.values() if rows < size / FEW_GROUPS), default=0.0)
    if more > least:
        yield f"{'other ' if never else ''}means within groups below {rounded(more)} rows"
    if found["pairs"] < found["all_pairs"]:
        yield "pairs of columns that were not measured"


def _of_workload(statement: Mapping[str, Any]) -> str:
    """Return the error of the counts of the workload, by a theorem or else by a prediction."""
    accuracy, counts = statement["accuracy"], f"The {statement['workload']['queries']:,} counts of the workload"
    what = "the answers" if statement["records"] is None else "the rows"
    unknown = _UNKNOWN.format(what)
    certified = (accuracy.get("certified") or {}).get("by_proven_bounds") or {}
    sure = [one for one in (certified, accuracy.get("proven") or {}) if one.get("says_something")]
    said = [(which, one) for which in ("expected", "predicted") if (one := accuracy.get(which)) is not None]
    if sure and (sure[0]["bound"] <= UNUSABLE or not said):
        chance = f"{100 * (1 - sure[0]['failure_probability']):g} %"
        under = "" if sure[0] is certified else sure[0].get("if", ", if every best response is optimal")
        bound = points(sure[0]["bound"])
        return f"{counts}: all within {bound} with probability {chance}{under}, by its theorem. {unknown}"
    if not said:
        return f"Nothing in this release shows how accurate it is. {unknown}"
    which, errors = said[0]
    if errors.get("verdict") is not None:
        return f"Trivial answers are predicted to be as accurate. {unknown}"
    how = "predicted from public data" if which == "predicted" else "estimated from this release"
    return f"{counts}: off by {points(errors['mean_error'])} on average, {how}. {unknown}"


def rounded(number: float) -> str:
    """Return a number with two digits, in full."""
    return f"{float(f'{number:.2g}'):,.9g}"
