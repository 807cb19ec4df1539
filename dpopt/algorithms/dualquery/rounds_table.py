"""The rounds of a run as a table: the value of each record, a bound on its gap to the best, and its solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpopt.releases.kept_records import Round

COLUMNS = dict.fromkeys(("round", "draws", "value", "proven_bound", "reported_bound", "gap"), "Int64")
COLUMNS |= {"seconds": "float64", **dict.fromkeys(("solver", "answered_by", "stopped", "fallback"), "object")}
"""Columns of the table, and their types."""


def round_rows(rounds: Sequence[Round], solver: str, bounds: Mapping[int, Any] | None = None) -> list[dict[str, Any]]:
    """Return a row for each round; `bounds` are `CertifiedRound`s by number, `solver` is the one that the plan names."""
    return [_row(one, solver, (bounds or {}).get(one.sampled.round)) for one in rounds]


def _row(played: Round, solver: str, later: Any | None) -> dict[str, Any]:
    found = played.certificate
    proven, stated = found.proven_bound if later is None else later.proven_bound, found.reported_bound
    reported = min((one for one in (stated, later and later.reported_bound) if one is not None), default=None)
    bound = min(one for one in (proven, reported) if one is not None)
    return {
        "round": played.sampled.round,
        "draws": played.sampled.charge.count,
        "value": found.objective,
        "proven_bound": proven,
        "reported_bound": reported,
        "gap": bound - (found.objective or 0),
        "seconds": played.solve_seconds if later is None else later.seconds,
        "solver": solver,
        "answered_by": played.solver,
        "stopped": played.stopped,
        "fallback": played.fallback,
    }
