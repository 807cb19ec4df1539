"""What a release of counts says of its privacy, in a line for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def print_spent(privacy: Mapping[str, Any]) -> None:
    """Print what was spent under which neighbours, or that the release is not private."""
    from dpopt.cli.reports import console

    if not privacy["private"]:
        console().print("NOT PRIVATE: a part of the noise came from a seeded or scripted source")
        return
    at = f" at delta = {privacy['delta']:g}" if privacy["delta"] else ""
    epsilon, rho = _shown(privacy["epsilon"], 4), _shown(privacy["rho"], 6)
    console().print(f"spent: epsilon = {epsilon}{at} (rho = {rho}), {privacy['neighbours']}")


def _shown(spent: float, places: int) -> str:
    """Return what was spent with so many places, or in powers of ten where they would say too little."""
    return f"{spent:.{places}f}" if spent == 0.0 or spent >= 100 * 10.0**-places else f"{spent:.4g}"
