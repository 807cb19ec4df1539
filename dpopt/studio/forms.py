"""The content of a form about columns and rules, as the parts of a schema; predicted errors as a curve."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import dpopt
from dpopt.errors import SchemaError
from dpopt.files.json_files import parse_json

KINDS = ("categorical", "boolean", "numeric", "date", "duration")
OF_BINS = ("numeric", "date", "duration")
_OWN_FIELD = ("name", "type", "edges", "values", "missing", "integer", "ordered")


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """A column as its form shows it; every text is as the owner typed it.

    `codes` has a value or an edge of a bin on each line, and `more` each other key of the schema, with its value in
    JSON.
    """

    name: str
    kind: str
    kept: bool
    codes: str
    missing: str
    whole: bool
    more: str
    ordered: bool = False

    @classmethod
    def of(cls, name: str, declared: Mapping[str, Any] | None) -> ColumnForm:
        """Return the form of a column; `declared` is its attribute in a schema's JSON, None where it has none."""
        if declared is None:
            return cls(name, KINDS[0], kept=False, codes="", missing="", whole=False, more="")
        listed = declared.get("edges") or declared.get("values") or ()
        return cls(
            name,
            declared["type"],
            kept=True,
            codes="\n".join(_shown(one) for one in listed),
            missing=_marked(declared["missing"]) if "missing" in declared else "",
            whole=bool(declared.get("integer")),
            more="\n".join(f"{key}: {_json(declared[key])}" for key in declared if key not in _OWN_FIELD),
            ordered=_is_ordered(declared),
        )

    @classmethod
    def sent(cls, number: int, name: str, form: Mapping[str, Any]) -> ColumnForm:
        """Return the fields that were sent for the column of this number."""

        def text(field: str) -> str:
            return str(form.get(f"{field}-{number}", "")).replace("\r", "")

        kind, codes, missing, more = map(text, ("kind", "codes", "missing", "more"))
        whole, ordered = bool(text("whole")), bool(text("ordered"))
        return cls(name, kind, bool(text("kept")), codes, missing, whole, more, ordered)

    def attribute(self, drafted: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the attribute as a schema's JSON has it, without the keys that a draft had for another type."""
        if self.kind not in {*KINDS, *({drafted["type"]} if drafted else ())}:
            raise SchemaError(f"column {self.name!r}: expected one of {', '.join(KINDS)}; found {self.kind!r}")
        before = drafted if drafted is not None and drafted["type"] == self.kind else {}
        if before and self == ColumnForm.of(self.name, before):
            return dict(before)
        made: dict[str, Any] = {"name": self.name, "type": self.kind}
        if before or drafted is None or self.more != ColumnForm.of(self.name, drafted).more:
            made |= self._others()
        lines = [line.strip() for line in self.codes.split("\n") if line.strip()]
        if self.kind in OF_BINS or "edges" in before:
            made["edges"] = [self._edge(line) for line in lines]
        elif lines:
            made["values"] = _values(lines, before.get("values", ()))
        if self.kind in {"numeric", "duration"} and self.whole:
            made["integer"] = True
        if self.missing:
            made["missing"] = self.missing
            if self.missing[0] in '"[':
                made["missing"] = parse_json(self.missing, f"column {self.name!r}: missing", SchemaError)
        if self.kind == "categorical" and self.ordered != _is_ordered(made):
            made["ordered"] = self.ordered
        return made

    def _others(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for line in filter(str.strip, self.more.split("\n")):
            key, _, value = (part.strip() for part in line.partition(":"))
            if key in _OWN_FIELD or key in found or not value:
                raise SchemaError(
                    f"column {self.name!r}: expected a key that has no other field, once, with its value, such as "
                    f"decimals: 2; found {line!r}"
                )
            found[key] = parse_json(value, f"column {self.name!r}: {key}", SchemaError)
        return found

    def _edge(self, text: str) -> float | str:
        if self.kind == "date":
            return text
        try:
            number = float(text)
        except ValueError:
            raise SchemaError(
                f"column {self.name!r}: the edge of a bin is a number on a line of its own; found {text!r}"
            ) from None
        return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _is_ordered(declared: Mapping[str, Any]) -> bool:
    """Return whether a categorical column has its values in an order, by the keys of a schema."""
    alone = {"dpopt_schema": 1, "attributes": [declared]}
    return declared["type"] == "categorical" and bool(dpopt.Schema.from_json(alone).attributes[0].ordered)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _marked(missing: str | list[str]) -> str:
    """Return the texts of missing values as the form shows them: in JSON if one is empty or would be read otherwise."""
    plain = isinstance(missing, str) and missing == missing.strip() and missing[:1] not in {"", '"', "["}
    return str(missing) if plain else _json(missing)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _values(lines: Sequence[str], before: Sequence[object]) -> list[object]:
    """Return values as the draft has them: numbers and truth values where it had such."""
    texts = all(isinstance(value, str) for value in before)
    return [line if texts else _value(line, before) for line in lines]


def _value(line: str, listed: Sequence[object]) -> object:
    """Return the listed value that is shown so, or else a number, a truth value, or the text."""
    with suppress(SchemaError):
        found = {_shown(value): value for value in listed}.get(line) or parse_json(line, "the value", SchemaError)
        return found if isinstance(found, str | int | float | bool) and not line.startswith('"') else line
    return line


RELATIONS = ("=", "!=", "<", "<=", ">", ">=", "is missing", "is given")


def rule_of(form: Mapping[str, Any], schema: dpopt.Schema) -> dict[str, Any]:
    """Return the rule that the fields of a form declare, in the form of a schema file.

    Columns, relations and values are numbered 0 and 1; a sum has its further columns in `terms`, a mapping its `pairs`.
    """

    def text(field: str) -> str:
        return str(form.get(field) or "").replace("\r", "").strip()

    def value(number: int, written: str) -> object:
        one = schema.attributes[schema.index(text(f"column-{number}"))]
        if written.strip() == "missing" and one.missing is not None:
            return None
        return written.strip() if one.date_format else _value(written.strip(), one.values)

    def literal(number: int) -> list[object]:
        relation, _, state = text(f"relation-{number}").partition(" ")
        return [text(f"column-{number}"), relation, state or value(number, text(f"value-{number}"))]

    both, kind = [text("column-0"), text("column-1")], text("rule")
    rule: dict[str, Any] = {"name": text("name")} if text("name") else {}
    if kind == "if":
        return rule | {"if": literal(0), "then": literal(1)}
    if kind == "order":
        return rule | {"ordered": both}
    if kind == "sum":
        terms = [one.strip() for one in [both[1], *text("terms").split("\n")] if one.strip()]
        return rule | {"compare": [[[1, one] for one in terms], "=", both[0]]}
    pairs = [line.partition("->") for line in text("pairs").split("\n") if line.strip()]
    return rule | {"determines": both, "mapping": [[value(0, one), value(1, other)] for one, _, other in pairs]}


def rules_of(text: str) -> list[dict[str, Any]]:
    """Return the rules of a text with one JSON object on each line."""
    rules = []
    for number, line in enumerate(text.replace("\r", "").split("\n"), 1):
        if not line.strip():
            continue
        rule = parse_json(line, f"line {number}", SchemaError)
        if not isinstance(rule, dict):
            raise SchemaError(f"line {number} is not a JSON object; expected one like the examples below")
        rules.append(rule)
    return rules


def scales_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return where epsilon (x) and an error (y) stand on a picture of 560 by 260, and the ticks of y; both logarithmic.

    None where an error is unknown.
    """
    errors = [row[which] for row in rows for which in ("mean_error", "baseline")]
    if len(rows) < 2 or not all(errors):
        return None
    low, high = math.floor(math.log10(min(errors)) - 0.2), math.ceil(math.log10(max(errors)))  # labels are below points
    epsilons = [math.log10(row["epsilon"]) for row in rows]
    return {
        "x": _scale(min(epsilons), max(epsilons), 112, 520),
        "y": _scale(low, high, 212, 24),
        "ticks": [10.0**power for power in range(low, high + 1)],
    }


def _scale(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    return lambda value: round(begin + (math.log10(value) - low) / ((high - low) or 1.0) * (end - begin), 1)
