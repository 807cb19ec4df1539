"""Rules on records: a formula or a short form, with a name.

**Rules are public.** They are declared from general knowledge (a questionnaire, a code book, the distribution), never
read off the table, and every release shows them. Every synthetic record obeys them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from dpopt.constraints import OneOf, constrain
from dpopt.errors import SchemaError
from dpopt.schema.rules.formula import IF_MISSING, READINGS, Formula, require_formula, require_moderate
from dpopt.schema.rules.values import (
    Named,
    as_json,
    require_name,
    require_printable,
    require_value,
    row_as_json,
    values_text,
)

LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class Forbid:
    """The formula must not be true."""

    formula: Formula

    def __post_init__(self) -> None:
        require_formula(self.formula)

    def describe(self) -> str:
        """Return the rule in words."""
        return f"never: {self.formula.describe()}"


@dataclass(frozen=True, slots=True)
class Combinations:
    """Combinations of values of several attributes: none of them is allowed, or one of them must occur."""

    attributes: tuple[str, ...]
    """Names of the attributes, different."""
    rows: tuple[tuple[tuple[Named, ...], ...], ...]
    """The combinations: the accepted values of each attribute."""
    allowed: bool
    """True: every record has one of them. False: no record has any."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", _names(self.attributes, least=1))
        rows = []
        for row in _sequence(self.rows, "combinations"):
            entries = _sequence(row, "a combination")
            if len(entries) != len(self.attributes):
                raise SchemaError(
                    f"a combination has {_counted(len(entries), 'value')} for the "
                    f"{_counted(len(self.attributes), 'attribute')} {', '.join(self.attributes)}: "
                    f"{row_as_json(entries)}"
                )
            rows.append(tuple(map(_values, entries)))
        object.__setattr__(self, "rows", tuple(rows))

    def describe(self) -> str:
        """Return the rule in words."""
        names = ", ".join(self.attributes)
        texts = [", ".join(_values_text(values) for values in row) for row in self.rows[:3]]
        more = f"; ... {len(self.rows)} in all" if len(self.rows) > 3 else ""
        return f"({names}) is {'one' if self.allowed else 'none'} of: {'; '.join(texts)}{more}"


@dataclass(frozen=True, slots=True)
class Determines:
    """One attribute determines another, by a public table."""

    source: str
    target: str
    """Names of the two attributes."""
    mapping: tuple[tuple[tuple[Named, ...], tuple[Named, ...]], ...]
    """Pairs (values of the source, values of the target): with one of the first, a record has one of the second. Every
    value of the source, missing included, stands in exactly one pair."""
    both_ways: bool = False
    """The target determines the source too, by the same table; then its values stand in exactly one pair as well."""

    def __post_init__(self) -> None:
        _names((self.source, self.target), least=2)
        pairs = []
        for pair in _sequence(self.mapping, "the mapping"):
            sides = _sequence(pair, "a row of the mapping")
            if len(sides) != 2:
                raise SchemaError(
                    f"a row of the mapping is [value(s) of {self.source}, value(s) of {self.target}]; "
                    f"found {row_as_json(sides)}"
                )
            pairs.append((_values(sides[0]), _values(sides[1])))
        object.__setattr__(self, "mapping", tuple(pairs))
        constrain(self, SchemaError)

    def describe(self) -> str:
        """Return the rule in words."""
        by = f"by a table of {_counted(len(self.mapping), 'row')}"
        if self.both_ways:
            return f"{self.source} and {self.target} determine each other, {by}"
        return f"{self.source} determines {self.target}, {by}"


@dataclass(frozen=True, slots=True)
class Ordering:
    """Several numeric columns in increasing order."""

    attributes: tuple[str, ...]
    """Names of two or more numeric attributes, smallest first."""
    by: Annotated[str, OneOf("'by'", READINGS)] = READINGS[0]
    """How a bin is compared: by its "representative", or "every value", as in `Comparison`."""
    strict: bool = False
    """True: no two are equal."""
    missing: Annotated[str, OneOf("'missing'", IF_MISSING)] = "holds"
    """"holds": those that are given are in order. "fails": all must be given."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", _names(self.attributes, least=2))
        constrain(self, SchemaError)

    def describe(self) -> str:
        """Return the rule in words."""
        meaning = {"representative": "by representatives", "every value": "for every value of the bins"}[self.by]
        given = ", where given" if self.missing == "holds" else ", and all given"
        return f"{(' < ' if self.strict else ' <= ').join(self.attributes)} ({meaning}{given})"


Form: TypeAlias = Formula | Forbid | Combinations | Determines | Ordering
_SHORT_FORMS = (Forbid, Combinations, Determines, Ordering)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that every record obeys: a formula that must be true, or a short form. Public, like the schema.

    Parameters
    ----------
    form
        A formula (`literal`, `all_of`, `implies`, ...) or a short form (`forbid`, `forbidden`, `allowed`, `determines`,
        `ordered`).
    name
        How reports call the rule, in characters that can be printed; by default its content in words.

    Examples
    --------
    >>> import dpopt
    >>> from dpopt.schema.rules.rule import Ordering
    >>> rule = dpopt.Rule(Ordering(("age", "year"), "every value"), name="in order")
    >>> rule.title(), rule.describe()
    ('in order', 'age <= year (for every value of the bins, where given)')
    """

    form: Form
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.form, _SHORT_FORMS):
            require_formula(self.form)
            require_moderate(self.form)
        elif isinstance(self.form, Forbid):
            require_moderate(self.form.formula)
        if not isinstance(self.name, str):
            raise SchemaError(f"the name of a rule is text, found {as_json(self.name)}")
        require_printable(self.name)

    def describe(self) -> str:
        """Return the rule in words."""
        return self.form.describe()

    def title(self) -> str:
        """Return the name or, without one, the rule in words, not too long."""
        text = self.name or self.describe()
        return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 3] + "..."


def rule_titles(rules: Sequence[Rule]) -> tuple[str, ...]:
    """Return a different title for each rule; rules of the same words are distinguished by their numbers, from 1."""
    titles: list[str] = []
    for number, rule in enumerate(rules, start=1):
        title = rule.title()
        if title in titles:
            if rule.name:
                raise SchemaError(f"rule number {number} has the same name as an earlier one: {title!r}; rename one")
            title = f"{title} (rule number {number})"
        titles.append(title)
    return tuple(titles)


def _names(found: object, *, least: int) -> tuple[str, ...]:
    names = _sequence(found, "the names of the attributes")
    for name in names:
        require_name(name)
    if len(names) < least:
        raise SchemaError(f"expected at least {_counted(least, 'attribute')}, found {len(names)}")
    if len(set(names)) != len(names):
        raise SchemaError(f"an attribute is named twice: {', '.join(map(str, names))}")
    return tuple(map(str, names))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _sequence(found: object, what: str) -> Sequence[object]:
    if not isinstance(found, list | tuple) or not found:
        raise SchemaError(f"{what}: expected a list that is not empty, found {as_json(found)}")
    return found


def _values(found: object) -> tuple[Named, ...]:
    listed = tuple(_sequence(found, "values")) if isinstance(found, list | tuple) else (found,)
    for value in listed:
        require_value(value)
    return listed  # type: ignore[return-value]  # checked one by one


def _values_text(values: tuple[Named, ...]) -> str:
    return values_text(values[0]) if len(values) == 1 else values_text(values)
