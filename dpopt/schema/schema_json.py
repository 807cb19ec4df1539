"""The JSON form of one attribute, read strictly and written canonically."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpopt.errors import SchemaError
from dpopt.files.json_files import json_list, json_object, refuse_unknown_keys, shown
from dpopt.schema.attribute import LARGEST_SIZE, Attribute, AttributeKind, Value, is_number

_COMMON = ("name", "type", "missing", "other", "occurring")
_KEYS = {
    AttributeKind.CATEGORICAL: (*_COMMON, "values"),
    AttributeKind.BOOLEAN: (*_COMMON, "false", "true"),
    AttributeKind.NUMERIC: (*_COMMON, "edges", "bins", "range", "integer", "representatives"),
}


def attribute_to_json(attribute: Attribute) -> dict[str, object]:
    """Return the JSON form of an attribute, defaults left out."""
    written: dict[str, object] = {"name": attribute.name, "type": attribute.kind.value}
    if attribute.kind is AttributeKind.NUMERIC:
        written["edges"] = [_plain(edge) for edge in attribute.edges]
        if attribute.integer:
            written["integer"] = True
        if attribute.representatives != attribute.midpoints():
            written["representatives"] = [_plain(number) for number in attribute.representatives]
    elif attribute.kind is AttributeKind.CATEGORICAL:
        written["values"] = list(attribute.values)
    elif not all(isinstance(value, bool) for value in attribute.values) or attribute.values[0]:
        written["false"], written["true"] = attribute.values
    if attribute.missing is not None:
        written["missing"] = attribute.missing
    if attribute.other is not None:
        numeric = attribute.kind is AttributeKind.NUMERIC
        written["other"] = _plain(attribute.other) if numeric else attribute.other  # type: ignore[arg-type]
    if attribute.occurring is not None:
        written["occurring"] = [_code_to_json(attribute, code) for code in attribute.occurring]
    return written


def attribute_from_json(item: object, number: int) -> Attribute:
    """Return the attribute that a JSON object declares; `number` (from 0) names it as long as its name is unknown.

    Raises
    ------
    SchemaError
        If a key is unknown or missing, or a value has the wrong type or contradicts another.
    """
    place = f"attribute number {number + 1}"
    declared = json_object(item, place, SchemaError)
    name = declared.get("name")
    if not isinstance(name, str) or not name:
        found = shown(name) if "name" in declared else "none"
        raise SchemaError(f"{place}: expected a 'name' that is text and not empty, found {found}")
    place = f"attribute {name!r}"
    kind = _kind(declared, place)
    refuse_unknown_keys(declared, _KEYS[kind], f"{place} ({kind.value})", SchemaError)
    for key in ("missing", "other"):
        if declared.get(key, key) is None:
            raise SchemaError(f"{place}: {key!r} is null; write a text or a value, or leave it out")
    common: dict[str, Any] = {key: declared.get(key) for key in ("missing", "other")}
    if kind is AttributeKind.NUMERIC:
        attribute = Attribute(name, kind, **_numeric(declared, place), **common)
    elif kind is AttributeKind.BOOLEAN:
        attribute = Attribute(name, kind, values=_boolean_values(declared, place), **common)
    else:
        if "values" not in declared:
            raise SchemaError(f"{place}: the key 'values' is missing; list every value that can occur")
        values: list[Any] = json_list(declared["values"], f"{place}: 'values'", SchemaError)
        attribute = Attribute(name, kind, values=tuple(values), **common)
    if "occurring" not in declared:
        return attribute
    listed = json_list(declared["occurring"], f"{place}: 'occurring'", SchemaError)
    return replace(attribute, occurring=tuple(_occurring_code(attribute, item) for item in listed))


def code_of(attribute: Attribute, value: object) -> int | None:
    """Return the code of a value in a JSON file, or None if the attribute has no such value.

    A value is matched by its type and text; the missing text (or null) gives the code of missing. Values of numeric
    attributes are written as bins, never here.
    """
    if attribute.missing is not None and (value is None or value == attribute.missing):
        return attribute.missing_code
    for code, declared in enumerate(attribute.values):
        if isinstance(value, str | int | float) and type(value) is type(declared) and value == declared:
            return code
    return None


def _kind(declared: dict[str, object], place: str) -> AttributeKind:
    kinds = [kind.value for kind in AttributeKind]
    found = declared.get("type")
    if found not in kinds:
        text = shown(found) if "type" in declared else "none"
        raise SchemaError(f"{place}: expected a 'type' out of {', '.join(kinds)}; found {text}")
    return AttributeKind(found)


def _boolean_values(declared: dict[str, Any], place: str) -> tuple[Value, ...]:
    if ("false" in declared) != ("true" in declared):
        raise SchemaError(f"{place}: give both 'false' and 'true', or neither")
    return (declared["false"], declared["true"]) if "false" in declared else (False, True)


def _numeric(declared: dict[str, Any], place: str) -> dict[str, Any]:
    """Return what is declared of a numeric attribute beside what all have."""
    if "edges" in declared and ("bins" in declared or "range" in declared):
        raise SchemaError(f"{place}: give either 'edges', or 'bins' with 'range'")
    numbers = {
        key: tuple(json_list(declared.get(key, []), f"{place}: {key!r}", SchemaError))
        for key in ("edges", "range", "representatives")
    }
    if "edges" not in declared:
        if "bins" not in declared or "range" not in declared:
            raise SchemaError(f"{place}: a numeric attribute needs 'edges', or 'bins' with 'range'")
        numbers["edges"] = _equal_width_edges(declared["bins"], numbers["range"], place)
    del numbers["range"]
    return {**numbers, "integer": declared.get("integer", False)}


def _equal_width_edges(bins: object, bounds: tuple[Any, ...], place: str) -> tuple[float, ...]:
    if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= LARGEST_SIZE:
        raise SchemaError(
            f"{place}: 'bins' is a whole number from 1 to {LARGEST_SIZE:,}, found {shown(bins)}"
        )
    if len(bounds) != 2 or not all(map(is_number, bounds)) or not bounds[0] < bounds[1]:
        raise SchemaError(f"{place}: 'range' is [low, high] with low below high, found {shown(bounds)}")
    # The decimal text, not the binary value, so that tenths of [0, 0.3] come out as 0.1 and 0.2.
    low, high = (Fraction(repr(bound)) for bound in bounds)
    try:
        return tuple(float(low + (high - low) * step / bins) for step in range(bins + 1))
    except OverflowError:  # whole numbers beyond every float
        raise SchemaError(f"{place}: 'range' is not finite, found {shown(bounds)}") from None


def _occurring_code(attribute: Attribute, item: object) -> int:
    numeric = attribute.kind is AttributeKind.NUMERIC
    if numeric and not isinstance(item, str):
        is_bin = isinstance(item, int) and not isinstance(item, bool) and 0 <= item < len(attribute.edges) - 1
        code = item if is_bin else None
    else:
        code = code_of(attribute, item)
    if not isinstance(code, int):
        what = "a bin index or the missing text" if numeric else "a declared value or the missing text"
        raise SchemaError(f"attribute {attribute.name!r}: 'occurring' names {shown(item)}; expected {what}")
    return code


def _code_to_json(attribute: Attribute, code: int) -> Value:
    if attribute.missing is not None and code == attribute.missing_code:
        return attribute.missing
    return code if attribute.kind is AttributeKind.NUMERIC else attribute.values[code]


def _plain(number: float) -> float | int:
    return int(number) if number == math.floor(number) and abs(number) < 2**53 else number
