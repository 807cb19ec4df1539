"""The public schema of a table: its attributes in order, their codes, flat numbering, and rules on records."""

from __future__ import annotations

import difflib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.arguments import check_types, checked, plain
from dpopt.arrays import freeze
from dpopt.errors import SchemaError, counted
from dpopt.files.json_files import (
    json_list,
    json_object,
    read_json_object,
    refuse_unknown_keys,
    sha256_of_json,
    shown,
    write_json_object,
)
from dpopt.files.written_files import check_replaceable
from dpopt.html_pages.shown import Shown
from dpopt.schema.attribute import LARGEST_SIZE, Attribute, AttributeKind, Value, is_number, number_text, value_text
from dpopt.schema.binary_attributes import BinaryAttributes
from dpopt.schema.lengths import check_lengths
from dpopt.schema.rules.compile_rules import compile_rules
from dpopt.schema.rules.rule import Rule
from dpopt.schema.rules.rule_json import rule_from_json, rule_to_json
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit

__all__ = ["LARGEST_SIZE", "Attribute", "AttributeKind", "Schema", "Value", "number_text", "value_text"]

SCHEMA_VERSION = 1
READING_KEYS = ("separator", "decimal", "thousands", "encoding", "quotes", "multiline", "trim")
"""Declarations in a schema about how its tables are written."""


