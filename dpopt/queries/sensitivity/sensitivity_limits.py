"""How wide the tables of a sensitivity may be."""

from __future__ import annotations

WIDEST = 8
"""Literals of a clause whose set of attributes gets a table: 2^8 terms per clause."""
