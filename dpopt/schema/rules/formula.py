"""Formulas over one record: literals, and, or, not, if-then, iff, counts of formulas, comparisons of numbers.

Formulas are public, like the schema: they are declared from general knowledge, never read off the table, and every
release shows them. They name attributes and values as the schema writes them; `Schema` matches them with its
attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeAlias

from dpopt.constraints import OneOf, Whole, constrain
from dpopt.errors import SchemaError
from dpopt.schema.attribute import is_number, number_text
from dpopt.schema.rules.values import SHOWN, Named, as_json, require_name, require_value, values_text

EQUALITIES = ("=", "!=")
MEMBERSHIPS = ("in", "not in")
ORDERS = ("<", "<=", ">", ">=")
LITERAL_RELATIONS = (*EQUALITIES, *MEMBERSHIPS, *ORDERS, "is")
COMPARISONS = (*ORDERS, *EQUALITIES)
STATES = ("missing", "given")
COUNTS = ("at least", "at most", "exactly")
READINGS = ("representative", "every value")
IF_MISSING = ("holds", "fails")
DEEPEST = 50
LARGEST_FORMULA = 100_000


@dataclass(frozen=True, slots=True)
class Literal:
    """A condition on one attribute."""

    attribute: str
    """Its name."""
    relation: Annotated[str, OneOf("the relation", LITERAL_RELATIONS)]
    """"=" or "!=" one value; "in" or "not in" several; "<", "<=", ">" or ">=" a number, a date as its column writes
    it, or a value of an ordered column; or "is"."""
    value: Named | tuple[Named, ...]
    """The value; a tuple of values for "in" and "not in"; "missing" or "given" for "is". The order relations are false
    of a missing value; "!=" and "not in" are true of it unless it is named."""

    def __post_init__(self) -> None:
        require_name(self.attribute)
        constrain(self, SchemaError)
        if self.relation in MEMBERSHIPS:
            if not isinstance(self.value, tuple | list) or not self.value:
                raise SchemaError(
                    f"{self.attribute!r} {self.relation}: expected a list of values, found {as_json(self.value)}"
                )
            object.__setattr__(self, "value", tuple(self.value))
        elif isinstance(self.value, tuple | list):
            raise SchemaError(
                f"{self.attribute!r} {self.relation}: expected one value, found {as_json(self.value)}; use 'in'"
            )
        if self.relation in ORDERS and not (isinstance(self.value, str) or is_number(self.value)):
            raise SchemaError(
                f"{self.attribute!r} {self.relation}: expected a finite number, or a date as its column writes it, "
                f"found {as_json(self.value)}"
            )
        if self.relation == "is" and self.value not in STATES:
            raise SchemaError(f"{self.attribute!r} is: expected missing or given, found {as_json(self.value)}")
        for value in self.value if isinstance(self.value, tuple) else (self.value,):
            require_value(value)

    def describe(self) -> str:
        """Return the condition in words."""
        return f"{self.attribute} {self.relation} {values_text(self.value)}"


@dataclass(frozen=True, slots=True)
class _Joined:
    """Formulas joined by a word."""

    parts: tuple[Formula, ...]
    WORD: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", formulas(self.parts, self.WORD))

    def describe(self) -> str:
        """Return the formula in words."""
        return f" {self.WORD} ".join(_bracketed(part) for part in self.parts)


class AllOf(_Joined):
    """True if every part is."""

    __slots__ = ()
    WORD = "and"


class AnyOf(_Joined):
    """True if one part is, or more."""

    __slots__ = ()
    WORD = "or"


@dataclass(frozen=True, slots=True)
class Negation:
    """True if the part is not."""

    part: Formula

    def __post_init__(self) -> None:
        require_formula(self.part)

    def describe(self) -> str:
        """Return the formula in words."""
        return f"not ({self.part.describe()})"


@dataclass(frozen=True, slots=True)
class Implication:
    """False only if the condition is true and the consequence is not."""

    condition: Formula
    consequence: Formula

    def __post_init__(self) -> None:
        require_formula(self.condition)
        require_formula(self.consequence)

    def describe(self) -> str:
        """Return the formula in words."""
        return f"if {_bracketed(self.condition)} then {_bracketed(self.consequence)}"


@dataclass(frozen=True, slots=True)
class Equivalence:
    """True if both sides are true or both are false."""

    left: Formula
    right: Formula

    def __post_init__(self) -> None:
        require_formula(self.left)
        require_formula(self.right)

    def describe(self) -> str:
        """Return the formula in words."""
        return f"{_bracketed(self.left)} exactly if {_bracketed(self.right)}"


@dataclass(frozen=True, slots=True)
class Counting:
    """True if at least, at most or exactly `number` of the parts are true; 0 <= number <= number of parts."""

    relation: Annotated[str, OneOf("the count", COUNTS)]
    number: Annotated[int, Whole("the number of formulas", least=0)]
    parts: tuple[Formula, ...]

    def __post_init__(self) -> None:
        constrain(self, SchemaError)
        object.__setattr__(self, "parts", formulas(self.parts, self.relation))
        if self.number > len(self.parts):
            raise SchemaError(
                f"{self.relation} {self.number} of {len(self.parts)} conditions: "
                f"expected a number from 0 to {len(self.parts)}"
            )

    def describe(self) -> str:
        """Return the formula in words."""
        return f"{self.relation} {self.number} of ({listed_formulas(self.parts)})"


@dataclass(frozen=True, slots=True)
class Count:
    """The number of parts that are true, as a number in a comparison."""

    parts: tuple[Formula, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", formulas(self.parts, "count"))

    def describe(self) -> str:
        """Return the number in words."""
        return f"count of ({listed_formulas(self.parts)})"


Term: TypeAlias = int | float | str | Count
"""A number, the name of a numeric attribute, or a count."""


@dataclass(frozen=True, slots=True)
class LinearSum:
    """A sum of (coefficient, term) pairs."""

    terms: tuple[tuple[int | float, Term], ...]

    def __post_init__(self) -> None:
        listed = []
        for pair in self.terms:
            if not isinstance(pair, tuple | list) or len(pair) != 2 or not is_number(pair[0]):
                raise SchemaError(f"expected a pair (coefficient, term) of a sum, found {as_json(pair)}")
            listed.append((pair[0], _term(pair[1])))
        if not listed:
            raise SchemaError("a sum needs at least one pair (coefficient, term)")
        object.__setattr__(self, "terms", tuple(listed))

    def describe(self) -> str:
        """Return the sum in words."""
        return " ".join(_product(number, term) for number, term in self.terms).removeprefix("+ ")


Expression: TypeAlias = Term | LinearSum


@dataclass(frozen=True, slots=True)
class Comparison:
    """A linear comparison of numeric columns, counts and numbers.

    Either side is a number, the name of a numeric attribute, a count, or a sum; a sequence of pairs (coefficient, term)
    is a sum.
    """

    left: Expression
    relation: Annotated[str, OneOf("the comparison", COMPARISONS)]
    """"<", "<=", ">", ">=", "=" or "!="."""
    right: Expression
    by: Annotated[str | None, OneOf("'by'", READINGS)] = None
    """How a bin is compared: by its "representative", the number that is written for it; or "every value", which is
    true only if the comparison holds for all values of the columns' bins. None: the first, if a column is named."""
    missing: Annotated[str | None, OneOf("'missing'", IF_MISSING)] = None
    """Whether the comparison "holds" or "fails" if one of the named columns is missing. None: it holds, where the
    comparison is a rule of its own or no column can be missing; inside a formula it is required."""

    def __post_init__(self) -> None:
        constrain(self, SchemaError)
        object.__setattr__(self, "left", _expression(self.left))
        object.__setattr__(self, "right", _expression(self.right))
        if self.by is None and any(isinstance(term, str) for _, term in self.terms()):
            object.__setattr__(self, "by", READINGS[0])

    def terms(self) -> tuple[tuple[int | float, Term], ...]:
        """Return the pairs (coefficient, term) of left minus right."""
        right = tuple((-number, term) for number, term in _pairs(self.right))
        return (*_pairs(self.left), *right)

    def describe(self) -> str:
        """Return the comparison in words."""
        meanings = {"representative": " (by representatives)", "every value": " (for every value of the bins)"}
        given = {"holds": ", or a number is missing", "fails": ", and none is missing"}
        text = f"{_expression_text(self.left)} {self.relation} {_expression_text(self.right)}"
        return text + meanings.get(self.by or "", "") + given.get(self.missing or "", "")


