"""The JSON form of one attribute, read strictly and written canonically."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from dpopt.errors import SchemaError
from dpopt.files.json_files import json_list, json_object, refuse_unknown_keys, shown
from dpopt.schema.attribute import LARGEST_SIZE, Attribute, AttributeKind, Value, value_text

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
    missing = declared.get("missing")
    if missing is not None and not isinstance(missing, str):
        raise SchemaError(
            f"{place}: 'missing' is the text of a missing value, such as \"?\"; found {shown(missing)}"
        )
    if kind is AttributeKind.NUMERIC:
        attribute = _numeric(name, declared, missing, place)
    elif kind is AttributeKind.BOOLEAN:
        attribute = Attribute(name, kind, values=_boolean_values(declared, place), missing=missing)
    else:
        attribute = _categorical(name, declared, missing, place)
    if "other" in declared:
        attribute = replace(attribute, other=_value(declared["other"], place))
    if "occurring" not in declared:
        return attribute
    return _with_occurring(attribute, json_list(declared["occurring"], f"{place}: 'occurring'", SchemaError))


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


def _categorical(name: str, declared: dict[str, object], missing: str | None, place: str) -> Attribute:
    if "values" not in declared:
        raise SchemaError(f"{place}: the key 'values' is missing; list every value that can occur")
    values = tuple(
        _value(item, place) for item in json_list(declared["values"], f"{place}: 'values'", SchemaError)
    )
    return Attribute(name, AttributeKind.CATEGORICAL, values=values, missing=missing)


def _boolean_values(declared: dict[str, object], place: str) -> tuple[Value, ...]:
    if ("false" in declared) != ("true" in declared):
        raise SchemaError(f"{place}: give both 'false' and 'true', or neither")
    if "false" not in declared:
        return (False, True)
    return _value(declared["false"], place), _value(declared["true"], place)


def _numeric(name: str, declared: dict[str, object], missing: str | None, place: str) -> Attribute:
    integer = declared.get("integer", False)
    if not isinstance(integer, bool):
        raise SchemaError(f"{place}: 'integer' is true or false, found {shown(integer)}")
    if "edges" in declared and ("bins" in declared or "range" in declared):
        raise SchemaError(f"{place}: give either 'edges', or 'bins' with 'range'")
    if "edges" in declared:
        edges = _numbers(declared["edges"], f"{place}: 'edges'")
    elif "bins" in declared and "range" in declared:
        edges = _equal_width_edges(declared["bins"], _numbers(declared["range"], f"{place}: 'range'"), place)
    else:
        raise SchemaError(f"{place}: a numeric attribute needs 'edges', or 'bins' with 'range'")
    representatives = _numbers(declared.get("representatives", []), f"{place}: 'representatives'")
    return Attribute(
        name,
        AttributeKind.NUMERIC,
        edges=edges,
        integer=integer,
        representatives=representatives,
        missing=missing,
    )


def _equal_width_edges(bins: object, bounds: tuple[float, ...], place: str) -> tuple[float, ...]:
    if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= LARGEST_SIZE:
        raise SchemaError(
            f"{place}: 'bins' is a whole number from 1 to {LARGEST_SIZE:,}, found {shown(bins)}"
        )
    if len(bounds) != 2 or not bounds[0] < bounds[1]:
        found = ", ".join(map(repr, bounds))
        raise SchemaError(f"{place}: 'range' is [low, high] with low below high, found [{found}]")
    # The decimal text, not the binary value, so that tenths of [0, 0.3] come out as 0.1 and 0.2.
    low, high = (Fraction(repr(bound)) for bound in bounds)
    return tuple(float(low + (high - low) * step / bins) for step in range(bins + 1))


def _with_occurring(attribute: Attribute, listed: list[object]) -> Attribute:
    codes = []
    for item in listed:
        code = _occurring_code(attribute, item)
        if code is None:
            numeric = attribute.kind is AttributeKind.NUMERIC
            what = "a bin index or the missing text" if numeric else "a declared value or the missing text"
            raise SchemaError(
                f"attribute {attribute.name!r}: 'occurring' names {shown(item)}; expected {what}"
            )
        codes.append(code)
    return replace(attribute, occurring=tuple(codes))


def _occurring_code(attribute: Attribute, item: object) -> int | None:
    if attribute.kind is not AttributeKind.NUMERIC or isinstance(item, str):
        return code_of(attribute, item)
    is_bin = isinstance(item, int) and not isinstance(item, bool) and 0 <= item < len(attribute.edges) - 1
    return item if is_bin and isinstance(item, int) else None


def _code_to_json(attribute: Attribute, code: int) -> Value:
    if attribute.missing is not None and code == attribute.missing_code:
        return attribute.missing
    return code if attribute.kind is AttributeKind.NUMERIC else attribute.values[code]


def _value(item: object, place: str) -> Value:
    if item is None:
        raise SchemaError(
            f"{place}: null cannot be a value; declare the text of missing values under 'missing'"
        )
    if not isinstance(item, str | int | float):
        raise SchemaError(f"{place}: values are text, numbers, true or false; found {shown(item)}")
    if isinstance(item, float) and not math.isfinite(item):
        raise SchemaError(f"{place}: the value {value_text(item)} is not finite")
    return item


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number beyond every float
        return False


def _numbers(items: object, place: str) -> tuple[float, ...]:
    numbers = []
    for item in json_list(items, place, SchemaError):
        if isinstance(item, bool) or not isinstance(item, int | float) or not _is_finite(item):
            raise SchemaError(f"{place}: expected finite numbers, found {shown(item)}")
        numbers.append(item)
    return tuple(numbers)


def _plain(number: float) -> float | int:
    return int(number) if number == math.floor(number) and abs(number) < 2**53 else number
