"""Questions in text: counts, shares, means and quantiles, by groups and under conditions.

    question    measure [of VALUE] [where CONDITION] [by COLUMN, ...] [- question]
    measure     count | share of COLUMN | share of CONDITION | mean(COLUMN) | median(COLUMN) | quantile(COLUMN, NUMBER)
    condition   COLUMN = VALUE, !=, <, <=, >, >= | NUMBER <= COLUMN < NUMBER | COLUMN in (VALUE, ...) | COLUMN not in (...)
                | COLUMN is missing | COLUMN is given | not CONDITION | CONDITION and CONDITION | CONDITION or CONDITION
                | (CONDITION)

Names and values stand as the schema writes them; in quotes where they would be read otherwise. Conditions are formulas of
rules (`dpopt.schema.rules`), which find the codes that they hold for.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dpopt.errors import QuestionError
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.rules.builders import all_of, any_of, literal, negation
from dpopt.schema.rules.formula import Formula
from dpopt.schema.rules.values import Named
from dpopt.schema.schema import Schema

COUNT, SHARE, MEAN, QUANTILE = "count", "share", "mean", "quantile"
MEDIAN = 0.5

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_OPERATOR = re.compile(r"<=|>=|!=|==|=|<|>")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'|`([^`]*)`")
_BARE = re.compile(r"[^\s,()<>=!]+")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked."""

    text: str
    measure: str
    """"count", "share", "mean" or "quantile"."""
    column: str | None = None
    """The column that a share, mean or quantile is of."""
    event: Formula | None = None
    """The condition that a share is of, where it is of no column."""
    level: float = MEDIAN
    """Of a quantile, above 0 and below 1."""
    condition: Formula | None = None
    """The records that are asked about; None: all."""
    by: tuple[str, ...] = ()
    """The columns whose values make groups."""
    minus: Question | None = None
    """What is subtracted, group by group."""


def parse_question(text: str, schema: Schema) -> Question:
    """Read a question.

    Raises
    ------
    QuestionError
        If the text is no question about these columns; it says where, and what was expected.

    Examples
    --------
    >>> import dpopt
    >>> job = dpopt.Attribute("job", dpopt.AttributeKind.CATEGORICAL, ("nurse", "cook"))
    >>> age = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60))
    >>> asked = parse_question("mean(age) by job where 20 <= age < 60", dpopt.Schema((job, age)))
    >>> asked.measure, asked.column, asked.by, asked.condition.describe()
    ('mean', 'age', ('job',), 'age >= 20 and age < 60')
    """
    return _Reader(text, schema).whole()


