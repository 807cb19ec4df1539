"""The JSON form of rules, read strictly and written canonically.

A rule is an object with the keys of one form, and a `name` if wanted; a formula is a literal [name, relation, value] or an
object with the keys of one form. docs/rules.md shows every form.
"""

from __future__ import annotations

from collections.abc import Callable

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
    Term,
)
from dpopt.schema.rules.rule import Combinations, Determines, Forbid, Form, Ordering, Rule
from dpopt.schema.rules.values import Bin, Named

# The first key of each form tells it; the others belong to it.
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
    """Return the rule that a JSON object declares; `number` (from 0) is its place in the list.

    Raises
    ------
    SchemaError
        If a key is unknown or missing, or a part has the wrong form; the message names the rule.
    """
    place = f"rule number {number + 1}"
    declared = dict(json_object(item, place, SchemaError))
    name = declared.pop("name", "")
    if not isinstance(name, str) or ("name" in json_object(item, place, SchemaError) and not name):
        raise SchemaError(f"{place}: 'name' is text that is not empty, found {shown(name)}; or leave it out")
    place += f" ({name!r})" if name else ""
    head = _head(declared, _RULE_KEYS | _FORMULA_KEYS, place, also="'name'")
    try:
        form = _FORMS[head](declared, place) if head in _FORMS else _formula(declared, place, 1)
        return Rule(form, name)
    except SchemaError as problem:
        text = str(problem)
        raise SchemaError(text if text.startswith(place) else f"{place}: {text}") from problem


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


def _head(declared: dict[str, object], forms: dict[str, tuple[str, ...]], place: str, also: str = "") -> str:
    """Return the key that tells the form, after checking the other keys."""
    heads = [key for key in declared if key in forms]
    if len(heads) != 1:
        every = dict.fromkeys(key for keys in forms.values() for key in keys)
        refuse_unknown_keys(declared, every, place, SchemaError)
        found = "more than one: " + ", ".join(heads) if heads else f"none of them in {shown(declared)}"
        extra = f" (and {also} if wanted)" if also else ""
        raise SchemaError(f"{place}: expected the keys of one form out of {', '.join(forms)}{extra}; {found}")
    keys = forms[heads[0]]
    refuse_unknown_keys(declared, keys, place, SchemaError)
    for key in keys:
        if key not in declared and key not in _OPTIONAL:
            raise SchemaError(f"{place}: {heads[0]!r} needs the key {key!r} beside it")
    return heads[0]


def _formula(item: object, place: str, depth: int) -> Formula:  # noqa: PLR0911  one for each form
    if depth > DEEPEST:
        raise SchemaError(f"{place}: formulas are nested more than {DEEPEST} deep; split the rule")
    if isinstance(item, list):
        return _literal(item, place)
    if not isinstance(item, dict):
        raise SchemaError(
            f"{place}: expected a literal [name, relation, value] or a formula {{...}}, found {shown(item)}"
        )
    head = _head(item, _FORMULA_KEYS, place)
    match head:
        case "and":
            return AllOf(_formulas(item[head], place, depth))
        case "or":
            return AnyOf(_formulas(item[head], place, depth))
        case "not":
            return Negation(_formula(item[head], place, depth + 1))
        case "if":
            then = _formula(item["then"], place, depth + 1)
            return Implication(_formula(item["if"], place, depth + 1), then)
        case "iff":
            sides = _formulas(item[head], place, depth)
            if len(sides) != 2:
                raise SchemaError(f"{place}: 'iff' has two formulas, found {len(sides)}")
            return Equivalence(*sides)
        case "compare":
            return _comparison(item, place, depth)
        case _:
            number, parts = item[head], _formulas(item["of"], place, depth)
            return Counting(head.replace("_", " "), number, parts)


def _formulas(item: object, place: str, depth: int) -> tuple[Formula, ...]:
    listed = json_list(item, f"{place}: formulas", SchemaError)
    return tuple(_formula(part, place, depth + 1) for part in listed)


def _literal(item: list[object], place: str) -> Literal:
    if len(item) != 3 or not isinstance(item[0], str) or not isinstance(item[1], str):
        raise SchemaError(f"{place}: a literal is [name, relation, value], found {shown(item)}")
    value = item[2]
    if isinstance(value, list):
        return Literal(item[0], item[1], tuple(_value(one, place) for one in value))
    return Literal(item[0], item[1], _value(value, place))


