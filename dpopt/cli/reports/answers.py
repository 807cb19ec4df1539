"""Answers from released histograms, with their errors, for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpopt.cli.reports.reports import console

if TYPE_CHECKING:
    from dpopt.synopses.histograms.range_answer import RangeAnswer


def answer_json(text: str, answer: RangeAnswer) -> dict[str, Any]:
    """Return an answer and what was asked, as JSON."""
    return {"range": text, **asdict(answer)}


def print_answers(heading: str, answers: Mapping[str, RangeAnswer], confidence: float) -> None:
    """Print a table of what was asked, with values, standard errors and intervals."""
    from rich.table import Table

    table = Table(
        heading, "records", "standard error", f"{100 * confidence:.12g}% interval", title_justify="left"
    )
    for text, answer in answers.items():
        interval = f"{answer.low:,.1f} to {answer.high:,.1f}"
        table.add_row(text, f"{answer.value:,.1f}", f"{answer.standard_error:,.1f}", interval)
    console().print(table)
