"""One codec: frozen dataclasses as JSON objects, and back, strictly.

`encode` writes every field of a dataclass under its own name; `decode` reads exactly what `encode` writes. Text becomes
JSON in `json_files.py`, which refuses keys that stand twice, numbers that are none, and what is too deep or too large.

| field | in JSON |
|---|---|
| `bool`, `int`, `float`, `str`, `None`, unions of them | the same; where a `float` stands, a whole number may stand, too |
| `Unbounded`: a `float` that may be infinite | the number; null for infinity |
| `Enum`, `Literal` | the value |
| `Decimal`, `Fraction` | its text, such as "0.10" and "-3/7" |
| `tuple[X, ...]`, `tuple[X, Y]`, `list`, `dict[str, X]`, `Mapping[str, X]` | lists and objects |
| `NDArray[np.int64]` and other whole, real and truth-valued arrays | lists of lists; read as read-only; (0, k) reads as (0,) |
| a dataclass | an object |
| a plain class that dataclasses inherit from | that of the one whose field `kind: Literal["..."] = "..."` it names |
| any other class | what its `to_json` gives and its `from_json` takes |
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, is_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

import msgspec
import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import frozen
from dpopt.errors import DpoptError
from dpopt.files.json_files import json_object, refuse_unknown_keys, shown

T = TypeVar("T")
KIND = "kind"
if TYPE_CHECKING:
    Unbounded = float
else:

    class Unbounded(float):
        """A float to type checkers; to the codec one that may be infinite."""

        @classmethod
        def from_json(cls, given: object) -> Unbounded:
            """Return the written value."""
            return cls(math.inf if given is None else msgspec.convert(given, float))


_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list [...]",
    "object": "an object {...}",
    "dict": "an object {...}",
}
_PLACE = re.compile(r" - at `\$([^`]*)`")
_FRACTION = re.compile(r"-?[0-9]+(/[1-9][0-9]*)?")
_KINDS_OF_NUMBERS = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}


def encode(value: object, header: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Return the JSON object of a dataclass, after the keys of a header, such as a version: ``{"dpopt_plan": 1}``."""
    return {**(header or {}), **_plain(msgspec.to_builtins(value, enc_hook=_written, builtin_types=(Decimal,)))}


def decode(
    kind: type[T],
    given: object,
    what: str,
    error: type[DpoptError] = DpoptError,
    *,
    header: Mapping[str, object] | None = None,
    partial: bool = False,
) -> T:
    """Return the value whose `encode` gave a JSON object; `kind` is its class, or one that several inherit from.

    With `partial`, keys of fields that have a default may be left out, as where people write the file.
    """
    fields = json_object(given, what, error)
    for key, expected in (header or {}).items():
        found = fields.get(key)
        if type(found) is not type(expected) or found != expected:
            there = shown(found) if key in fields else "no such key"
            raise error(
                f"{what}: found {there} as {key!r}, expected {shown(expected)}; another version may have written it"
            )
    fields = {key: part for key, part in fields.items() if key not in (header or {})}
    try:
        value = _read(kind, fields)
        again = encode(value)
        if _spelled(again) != _spelled(fields):
            _refuse_difference(fields, again, what, error, partial=partial)
    except (msgspec.ValidationError, TypeError, ValueError, ArithmeticError, RecursionError) as problem:
        own = _own_error(problem)
        if own is None:
            raise error(_message(str(problem), what)) from problem
        refusal = own
    else:
        return value
    raise refusal  # out here, so that it is not the cause of its own cause


def chosen(
    kinds: Mapping[str, type[T]], given: object, key: str, what: str, error: type[Exception] = DpoptError
) -> type[T]:
    """Return the class that the text under `key` of a JSON object names."""
    name = given.get(key) if isinstance(given, dict) else given
    if not isinstance(name, str) or name not in kinds:
        raise error(f"{what}: found {shown(name)} as {key!r}, expected one of {', '.join(kinds)}")
    return kinds[name]