def _value(item: object, place: str) -> Named:
    if isinstance(item, dict):
        if list(item) != ["bin"]:
            raise SchemaError(f'{place}: expected a value or {{"bin": number}}, found {shown(item)}')
        return Bin(item["bin"])
    if item is not None and not isinstance(item, str | int | float):
        raise SchemaError(f"{place}: expected a value, found {shown(item)}")
    return item


def _values(item: object, place: str) -> tuple[Named, ...]:
    return tuple(_value(one, place) for one in (item if isinstance(item, list) else [item]))


def _comparison(item: dict[str, object], place: str, depth: int) -> Comparison:
    sides = json_list(item["compare"], f"{place}: 'compare'", SchemaError)
    if len(sides) != 3 or not isinstance(sides[1], str):
        raise SchemaError(f"{place}: 'compare' is [expression, relation, expression], found {shown(sides)}")
    left, right = _expression(sides[0], place, depth), _expression(sides[2], place, depth)
    return Comparison(left, sides[1], right, _text(item, "by", place), _text(item, "missing", place))


def _expression(item: object, place: str, depth: int) -> Expression:
    if not isinstance(item, list):
        return _term(item, place, depth)
    terms = []
    for pair in item:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], int | float):
            raise SchemaError(f"{place}: a sum lists pairs [coefficient, term], found {shown(pair)}")
        terms.append((pair[0], _term(pair[1], place, depth)))
    return LinearSum(tuple(terms))


def _term(item: object, place: str, depth: int) -> Term:
    if isinstance(item, dict):
        _head(item, {"count": ("count",)}, place)
        return Count(_formulas(item["count"], place, depth))
    if isinstance(item, str | int | float):
        return item
    raise SchemaError(
        f'{place}: expected a number, the name of a numeric attribute, {{"count": [...]}} or a list of '
        f"[coefficient, term]; found {shown(item)}"
    )


def _text(declared: dict[str, object], key: str, place: str) -> str | None:
    found = declared.get(key)
    if key in declared and not isinstance(found, str):
        raise SchemaError(f"{place}: {key!r} is text, found {shown(found)}")
    return found if isinstance(found, str) else None


def _truth(declared: dict[str, object], key: str, place: str) -> bool:
    found = declared.get(key, False)
    if not isinstance(found, bool):
        raise SchemaError(f"{place}: {key!r} is true or false, found {shown(found)}")
    return found


def _attribute_names(item: object, place: str) -> tuple[str, ...]:
    listed = json_list(item, f"{place}: names of attributes", SchemaError)
    names = tuple(name for name in listed if isinstance(name, str))
    if len(names) != len(listed):
        raise SchemaError(f"{place}: expected names of attributes, found {shown(item)}")
    return names


def _rows(item: object, what: str, place: str) -> tuple[tuple[tuple[Named, ...], ...], ...]:
    listed = json_list(item, f"{place}: {what}", SchemaError)
    rows = [json_list(row, f"{place}: a row of {what}", SchemaError) for row in listed]
    return tuple(tuple(_values(entry, place) for entry in row) for row in rows)


def _combinations(declared: dict[str, object], place: str) -> Combinations:
    allowed = "allowed" in declared
    names = _attribute_names(declared["allowed" if allowed else "forbidden"], place)
    return Combinations(names, _rows(declared["combinations"], "'combinations'", place), allowed)


def _determines(declared: dict[str, object], place: str) -> Determines:
    names = _attribute_names(declared["determines"], place)
    if len(names) != 2:
        raise SchemaError(f"{place}: 'determines' names two attributes, found {len(names)}")
    rows = _rows(declared["mapping"], "'mapping'", place)
    both = _truth(declared, "both_ways", place)
    return Determines(names[0], names[1], rows, both)  # type: ignore[arg-type]  # two entries: checked there


def _ordered(declared: dict[str, object], place: str) -> Ordering:
    names, by = _attribute_names(declared["ordered"], place), _text(declared, "by", place)
    if by is None:
        raise SchemaError(f'{place}: say how bins are compared, "by": "representative" or "every value"')
    missing = _text(declared, "missing", place)
    return Ordering(names, by, _truth(declared, "strict", place), "holds" if missing is None else missing)


_FORMS: dict[str, Callable[[dict[str, object], str], Form]] = {
    "require": lambda declared, place: _formula(declared["require"], place, 1),
    "forbid": lambda declared, place: Forbid(_formula(declared["forbid"], place, 1)),
    "forbidden": _combinations,
    "allowed": _combinations,
    "determines": _determines,
    "ordered": _ordered,
}
