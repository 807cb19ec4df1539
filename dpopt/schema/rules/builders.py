"""Functions that make formulas and rules: `Rule(implies(literal("age", "<", 15), literal("job", "is", "missing")))`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from dpopt.schema.rules.formula import (
    AllOf,
    AnyOf,
    Comparison,
    Count,
    Counting,
    Equivalence,
    Expression,
    Formula,
    Implication,
    Literal,
    Negation,
    Term,
)
from dpopt.schema.rules.rule import Combinations, Determines, Forbid, Ordering
from dpopt.schema.rules.values import Named

Values: TypeAlias = Named | Sequence[Named]
"""One value, or several accepted values."""

# of one or two parts, as their types take them
negation, implies, equivalent, forbid = Negation, Implication, Equivalence, Forbid


def literal(attribute: str, relation: str, value: Values) -> Literal:
    """Return a condition on one attribute, such as `literal("age", "<", 15)`; see `Literal`."""
    return Literal(attribute, relation, value)  # type: ignore[arg-type]  # made a tuple there


def all_of(*parts: Formula) -> AllOf:
    """Return the formula that is true if every part is."""
    return AllOf(parts)


def any_of(*parts: Formula) -> AnyOf:
    """Return the formula that is true if at least one part is."""
    return AnyOf(parts)


def at_least(number: int, parts: Iterable[Formula]) -> Counting:
    """Return "at least this many of the parts are true"."""
    return Counting("at least", number, tuple(parts))


def at_most(number: int, parts: Iterable[Formula]) -> Counting:
    """Return "at most this many of the parts are true"."""
    return Counting("at most", number, tuple(parts))


def exactly(number: int, parts: Iterable[Formula]) -> Counting:
    """Return "exactly this many of the parts are true"."""
    return Counting("exactly", number, tuple(parts))


def count(*parts: Formula) -> Count:
    """Return the number of true parts, for use in `compare`."""
    return Count(parts)


def compare(
    left: Expression | Sequence[tuple[float, Term]],
    relation: str,
    right: Expression | Sequence[tuple[float, Term]],
    *,
    by: str | None = None,
    missing: str | None = None,
) -> Comparison:
    """Return a linear comparison, such as `compare("NOC", "<", "NPF", by="every value")`; see `Comparison`."""
    return Comparison(left, relation, right, by, missing)  # type: ignore[arg-type]  # made a sum there


def forbidden(attributes: Sequence[str], combinations: Iterable[Sequence[Values]]) -> Combinations:
    """Return the rule that none of the combinations of values occurs."""
    return Combinations(tuple(attributes), tuple(combinations), allowed=False)  # type: ignore[arg-type]  # made tuples there


def allowed(attributes: Sequence[str], combinations: Iterable[Sequence[Values]]) -> Combinations:
    """Return the rule that one of the combinations of values occurs."""
    return Combinations(tuple(attributes), tuple(combinations), allowed=True)  # type: ignore[arg-type]  # made tuples there


def determines(
    source: str, target: str, mapping: Iterable[tuple[Values, Values]], *, both_ways: bool = False
) -> Determines:
    """Return the rule that one attribute determines another by a public table; see `Determines`."""
    return Determines(source, target, tuple(mapping), both_ways)  # type: ignore[arg-type]  # made tuples there


def ordered(
    attributes: Sequence[str], *, by: str = "representative", strict: bool = False, missing: str = "holds"
) -> Ordering:
    """Return the rule that numeric columns increase; see `Ordering`."""
    return Ordering(tuple(attributes), by, strict, missing)
