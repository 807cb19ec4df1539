"""What a row of a comparison claims, held against what all rows together show."""

from __future__ import annotations

from dataclasses import replace

from dpopt.comparison.parts import Row

FALSE = "FALSE: "
"""Begins a remark on a claim that is not so."""
DEFECT = "DEFECT OF DPOPT: "
"""Begins a remark on a proof that a record disproves: no solver's fault."""


def judged(row: Row, best: int | None, proven_bound: int, stated_bound: int | None) -> Row:
    """Return the row with its remarks: claims that are not so, and what else a reader must know.

    Parameters
    ----------
    row
        What a solver did.
    best
        The largest exact objective that any solver reached, or that was known beforehand.
    proven_bound
        Upper bound that needs no solver's word.
    stated_bound
        The bound that the instance's file states, if any.
    """
    remarks = [f"{FALSE}{claim}; its answer is worth {_shown(row.value)}" for claim in row.contradicted]
    if best is not None:
        if row.reported_bound is not None and row.reported_bound < best:
            remarks.append(f"{FALSE}states the bound {row.reported_bound:,}, and {best:,} is reached")
        if row.status == "optimal" and row.value is not None and row.value < best:
            remarks.append(f"{FALSE}claims that {row.value:,} is optimal, and {best:,} is reached")
        if row.status in {"infeasible", "infeasible or unbounded", "unbounded"}:
            remarks.append(f"{FALSE}claims that the problem is {row.status}, and {best:,} is reached")
    if row.value is not None and stated_bound is not None and row.value > stated_bound:
        remarks.append(
            f"{FALSE}the file states that no record exceeds {stated_bound:,}, and {row.value:,} is reached"
        )
    if row.value is not None and row.value > proven_bound:
        remarks.insert(
            0,
            f"{DEFECT}the proven bound {proven_bound:,} is below a value that was reached, {row.value:,}: please report "
            "this, with the problem",
        )
    elif best is not None and best > proven_bound:
        remarks.append(
            f"the proven bound {proven_bound:,} is below {best:,}, which another solver reached or the file states: it "
            "proves nothing about this row"
        )
    elif row.value is not None and row.value == proven_bound:
        remarks.append("proven optimal")
    return replace(row, remarks=tuple(dict.fromkeys(remarks)))


def claims_what_is_not_so(row: Row) -> bool:
    """Return whether a row has a remark on a false claim."""
    return any(remark.startswith(FALSE) for remark in row.remarks)


def _shown(value: int | None) -> str:
    return "nothing" if value is None else f"{value:,}"
