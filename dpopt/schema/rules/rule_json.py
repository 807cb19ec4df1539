"""The JSON form of rules, read strictly and written canonically.

A rule is an object with the keys of one form, and a `name` if wanted; a formula is a literal [name, relation, value] or
an object with the keys of one form. docs/how-to/rules.md shows every form.
"""

from __future__ import annotations

from typing import Any

from dpopt.errors import SchemaError
from dpopt.files.json_files import json_list, json_object, refuse_unknown_keys, shown
from dpopt.schema.rules.formula import (
    DEEPEST,
    AllOf,
    AnyOf,
    Comparison,
    Count,
    Counting,
    Equivalence,
    Expression,
    Formula,
    Implication,
    LinearSum,
    Literal,
    Negation,
)
from dpopt.schema.rules.rule import Combinations, Determines, Forbid, Form, Ordering, Rule
from dpopt.schema.rules.values import Bin, Named

# The first key of each form identifies it; the others belong to it.
_FORMULA_KEYS = {
    "and": ("and",),
    "or": ("or",),
    "not": ("not",),
    "if": ("if", "then"),
    "iff": ("iff",),
    "at_least": ("at_least", "of"),
    "at_most": ("at_most", "of"),
    "exactly": ("exactly", "of"),
    "compare": ("compare", "by", "missing"),
}
_RULE_KEYS = {
    "require": ("require",),
    "forbid": ("forbid",),
    "forbidden": ("forbidden", "combinations"),
    "allowed": ("allowed", "combinations"),
    "determines": ("determines", "mapping", "both_ways"),
    "ordered": ("ordered", "strict", "by", "missing"),
}
_OPTIONAL = ("by", "missing", "both_ways", "strict")


def rule_to_json(rule: Rule) -> dict[str, object]:
    """Return the JSON form of a rule; `rule_from_json` gives an equal rule."""
    named: dict[str, object] = {"name": rule.name} if rule.name else {}
    return named | _form_to_json(rule.form)


def rule_from_json(item: object, number: int) -> Rule:
    """Return the rule that a JSON object declares; `number` (from 0) is its place in the list."""
    place = f"rule number {number + 1}"
    declared = dict(json_object(item, place, SchemaError))
    named, name = "name" in declared, declared.pop("name", "")
    if not isinstance(name, str) or (named and not name):
        raise SchemaError(f"{place}: 'name' is text that is not empty, found {shown(name)}; or leave it out")
    place += f" ({name!r})" if name else ""
    try:
        head = _head(declared, _RULE_KEYS | _FORMULA_KEYS, "a rule", also="'name'")
        return Rule(_form(head, declared), name)
    except SchemaError as problem:
        raise SchemaError(f"{place}: {problem}") from problem


def formula_to_json(formula: Formula) -> object:  # noqa: PLR0911  one for each form
    """Return the JSON form of a formula: a list for a literal, else an object."""
    match formula:
        case Literal(attribute, relation, value):
            return [
                attribute,
                relation,
                list(map(_value_to_json, value)) if isinstance(value, tuple) else _value_to_json(value),
            ]
        case AllOf(parts):
            return {"and": _formulas_to_json(parts)}
        case AnyOf(parts):
            return {"or": _formulas_to_json(parts)}
        case Negation(part):
            return {"not": formula_to_json(part)}
        case Implication(condition, consequence):
            return {"if": formula_to_json(condition), "then": formula_to_json(consequence)}
        case Equivalence(left, right):
            return {"iff": [formula_to_json(left), formula_to_json(right)]}
        case Counting(relation, number, parts):
            return {relation.replace(" ", "_"): number, "of": _formulas_to_json(parts)}
        case Comparison(left, relation, right, by, missing):
            sides: list[object] = [_expression_to_json(left), relation, _expression_to_json(right)]
            return {"compare": sides} | _given(by=by, missing=missing)


def _form_to_json(form: Form) -> dict[str, object]:
    match form:
        case Forbid(formula):
            return {"forbid": formula_to_json(formula)}
        case Combinations(attributes, rows, allowed):
            written = [[_values_to_json(values) for values in row] for row in rows]
            return {"allowed" if allowed else "forbidden": list(attributes), "combinations": written}
        case Determines(source, target, mapping, both_ways):
            table = [[_values_to_json(left), _values_to_json(right)] for left, right in mapping]
            return {"determines": [source, target], "mapping": table, "both_ways": both_ways}
        case Ordering(attributes, by, strict, missing):
            return {"ordered": list(attributes), "strict": strict, "by": by, "missing": missing}
        case _:
            written_formula = formula_to_json(form)
            return written_formula if isinstance(written_formula, dict) else {"require": written_formula}


def _formulas_to_json(parts: tuple[Formula, ...]) -> list[object]:
    return [formula_to_json(part) for part in parts]


def _given(**options: str | None) -> dict[str, object]:
    return {key: value for key, value in options.items() if value is not None}


def _value_to_json(value: object) -> object:
    return {"bin": value.index} if isinstance(value, Bin) else value


