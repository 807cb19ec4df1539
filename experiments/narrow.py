"""Pictures that are read on a telephone: 400 pixels wide their letters have 11 pixels, and their colours stay apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import picture

WIDTH = 4.7
"""Inches; a page of 400 pixels has 368 for a picture."""
LETTERS = 10.4
"""Points: 11.3 of these pixels."""


@contextmanager
def narrow_picture(path: Path, height: float, rows: int = 1, columns: int = 1, **shared: Any) -> Iterator[Any]:
    """Yield the panels of a narrow picture of this height in inches; write it once they are drawn."""
    import matplotlib as mpl

    with mpl.rc_context({"font.size": LETTERS}), picture(path, (WIDTH, height), rows, columns, **shared) as panels:
        yield panels


def dots(axes: Any, across: Any, up: Any, style: Mapping[str, Any], **more: Any) -> None:
    """Draw points that no line joins."""
    axes.plot(across, up, **{**style, "linestyle": "none", **more})


def legend_below(panels: Any, columns: int = 1, *, of: Any = None) -> None:
    """Put one legend below all panels, with the series of each unless one panel is named."""
    unique: dict[str, Any] = {}
    for axes in panels.flat if of is None else [of]:
        handles, labels = axes.get_legend_handles_labels()
        unique |= dict(zip(labels, handles, strict=True))
    panels[0, 0].figure.legend(
        unique.values(), unique.keys(), loc="outside lower center", ncols=columns, fontsize="medium"
    )