Formula: TypeAlias = Literal | AllOf | AnyOf | Negation | Implication | Equivalence | Counting | Comparison
_FORMULAS = (Literal, AllOf, AnyOf, Negation, Implication, Equivalence, Counting, Comparison)


def literals_of(formula: Formula | None) -> Iterator[Literal]:
    """Yield the conditions on single columns that a formula is made of."""
    if isinstance(formula, Literal):
        yield formula
    elif formula is not None:
        for part in parts_of(formula):
            yield from literals_of(part)


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """Return the formulas that a formula is made of directly."""
    match formula:
        case Literal():
            return ()
        case AllOf(parts) | AnyOf(parts) | Counting(_, _, parts):
            return parts
        case Negation(part):
            return (part,)
        case Implication(left, right) | Equivalence(left, right):
            return left, right
        case Comparison():
            counts = [term for _, term in formula.terms() if isinstance(term, Count)]
            return tuple(part for one in counts for part in one.parts)


def require_moderate(formula: Formula) -> None:
    """Raise SchemaError if a formula is nested more than DEEPEST deep or has more than LARGEST_FORMULA parts."""
    known: dict[int, tuple[int, int]] = {}

    def extent(part: Formula, level: int) -> tuple[int, int]:
        if level + known.get(id(part), (1, 1))[0] - 1 > DEEPEST:
            raise SchemaError(f"formulas are nested more than {DEEPEST} deep; split the rule")
        if id(part) not in known:
            below = [extent(one, level + 1) for one in parts_of(part)]
            depths, sizes = [depth for depth, _ in below], [size for _, size in below]
            known[id(part)] = 1 + max(depths, default=0), 1 + sum(sizes)
        return known[id(part)]

    if extent(formula, 1)[1] > LARGEST_FORMULA:
        raise SchemaError(f"the formula has more than {LARGEST_FORMULA:,} parts; split the rule")


