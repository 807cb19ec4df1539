"""The rounds of a run as a table: what each record is worth, how far from the best it can be, and who found it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpopt.releases.kept_records import Round

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {
    "round": "Int64",
    "draws": "Int64",
    "value": "Int64",
    "proven_bound": "Int64",
    "reported_bound": "Int64",
    "gap": "Int64",
    "seconds": "float64",
    "solver": "str",
    "answered_by": "str",
    "stopped": "str",
    "fallback": "str",
}
"""Columns of the table, and their types."""


def round_rows(rounds: Sequence[Round], solver: str, bounds: Mapping[int, Any] | None = None) -> list[dict[str, Any]]:
    """Return a row for each round.

    Parameters
    ----------
    solver
        The solver that the plan names.
    bounds : mapping of int to CertifiedRound, optional
        Bounds that were computed afterwards, by number of the round; they replace those of the run.
    """
    return [_row(one, solver, (bounds or {}).get(one.sampled.round)) for one in rounds]


def _row(played: Round, solver: str, later: Any | None) -> dict[str, Any]:
    found = played.certificate
    proven, reported = found.proven_bound, found.reported_bound
    if later is not None:
        proven = later.proven_bound
        known = [one for one in (reported, later.reported_bound) if one is not None]
        reported = min(known, default=None)
    known = [one for one in (proven, reported) if one is not None]
    return {
        "round": played.sampled.round,
        "draws": played.sampled.charge.count,
        "value": found.objective,
        "proven_bound": proven,
        "reported_bound": reported,
        "gap": None if found.objective is None else min(known) - found.objective,
        "seconds": played.solve_seconds,
        "solver": solver,
        "answered_by": played.solver,
        "stopped": played.stopped,
        "fallback": played.fallback,
    }


def rounds_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows of `round_rows` as a table, with all of its columns where there are no rows."""
    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=[*COLUMNS])
    return frame.astype({name: kind for name, kind in COLUMNS.items() if kind != "str"})
