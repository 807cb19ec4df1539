"""Each key that a schema declares of a column, in words, wherever its owner confirms it."""

from __future__ import annotations

import json

from dpopt.schema.attribute import Attribute
from dpopt.schema.schema import attribute_to_json


def declared_words(attribute: Attribute, most: int | None = None) -> list[str]:
    """Return "key: value" for each key of the schema file beyond the name and the type; `most` shortens lists.

    Examples
    --------
    >>> import dpopt
    >>> height = dpopt.Attribute("height", dpopt.AttributeKind.NUMERIC, edges=(0, 1, 2, 3), decimals=2, missing="")
    >>> declared_words(height, most=2)
    ['edges: 0, ..., 3', 'decimals: 2', 'missing: ""']
    """
    keys = attribute_to_json(attribute).items()
    return [f"{key}: {_said(value, most)}" for key, value in keys if key not in {"name", "type"}]


def _said(value: object, most: int | None) -> str:
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    texts = [one if isinstance(one, str) and one.strip() else json.dumps(one) for one in value]
    return ", ".join(texts if most is None or len(texts) <= most else [*texts[: most - 1], "...", texts[-1]])
