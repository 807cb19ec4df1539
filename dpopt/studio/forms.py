"""What a form says of columns and rules, as the parts of a schema; predicted errors as a curve."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dpopt
from dpopt.errors import SchemaError
from dpopt.files.json_files import parse_json
from dpopt.html_pages.shown import percent

KINDS = ("categorical", "boolean", "numeric", "date", "duration")
OF_BINS = ("numeric", "date", "duration")
_OWN_FIELD = ("name", "type", "edges", "values", "missing", "integer")


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
        )

    @classmethod
    def sent(cls, number: int, name: str, form: Mapping[str, Any]) -> ColumnForm:
        """Return what was sent for the column of this number."""

        def text(field: str) -> str:
            return str(form.get(f"{field}-{number}", "")).replace("\r", "")

        kind, codes, missing, more = map(text, ("kind", "codes", "missing", "more"))
        return cls(name, kind, bool(text("kept")), codes, missing, bool(text("whole")), more)

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
    known = {_shown(value): value for value in before}
    others = {type(value) for value in before if not isinstance(value, str)}
    return [known[line] if line in known else _read(line) if others else line for line in lines]


def _read(line: str) -> object:
    try:
        found = parse_json(line, "the value", SchemaError)
    except SchemaError:
        return line
    return found if isinstance(found, int | float | bool) else line


RELATIONS = ("=", "!=", "<", "<=", ">", ">=", "is missing", "is given")


def rule_of(form: Mapping[str, Any], schema: dpopt.Schema) -> dict[str, Any]:
    """Return the rule that the fields of a form declare, in the form of a schema file.

    A condition has the fields of a column, a relation and a value, which are numbered 0 and 1. The other columns of an
    order, a sum and a mapping have these fields for columns, too; a sum has further ones in `terms`.
    """

    def text(field: str) -> str:
        return str(form.get(field) or "").replace("\r", "").strip()

    first, second = text("column-0"), text("column-1")
    match text("rule"):
        case "if":
            rule: dict[str, Any] = {"if": _literal(text, 0, schema), "then": _literal(text, 1, schema)}
        case "order":
            rule = {"ordered": [first, second]}
        case "sum":
            terms = [one.strip() for one in text("terms").split("\n") if one.strip()]
            rule = {"compare": [[[1, one] for one in [second, *terms]], "=", first]}
        case "determines":
            pairs = [line.partition("->")[::2] for line in text("pairs").split("\n") if line.strip()]
            both = (first, second)
            mapping = [[_value_of(one.strip(), *there) for one, *there in zip(pair, both, [schema] * 2, strict=True)]
                       for pair in pairs]  # fmt: skip
            rule = {"determines": list(both), "mapping": mapping}
        case other:
            raise SchemaError(f"there is no such form of a rule: {other!r}")
    return {"name": text("name"), **rule} if text("name") else rule


def _literal(text: Callable[[str], str], number: int, schema: dpopt.Schema) -> list[Any]:
    name, relation, value = (text(f"{field}-{number}") for field in ("column", "relation", "value"))
    kind, _, state = relation.partition(" ")
    return [name, kind, state] if state else [name, relation, _value_of(value, name, schema)]


def _value_of(text: str, name: str, schema: dpopt.Schema) -> object:
    """Return a value of a column as a rule names it: as the schema lists it, a number, or null where it is missing."""
    attribute = schema.attributes[schema.index(name)]
    if text == "missing" and attribute.missing is not None:
        return None
    known = {_shown(value): value for value in attribute.values}
    return known[text] if text in known else text if attribute.date_format else _read(text)


def rules_of(text: str) -> list[dict[str, Any]]:
    """Return the rules of a text with one JSON object on each line."""
    rules = []
    for number, line in enumerate(text.replace("\r", "").split("\n"), 1):
        if not line.strip():
            continue
        rule = parse_json(line, f"line {number}", SchemaError)
        if not isinstance(rule, dict):
            raise SchemaError(f"line {number} is no JSON object: expected something like the examples below")
        rules.append(rule)
    return rules


WIDTH, HEIGHT, EDGE = 560, 260, 72


@dataclass(frozen=True, slots=True)
class Curve:
    """Errors against epsilon as places on a picture, both on logarithmic scales, each with its labels; ticks upwards."""

    points: tuple[tuple[float, float, str, str], ...]
    baseline: tuple[tuple[float, float], ...]
    ticks: tuple[tuple[float, str], ...]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Curve | None:
        """Return the curve of rows with epsilon, mean_error and baseline; None where an error is unknown."""
        found = [(row["epsilon"], row["mean_error"], row["baseline"]) for row in rows]
        if len(found) < 2 or any(not error or not base for _, error, base in found):
            return None
        across = [math.log(epsilon) for epsilon, _, _ in found]
        up = [math.log10(value) for _, *both in found for value in both]
        low, high = math.floor(min(up) - 0.2), math.ceil(max(up))  # a label is below its point
        x = _scale(min(across), max(across), EDGE + 40, WIDTH - 40)
        y = _scale(low, high, HEIGHT - 48, 24)
        return cls(
            tuple((x(math.log(e)), y(math.log10(m)), f"{e:.2g}", percent(m, m)) for e, m, _ in found),
            tuple((x(math.log(e)), y(math.log10(b))) for e, _, b in found),
            tuple((y(power), percent(10.0**power, 10.0**power)) for power in range(low, high + 1)),
        )


def _scale(low: float, high: float, begin: float, end: float) -> Any:
    span = (high - low) or 1.0
    return lambda value: round(begin + (value - low) / span * (end - begin), 1)

