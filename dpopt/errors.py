"""Every error that dpopt raises on purpose, one family, and its warnings.

Messages carry public values only and say what was found, what was expected and what to do. The one exception is
`PrivateDataError`, which may quote the table: it is for the owner's terminal and never crosses into a release.

They are written with options as in the shell (``--delta``, ``--no-predict``). Python shows them as the keywords that
they are (``delta=``, ``predict=False``), and the studio as its fields.
"""

from __future__ import annotations

import difflib
import inspect
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DOOR: ContextVar[str] = ContextVar("door", default="python")
_VALUES = (
    "add-remove", "baskets", "bits", "clip", "counts", "csv", "drop", "dualquery", "error", "marginals", "memory", "mwem",
    "noise", "npz", "other", "pairs", "parquet", "pmw", "projection", "pure", "queries", "records", "replace", "residuals",
    "selected", "stream", "waves", "zcdp",
)  # fmt: skip
"""Values of options that messages name."""
_FLAGS = ("accept_draft", "average")
FIELDS = {
    "n": "About how many records does the table have?",
    "n0": "The number of records, if it is public",
    "epsilon": "Epsilon",
    "delta": "Delta",
    "person": "The column that names a person",
    "rows_per_person": "The most rows of one person",
    "on_invalid": "How to handle values that do not fit",
    "budget": "A file with a budget over many releases",
    "workload": "The queries that the records keep accurate",
    "figures": "Questions that matter, one on each line",
    "target": "A column whose relationships matter most",
}
"""Options for which the studio has fields, and the headings of these fields."""
_OPTION = re.compile(
    rf"(?<![\w-])--(no-)?([a-z][a-z0-9-]*)"
    rf"(?: ((?:{'|'.join(_VALUES)}|[A-Z]+|\d+(?:[.,]\d+)*(?:e-?\d+)?)(?![\w-])))?"
)


@contextmanager
def named_as_in(door: str) -> Iterator[None]:
    """Show options in messages as the "shell", the "studio" or "python" names them while the body runs."""
    token = _DOOR.set(door)
    try:
        yield
    finally:
        _DOOR.reset(token)


def meant(found: str, known: Iterable[str], most: int = 1) -> str:
    """Return "; did you mean 'this'?" of the known texts that are most like another one; nothing if none is."""
    near = difflib.get_close_matches(found, list(known), n=most)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def counted(number: int, noun: str) -> str:
    """Return "1 row" or "2,000 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def visible(text: str, *, kept: str = "\n") -> str:
    r"""Return a text with the numbers of its signs that cannot be seen, and that a terminal would obey, in their place.

    >>> visible("a" + chr(0x202E) + chr(27) + "b")
    'a\\u202e\\u001bb'
    """
    return "".join(sign if sign.isprintable() or sign in kept else f"\\u{ord(sign):04x}" for sign in text)


def spoken(text: str) -> str:
    """Return a message as its reader names options: those of the shell, keywords of Python, or fields of the studio.

    >>> spoken("give --delta 0, --accept-draft or --no-predict; --on-invalid other reads all rows")
    "give delta=0, accept_draft=True or predict=False; on_invalid='other' reads all rows"
    """
    door = _DOOR.get()
    return text if door == "shell" else _OPTION.sub(_as_field if door == "studio" else _as_keyword, text)


def _as_keyword(found: re.Match[str]) -> str:
    negated, name, value = found[1], found[2].replace("-", "_"), found[3]
    if negated:
        return f"{name}=False" + ("" if value is None else f" {value}")
    if name in _FLAGS and value is None:
        return f"{name}=True"
    return f"{name}=" + ("" if value is None else repr(value) if value in _VALUES else value)


def _as_field(found: re.Match[str]) -> str:
    name, value = found[2].replace("-", "_"), "" if found[3] is None or found[3].isupper() else found[3]
    if found[1] or name not in FIELDS:
        return f"'{_as_keyword(found)}' (in Python or a shell, not in the studio)"
    return (f"'{value}' in " if value else "") + f"the field '{FIELDS[name]}'"


class DpoptError(Exception):
    """Root of every error of dpopt.

    Examples
    --------
    >>> import dpopt
    >>> try:
    ...     dpopt.Accountant("zcpd")
    ... except dpopt.DpoptError as error:
    ...     print(error)
    Accountant(): found 'zcpd'; expected one of pure, zcdp, gdp; did you mean zcdp?
    """

    def __str__(self) -> str:
        """Return the message, with options as the shell or as Python names them."""
        return spoken(super().__str__())


class ArgumentError(DpoptError, TypeError):
    """An argument of a kind that a function does not take."""


class ChoiceError(ArgumentError, ValueError):
    """A value that names no member of an enumeration."""


class SchemaError(DpoptError, ValueError):
    """A schema that cannot be used: unknown keys, duplicate names, bad bins, an undeclared attribute or value."""


class RulesError(SchemaError):
    """Rules on records that no record can obey together."""


class WorkloadError(DpoptError, ValueError):
    """A workload that cannot be built: unknown form, too many cells, an attribute twice in one clause."""


class QuestionError(DpoptError, ValueError):
    """A question to a release cannot be read, or is about something that the release does not have."""


class TreeError(DpoptError, ValueError):
    """A hierarchy that is no tree over the bins, or whose bins its measurements do not determine."""


class AccountingError(DpoptError, ValueError):
    """Privacy parameters for which no sound figure exists."""


class BudgetError(DpoptError, ValueError):
    """A charge that the ledger does not allow."""


class PlanError(DpoptError, ValueError):
    """A run that cannot be planned with the numbers given."""


class ProgramError(DpoptError, ValueError):
    """An optimization program whose arrays do not fit together."""


class PolynomialError(DpoptError, ValueError):
    """A target that cannot be approximated as asked, or a certificate that does not hold."""


class NoSolutionError(DpoptError, ValueError):
    """A solution was required of a result that holds none."""


class SolverUnavailableError(DpoptError, RuntimeError):
    """The solver asked for cannot run here; the message says why and how to get it."""


class TranscriptError(DpoptError, ValueError):
    """A transcript that is damaged or does not belong to its plan."""


class ReleaseFolderError(DpoptError, OSError):
    """A release folder that cannot be written, or is not of the kind that the command expects."""


class PrivacyBoundaryError(DpoptError, TypeError):
    """An attempt to take records out of the private side by a door that does not exist."""


class PrivateDataError(DpoptError, ValueError):
    """Something is wrong with the table. May quote private values: for the owner's terminal only, never stored."""


class DpoptWarning(UserWarning):
    """The request was fulfilled, and the user should know a fact about it; public values only."""

    def __str__(self) -> str:
        """Return the message, with options as the shell or as Python names them."""
        return spoken(super().__str__())


class PrivacyWarning(DpoptWarning):
    """The request protects less than a user could think."""


class AccuracyWarning(DpoptWarning):
    """The request is, by public values alone, worse than a cheaper one, or loses something that can be kept."""


def warn(what: DpoptWarning) -> None:
    """Raise a warning at the line that called dpopt."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(what, stacklevel=level)
