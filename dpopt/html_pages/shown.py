"""How values show themselves: one line where text is shown, a small table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from math import floor, isfinite, isnan, log10, nan

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


def figure(number: object, error: float | None = None) -> str:
    """Return a number to two digits of its error; without one with four digits, or whole where it is large; nothing for NaN.

    >>> figure(0.123456), figure(38912.4), figure(float("-inf")), figure(float("nan"))
    ('0.1235', '38,912', 'unbounded', '')
    >>> figure(38.1779, 0.29), figure(193902.3, 6032), figure(0.03055, 0.17), figure(1077.65, 9.97)
    ('38.18', '193,900', '0.03', '1,077.7')
    """
    value = float(str(number))
    if isnan(value):
        return ""
    if error and isfinite(error) and isfinite(value):
        digits = 1 - floor(log10(abs(error)))
        return f"{round(value, digits):,.{max(0, digits)}f}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}" if isfinite(value) else "unbounded"


def percent(share: float | None, error: float | None = None) -> str:
    r"""Return a share in per cent: to two digits of its error, or, without one, three digits, none below a hundredth.

    >>> percent(0.31234, 0.0127), percent(0.31234), percent(0.001), percent(None)
    ('31.2\xa0%', '31.2\xa0%', '0.10\xa0%', '–')
    """
    if share is None or not isfinite(share):
        return "–"
    value = 100 * share
    return f"{figure(value, 100 * error if error else (1.0 if abs(value) >= 9.95 else 0.1))}\u00a0%"


def answer_in_words(answer: Mapping[str, object]) -> tuple[str, str, str, str]:
    """Return of a row of `dpopt.answer` what it is of, the estimate, its interval, and that of numbers within bins.

    Numbers have two digits of half the interval.

    >>> answer_in_words({"question": "mean(age) by sex", "sex": "f", "estimate": 31.0, "low": 30.0, "high": 32.0})
    ('mean(age) by sex: f', '31.0', '30.0 to 32.0', '')
    >>> answer_in_words({"regression": "age ~ sex", "term": "sex = f", "estimate": 2.0, "low": 1.0, "high": 3.0})
    ('age ~ sex: sex = f', '2.0', '1.0 to 3.0', '')
    """
    asked = next(one for one in map(answer.get, ("question", "regression")) if isinstance(one, str))
    groups = [
        one for name, one in answer.items() if name not in ("question", "regression", "how") and isinstance(one, str)
    ]
    low, high = (float(str(answer.get(end, nan))) for end in ("low", "high"))
    error = (high - low) / 2 if high > low else None
    inner, outer = (
        " to ".join(dict.fromkeys(figure(answer.get(end, nan), error) for end in ends))
        for ends in (("low", "high"), ("least", "greatest"))
    )
    return (": ".join(filter(None, (asked, ", ".join(groups)))), figure(answer["estimate"], error), inner, outer)
