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
    console().print(
        f"spent: epsilon = {privacy['epsilon']:.4f}{at} (rho = {privacy['rho']:.6f}), {privacy['neighbours']}"
    )
