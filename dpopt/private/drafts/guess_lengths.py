"""Dates that follow others in every row: drafted as lengths where they are near, else proposed as a rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.private.drafts.edges import readable_edges
from dpopt.private.drafts.guess_rules import Proposal
from dpopt.private.readers.read_lengths import numbers_in_file
from dpopt.private.readers.table_problems import shown
from dpopt.private.readers.table_sources import TableSource
from dpopt.schema.dates import UNITS
from dpopt.schema.lengths import finest_unit, length
from dpopt.schema.schema import Attribute

_Numbers = NDArray[np.float64]
_NEAR = 8
"""Half of the lengths are at most the period of the first dates, divided by this: then bins of dates would lose them."""
_ALONE = 0.01  # share of second dates without a first one, which a length would lose


def draft_lengths(
    source: TableSource, attributes: Sequence[Attribute], bins: int
) -> tuple[dict[str, tuple[Attribute, str]], list[Proposal]]:
    """Return, by name, dates drafted as lengths after other dates, with reasons; and rules on other ordered dates."""
    dates = {one.name: one for one in attributes if one.date_format is not None}
    if len(dates) < 2:
        return {}, []
    parts: dict[str, list[_Numbers]] = {name: [] for name in dates}
    names = list(dates)
    for index, array in source.pieces([source.names.index(name) for name in names], None):
        parts[names[index]].append(numbers_in_file(array, dates[names[index]], source.decimal))
    seconds = {name: np.concatenate(found) for name, found in parts.items()}
    ordered = sorted(names, key=lambda name: float(np.nanmean(seconds[name])))
    drafted, proposed = {}, []
    for place, second in enumerate(ordered):
        alike = [name for name in reversed(ordered[:place]) if dates[name].quantity == dates[second].quantity]
        before = [name for name in alike if _in_order(seconds[name], seconds[second])]
        near = [name for name in before if _are_near(seconds[name], seconds[second], dates[name], dates[second])]
        if near:
            drafted[second] = _length(dates[near[0]], dates[second], seconds[near[0]], seconds[second], bins)
        elif before:
            rule = {"ordered": [before[0], second], "by": "representative"}
            proposed.append(Proposal(f"{shown(before[0])} is after {shown(second)} in no row", (rule,)))
    return drafted, proposed


def _in_order(since: _Numbers, until: _Numbers) -> bool:
    return not (until < since).any() and bool((until > since).any())


def _are_near(since: _Numbers, until: _Numbers, first: Attribute, second: Attribute) -> bool:
    """Return whether a length keeps more than two dates do: it is short, and nearly all second dates have a first one."""
    form, alone = first.date_format or "", np.isnan(since) & ~np.isnan(until)
    short = _NEAR * np.nanmedian(until - since) <= np.nanmax(since) - np.nanmin(since)
    alike = form == second.date_format and finest_unit(form) is not None
    return bool(short and alike and alone.sum() <= _ALONE * since.size)


def _length(first: Attribute, second: Attribute, since: _Numbers, until: _Numbers, bins: int) -> tuple[Attribute, str]:
    form, usual = first.date_format or "", float(np.nanmedian(until - since))
    finest = finest_unit(form)
    unit = next(name for name, size in UNITS.items() if usual >= 2 * size or name == finest)
    integer, found = unit == finest, length(since, until, form, unit)
    values, rows = np.unique(found[~np.isnan(found)], return_counts=True)
    edges = readable_edges(values, rows.astype(np.int64), bins, integer=integer).edges
    missing = second.missing_texts or first.missing_texts[:1]
    made = Attribute(
        second.name, second.kind, edges=(0.0, *(edge for edge in edges[1:] if edge > 0)), integer=integer,
        missing=next(iter(missing), None), also_missing=missing[1:], after=first.name, unit=unit,
    )  # fmt: skip
    ends = " to ".join(f"{values[place]:g}" for place in (0, -1))
    return made, f"{unit} after {shown(first.name)}, {ends}"
