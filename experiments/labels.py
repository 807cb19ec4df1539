"""What results call the algorithms of dpopt: projection onto counts, selected marginals and residuals have a name each."""

from __future__ import annotations

from typing import Any

MEASURED = {"projection": "counts", "adaptive": "selected", "residuals": "residuals"}
"""What projection measures, by the name of the results."""


def options_of(name: str) -> dict[str, Any]:
    """Return the options of `dpopt.release` that ask for what results call so."""
    if name in MEASURED:
        return {"algorithm": "projection", "measure": MEASURED[name]}
    return {"algorithm": name}


def words_of(name: str) -> list[str]:
    """Return the same for the command line."""
    return [word for option, value in options_of(name).items() for word in (f"--{option}", value)]
