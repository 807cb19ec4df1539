"""Objects that hold records behind a closed door: no public attribute reveals the records."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, Self, TypeVar

from dpopt.errors import PrivacyBoundaryError


class StaysHere:
    """The base of classes that work on records or exact answers without holding records."""

    def __reduce__(self) -> NoReturn:
        raise PrivacyBoundaryError(
            f"a {type(self).__name__} holds records or exact answers and stays in the process: no pickling, no copies"
        )


class Closed:
    """Records that stay here; the base of every type that holds some.

    Printing shows neither values nor numbers; converting, iterating, measuring, indexing, copying and pickling are
    refused. Two of them are equal only if they are the same object.
    """

    __slots__ = ("__weakref__", "_rows")
    _rows: int  # number of records

    def __init__(self, *_: object, **__: object) -> None:
        _refuse(self, "an empty one was asked for; make it with read_table(...) or by a method of its own")

    @classmethod
    def _holding(cls, **held: object) -> Self:
        """Return a holder of these values, by the names of its slots; only methods of the type call it."""
        made = object.__new__(cls)
        for name, value in held.items():
            object.__setattr__(made, name, value)
        return made

    @property
    def _public(self) -> object:
        """The public facts about these records: all that a charge can depend on except scale and relation."""
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: contents refused>"

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        if specification:
            _refuse(self, "it cannot be formatted")
        return repr(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        _refuse(self, f"its {name!r} cannot be set; it never changes")

    def __delattr__(self, name: str) -> NoReturn:
        _refuse(self, f"its {name!r} cannot be deleted; it never changes")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        _refuse(self, "it cannot become an array")

    def __iter__(self) -> NoReturn:
        _refuse(self, "its records cannot be listed")

    __reversed__ = __iter__

    def __contains__(self, item: object) -> NoReturn:
        _refuse(self, "whether it holds a record is not public")

    def __len__(self) -> NoReturn:  # noqa: PLE0303
        _refuse(self, "its number of records is not public; where it is public, the plan says it")

    def __bool__(self) -> NoReturn:  # noqa: PLE0304
        _refuse(self, "whether it is empty is not public; compare with None by 'is None'")

    def __getitem__(self, key: object) -> NoReturn:
        _refuse(self, "its records cannot be read")

    def __reduce__(self) -> NoReturn:
        _refuse(self, "it cannot be pickled or sent to another process")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        _refuse(self, "it cannot be pickled or sent to another process")

    __getstate__ = __reduce__

    def __copy__(self) -> NoReturn:
        _refuse(self, "it cannot be copied")

    def __deepcopy__(self, memo: object) -> NoReturn:
        _refuse(self, "it cannot be copied")


def _refuse(holder: Closed, what: str) -> NoReturn:
    raise PrivacyBoundaryError(
        f"a {type(holder).__name__} keeps its records: {what}. Answers about them come from the curator, which charges "
        f"for them."
    )


_Records = TypeVar("_Records", bound=Closed)

_Public = TypeVar("_Public")


class Declared(Closed, Generic[_Records, _Public]):
    """Records and a declaration behind a closed door; a subclass defines which fit together, and how they are counted."""

    __slots__ = ("_counts", "_public", "_records")
    _records: _Records
    _public: _Public
    _counts: Any  # None until they are made

    @classmethod
    def of(cls, records: _Records, public: _Public) -> Self:
        """Combine a declaration with the records that it was made for."""
        cls._check(records, public)
        return cls._holding(_records=records, _public=public, _rows=records._rows, _counts=None)

    @classmethod
    def _check(cls, records: _Records, public: _Public) -> None:
        """Refuse a declaration and records that do not fit together."""

    def _keep(self, counts: object) -> None:
        object.__setattr__(self, "_counts", counts)