def _read(kind: type[T], given: object) -> T:
    value: T = msgspec.convert(given, _member(kind, given), builtin_types=(), dec_hook=_read_hook)
    return value


def _member(kind: Any, given: object) -> Any:
    """Return the dataclass below a plain class that the given object is of; the class itself where it needs no choice."""
    if get_origin(kind) is not None or is_dataclass(kind) or not kind.__subclasses__() or hasattr(kind, "from_json"):
        return kind
    members = {one.__dataclass_fields__[KIND].default: one for one in kind.__subclasses__()}
    if MISSING in members or not isinstance(given, dict):
        raise ValueError(f"Expected `object` with the key {KIND!r}, got `{type(given).__name__}`")
    return chosen(members, given, KIND, kind.__name__, ValueError)


def _read_hook(kind: Any, given: Any) -> object:
    try:
        if get_origin(kind) is np.ndarray:
            return _array(kind, given)
        if kind is Fraction:
            return _fraction(given)
        return kind.from_json(given) if hasattr(kind, "from_json") else _read(kind, given)
    except (msgspec.ValidationError, ArithmeticError) as problem:  # ValueError gets its place from the library
        raise ValueError(str(problem)) from problem


def _fraction(given: object) -> Fraction:
    if not isinstance(given, str) or _FRACTION.fullmatch(given) is None:
        raise ValueError(f"found {shown(given)}, expected a fraction as text such as -3/7")
    return Fraction(given)


def _array(kind: Any, given: object) -> NDArray[Any]:
    """Return lists as a read-only array of the declared type; other spellings show when it is compared."""
    dtype = np.dtype(get_args(get_args(kind)[1])[0])
    found = np.array(given)
    if not isinstance(given, list) or (found.size and found.dtype.kind not in _KINDS_OF_NUMBERS[dtype.kind]):
        raise ValueError(f"found {shown(given)}, expected lists of numbers that fit {dtype.name}")
    return frozen(found, dtype.type)


def _written(value: Any) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Unbounded | Mapping):
        return float(value) if isinstance(value, Unbounded) else dict(value)
    return str(value) if isinstance(value, Fraction) else value.to_json()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Decimal | float) and not math.isfinite(value):
        if value == math.inf and isinstance(value, float):
            return None
        raise ValueError(f"found the number {value}, expected a finite one")
    return str(value) if isinstance(value, Decimal) else value


def _spelled(value: object) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _refuse_difference(
    given: object, again: object, what: str, error: type[DpoptError], place: str = "$", *, partial: bool
) -> None:
    """Raise `error` at the first place where a document differs from the written form of its value."""
    where = what if place == "$" else f"{what} at {place}"
    if isinstance(given, dict) and isinstance(again, dict):
        refuse_unknown_keys(given, again, where, error)
        for key, part in again.items():
            if key in given:
                _refuse_difference(given[key], part, what, error, f"{place}.{key}", partial=partial)
            elif not partial:
                raise error(f"{where}: the key {key!r} is missing")
    elif isinstance(given, list) and isinstance(again, list) and len(given) == len(again):
        for number, (part, other) in enumerate(zip(given, again, strict=True)):
            _refuse_difference(part, other, what, error, f"{place}[{number}]", partial=partial)
    elif given != again or isinstance(given, bool) is not isinstance(again, bool):
        raise error(f"{where}: found {shown(given)}, expected it as {shown(again)}")


def _own_error(problem: BaseException | None) -> DpoptError | None:
    while problem is not None and not isinstance(problem, DpoptError):
        problem = problem.__cause__
    return problem


def _message(text: str, what: str) -> str:
    """Return a message of the library in our words: the place first, then the expected and the found value."""
    place = "".join(reversed(_PLACE.findall(text)))
    text = _PLACE.sub("", text).replace("Object missing required field", "missing the key").replace(", got", ", found")
    text = re.sub(
        "`([^`]*)`", lambda quoted: " or ".join(_WORDS.get(word, word) for word in quoted[1].split(" | ")), text
    )
    return f"{what}{f' at ${place}' if place else ''}: {text[:1].lower()}{text[1:]}"
