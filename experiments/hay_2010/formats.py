"""How figures are written in the tables."""

from __future__ import annotations


def figure(number: float) -> str:
    """Return a figure to four digits, whole where it is large."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"
