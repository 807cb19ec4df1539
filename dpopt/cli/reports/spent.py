"""What a release of counts says of its privacy, in a line for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

_NOT_PRIVATE = "NOT PRIVATE: a part of the noise came from a seeded or scripted source"


def warn_if_not_private(privacy: Mapping[str, Any]) -> None:
    """Say on the error stream, beside answers, that they come from a release without a guarantee."""
    if not privacy.get("private", True):
        typer.echo(_NOT_PRIVATE, err=True)


def print_spent(privacy: Mapping[str, Any]) -> None:
    """Print what was spent under which neighbours, or that the release is not private."""
    from dpopt.cli.reports.reports import console, unit_told

    if not privacy["private"]:
        console().print(_NOT_PRIVATE)
        return
    at = f" at delta = {privacy['delta']:g}" if privacy["delta"] else ""
    epsilon, rho = _shown(privacy["epsilon"], 4), _shown(privacy["rho"], 6)
    console().print(
        f"spent: epsilon = {epsilon}{at} (rho = {rho}){unit_told(privacy)}, {privacy['neighbours']}"
    )


def _shown(spent: float, places: int) -> str:
    """Return what was spent with so many places, or in powers of ten where they would say too little."""
    return f"{spent:.{places}f}" if spent == 0.0 or spent >= 100 * 10.0**-places else f"{spent:.4g}"
