"""Random rules over a small schema, and what they mean in plain Python: no codes, no gates, values one by one."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from dpopt.schema import Attribute, AttributeKind, Schema
from dpopt.schema.rules.formula import (
    AllOf,
    AnyOf,
    Comparison,
    Count,
    Counting,
    Equivalence,
    Formula,
    Implication,
    LinearSum,
    Literal,
    Negation,
)
from dpopt.schema.rules.rule import Combinations, Determines, Forbid, Form, Ordering, Rule
from dpopt.schema.rules.values import Bin, Named

NUMERIC = AttributeKind.NUMERIC
SCHEMA = Schema(
    (
        Attribute("colour", AttributeKind.CATEGORICAL, ("red", "green", 3), missing="?"),
        Attribute("smoker", AttributeKind.BOOLEAN),
        Attribute("n", NUMERIC, edges=(0, 1, 3, 6), integer=True, missing="N"),
        Attribute("m", NUMERIC, edges=(-1, 2, 4, 5), integer=True, representatives=(0, 3, 5)),
        Attribute("r", NUMERIC, edges=(0, 0.5, 1.5, 3)),
        Attribute("q", NUMERIC, edges=(-1, 0.5, 2), missing=""),
    )
)
RECORDS = np.array(list(itertools.product(*(range(size) for size in SCHEMA.sizes.tolist()))), dtype=np.int32)
NUMBERS = ("n", "m", "r", "q")
RELATIONS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip
_EPSILON = Fraction(1, 10**9)  # closer to the open end of a bin than any number of these tests

Record = dict[str, int]


def schema_with(*rules: Rule) -> Schema:
    """Return the schema with these rules."""
    return Schema(SCHEMA.attributes, rules=rules)


def decoded(codes: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> Record:
    """Return the codes of a record by name."""
    return dict(zip(SCHEMA.names, codes.tolist(), strict=True))


def obeys(form: Form, record: Record) -> bool:
    """Return whether a record of codes obeys a rule."""
    match form:
        case Forbid(formula):
            return not holds(formula, record)
        case Combinations(names, rows, allowed):
            fits = any(
                all(is_one_of(name, record[name], values) for name, values in zip(names, row, strict=True))
                for row in rows
            )
            return fits is allowed
        case Determines(source, target, mapping, both_ways):
            sides = [
                (is_one_of(source, record[source], left), is_one_of(target, record[target], right))
                for left, right in mapping
            ]
            return all(right >= left and (right == left or not both_ways) for left, right in sides)
        case Ordering(names, by, strict, missing):
            given = [name for name in names if not is_missing(name, record)]
            if missing == "fails" and len(given) < len(names):
                return False
            pairs = itertools.combinations(given, 2)
            relation = "<" if strict else "<="
            return all(holds(Comparison(low, relation, high, by, "fails"), record) for low, high in pairs)
        case Comparison(left, relation, right, by, None):
            return holds(Comparison(left, relation, right, by, "holds"), record)
        case _:
            return holds(form, record)


def holds(formula: Formula, record: Record) -> bool:
    """Return whether a formula is true of a record of codes."""
    match formula:
        case Literal(name, relation, value):
            return literal_holds(name, relation, value, record)
        case AllOf(parts):
            return all(holds(part, record) for part in parts)
        case AnyOf(parts):
            return any(holds(part, record) for part in parts)
        case Negation(part):
            return not holds(part, record)
        case Implication(condition, consequence):
            return not holds(condition, record) or holds(consequence, record)
        case Equivalence(left, right):
            return holds(left, record) == holds(right, record)
        case Counting(relation, number, parts):
            true = sum(holds(part, record) for part in parts)
            return {"at least": true >= number, "at most": true <= number, "exactly": true == number}[relation]
        case Comparison():
            return comparison_holds(formula, record)


def literal_holds(name: str, relation: str, value: object, record: Record) -> bool:
    code = record[name]
    if relation == "is":
        return is_missing(name, record) == (value == "missing")
    if relation in {"=", "in"}:
        return is_one_of(name, code, value if isinstance(value, tuple) else (value,))
    if relation in {"!=", "not in"}:
        return not is_one_of(name, code, value if isinstance(value, tuple) else (value,))
    if is_missing(name, record):
        return False
    assert isinstance(value, int | float)
    answers = {RELATIONS[relation](number, Fraction(value)) for number in values_of(name, code)}
    assert len(answers) == 1, "a literal that the bins cannot tell was accepted"
    return answers.pop()


def comparison_holds(comparison: Comparison, record: Record) -> bool:
    named = {term for _, term in comparison.terms() if isinstance(term, str)}
    if any(is_missing(name, record) for name in named):
        assert comparison.missing in {"holds", "fails"}
        return comparison.missing == "holds"
    names = sorted(named)
    if comparison.by == "every value":
        choices = [values_of(name, record[name]) for name in names]
    else:
        choices = [[Fraction(repr(attribute(name).representatives[record[name]]))] for name in names]
    sums = [
        sum(
            (
                Fraction(repr(number)) * value_of(term, dict(zip(names, chosen, strict=True)), record)
                for number, term in comparison.terms()
            ),
            Fraction(0),
        )
        for chosen in itertools.product(*choices)
    ]
    if comparison.relation == "!=" and any(not attribute(name).integer for name in named):
        return not min(sums) <= 0 <= max(sums)  # an interval
    return all(RELATIONS[comparison.relation](total, Fraction(0)) for total in sums)


def value_of(term: object, numbers: dict[str, Fraction], record: Record) -> Fraction:
    if isinstance(term, str):
        return numbers[term]
    if isinstance(term, Count):
        return Fraction(sum(holds(part, record) for part in term.parts))
    assert isinstance(term, int | float)
    return Fraction(repr(term))


def attribute(name: str) -> Attribute:
    return SCHEMA.attributes[SCHEMA.index(name)]


def is_missing(name: str, record: Record) -> bool:
    return record[name] == attribute(name).missing_code


def is_one_of(name: str, code: int, values: tuple[object, ...]) -> bool:
    """Return whether a code stands for one of these values as a rule names them."""
    found = attribute(name)
    if code == found.missing_code:
        return any(value is None or value == found.missing for value in values)
    if found.kind is not NUMERIC:
        return any(type(value) is type(found.values[code]) and value == found.values[code] for value in values)
    return any(
        value in (Bin(code), found.label(code))
        or (isinstance(value, int | float) and [Fraction(value)] == values_of(name, code))
        for value in values
    )


def values_of(name: str, code: int) -> list[Fraction]:
    """Return the values of a bin: every whole number, or both ends (an open end by a number just below)."""
    found = attribute(name)
    low, high = Fraction(found.edges[code]), Fraction(found.edges[code + 1])
    closed = code == len(found.edges) - 2
    if found.integer:
        numbers = [Fraction(number) for number in range(math.ceil(low), math.floor(high) + 1)]
        return [number for number in numbers if number < high or closed]
    return [low, high if closed else high - _EPSILON]


def _named(name: str) -> st.SearchStrategy[Named]:
    found = attribute(name)
    codes = range(found.size - (found.missing is not None))
    values: list[Named] = [None, found.missing] if found.missing is not None else []
    if found.kind is NUMERIC:
        values += [Bin(code) for code in codes] + [found.label(code) for code in codes]
        values += [0] if name == "n" else []
    else:
        values += found.values
    return st.sampled_from(values)


@st.composite
def literals(draw: st.DrawFn) -> Literal:
    """Draw a literal that the bins can tell."""
    name = draw(st.sampled_from(SCHEMA.names))
    found = attribute(name)
    relations = ["=", "!=", "in", "not in"]
    relations += ["is"] if found.missing is not None else []
    relations += ["<", ">="] if found.kind is NUMERIC else []
    relations += ["<=", ">"] if found.integer else []
    relation = draw(st.sampled_from(relations))
    if relation == "is":
        return Literal(name, relation, draw(st.sampled_from(["missing", "given"])))
    if relation in {"in", "not in"}:
        return Literal(name, relation, tuple(draw(st.lists(_named(name), min_size=1, max_size=3))))
    if relation in {"=", "!="}:
        return Literal(name, relation, draw(_named(name)))
    edge = draw(st.sampled_from(found.edges[:-1]))
    return Literal(name, relation, edge - 1 if relation in {"<=", ">"} else edge)


_COEFFICIENTS = st.sampled_from([-2, -1, 1, 1, 2, 0.5, 0, 0.1])


@st.composite
def comparisons(draw: st.DrawFn, parts: st.SearchStrategy[Formula]) -> Comparison:
    """Draw a comparison of columns, counts and numbers; "different for every value" only where it can be told."""
    by = draw(st.sampled_from(["representative", "every value"]))
    relation = draw(st.sampled_from(sorted(RELATIONS)))
    missing = draw(st.sampled_from(["holds", "fails"]))
    if by == "every value" and relation == "!=":
        names = draw(st.sampled_from([("n", "m"), ("r", "q"), ("m",), ("q",)]))
        left: object = names[0]
        right: object = names[1] if len(names) == 2 else draw(st.integers(-2, 5))
        return Comparison(left, relation, right, by, missing)  # type: ignore[arg-type]
    terms = st.one_of(
        st.sampled_from(NUMBERS),
        st.sampled_from(NUMBERS),
        st.integers(-3, 3),
        st.lists(parts, min_size=1, max_size=3).map(lambda listed: Count(tuple(listed))),
    )
    sums = st.one_of(
        terms, st.lists(st.tuples(_COEFFICIENTS, terms), min_size=1, max_size=3).map(lambda p: LinearSum(tuple(p)))
    )
    return Comparison(draw(sums), relation, draw(sums), by, missing)


def _composite(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    several = st.lists(parts, min_size=1, max_size=4).map(tuple)
    return st.one_of(
        several.map(AllOf),
        several.map(AnyOf),
        parts.map(Negation),
        st.builds(Implication, parts, parts),
        st.builds(Equivalence, parts, parts),
        several.flatmap(
            lambda listed: st.builds(
                Counting,
                st.sampled_from(["at least", "at most", "exactly"]),
                st.integers(0, len(listed)),
                st.just(listed),
            )
        ),
        comparisons(parts),
    )


FORMULAS: st.SearchStrategy[Formula] = st.recursive(
    st.one_of(literals(), comparisons(literals())), _composite, max_leaves=8
)


@st.composite
def combinations(draw: st.DrawFn) -> Combinations:
    """Draw forbidden or allowed combinations."""
    names = tuple(draw(st.permutations(SCHEMA.names)))[: draw(st.integers(1, 4))]
    row = st.tuples(*(st.lists(_named(name), min_size=1, max_size=3).map(tuple) for name in names))
    rows = draw(st.lists(row, min_size=1, max_size=5))
    return Combinations(names, tuple(rows), draw(st.booleans()))


@st.composite
def mappings(draw: st.DrawFn) -> Determines:
    """Draw a mapping of one attribute to another; in both ways each value stands in one row."""
    source, target = draw(st.permutations(SCHEMA.names))[:2]
    both = draw(st.booleans())
    rows = draw(st.integers(1, min(attribute(source).size, attribute(target).size)))
    left = _partition(draw, source, rows)
    if both:
        right = _partition(draw, target, rows)
    else:
        right = [tuple(draw(st.lists(_named(target), min_size=1, max_size=3))) for _ in range(rows)]
    return Determines(source, target, tuple(zip(left, right, strict=True)), both)


def _partition(draw: st.DrawFn, name: str, rows: int) -> list[tuple[Named, ...]]:
    found = attribute(name)
    codes = draw(st.permutations(range(found.size)))
    places = [*range(rows), *(draw(st.integers(0, rows - 1)) for _ in range(found.size - rows))]
    listed: list[list[Named]] = [[] for _ in range(rows)]
    for code, place in zip(codes, places, strict=True):
        named = None if code == found.missing_code else Bin(code) if found.kind is NUMERIC else found.values[code]
        listed[place].append(named)
    return [tuple(values) for values in listed]


@st.composite
def orderings(draw: st.DrawFn) -> Ordering:
    """Draw an order of two to four columns."""
    names = tuple(draw(st.permutations(NUMBERS)))[: draw(st.integers(2, 4))]
    by = draw(st.sampled_from(["representative", "every value"]))
    return Ordering(names, by, draw(st.booleans()), draw(st.sampled_from(["holds", "fails"])))


FORMS: st.SearchStrategy[Form] = st.one_of(
    FORMULAS, FORMULAS, FORMULAS.map(Forbid), combinations(), mappings(), orderings()
)
