"""Whole numbers that users write in options."""

from __future__ import annotations

_MOST_DIGITS = 18  # thousands of digits are refused by Python, with another error


def whole_number(text: str) -> int | None:
    """Return the whole number of at least 0 that a text of up to 18 digits stands for, spaces around it; else None."""
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS else None
