"""What a form says of columns and rules, as the parts of a schema; predicted errors as a curve."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpopt.errors import SchemaError
from dpopt.files.json_files import parse_json

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


WIDTH, HEIGHT, EDGE = 560, 240, 48


@dataclass(frozen=True, slots=True)
class Curve:
    """Errors against epsilon as places on a picture, both on logarithmic scales, each with its labels."""

    points: tuple[tuple[float, float, str, str], ...]
    baseline: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Curve | None:
        """Return the curve of rows with epsilon, mean_error and baseline; None where an error is unknown."""
        found = [(row["epsilon"], row["mean_error"], row["baseline"]) for row in rows]
        if len(found) < 2 or any(not error or not base for _, error, base in found):
            return None
        across = [math.log(epsilon) for epsilon, _, _ in found]
        up = [math.log(value) for _, *both in found for value in both]
        x = _scale(min(across), max(across), EDGE, WIDTH - EDGE)
        y = _scale(min(up), max(up), HEIGHT - EDGE, EDGE / 2)
        return cls(
            tuple((x(math.log(e)), y(math.log(m)), f"{e:.2g}", f"{m:.2g}") for e, m, _ in found),
            tuple((x(math.log(e)), y(math.log(b))) for e, _, b in found),
        )


def _scale(low: float, high: float, begin: float, end: float) -> Any:
    span = (high - low) or 1.0
    return lambda value: round(begin + (value - low) / span * (end - begin), 1)