def _values_to_json(values: tuple[Named, ...]) -> object:
    written = [_value_to_json(value) for value in values]
    return written[0] if len(written) == 1 else written


def _expression_to_json(expression: Expression) -> object:
    if isinstance(expression, LinearSum):
        return [[number, _expression_to_json(term)] for number, term in expression.terms]
    return {"count": _formulas_to_json(expression.parts)} if isinstance(expression, Count) else expression


def _head(declared: dict[str, object], forms: dict[str, tuple[str, ...]], what: str, also: str = "") -> str:
    """Return the key that identifies the form, after checking the other keys."""
    heads = [key for key in declared if key in forms]
    if len(heads) != 1:
        every = dict.fromkeys(key for keys in forms.values() for key in keys)
        refuse_unknown_keys(declared, every, what, SchemaError)
        found = "more than one: " + ", ".join(heads) if heads else f"none of them in {shown(declared)}"
        extra = f" (and {also} if wanted)" if also else ""
        raise SchemaError(f"expected the keys of one form out of {', '.join(forms)}{extra}; {found}")
    head, keys = heads[0], forms[heads[0]]
    refuse_unknown_keys(declared, keys, repr(head), SchemaError)
    for key in keys:
        if key in _OPTIONAL and declared.get(key, key) is None:
            raise SchemaError(f"{key!r} is null; leave it out, or say which")
        if key not in declared and key not in _OPTIONAL:
            raise SchemaError(f"{head!r} needs the key {key!r} beside it")
    return head


# What the types of rules and formulas check themselves is not checked here.


def _form(head: str, declared: dict[str, Any]) -> Form:
    match head:
        case "require":
            return _formula(declared[head], 1)
        case "forbid":
            return Forbid(_formula(declared[head], 1))
        case "forbidden" | "allowed":
            rows = _values(declared["combinations"])
            return Combinations(declared[head], rows, allowed=head == "allowed")
        case "determines":
            names: list[Any] = json_list(declared[head], "'determines'", SchemaError)
            if len(names) != 2:
                raise SchemaError(f"'determines' names two attributes, found {len(names)}")
            both_ways = declared.get("both_ways", False)
            return Determines(names[0], names[1], _values(declared["mapping"]), both_ways)
        case "ordered":
            options = {key: declared[key] for key in ("by", "strict", "missing") if key in declared}
            return Ordering(declared[head], **options)
        case _:
            return _formula(declared, 1)


def _formula(item: object, depth: int) -> Formula:  # noqa: PLR0911  one for each form
    if depth > DEEPEST:
        raise SchemaError(f"formulas are nested more than {DEEPEST} deep; split the rule")
    if isinstance(item, list):
        if len(item) != 3:
            raise SchemaError(f"a literal is [name, relation, value], found {shown(item)}")
        return Literal(item[0], item[1], _values(item[2]))
    if not isinstance(item, dict):
        raise SchemaError(f"expected a literal [name, relation, value] or a formula {{...}}, found {shown(item)}")
    head = _head(item, _FORMULA_KEYS, "a formula")
    match head:
        case "and":
            return AllOf(_formulas(item[head], depth))
        case "or":
            return AnyOf(_formulas(item[head], depth))
        case "not":
            return Negation(_formula(item[head], depth + 1))
        case "if":
            return Implication(_formula(item[head], depth + 1), _formula(item["then"], depth + 1))
        case "iff":
            sides = _formulas(item[head], depth)
            if len(sides) != 2:
                raise SchemaError(f"'iff' has two formulas, found {len(sides)}")
            return Equivalence(*sides)
        case "compare":
            return _comparison(item, depth)
        case _:
            return Counting(head.replace("_", " "), item[head], _formulas(item["of"], depth))


def _comparison(item: dict[str, Any], depth: int) -> Comparison:
    parts = json_list(item["compare"], "'compare'", SchemaError)
    if len(parts) != 3:
        raise SchemaError(f"'compare' is [expression, relation, expression], found {shown(parts)}")
    left, right = _expression(parts[0], depth), _expression(parts[2], depth)
    return Comparison(left, parts[1], right, item.get("by"), item.get("missing"))  # type: ignore[arg-type]


def _formulas(item: object, depth: int) -> tuple[Formula, ...]:
    return tuple(_formula(part, depth + 1) for part in json_list(item, "formulas", SchemaError))


def _values(item: object) -> Any:
    """Return values with bins in place of {"bin": number}, and tuples in place of lists, at any depth."""
    if isinstance(item, list):
        return tuple(map(_values, item))
    if not isinstance(item, dict):
        return item
    if list(item) != ["bin"]:
        raise SchemaError(f'expected a value or {{"bin": number}}, found {shown(item)}')
    return Bin(item["bin"])


def _expression(item: Any, depth: int) -> Any:
    if isinstance(item, list):
        pairs = [
            (pair[0], _expression(pair[1], depth)) if isinstance(pair, list) and len(pair) == 2 else pair
            for pair in item
        ]
        return LinearSum(tuple(pairs))
    if not isinstance(item, dict):
        return item
    _head(item, {"count": ("count",)}, "an expression")
    return Count(_formulas(item["count"], depth))
