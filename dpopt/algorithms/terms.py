"""The terms of a release of records: names, types, defaults and help, once for Python and the command line.

The fields of `ReleaseTerms` are the options of ``dpopt release`` (those of `PlanTerms` of ``dpopt plan``) and the
keywords of `dpopt.release`. `Keywords` says the same to type checkers, which read no dataclass as keywords; a test
compares the two.
"""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar, get_args, get_type_hints

from dpopt.errors import spoken

if TYPE_CHECKING:  # the help of the command line needs none of them
    from dpopt.private.readers.table_reading import Layout, OnInvalid, TableReading
    from dpopt.programs.solver import Solver

NEIGHBOURS = (
    "Which tables must be hard to tell apart: add-remove (default: one record is added or removed, and the number of "
    "records is private) or replace (one record is changed, and the number of records is public)."
)
Epsilon = Annotated[
    float | None,
    "Privacy budget epsilon: how much can be revealed about one record. 1 is common, smaller is more private.",
]
Delta = Annotated[
    float | None,
    "Probability that the promise of epsilon fails, well below 1/n. Default: 1e-9, or 1/n0^2 rounded down for a given n0. "
    "0 asks for pure differential privacy.",
]
Rho = Annotated[
    float | None,
    "Privacy budget rho of zero-concentrated differential privacy (zCDP), instead of --epsilon and --delta.",
]
N0 = Annotated[
    int | None,
    "Under add-remove: an approximate public number of records, chosen without looking at the table. Default: dpopt "
    "measures the number with 1 % of the budget. A wrong number makes all shares wrong; dpopt warns if released values "
    "show it, which those of dualquery, fem, pmw, smalldb, lists and sanitizers seldom do. With --person leave it out, "
    "or add --n0-counted if it is the number of counted rows (the first --rows-per-person of each person).",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTerms:
    """The terms of a plan, besides schema, workload, number of records and the options of an algorithm."""

    epsilon: Epsilon = None
    delta: Delta = None
    rho: Rho = None
    neighbours: Annotated[str | None, NEIGHBOURS] = None
    accountant: Annotated[
        str | None,
        "How costs are added up: zcdp (default); pure (epsilons add up; default for --delta 0); gdp (the tightest, but "
        "one constant is checked numerically, not proved).",
    ] = None
    n0: N0 = None
    density: Annotated[
        float | None,
        "Public share of ones in a table of zeros and ones, between 0 and 1 (average basket size / number of items). "
        "Predictions and the default rounds and draws depend on it; the release states it. Default: the layout decides "
        "whether dpopt treats a table as sparse.",
    ] = None
    values_share: Annotated[
        float | None,
        "Share of the budget that measures where numbers lie within their bins. 0: one number stands for each bin. "
        "Default: 0.02 if a bin of a numeric column holds several numbers.",
    ] = None
    predict: Annotated[
        bool, "--predict/--no-predict", "First predict the errors by simulation on public synthetic data."
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseTerms(PlanTerms):
    """The terms of a release beyond those of its plan: whether a draft can be used, and how records are written."""

    accept_draft: Annotated[bool, "Use a draft that nobody has reviewed; the release says so."] = False
    rows: Annotated[
        int | None, "How many rows to write. Default: the public number of records (--n0, or as measured)."
    ] = None
    weights: Annotated[bool, "Write distinct records with weights instead of rows."] = False
    format: Annotated[
        str | None,
        "Format of the records: csv or parquet (default: that of the table's file, else csv); for wide tables npz "
        "(default) or baskets.",
    ] = None


class ReadingKeywords(TypedDict, total=False):
    """The fields of `dpopt.TableReading`."""

    layout: Layout | str | None
    first_item: int | None
    pair_columns: tuple[int, int] | None
    header: bool
    separator: str | None
    quotes: bool | None
    multiline: bool | None
    decimal: str | None
    encoding: str | None
    column_names: Sequence[str] | None
    on_invalid: OnInvalid | str
    person: str | None
    rows_per_person: int | None
    thousands: str | None
    trim: bool | None
    n0_counted: bool


class AlgorithmKeywords(TypedDict, total=False):
    """The options of all algorithms (`dpopt.algorithms.options`), which check them. None: left out."""

    rounds: int | None
    draws: int | None
    step: Decimal | str | float | None
    gap: float | None
    formulation: str | Callable[[Any], object] | None
    solver: str | Solver | None
    work: int | None
    seconds: float | None
    seed: int | None
    free_attributes: str | None
    plan_by: str | None
    measure: str | None
    figures: str | os.PathLike[str] | Sequence[str] | None
    target: str | None
    selections: int | None
    records: int | None
    smoothing: float | None
    column_generation: int | None
    fit_seconds: float | None
    pricing_solver: str | None
    select: str | None
    update: str | None
    selection_share: float | None
    replays: int | None
    average: bool | None
    alpha: float | None


class Keywords(ReadingKeywords, AlgorithmKeywords, total=False):
    """Keywords of `dpopt.release` and `dpopt.plan`; `ReleaseTerms` documents its own."""

    epsilon: float | None
    delta: float | None
    rho: float | None
    neighbours: str | None
    accountant: str | None
    n0: int | None
    density: float | None
    values_share: float | None
    predict: bool
    accept_draft: bool
    rows: int | None
    weights: bool
    format: str | None
    reading: TableReading | None


_Function = TypeVar("_Function", bound=Callable[..., object])


def with_terms(function: _Function) -> _Function:
    """Put the list of terms into the docstring of a function, in place of its line ``{terms}``."""
    lines = [
        textwrap.fill(f"{name}: {spoken(get_args(hint)[-1])}", 120, subsequent_indent="    ")
        for name, hint in get_type_hints(ReleaseTerms, include_extras=True).items()
    ]
    function.__doc__ = inspect.cleandoc(function.__doc__ or "").replace("{terms}", "\n".join(lines))
    return function
