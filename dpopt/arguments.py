"""Arguments that are checked before anything is done: their names, their types and the members of choices.

Every refusal is an `ArgumentError` that names the function, the argument and what is expected. Values are never shown,
except those of choices, and texts that are numbers. Ranges of public values stand in annotations: `constraints`.
"""

from __future__ import annotations

import difflib
import enum
import functools
import inspect
import os
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, TypeVar

from dpopt.errors import ArgumentError, ChoiceError, DpoptError

_Function = TypeVar("_Function", bound=Callable[..., Any])


def checked(function: _Function) -> _Function:
    """Return a function that refuses arguments of other types than its annotations say, before it does anything.

    Annotations that stand for nothing while the program runs, such as those of tables, are left to the function.

    Raises
    ------
    ArgumentError
        In the new function: which argument it is, of which type, and what is expected. Values are never shown.

    Examples
    --------
    >>> @checked
    ... def double(number: float, unit: str | None = None) -> float:
    ...     return 2 * number
    >>> double(3)
    6
    >>> double("3")
    Traceback (most recent call last):
    dpopt.errors.ArgumentError: double(number=...): found a str; expected a number. Write 3, without quotes
    """
    signature = inspect.signature(function)

    @functools.cache
    def expected() -> Mapping[str, Any]:
        hints: dict[str, Any] = {}
        for name, parameter in signature.parameters.items():
            hint = meaning_of(parameter.annotation, function)
            if typing.get_origin(hint) is typing.Unpack:
                hints |= types_of(typing.get_args(hint)[0])
            elif parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                hints[name] = hint
        return hints

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        named, (args, kwargs) = function.__qualname__, _plain_call(args, kwargs)
        if not any(one.annotation == "Any" for one in signature.parameters.values() if one.kind is one.VAR_KEYWORD):
            refuse_unknown(named, kwargs, expected())
        try:
            given = {**signature.bind(*args, **kwargs).arguments, **kwargs}
        except TypeError as wrong:
            raise ArgumentError(f"{named}(): {wrong}") from None
        check_types(named, given, expected())
        return function(*args, **kwargs)

    return typing.cast("_Function", called)


def checked_constructor(kind: type) -> None:
    """Let a class refuse arguments that its constructor does not take, as `checked` does, if it does not itself.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Tea:
    ...     minutes: int
    >>> checked_constructor(Tea)
    >>> Tea(minute=3)
    Traceback (most recent call last):
    dpopt.errors.ArgumentError: Tea(minute=...): there is no such option; did you mean minutes?
    """
    if issubclass(kind, BaseException | enum.Enum):
        return  # errors take any message, and choices refuse on their own
    construct: Callable[..., None] = vars(kind)["__init__"]
    signature = inspect.signature(construct)
    made = construct.__code__.co_filename == "<string>"  # by dataclasses, of the fields
    expected = functools.cache(
        lambda: (
            types_of(kind)
            if made
            else {name: meaning_of(one.annotation, construct) for name, one in signature.parameters.items()}
        )
    )

    @functools.wraps(construct)
    def constructed(self: Any, *args: Any, **kwargs: Any) -> None:
        named, (args, kwargs) = type(self).__name__, _plain_call(args, kwargs)
        if not any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values()):
            refuse_unknown(named, kwargs, list(signature.parameters)[1:])
        try:
            given = signature.bind(self, *args, **kwargs).arguments
        except TypeError as wrong:
            raise ArgumentError(f"{named}(): {wrong}") from None
        try:
            construct(self, *args, **kwargs)
        except DpoptError:
            raise  # the class says more of what it expects
        except Exception:
            check_types(named, given, expected())
            raise

    kind.__init__ = constructed  # type: ignore[method-assign]


class _ChoiceType(enum.EnumType):
    def __call__(cls, *given: object, **named: object) -> Any:
        """Return the member that a value names."""
        value = given[0] if len(given) == 1 and not named else given
        try:
            return super().__call__(value)
        except (TypeError, ValueError):
            members = [str(one.value) for one in cls]  # type: ignore[var-annotated]
            near = difflib.get_close_matches(value, members) if isinstance(value, str) else []
            said = f"; did you mean {near[0]}?" if near else ""
            found = repr(value) if isinstance(value, str) else _of_type(value)
            raise ChoiceError(f"{cls.__name__}(): found {found}; expected one of {', '.join(members)}{said}") from None


class Choice(enum.Enum, metaclass=_ChoiceType):
    """An enumeration that raises ChoiceError for a name without a member.

    Examples
    --------
    >>> class Tea(Choice):
    ...     GREEN = "green"
    ...     BLACK = "black"
    >>> Tea("green")
    <Tea.GREEN: 'green'>
    >>> Tea("blak")
    Traceback (most recent call last):
    dpopt.errors.ChoiceError: Tea(): found 'blak'; expected one of green, black; did you mean black?
    """


def _plain_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments as `plain` has each: an array itself stays one, since tables are arrays."""
    return tuple(map(plain, args)), {name: plain(value) for name, value in kwargs.items()}


def plain(value: Any) -> Any:
    """Return a value with Python's numbers for NumPy's, in lists, tuples and dictionaries too; arrays as lists."""
    kind = type(value)
    if kind in {list, tuple} and not {*map(type, value)} <= {bool, float, int, str}:
        return kind(one.tolist() if _is_numpy(one) else plain(one) for one in value)
    if kind is dict:
        return dict(zip(value, plain(list(value.values())), strict=True))
    return value.item() if _is_numpy(value) and not value.shape else value


def _is_numpy(value: Any) -> bool:
    return (
        type(value).__module__ == "numpy" and getattr(value, "dtype", None) is not None and value.dtype.kind in "biuf"
    )


def refuse_unknown(called: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse, by ArgumentError, keywords that there are not; the message names the nearest ones, or lists all."""
    known = [name for name in known if not name.startswith("_")]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known)
            said = f"did you mean {' or '.join(near)}?" if near else f"the options are {', '.join(sorted(known))}"
            raise ArgumentError(f"{called}({name}=...): there is no such option; {said}")


