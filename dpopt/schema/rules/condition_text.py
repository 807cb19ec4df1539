"""Conditions in text, such as "20 <= age < 40 and job in (nurse, cook)", read as formulas.

    condition   COLUMN = VALUE, !=, <, <=, >, >= | NUMBER <= COLUMN < NUMBER | COLUMN in (VALUE, ...) | COLUMN not in (...)
                | COLUMN is missing | COLUMN is given | not CONDITION | CONDITION and CONDITION | CONDITION or CONDITION
                | (CONDITION)

Names and values stand as the schema writes them; in quotes where they would be read otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from dpopt.errors import QuestionError, meant
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.rules.builders import all_of, any_of, literal, negation
from dpopt.schema.rules.formula import Formula
from dpopt.schema.rules.values import Named

_OPERATOR = r"<=|>=|!=|==?|<|>"
QUOTED = r"\"[^\"]*\"|'[^']*'|`[^`]*`"
_WORD = r"[^\s,()<>=!]+"
_START_OF_RANGE = rf"(?=[\"'`]?[-+.\d])({QUOTED}|{_WORD})\s*(<=|>=|==?|<|>)"
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


class ConditionReader:
    """Reads a text from left to right; a name or value is the longest of those declared that stands there.

    Examples
    --------
    >>> import dpopt
    >>> age = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60))
    >>> ConditionReader("20 <= age < 60", [age]).condition().describe()
    'age >= 20 and age < 60'
    """

    def __init__(self, text: str, attributes: Sequence[Attribute]) -> None:
        self.text, self.at = text, 0
        self.attributes = {one.name: one for one in attributes}

    def condition(self) -> Formula:
        """Take a condition; QuestionError where none stands."""
        return self._joined("or", any_of, lambda: self._joined("and", all_of, self._part))

    def _joined(self, word: str, join: Callable[..., Formula], read: Callable[[], Formula]) -> Formula:
        parts = [read()]
        while self.word(word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else join(*parts)

    def _part(self) -> Formula:
        name, parts = self.longest(self.attributes), list[Formula]()
        if name is None and self.word("not"):
            return negation(self._part())
        if name is None and self.take(r"\("):
            inner = self.condition()
            self.expect(")")
            return inner
        if name is None and (low := self.take(_START_OF_RANGE)):
            name = self.column()
            value = value_of(self.attributes[name], unquoted(low[1]))
            parts.append(literal(name, _MIRRORED[low[2].replace("==", "=")], value))
        if name is None:
            name = self.column()
        attribute = self.attributes[name]
        if found := self.take(_OPERATOR):
            parts.append(literal(name, found[0].replace("==", "="), self._value(attribute)))
        if parts:
            return parts[0] if len(parts) == 1 else all_of(*parts)
        if found := self.take(r"is\s+(not\s+)?(missing|given)\b"):
            return literal(name, "is", "missing" if (found[2].lower() == "missing") != bool(found[1]) else "given")
        if found := self.take(r"(not\s+)?in\b"):
            self.expect("(")
            values = self.listed(lambda: self._value(attribute))
            self.expect(")")
            return literal(name, "not in" if found[1] else "in", values)
        raise self.problem(f"=, !=, <, <=, >, >=, in (...), or is 'missing' or 'given' after {name!r}")

    def _value(self, attribute: Attribute) -> Named:
        text = self.longest([*map(attribute.label, range(attribute.size)), *attribute.missing_texts])
        if text is None:
            found = self.take(f"{QUOTED}|{_WORD}")
            if found is None:
                raise self.problem(f"a value of {attribute.name!r}")
            text = unquoted(found[0])
        return value_of(attribute, text)

    def column(self) -> str:
        """Take the name of a column; QuestionError where none stands."""
        name = self.longest(self.attributes)
        if name is None:
            raise self.problem("a column", self.attributes)
        return name

    def longest(self, texts: Iterable[str]) -> str | None:
        """Take the longest of the texts that stands here, as it is or in quotes; None where none does."""
        rest, known = self.rest, set(texts)
        if quoted := re.match(QUOTED, rest):
            found = unquoted(quoted[0])
            return found if found in known and self.take(re.escape(quoted[0])) else None
        fitting = [text for text in known if text and rest.startswith(text) and not _cuts(text, rest)]
        if not fitting:
            return None
        found = max(fitting, key=len)
        self.at += self.text[self.at :].index(found) + len(found)
        return found

    def listed(self, read: Callable[[], Named]) -> tuple[Named, ...]:
        """Take one item, and more after commas."""
        values = [read()]
        while self.take(","):
            values.append(read())
        return tuple(values)

    def word(self, word: str) -> bool:
        """Take a word of the language, if it stands here."""
        return self.take(rf"{word}\b") is not None

    def expect(self, symbol: str) -> None:
        """Take a symbol; QuestionError where it does not stand here."""
        if not self.take(re.escape(symbol)):
            raise self.problem(repr(symbol))

    def take(self, pattern: str) -> re.Match[str] | None:
        """Take the match of a pattern here, after spaces."""
        found = re.compile(pattern, re.IGNORECASE).match(self.text, len(self.text) - len(self.rest))
        if found is not None:
            self.at = found.end()
        return found

    @property
    def rest(self) -> str:
        """The rest of the text, from its first letter."""
        return self.text[self.at :].lstrip()

    def problem(self, expected: str, known: Iterable[str] = ()) -> QuestionError:
        """Return the fault here, with the known name nearest to the text here."""
        word = next(iter(re.findall(rf"{_WORD}|\S", self.rest)), "")
        where = f"at {self.rest[:30]!r}" if self.rest else "at the end"
        return QuestionError(f"{self.text!r}, {where}: expected {expected}{meant(word, known)}")


def value_of(attribute: Attribute, text: str) -> Named:
    """Return the value that a text stands for: a declared one, a missing one (None), or a number."""
    labels = list(map(attribute.label, range(attribute.size)))
    numeric, code = attribute.kind is AttributeKind.NUMERIC, labels.index(text) if text in labels else None
    if text in attribute.missing_texts or (code is not None and code == attribute.missing_code):
        return None
    if code is not None:
        return text if numeric else attribute.values[code]
    if attribute.kind is AttributeKind.BOOLEAN and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if numeric and attribute.date_format is None:
        try:
            return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
        except ValueError:
            return text
    return text


def _cuts(text: str, rest: str) -> bool:
    """Return whether a word would end in the middle of one."""
    return re.match(r"\w", text[-1]) is not None and re.match(r"\w", rest[len(text) :]) is not None


def unquoted(text: str) -> str:
    """Return a name or value without the quotes around it, if there are any."""
    return text[1:-1] if re.fullmatch(QUOTED, text) else text
