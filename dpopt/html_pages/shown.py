"""How values show themselves: one line where text is shown, a small table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

MOST_ROWS = 20
"""Rows of a table in a notebook."""


class Shown:
    """Shown by what `_said` and `_rows` say, and never by all that it holds.

    Examples
    --------
    >>> class Basket(Shown):
    ...     def _said(self):
    ...         return ["2 items", "price=3.5"]
    ...
    ...     def _rows(self):
    ...         return ["item"], [["<tea>"], ["milk"]]
    >>> Basket()
    Basket(2 items, price=3.5)
    >>> "<td>&lt;tea&gt;</td>" in Basket()._repr_html_()
    True
    """

    __slots__ = ()

    def _said(self) -> Iterable[str]:
        """Return what it is, in short phrases."""
        raise NotImplementedError

    def _rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]] | None:
        """Return a header and rows for a notebook, of which the first ones are shown; None: there are none."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._said())})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        said = f"<b>{escape(type(self).__name__)}</b>: {escape(', '.join(self._said()))}"
        found = self._rows()
        if found is None:
            return f"<div>{said}</div>"
        header, rows = found
        listed = list(islice(rows, MOST_ROWS + 1))
        lines = [_line("th", header), *(_line("td", row) for row in listed[:MOST_ROWS])]
        if len(listed) > MOST_ROWS:
            lines.append(_line("td", ["&hellip;"], escaped=True))
        return f"<div>{said}<table>{''.join(lines)}</table></div>"


def _line(tag: str, cells: Iterable[object], *, escaped: bool = False) -> str:
    shown = (str(cell) if escaped else escape(str(cell)) for cell in cells)
    return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in shown)}</tr>"
