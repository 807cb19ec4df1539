"""Records beside the public declaration of what is measured of them, and their exact counts, which are made once."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

from dpopt.private.tables.closed import Closed

_Records = TypeVar("_Records", bound=Closed)
_Public = TypeVar("_Public")


class Declared(Closed, Generic[_Records, _Public]):
    """Records and a declaration behind a closed door; a subclass says which fit together, and what is counted.

    Raises
    ------
    PrivateDataError
        If records and declaration do not fit together.
    """

    __slots__ = ("_counts", "_public", "_records")
    _records: _Records
    _public: _Public
    _counts: Any  # None until they are made

    @classmethod
    def of(cls, records: _Records, public: _Public) -> Self:
        """Put a declaration beside the records that it was made for."""
        cls._check(records, public)
        made = object.__new__(cls)
        object.__setattr__(made, "_records", records)
        object.__setattr__(made, "_public", public)
        object.__setattr__(made, "_rows", records._rows)
        object.__setattr__(made, "_counts", None)
        return made

    @classmethod
    def _check(cls, records: _Records, public: _Public) -> None:
        """Refuse what does not fit together."""

    def _keep(self, counts: object) -> None:
        object.__setattr__(self, "_counts", counts)
