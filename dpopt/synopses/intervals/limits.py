"""Limits of numbers that a user gives of intervals and splits."""

from __future__ import annotations

from dpopt.errors import PlanError
from dpopt.synopses.histograms.tree_plan import LARGEST_DOMAIN

LARGEST_RECORDS = 2**40


def check_domain(bins: int) -> None:
    """Refuse a number of bins that is out of range.

    Raises
    ------
    PlanError
        If it is.
    """
    if not 2 <= bins <= LARGEST_DOMAIN:
        raise PlanError(f"intervals are of 2 to {LARGEST_DOMAIN:,} bins, found {bins:,}")


def check_records(size: int | None) -> None:
    """Refuse a public number of records that is missing or out of range.

    Raises
    ------
    PlanError
        If it is.
    """
    if size is None:
        raise PlanError(
            "thresholds are shares of a public number of records: give --n, the number of records under replace, or under "
            "add-remove a fixed public number near it"
        )
    if not 1 <= size <= LARGEST_RECORDS:
        raise PlanError(f"found the number of records {size:,}; expected 1 to {LARGEST_RECORDS:,}")


def check_unit(name: str, value: float) -> None:
    """Refuse a probability or share that does not lie between 0 and 1.

    Raises
    ------
    PlanError
        If it does not.
    """
    if not 0.0 < value < 1.0:
        raise PlanError(f"{name} must lie between 0 and 1, found {value!r}")
