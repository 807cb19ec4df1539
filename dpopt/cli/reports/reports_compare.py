"""The output of `dpopt compare` for people: a table for each case, and a summary by solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from rich.table import Table

from dpopt.cli.reports.reports import console, print_table, print_whole
from dpopt.comparison.compare import MARKS
from dpopt.comparison.parts import shown
from dpopt.comparison.tables import WITHIN, summary
from dpopt.errors import counted

if TYPE_CHECKING:
    from dpopt.comparison.parts import Comparison, Row


_OWN_WORD = "*"
_OF_MODELS = ("proven gap", "violation")


def report_case(comparison: Comparison, name: str, file: TextIO | None = None) -> None:
    """Print the rows of one case, on standard output if no other stream is given."""
    facts = next(facts for facts in comparison.facts if facts.name == name)
    rows = [row for row in comparison.rows if row.case == name]
    of_models = not facts.whole
    marks = [mark for mark in MARKS if mark <= (comparison.limits.seconds or 0.0)]
    stated = any(row.values_from == "history" and row.seconds > marks[0] for row in rows if marks)
    table = Table(
        "solver",
        *(f"{mark:g} s" for mark in marks),
        "value",
        "bound",
        "gap",
        *(_OF_MODELS if of_models else ()),
        "stopped",
        "seconds",
        "MB",
        title=f"{name}: {', '.join(f'{number:,} {what}' for what, number in facts.size.items())}; "
        + ("" if facts.proven_bound is None else f"proven bound {shown(facts.proven_bound)} ")
        + f"({facts.proven_by})"
        + (
            f"; the file states that no record exceeds {facts.stated_bound:,}" if facts.stated_bound is not None else ""
        ),
        title_justify="left",
    )
    for row in rows:
        values = dict(row.at_mark)
        # A run that had ended by a mark is known exactly there.
        words = [_OWN_WORD if row.values_from == "history" and mark < row.seconds else "" for mark in marks]
        own = (_small(facts.gap(row.value, row.proven_bound)), _small(row.violation))
        table.add_row(
            row.solver,
            *(_whole(values.get(mark), word) for mark, word in zip(marks, words, strict=True)),
            _whole(row.value),
            _whole(row.reported_bound),
            _whole(facts.gap(row.value, row.reported_bound)),
            *(own if of_models else ()),
            row.status,
            f"{row.seconds:.2f}",
            "–" if row.peak_memory_mb is None else f"{row.peak_memory_mb:,.0f}",
        )
    out = console()
    if file is not None:
        out.file = file
    print_whole(out, table)
    for row in rows:
        for remark in _remarks(row):
            out.print(f"{row.solver}: {remark}")
    if stated:
        out.print(
            f"{_OWN_WORD}: incumbents as the solver states them; other values are exact, each from a run with that "
            f"limit"
        )


def report_comparison(comparison: Comparison) -> None:
    """Print the summary by solver."""
    columns: dict[str, Callable[[dict[str, Any]], object]] = {
        "solver": lambda row: row["solver"],
        "answered": lambda row: f"{row['answered']} of {row['cases']}",
        "best value": lambda row: row["best_value_reached"],
        f"within {WITHIN:g} %": lambda row: row[f"within_{WITHIN:g}_per_cent"],
        "mean % below best": lambda row: _figure(row["mean_per_cent_below_best"], 3),
        "claims optimal": lambda row: row["claimed_optimal"],
        "proven optimal": lambda row: row["proven_optimal"],
        "false claims": lambda row: row["false_claims"],
        "median s": lambda row: _figure(row["median_seconds"], 2),
        "most MB": lambda row: _figure(row["largest_memory_mb"], 0),
    }
    print_table(
        [*columns],
        [[str(said(row)) for said in columns.values()] for row in summary(comparison)],
        title=f"{counted(len(comparison.facts), 'case')}, {comparison.limits.seconds:g} s each",
    )


def _remarks(row: Row) -> list[str]:
    remarks = [f"{row.status}: {row.detail}"] if row.status in {"refused", "unavailable", "failed"} else []
    return [*row.remarks, *remarks]


def _whole(value: float | None, mark: str = "") -> str:
    return "–" if value is None else f"{shown(value)}{mark}"


def _small(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
