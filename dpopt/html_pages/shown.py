"""How values show themselves: one line where text is shown, a small table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from math import floor, isfinite, isnan, log10, nan

MOST_ROWS = 20
"""Rows of a table in a notebook."""


class Shown:
    """Shown by the phrases of `_said` and the rows of `_rows`, never by its whole content.

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
    >>> Basket().verdict
    ''
    >>> "<td>&lt;tea&gt;</td>" in Basket()._repr_html_()
    True
    """

    __slots__ = ()

    @property
    def verdict(self) -> str:
        """The verdict: good and bad uses of a release, shown before all else; empty for other values."""
        return ""

    def _said(self) -> Iterable[str]:
        """Return its description, in short phrases."""
        raise NotImplementedError

    def _rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]] | None:
        """Return a header and rows for a notebook, of which the first ones are shown; None: there are none."""
        return None

    def __repr__(self) -> str:
        name, held = type(self).__name__, f"({', '.join(self._said())})"
        return f"{name}: {self.verdict}\n{held}" if self.verdict else f"{name}{held}"

    def _repr_html_(self) -> str:
        """Return the notebook's view of it."""
        verdict = f"{escape(self.verdict)}<br>" if self.verdict else ""
        said = f"<b>{escape(type(self).__name__)}</b>: {verdict}{escape(', '.join(self._said()))}"
        found = self._rows()
        if found is None:
            return f"<div>{said}</div>"
        header, rows = found
        listed = list(islice(rows, MOST_ROWS + 1))
        lines = [_line("th", header), *(_line("td", row) for row in listed[:MOST_ROWS])]
        if len(listed) > MOST_ROWS:
            lines.append(_line("td", ["&hellip;"], escaped=True))
        return f"<div>{said}<table>{''.join(lines)}</table></div>"


class Framed:
    """A page that a notebook shows in a frame.

    >>> Framed("<p>1 < 2</p>")._repr_html_()[:40]
    '<iframe srcdoc="&lt;p&gt;1 &lt; 2&lt;/p&'
    """

    __slots__ = ("page",)

    def __init__(self, page: str) -> None:
        self.page = page

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.page)}" style="width: 100%; height: 40rem; border: 0"></iframe>'


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
    """Return, from a row of `dpopt.answer`, its label, the estimate, its interval, and that of numbers within bins.

    Numbers have two digits of half the interval.

    >>> answer_in_words({"question": "mean(age) by sex", "sex": "f", "estimate": 31.0, "low": 30.0, "high": 32.0})
    ('mean(age) by sex: f', '31.0', '30.0 to 32.0', '')
    >>> answer_in_words({"question": "age ~ sex", "term": "sex = f", "estimate": 2.0, "low": 1.0, "high": 3.0})
    ('age ~ sex: sex = f', '2.0', '1.0 to 3.0', '')
    """
    groups = [one for name, one in answer.items() if name not in ("question", "how") and isinstance(one, str)]
    low, high = (float(str(answer.get(end, nan))) for end in ("low", "high"))
    error = (high - low) / 2 if high > low else None
    inner, outer = (
        " to ".join(dict.fromkeys(figure(answer.get(end, nan), error) for end in ends))
        for ends in (("low", "high"), ("least", "greatest"))
    )
    asked = ": ".join(filter(None, (str(answer["question"]), ", ".join(groups))))
    return (asked, figure(answer["estimate"], error), inner, outer)
