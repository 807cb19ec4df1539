"""From a template and its values to one page of HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def page(template: str, filters: Mapping[str, Callable[..., str]] | None = None, **values: object) -> str:
    """Return a page: the template of this name in this folder, filled with values that are escaped.

    Parameters
    ----------
    template
        Name of the file, such as "draft.html".
    filters
        What the template may apply to values, by name.
    values
        What the template names; a name without a value is an error.

    Examples
    --------
    >>> text = page(
    ...     "draft.html", title="<b>", columns=[], to_check=0, notes=[], reading=[], rows=0, file="d.json"
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
    environment.filters.update(filters or {})
    return environment.get_template(template).render(**values)
