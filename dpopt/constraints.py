"""Constraints of public values, declared once in annotations: they hold for Python calls, options and files alike.

A dataclass that calls `constrain` in `__post_init__` refuses what its annotations rule out, whoever makes it: a caller,
the command line, or the codec. Refusals say what was found, and what is expected; they show the value.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from operator import ge, gt, le, lt
from sys import float_info
from typing import Any

from dpopt.arguments import meaning_of, plain
from dpopt.errors import DpoptError, meant

_SIDES = (("least", "of at least", ge), ("above", "above", gt), ("most", "at most", le), ("below", "below", lt))


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within a range, as an annotation: ``rounds: Annotated[int, Whole("the number of rounds")]``.

    Examples
    --------
    >>> Whole("the number of rounds", most=9)(3, DpoptError)
    3
    >>> Whole("the number of rounds")(0, DpoptError)
    Traceback (most recent call last):
    dpopt.errors.DpoptError: the number of rounds must be a whole number of at least 1, found 0
    """

    called: str = ""
    """Name in messages; the name of the field if left out."""
    least: int = 1
    most: int | None = None
    advice: str = ""
    """Advice if the value is too large."""

    def __call__(self, value: Any, error: type[DpoptError], name: str = "") -> int:
        """Return the number as Python's, also one of NumPy's, or raise `error`."""
        called, number = self.called or name, plain(value)
        if not isinstance(number, int) or isinstance(number, bool) or number < self.least:
            raise error(f"{called} must be a whole number of at least {self.least:,}, found {value!r}")
        if self.most is not None and number > self.most:
            advice = f"; {self.advice}" if self.advice else ""
            raise error(f"{called} must be at most {self.most:,}, found {number:,}{advice}")
        return number


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number within a range, as an annotation: ``seconds: Annotated[float, Number("the seconds", above=0)]``.

    Examples
    --------
    >>> Number("alpha", above=0, most=1)(1, DpoptError)
    1.0
    >>> Number("alpha", above=0, most=1)(True, DpoptError)
    Traceback (most recent call last):
    dpopt.errors.DpoptError: alpha must be a finite number above 0 and at most 1, found True
    """

    called: str = ""
    """Name in messages; the name of the field if left out."""
    least: float | Decimal | None = None
    above: float | Decimal | None = None
    most: float | Decimal | None = None
    below: float | Decimal | None = None
    decimal: bool = False
    """Whether it is a `Decimal`, and stays one."""

    def __call__(self, value: Any, error: type[DpoptError], name: str = "") -> Any:
        """Return the number, or raise `error`."""
        value = plain(value)
        bounds = [
            (words, holds, getattr(self, side)) for side, words, holds in _SIDES if getattr(self, side) is not None
        ]
        kind: Any = Decimal if self.decimal else int | float
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        if not is_number or not _is_finite(value) or not all(holds(value, bound) for _, holds, bound in bounds):
            expected = " and ".join(f"{words} {bound:g}" for words, _, bound in bounds)
            found = str(value) if isinstance(value, Decimal) else repr(value)
            raise error(f"{self.called or name} must be a finite number {expected}".rstrip() + f", found {found}")
        return value if self.decimal else float(value)


def _is_finite(value: float | Decimal) -> bool:
    return value.is_finite() if isinstance(value, Decimal) else abs(value) <= float_info.max


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some texts, as an annotation: ``measure: Annotated[str, OneOf("--measure", ("counts", "residuals"))]``."""

    called: str
    members: tuple[str, ...]

    def __call__(self, value: Any, error: type[DpoptError], name: str = "") -> str:
        """Return the text, or raise `error`."""
        if not isinstance(value, str) or value not in self.members:
            hint = meant(value, self.members) if isinstance(value, str) else ""
            members = [one or repr(one) for one in self.members]
            expected = " or ".join(members) if len(members) == 2 else f"one of {', '.join(members)}"
            raise error(f"{self.called or name} is {expected}; found {value!r}{hint}")
        return str(value)


@dataclass(frozen=True, slots=True)
class Array:
    """An array that is kept read-only, of the type in ``Annotated[NDArray[np.float64], Array(dimensions=1)]``.

    Arrays without it are kept read-only, too, of any shape and with any numbers.
    """

    dimensions: int | None = None
    finite: bool = False
    """Whether no number is infinite or NaN."""

    def of(self, kind: Any, value: Any, error: type[DpoptError], name: str) -> Any:
        """Return the array as one of a NumPy type, C-contiguous and read-only, without a change of any value."""
        from dpopt.arrays import all_finite, frozen

        try:
            array = frozen(value, kind)
        except (OverflowError, ValueError, TypeError) as problem:
            words = " (whole numbers)" if "int" in kind.__name__ else ""
            raise error(f"'{name}' must be an array of {kind.__name__}{words}: {problem}") from problem
        if self.dimensions not in {None, array.ndim}:
            expected = "a flat array" if self.dimensions == 1 else f"{self.dimensions}"
            raise error(f"'{name}' has {array.ndim} dimensions; expected {expected}")
        if self.finite and not all_finite(array):
            raise error(f"{name} must be finite")
        return array


Constraint = Whole | Number | OneOf


@functools.cache
def _constraints_of(kind: Any) -> tuple[tuple[str, bool, Callable[[Any, type[DpoptError], str], Any]], ...]:
    """Return the fields with constraints: name, whether it can be None, and the constraint."""
    found: list[tuple[str, bool, Callable[[Any, type[DpoptError], str], Any]]] = []
    for base in reversed(kind.__mro__):
        for name, annotation in vars(base).get("__annotations__", {}).items():
            field = kind.__dataclass_fields__.get(name)
            if field is None or not field.init:
                continue
            hint = meaning_of(annotation, base, extras=True)
            marks = getattr(hint, "__metadata__", ())
            if marks:
                hint = typing.get_args(hint)[0]
            parts = typing.get_args(hint) if typing.get_origin(hint) is types.UnionType else (hint,)
            optional, parts = types.NoneType in parts, tuple(part for part in parts if part is not types.NoneType)
            found += [(name, optional, one) for one in marks if isinstance(one, Constraint)]
            if parts == (bool,):
                found.append((name, optional, _truth))
            elif len(parts) == 1 and _is_array(parts[0]):
                declared = next((one for one in marks if isinstance(one, Array)), Array())
                number = typing.get_args(typing.get_args(parts[0])[1])[0]
                found.append((name, optional, functools.partial(declared.of, number)))
    return tuple(found)


def _truth(value: Any, error: type[DpoptError], name: str) -> bool:
    plain_value = plain(value)
    if not isinstance(plain_value, bool):
        raise error(f"'{name}' is true or false, found {value!r}")
    return plain_value


def _is_array(hint: Any) -> bool:
    return getattr(typing.get_origin(hint), "__module__", "") == "numpy"


def constrain(value: Any, error: type[DpoptError]) -> None:
    """Refuse, by `error`, a frozen dataclass with a field that its annotation rules out; keep the others in one form.

    Numbers become Python's, and arrays read-only ones of the declared type. To be called first in `__post_init__`.
    """
    kind: Any = type(value)
    for name, optional, constraint in _constraints_of(kind):
        given = getattr(value, name)
        if given is not None or not optional:
            object.__setattr__(value, name, constraint(given, error, name))
