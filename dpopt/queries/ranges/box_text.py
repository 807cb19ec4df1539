"""The text of a box: a range for each of several columns, with commas between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations, pairwise

from dpopt.errors import WorkloadError
from dpopt.queries.ranges.bins import Bins

_MOST_PARTS = 16  # between commas of a box


def sides_of(text: str, axes: Sequence[Bins]) -> list[tuple[int, int]]:
    """Return the range of each column that a text names: "20:40,0:10" (`Bins.range_of`). Labels may hold commas themselves.

    Raises
    ------
    WorkloadError
        If the text names no box, or more than one.
    """
    parts = text.split(",")
    if len(axes) == 1:
        return [axes[0].range_of(text)]
    if len(parts) == len(axes):
        return [bins.range_of(part.strip()) for bins, part in zip(axes, parts, strict=True)]
    found = {tuple(sides) for sides in _sides_with_commas(parts, axes)}
    if len(found) != 1:
        names = ", ".join(bins.name for bins in axes)
        raise WorkloadError(
            f"found the box {text!r}; expected {len(axes)} ranges with commas between them, for {names}"
        )
    return list(found.pop())


def _sides_with_commas(parts: list[str], axes: Sequence[Bins]) -> Iterator[list[tuple[int, int]]]:
    """Yield all readings of parts between commas, some of which stand in labels."""
    if len(parts) > _MOST_PARTS:
        return
    for cuts in combinations(range(1, len(parts)), len(axes) - 1):
        joined = [",".join(parts[low:high]).strip() for low, high in pairwise((0, *cuts, len(parts)))]
        with suppress(WorkloadError):
            yield [bins.range_of(part) for bins, part in zip(axes, joined, strict=True)]
