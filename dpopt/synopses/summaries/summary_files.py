"""The files of summaries: the statement and the noisy counts of each size."""

from __future__ import annotations

import os
from typing import Any

from dpopt.algorithms.stated_privacy import stated_privacy
from dpopt.releases.archives import Numbers, read_archive, write_archive
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan


def write_summary(summary: Summary, path: str | os.PathLike[str]) -> None:
    """Write a summary, whole or not at all; a file that is there is not replaced.

    Raises
    ------
    ReleaseFolderError
        If the file is there already, or cannot be written.
    """
    counts = {_name(size): noisy for size, noisy in zip(summary.plan.sizes, summary.noisy, strict=True)}
    write_archive(path, "summary", summary.statement(), counts)


def read_summary(path: str | os.PathLike[str]) -> Summary:
    """Read what `write_summary` wrote.

    Raises
    ------
    ReleaseFolderError
        If the file is missing.
    TranscriptError
        If it is no summary, or damaged.
    """
    return read_archive(path, "summary", "dpopt_summary", "'dpopt summary release'", _summary)


def _summary(statement: dict[str, Any], numbers: Numbers) -> Summary:
    plan = SummaryPlan.from_json(statement["plan"])
    privacy = stated_privacy(statement["privacy"], plan)
    conjunctions = plan.literals.groups.conjunctions
    return Summary(plan, tuple(numbers(_name(size), conjunctions(size)) for size in plan.sizes), privacy)


def _name(size: int) -> str:
    return f"conjunctions_of_{size}"