class _Reader:
    """Reads a text from left to right; names and values are the longest of the schema that stand there."""

    def __init__(self, text: str, schema: Schema) -> None:
        self._text, self._at, self._schema = text, 0, schema
        self._names = sorted(schema.names, key=len, reverse=True)

    def whole(self) -> Question:
        """Return the question that all of the text asks."""
        question = self._question()
        if self._rest():
            raise self._problem("'where', 'by', 'of', '- ' and another question, or the end")
        return replace(question, text=self._text.strip())

    def _question(self) -> Question:
        start = self._at
        found = self._measure()
        condition: Formula | None = None
        by: tuple[str, ...] = ()
        while True:
            if self._keyword("of"):
                condition = self._joined(condition, self._of_value())
            elif self._keyword("where"):
                condition = self._joined(condition, self._condition())
            elif not by and self._keyword("by"):
                by = tuple(map(str, self._listed(self._column_name)))
                if len(set(by)) < len(by):
                    raise QuestionError(f"{self._text!r} names a column of groups twice; name each once")
            else:
                break
        end, minus = self._at, None
        if re.match(r"\s+[-\u2212]\s", self._text[self._at :]):
            self._at = self._text.index(self._rest(), self._at) + 1
            minus = self._question()
            if minus.minus is not None:
                raise QuestionError(f"{self._text!r}: a question holds one difference; ask for each by itself")
            if minus.by != by:
                raise QuestionError(
                    f"{self._text!r}: both sides of a difference have the same groups; found "
                    f"by {', '.join(by) or 'nothing'} and by {', '.join(minus.by) or 'nothing'}"
                )
        return replace(found, text=self._text[start:end].strip(), condition=condition, by=by, minus=minus)

    def _measure(self) -> Question:
        if self._keyword(COUNT):
            return Question("", COUNT)
        if self._keyword(SHARE):
            if not self._keyword("of"):
                raise self._problem("'of' and a column or a condition")
            at, name = self._at, self._name()
            if name is not None and not self._continues():
                return Question("", SHARE, name)
            self._at = at
            return Question("", SHARE, event=self._condition())
        for word in (MEAN, "median", QUANTILE):
            if self._keyword(word):
                self._expect("(")
                column, level = self._column_name(), MEDIAN
                if word == QUANTILE:
                    self._expect(",")
                    level = self._level()
                self._expect(")")
                return Question("", MEAN if word == MEAN else QUANTILE, column, level=level)
        raise self._problem("count, share of ..., mean(column), median(column) or quantile(column, 0.9)")

    def _level(self) -> float:
        found = _NUMBER.match(self._rest())
        level = float(found[0]) if found else 0.0
        if not 0 < level < 1:
            raise self._problem("the level of a quantile, a number above 0 and below 1")
        self._take(found[0])  # type: ignore[index]  # matched
        return level

    def _condition(self) -> Formula:
        parts = [self._conjunction()]
        while self._keyword("or"):
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else any_of(*parts)

    def _conjunction(self) -> Formula:
        parts = [self._literal()]
        while self._keyword("and"):
            parts.append(self._literal())
        return parts[0] if len(parts) == 1 else all_of(*parts)

    def _literal(self) -> Formula:
        at, low = self._at, None
        name = self._name()
        if name is None:
            if self._keyword("not"):
                return negation(self._literal())
            if self._symbol("("):
                inner = self._condition()
                self._expect(")")
                return inner
            low = self._range_start()
            name = self._column_name()
        attribute = self._schema.attributes[self._schema.index(name)]
        parts: list[Formula] = []
        if low is not None:
            value, relation = low
            parts.append(literal(name, _MIRRORED[relation], _named(attribute, value)))
            if (found := _OPERATOR.match(self._rest())) is None:
                return parts[0]
        if self._keyword("is"):
            missing = not self._keyword("not")
            for word, state in (("missing", missing), ("given", not missing)):
                if self._keyword(word):
                    return literal(name, "is", "missing" if state else "given")
            raise self._problem("'missing' or 'given'")
        inverted = self._keyword("not")
        if self._keyword("in"):
            self._expect("(")
            values = self._listed(lambda: self._value(attribute))
            self._expect(")")
            return literal(name, "not in" if inverted else "in", tuple(values))
        found = _OPERATOR.match(self._rest())
        if inverted or found is None:
            self._at = at if name is None else self._at
            raise self._problem(f"=, !=, <, <=, >, >=, in (...), 'is missing' or 'is given' after {name!r}")
        relation = self._take(found[0]).replace("==", "=")
        parts.append(literal(name, relation, self._value(attribute)))
        return parts[0] if len(parts) == 1 else all_of(*parts)

    def _range_start(self) -> tuple[str, str]:
        """Return number or date, and relation, of '20 <= age'."""
        found = _QUOTED.match(self._rest()) or _BARE.match(self._rest())
        after = None if found is None else _OPERATOR.match(self._rest()[found.end() :].lstrip())
        if found is None or after is None or after[0] not in _MIRRORED or not re.match(r"[-+.\d]", _unquoted(found)):
            raise self._unknown_name()
        self._take(found[0])
        return _unquoted(found), self._take(_OPERATOR.match(self._rest())[0])  # type: ignore[index]  # matched

    def _of_value(self) -> Formula:
        """Return the condition that stands for a value that one column alone has."""
        labels: dict[str, list[str]] = {}
        for attribute in self._schema.attributes:
            if attribute.kind is AttributeKind.CATEGORICAL:
                for code in range(attribute.size):
                    labels.setdefault(attribute.label(code), []).append(attribute.name)
        label = self._longest(labels)
        if label is None:
            raise self._problem("a value of a categorical column; or write where COLUMN = VALUE", labels)
        if len(labels[label]) > 1:
            columns = " and ".join(map(repr, labels[label]))
            raise QuestionError(
                f"{self._text!r}: {label!r} is a value of {columns}; write where {labels[label][0]} = {label}"
            )
        name = labels[label][0]
        return literal(name, "=", _named(self._schema.attributes[self._schema.index(name)], label))

    def _value(self, attribute: Attribute) -> Named:
        labels = [attribute.label(code) for code in range(attribute.size)]
        found = self._longest([*labels, *attribute.missing_texts])
        if found is None:
            matched = _QUOTED.match(self._rest()) or _BARE.match(self._rest())
            if matched is None:
                raise self._problem(f"a value of {attribute.name!r}")
            self._take(matched[0])
            found = _unquoted(matched)
        return _named(attribute, found)

    def _column_name(self) -> str:
        name = self._name()
        if name is None:
            raise self._unknown_name()
        return name

    def _name(self) -> str | None:
        return self._longest(self._names)

    def _longest(self, texts: Iterable[str]) -> str | None:
        """Take the longest of the texts that stands here, as it is or in quotes; None where none does."""
        rest, known = self._rest(), set(texts)
        quoted = _QUOTED.match(rest)
        if quoted is not None:
            if _unquoted(quoted) not in known:
                return None
            self._take(quoted[0])
            return _unquoted(quoted)
        fitting = [text for text in known if text and rest.startswith(text) and _ends(text, rest[len(text) :])]
        return self._take(max(fitting, key=len)) if fitting else None

    def _listed(self, read: Callable[[], Named]) -> list[Named]:
        values = [read()]
        while self._symbol(","):
            values.append(read())
        return values

    def _continues(self) -> bool:
        """Return whether what follows a column makes a condition of it."""
        return re.match(r"[<>=!]|(in|is|not)\b", self._rest()) is not None

    def _keyword(self, word: str) -> bool:
        found = re.match(rf"{word}\b", self._rest(), re.IGNORECASE)
        if found is not None:
            self._take(found[0])
        return found is not None

    def _symbol(self, symbol: str) -> bool:
        if not self._rest().startswith(symbol):
            return False
        self._take(symbol)
        return True

    def _expect(self, symbol: str) -> None:
        if not self._symbol(symbol):
            raise self._problem(repr(symbol))

    def _rest(self) -> str:
        return self._text[self._at :].lstrip()

    def _take(self, text: str) -> str:
        self._at = self._text.index(text, self._at) + len(text)
        return text

    @staticmethod
    def _joined(first: Formula | None, second: Formula) -> Formula:
        return second if first is None else all_of(first, second)

    def _unknown_name(self) -> QuestionError:
        return self._problem("a column", self._names)

    def _problem(self, expected: str, known: Iterable[str] = ()) -> QuestionError:
        rest = self._rest()
        word = next(iter(re.findall(r"[^\s,()<>=!]+|\S", rest)), "")
        near = difflib.get_close_matches(word, list(known), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        where = f"at {rest[:30]!r}" if rest else "at the end"
        return QuestionError(f"{self._text!r}, {where}: expected {expected}{hint}")


def _ends(text: str, rest: str) -> bool:
    """Return whether a word that ends so ends here."""
    return not (rest and (text[-1].isalnum() or text[-1] == "_") and (rest[0].isalnum() or rest[0] == "_"))


def _unquoted(found: re.Match[str]) -> str:
    return next((one for one in found.groups() if one is not None), found[0])


def _named(attribute: Attribute, text: str) -> Named:
    """Return the value that a text stands for: a declared one, a missing one, or a number."""
    if text in attribute.missing_texts:
        return None
    for code in range(attribute.size):
        if attribute.label(code) == text:
            return text if attribute.kind is AttributeKind.NUMERIC else attribute.values[code]
    if attribute.kind is AttributeKind.BOOLEAN and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if attribute.kind is AttributeKind.NUMERIC and attribute.date_format is None:
        try:
            return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
        except ValueError:
            return text
    return text