def require_formula(found: object) -> None:
    """Raise SchemaError if something is no formula."""
    if not isinstance(found, _FORMULAS):
        raise SchemaError(
            f"expected a formula, such as literal('age', '<', 15), all_of(...) or negation(...); found {as_json(found)}"
        )


def formulas(found: object, what: str) -> tuple[Formula, ...]:
    """Return formulas as a tuple, at least one; else raise SchemaError."""
    if not isinstance(found, tuple | list) or not found:
        raise SchemaError(f"{what}: expected one formula or more, found {as_json(found)}")
    for part in found:
        require_formula(part)
    return tuple(found)


def listed_formulas(parts: tuple[Formula, ...]) -> str:
    """Return formulas in words, one after the other; further ones as a number."""
    texts = [part.describe() for part in parts[:SHOWN]]
    more = f"; ... {len(parts)} in all" if len(parts) > SHOWN else ""
    return "; ".join(texts) + more


def _bracketed(part: Formula) -> str:
    text = part.describe()
    return text if isinstance(part, Literal | Negation | Counting) else f"({text})"


def _term(found: object) -> Term:
    if isinstance(found, str | Count):
        return found
    if isinstance(found, int | float) and is_number(found):
        return found
    raise SchemaError(f"expected a finite number, the name of a numeric attribute or a count, found {as_json(found)}")


def _expression(found: object) -> Expression:
    if isinstance(found, LinearSum):
        return found
    return LinearSum(tuple(found)) if isinstance(found, tuple | list) else _term(found)


def _pairs(expression: Expression) -> tuple[tuple[int | float, Term], ...]:
    return expression.terms if isinstance(expression, LinearSum) else ((1, expression),)


def _product(number: float, term: Term) -> str:
    """Return a summand with its sign; a constant, a coefficient times 1 or whole times whole, as one number."""
    if isinstance(term, int | float) and (term == 1 or (isinstance(number, int) and isinstance(term, int))):
        number = number * term
        text = number_text(abs(number))
    else:
        text = _term_text(term) if abs(number) == 1 else f"{number_text(abs(number))} * {_term_text(term)}"
    return f"{'-' if number < 0 else '+'} {text}"


def _term_text(term: Term) -> str:
    if isinstance(term, Count):
        return term.describe()
    return term if isinstance(term, str) else number_text(term)


def _expression_text(expression: Expression) -> str:
    return expression.describe() if isinstance(expression, LinearSum) else _term_text(expression)