@dataclass(frozen=True, slots=True, repr=False)
class Schema(Shown):
    """The attributes of a table, declared in public.

    Parameters
    ----------
    attributes
        At least one attribute; names are unique. A record is one code per attribute, in this order. The attributes of a
        wide table of zeros and ones are a `BinaryAttributes`: see `Schema.binary`.
    draft
        True for a schema that was drafted from private data and not yet reviewed by the owner.
    reading
        How files with such tables are written, where that is not as usual: pairs of a name and a value, such as
        ("separator", ";"). The names are those of `READING_KEYS`, with the meaning of `TableReading`.
    rules
        What every record obeys. Rules are public, like everything here: declare them from general knowledge, never from
        the table.

    Attributes
    ----------
    sizes : (d,) int32, read-only
        Number of codes of each attribute.
    offsets : (d + 1,) int64, read-only
        Flat column of attribute a and code v is offsets[a] + v; offsets[d] is the number of flat columns.
    Raises SchemaError if there is no attribute, two have the same name, or a rule names what is not there.

    Examples
    --------
    >>> import dpopt, tempfile
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> schema.names, schema.index("smoker"), schema.number_of_columns, schema.is_binary
    (('smoker',), 0, 2, False)
    >>> schema.as_bits().names, schema.circuit().names
    (('smoker=false', 'smoker=true'), ())
    >>> schema.write(tempfile.gettempdir() + "/smokers.json")
    >>> dpopt.Schema.read(tempfile.gettempdir() + "/smokers.json") == schema
    True
    >>> dpopt.Schema.from_json(schema.to_json()).fingerprint() == schema.fingerprint()
    True
    >>> dpopt.Schema.binary(1000)
    Schema(1,000 columns of zeros and ones)
    """

    attributes: Sequence[Attribute]
    draft: bool = False
    rules: tuple[Rule, ...] = ()
    reading: tuple[tuple[str, str | bool], ...] = ()
    sizes: NDArray[np.int32] = field(init=False, repr=False, compare=False)
    offsets: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    _positions: dict[str, int] | None = field(init=False, repr=False, compare=False)  # None: binary attributes
    _circuit: ThresholdCircuit = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.attributes, Iterable) and not isinstance(self.attributes, BinaryAttributes):
            object.__setattr__(self, "attributes", tuple(self.attributes))
        check_types("Schema", {"attributes": self.attributes}, {"attributes": Sequence[Attribute]})
        if not self.attributes:
            raise SchemaError("a schema needs at least one attribute, found none")
        if isinstance(self.attributes, BinaryAttributes):
            sizes, positions = np.full(len(self.attributes), 2, dtype=np.int32), None
        else:
            sizes = np.array([attribute.size for attribute in self.attributes], dtype=np.int32)
            positions = _positions(self.attributes)
        offsets = np.zeros(sizes.size + 1, dtype=np.int64)
        np.cumsum(sizes, out=offsets[1:])
        object.__setattr__(self, "sizes", freeze(sizes))
        object.__setattr__(self, "offsets", freeze(offsets))
        object.__setattr__(self, "_positions", positions)
        object.__setattr__(self, "rules", tuple(self.rules))
        for rule in self.rules:
            if not isinstance(rule, Rule):
                raise SchemaError(f"rules are given as Rule(formula, name); found {rule!r}")
        object.__setattr__(self, "reading", _checked_reading(dict(self.reading)))
        check_lengths(self.attributes)
        object.__setattr__(self, "_circuit", compile_rules(self.rules, self.attributes, self.index))

    def __reduce__(self) -> tuple[type[Schema], tuple[object, ...]]:
        return Schema, (self.attributes, self.draft, self.rules, self.reading)  # unpickled arrays would be writable

    @classmethod
    def binary(cls, count: int, names: Iterable[str] | None = None) -> Schema:
        """Return the schema of `count` columns of zeros and ones, which takes no memory for each of them.

        Raises SchemaError if there is no column, or the names are not as many different texts.
        """
        return cls(BinaryAttributes(plain(count), names))

    def __len__(self) -> int:
        """Return the number of attributes."""
        return len(self.attributes)

    def _said(self) -> list[str]:
        rules = [counted(len(self.rules), "rule")] if self.rules else []
        listed = "columns of zeros and ones" if self.is_binary else f"attributes: {_listed(self.names, 4)}"
        return [f"{len(self):,} {listed}", *rules, *(["draft"] if self.draft else [])]

    def _rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        rows = (
            (one.name, one.kind.value, f"{one.size:,}", _listed(tuple(map(one.label, range(min(one.size, 99)))), 4))
            for one in self.attributes
        )
        return ("attribute", "type", "values", "which"), rows

    @property
    def is_binary(self) -> bool:
        """Whether this is the schema of a wide table of zeros and ones, made by `Schema.binary`."""
        return isinstance(self.attributes, BinaryAttributes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes, in order."""
        if isinstance(self.attributes, BinaryAttributes):
            return self.attributes.names()
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def number_of_columns(self) -> int:
        """Number of flat columns: pairs (attribute, code)."""
        return int(self.offsets[-1])

    def index(self, name: str) -> int:
        """Return the position of the attribute with this name.

        Raises SchemaError if there is none; the message names the closest ones.
        """
        if isinstance(self.attributes, BinaryAttributes):
            position = self.attributes.position(name)
        else:
            position = (self._positions or {}).get(name)
        if position is None:
            near = difflib.get_close_matches(str(name), self.names, n=3)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {_listed(self.names)}"
            raise SchemaError(f"the schema has no attribute {name!r}; {hint}")
        return position

    def circuit(self) -> ThresholdCircuit:
        """Return the rules as a circuit over the codes of a record; its names are the rules' titles."""
        return self._circuit

    def as_bits(self) -> Schema:
        """Return the schema of free indicator bits: one boolean attribute with values (0, 1) per flat column.

        The bit of attribute a and code v has position offsets[a] + v and the name "attribute=label". The bits of one
        attribute are not tied to each other: this is the universe {0, 1}^columns of the DualQuery experiments. Rules on
        records are left out.
        """
        return Schema(
            tuple(
                Attribute(
                    name=f"{attribute.name}={attribute.label(code)}",
                    kind=AttributeKind.BOOLEAN,
                    values=(0, 1),
                    occurring=(0,) if attribute.occurring is not None and code not in attribute.occurring else None,
                )
                for attribute in self.attributes
                for code in range(attribute.size)
            ),
            draft=self.draft,
        )

    def to_json(self) -> dict[str, object]:
        """Return the schema as a JSON object; `from_json` gives an equal schema."""
        written: dict[str, object] = {"dpopt_schema": SCHEMA_VERSION, "draft": self.draft}
        if self.reading:
            written["reading"] = dict(self.reading)
        if isinstance(self.attributes, BinaryAttributes):
            written["binary_attributes"] = self.attributes.to_json()
        else:
            written["attributes"] = [attribute_to_json(attribute) for attribute in self.attributes]
        if self.rules:
            written["rules"] = [rule_to_json(rule) for rule in self.rules]
        return written

    @classmethod
    def from_json(cls, obj: Mapping[str, object]) -> Schema:
        """Return the schema that a JSON object declares.

        Raises SchemaError if a key is unknown or missing, or an attribute or a rule contradicts itself; the message
        names it.
        """
        declared = json_object(plain(obj), "schema", SchemaError)
        if declared.get("dpopt_schema") != SCHEMA_VERSION or isinstance(declared.get("dpopt_schema"), bool):
            found = shown(declared["dpopt_schema"]) if "dpopt_schema" in declared else "no such key"
            raise SchemaError(f'schema: expected "dpopt_schema": {SCHEMA_VERSION}, found {found}')
        refuse_unknown_keys(
            declared,
            ("dpopt_schema", "draft", "reading", "attributes", "binary_attributes", "rules", "proposed"),
            "schema",
            SchemaError,
        )
        draft = declared.get("draft", False)
        if not isinstance(draft, bool):
            raise SchemaError(f"schema: 'draft' is true or false, found {shown(draft)}")
        if ("attributes" in declared) == ("binary_attributes" in declared):
            missing = "attributes" not in declared
            raise SchemaError(
                "schema: the key 'attributes' is missing; it lists the columns of the table"
                if missing
                else "schema: give either 'attributes' or 'binary_attributes', not both"
            )
        rules = json_list(declared.get("rules", []), "schema: 'rules'", SchemaError)
        attributes: Sequence[Attribute]
        if "binary_attributes" in declared:
            attributes = BinaryAttributes.from_json(declared["binary_attributes"])
        else:
            listed = json_list(declared["attributes"], "schema: 'attributes'", SchemaError)
            listed, rules = _accepted(declared.get("proposed", []), listed, rules)
            attributes = tuple(attribute_from_json(item, number) for number, item in enumerate(listed))
        return cls(
            attributes,
            draft=draft,
            rules=tuple(rule_from_json(item, number) for number, item in enumerate(rules)),
            reading=tuple(json_object(declared.get("reading", {}), "schema: 'reading'", SchemaError).items()),  # type: ignore[arg-type]  # checked next
        )

    @classmethod
    @checked
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema file. Raises SchemaError if the file cannot be read or declares no usable schema."""
        return cls.from_json(read_json_object(path, "schema", SchemaError))

    @checked
    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the schema file, whole or not at all, also onto an earlier schema. Only its owner can read a draft."""
        check_replaceable(path, b'{"dpopt_schema"', "schema of dpopt")
        write_json_object(path, self.to_json(), private=self.draft)

    def fingerprint(self) -> str:
        """Return the SHA-256 digest (hexadecimal) of the canonical JSON form."""
        return sha256_of_json(self.to_json())


def _accepted(proposed: object, attributes: list[object], rules: list[object]) -> tuple[list[object], list[object]]:
    """Return attributes and rules with the proposals of a draft that their owner accepted."""
    for number, item in enumerate(json_list(proposed, "schema: 'proposed'", SchemaError), 1):
        place = f"proposal number {number}"
        one = json_object(item, place, SchemaError)
        refuse_unknown_keys(one, ("accept", "says", "rules", "columns"), place, SchemaError)
        if not isinstance(accept := one.get("accept", False), bool):
            raise SchemaError(f"{place}: 'accept' is true or false, found {shown(accept)}")
        if accept:
            changes = json_object(one.get("columns", {}), f"{place}: 'columns'", SchemaError)
            named = [part.get("name") if isinstance(part, dict) else None for part in attributes]
            changed = [changes.get(str(name), part) for name, part in zip(named, attributes, strict=True)]
            attributes = [part for part in changed if part is not None]
            rules = [*rules, *json_list(one.get("rules", []), f"{place}: 'rules'", SchemaError)]
    return attributes, rules


def _checked_reading(given: dict[str, object]) -> tuple[tuple[str, str | bool], ...]:
    refuse_unknown_keys(given, READING_KEYS, "schema: 'reading'", SchemaError)
    for key, value in given.items():
        if not isinstance(value, str | bool):
            raise SchemaError(f"schema: 'reading': {key!r} is a text, true or false; found {shown(value)}")
    return tuple(sorted(given.items()))  # type: ignore[arg-type]  # just checked


def _positions(attributes: Sequence[Attribute]) -> dict[str, int]:
    positions: dict[str, int] = {}
    for position, attribute in enumerate(attributes):
        if attribute.name in positions:
            raise SchemaError(f"two attributes are named {attribute.name!r}; names must be unique")
        positions[attribute.name] = position
    return positions


def _listed(names: tuple[str, ...], limit: int = 8) -> str:
    text = ", ".join(map(repr, names[:limit]))
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


_COMMON = ("name", "type", "missing", "other", "occurring", "arrow")
_OF_NUMBERS = ("decimals", "representatives", "after", "unit")

_KEYS = {
    AttributeKind.CATEGORICAL: (*_COMMON, "values", "ordered", "prefix", "digits"),
    AttributeKind.BOOLEAN: (*_COMMON, "false", "true"),
    AttributeKind.NUMERIC: (*_COMMON, "edges", "bins", "range", "integer", *_OF_NUMBERS),
}
_DATE, _DURATION = "date", "duration"
_DATE_KEYS = (*_COMMON, "format", "edges", "representatives")


def attribute_to_json(attribute: Attribute) -> dict[str, object]:
    """Return the JSON form of an attribute, defaults left out."""
    written: dict[str, object] = {"name": attribute.name, "type": attribute.kind.value}
    dated = attribute.date_format is not None
    plain = attribute.number_text if dated else _plain
    if attribute.kind is AttributeKind.NUMERIC:
        if dated:
            written |= {"type": _DATE, "format": attribute.date_format}
        written |= {"type": _DURATION} if attribute.duration else {}
        written["edges"] = [plain(edge) for edge in attribute.edges]
        if attribute.integer and not dated:
            written["integer"] = True
        if attribute.decimals is not None:
            written["decimals"] = attribute.decimals
        if attribute.representatives != attribute.midpoints():
            written["representatives"] = [plain(number) for number in attribute.representatives]
        written |= {key: getattr(attribute, key) for key in ("after", "unit") if getattr(attribute, key)}
    elif attribute.kind is AttributeKind.CATEGORICAL:
        written["values"] = list(attribute.values)
        written |= {} if attribute.ordered == attribute.usually_ordered else {"ordered": attribute.ordered}
        written |= {key: getattr(attribute, key) for key in ("prefix", "digits") if getattr(attribute, key)}
    elif not all(isinstance(value, bool) for value in attribute.values) or attribute.values[0]:
        written["false"], written["true"] = attribute.values
    if attribute.missing is not None:
        written["missing"] = [*attribute.missing_texts] if attribute.also_missing else attribute.missing
    if attribute.other is not None:
        numeric = attribute.kind is AttributeKind.NUMERIC
        written["other"] = plain(attribute.other) if numeric else attribute.other  # type: ignore[arg-type]
    if attribute.arrow is not None:
        written["arrow"] = attribute.arrow
    if attribute.occurring is not None:
        written["occurring"] = [_code_to_json(attribute, code) for code in attribute.occurring]
    return written


def attribute_from_json(item: object, number: int) -> Attribute:
    """Return the attribute that a JSON object declares; `number` (from 0) names it as long as its name is unknown."""
    place = f"attribute number {number + 1}"
    declared = json_object(item, place, SchemaError)
    name = declared.get("name")
    if not isinstance(name, str) or not name:
        found = shown(name) if "name" in declared else "none"
        raise SchemaError(f"{place}: expected a 'name' that is text and not empty, found {found}")
    place = f"attribute {name!r}"
    kind = _kind(declared, place)
    dated = declared["type"] == _DATE
    keys = _DATE_KEYS if dated else _KEYS[kind]
    refuse_unknown_keys(declared, keys, f"{place} ({declared['type']})", SchemaError)
    if dated and not isinstance(declared.get("format"), str):
        raise SchemaError(f"{place}: a date needs its 'format', such as \"%Y-%m-%d\"")
    if (declared["type"] == _DURATION) != ("unit" in declared and "after" not in declared):
        raise SchemaError(
            f"{place}: 'unit' is for a length ('after') or for the type 'duration', which needs it and no 'after'"
        )
    for key in ("missing", "other"):
        if declared.get(key, key) is None:
            raise SchemaError(f"{place}: {key!r} is null; write a text or a value, or leave it out")
    optional = ("missing", "other", "prefix", "digits", "decimals", "after", "unit", "arrow", "ordered")
    common: dict[str, Any] = {key: declared.get(key) for key in optional}
    common["date_format"] = declared.get("format")
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
    if attribute.missing is not None and (value is None or value in attribute.missing_texts):
        return attribute.missing_code
    for code, declared in enumerate(attribute.values):
        if isinstance(value, str | int | float) and type(value) is type(declared) and value == declared:
            return code
    return None


def _kind(declared: dict[str, object], place: str) -> AttributeKind:
    kinds = [*(kind.value for kind in AttributeKind), _DATE, _DURATION]
    found = declared.get("type")
    if found not in kinds:
        text = shown(found) if "type" in declared else "none"
        raise SchemaError(f"{place}: expected a 'type' out of {', '.join(kinds)}; found {text}")
    return AttributeKind.NUMERIC if found in {_DATE, _DURATION} else AttributeKind(found)


def _boolean_values(declared: dict[str, Any], place: str) -> tuple[Value, ...]:
    if ("false" in declared) != ("true" in declared):
        raise SchemaError(f"{place}: give both 'false' and 'true', or neither")
    return (declared["false"], declared["true"]) if "false" in declared else (False, True)


def _numeric(declared: dict[str, Any], place: str) -> dict[str, Any]:
    """Return the declarations of a numeric attribute beyond those of every attribute."""
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
        raise SchemaError(f"{place}: 'bins' is a whole number from 1 to {LARGEST_SIZE:,}, found {shown(bins)}")
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
    return [f"{key}: {_shortened(value, most)}" for key, value in keys if key not in {"name", "type"}]


def _shortened(value: object, most: int | None) -> str:
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    texts = [one if isinstance(one, str) and one.strip() else json.dumps(one) for one in value]
    return ", ".join(texts if most is None or len(texts) <= most else [*texts[: most - 1], "...", texts[-1]])