def check_types(called: str, given: Mapping[str, object], expected: Mapping[str, Any]) -> None:
    """Refuse, by ArgumentError, arguments by name that are not of the types that are expected; see `checked`."""
    for name, value in given.items():
        if not _is(value, expected.get(name, Any)):
            raise ArgumentError(
                f"{called}({name}=...): found {_of_type(value)}; expected {_in_words(expected[name])}"
                f"{_advice(value, expected[name])}"
            )
        if isinstance(value, str | os.PathLike) and (fault := _no_path(os.fspath(value))):
            raise ArgumentError(f"{called}({name}=...): found {fault}, which no name and no path holds; leave it out")


def _no_path(text: str | bytes) -> str:
    """Return the part of a text that no operating system accepts in a path; empty if there is none."""
    try:
        return "the sign NUL" if b"\0" in os.fsencode(text) else ""
    except UnicodeEncodeError:
        return "half of a surrogate pair"


def plain_number(text: str, *, whole: bool) -> str | None:
    """Return a number as it is to be written, where a text has it with a decimal comma or with signs between thousands.

    Examples
    --------
    >>> plain_number("0,5", whole=False), plain_number("45.000", whole=True), plain_number("4.5", whole=True)
    ('0.5', '45000', None)
    """
    plain = re.sub("[., _']", "", text) if whole else text.replace(",", ".", 1).replace(" ", "")
    form = r"-?\d{1,3}([., _']\d{3})*|-?\d+" if whole else r"-?\d+([.,]\d+)?(e-?\d+)?"
    return plain if re.fullmatch(form, text if whole else plain) else None


def _advice(value: object, hint: Any) -> str:
    """Return the text to write in place of a number, or of the JSON form of an object."""
    wanted = [typing.get_origin(one) or one for one in typing.get_args(hint) or (hint,)]
    if isinstance(value, str) and (float in wanted or int in wanted):
        plain = plain_number(value.strip(), whole=float not in wanted)
        return "" if plain is None else f". Write {plain}, without quotes"
    if isinstance(value, Mapping):
        for kind in wanted:
            if hasattr(kind, "from_json"):
                return f"; use dpopt.{kind.__name__}.from_json(...)"
    if hasattr(value, "reviewed"):
        return ". A draft is reviewed first: give draft.reviewed()"
    return ""


def types_of(kind: type) -> dict[str, Any]:
    """Return the types of the fields that a class declares, base classes included."""
    return {
        name: meaning_of(hint, base)
        for base in reversed(kind.__mro__)
        for name, hint in vars(base).get("__annotations__", {}).items()
    }


def meaning_of(annotation: Any, where: Any, *, extras: bool = False) -> Any:
    """Return the type that an annotation stands for; Any where it stands for none now."""
    if annotation is inspect.Parameter.empty:
        return Any
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    names = getattr(where, "__globals__", None) or vars(inspect.getmodule(where))
    try:
        one = types.SimpleNamespace(__annotations__={"one": annotation})
        return typing.get_type_hints(one, names, include_extras=extras)["one"]
    except (NameError, TypeError, AttributeError, SyntaxError):
        return Any


_NUMBERS: Mapping[Any, str] = {int: "__index__", float: "__float__"}


def _is(value: object, hint: Any) -> bool:
    """Return whether a value may stand where a type is expected; numbers of any library may."""
    origin, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_is(value, part) for part in parts)
    if origin is Any or not isinstance(origin, type):
        return True
    if origin in _NUMBERS:
        return hasattr(value, _NUMBERS[origin]) and not hasattr(value, "__len__")
    if getattr(origin, "_is_protocol", False) and not origin.__module__.startswith("collections"):
        return all(hasattr(value, name) for name in vars(origin) if not name.startswith("_"))
    if issubclass(origin, Iterable) and not issubclass(origin, str | Mapping):
        of_texts = isinstance(value, str | bytes | Mapping)
        return isinstance(value, Iterable) and not of_texts and _each_is(value, parts)
    return isinstance(value, origin)


def _each_is(values: Iterable[object], parts: tuple[Any, ...]) -> bool:
    """Return whether each of some values is of a type, if a list or a tuple declares them; else whether the first one is."""
    if not hasattr(values, "__len__") or parts[1:] not in ((), (...,)) or parts[:1] == (Any,):
        return True
    known = values if isinstance(values, list | tuple) else islice(values, 1)
    return all(_is(one, part) for part in parts[:1] for one in known)


def _of_type(value: object) -> str:
    name = type(value).__name__
    return name if value is None else f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    os.PathLike: "a path",
    types.NoneType: "None",
}


def _in_words(hint: Any) -> str:
    origin, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        said = list(dict.fromkeys(_in_words(part) for part in parts))
        return ", ".join(said[:-1]) + " or " + said[-1] if len(said) > 1 else said[0]
    if parts and isinstance(origin, type) and issubclass(origin, Iterable):
        return f"a sequence of {_in_words(parts[0])}"
    return _WORDS.get(origin) or str(getattr(origin, "__name__", origin))
