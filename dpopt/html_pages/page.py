"""From a template and its values to one page of HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dpopt.errors import spoken, visible
from dpopt.html_pages.shown import answer_in_words, figure, percent

_KEPT = "\n\t\u00a0\u202f\u200c\u200d"
"""Signs that are not printable and may stand in a page: line ends, blanks, joiners of letters."""


def page(template: str, filters: Mapping[str, Callable[..., str]] | None = None, **values: object) -> str:
    """Return a page: the template of this name in this folder, filled with values that are escaped.

    Signs that cannot be seen, and may turn the text around them (U+202E), show as their numbers, except where a
    template says that a value is to stay as it is, as in the fields of a form (the filter `e`). A template may apply
    the filters, and names no value that is not given.

    Examples
    --------
    >>> text = page(
    ...     "draft.html", title="<b>", to_check=[], others=[], notes=[], reading=[], rows=0, file="d.json", proposed=[]
    ... )
    >>> "<h1>&lt;b&gt;</h1>" in text
    True
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dpopt.html_pages", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        {"in_words": answer_in_words, "figure": figure, "percent": percent, "spoken": spoken, **(filters or {})}
    )
    environment.finalize = _visible
    return environment.get_template(template).render(**values)


def _visible(value: object) -> object:
    r"""Return a text with the numbers of its signs that cannot be seen in their place; other values, and markup, as they are.

    Examples
    --------
    >>> _visible("a" + chr(0x202E) + "b")
    'a\\u202eb'
    """
    return visible(value, kept=_KEPT) if type(value) is str else value
