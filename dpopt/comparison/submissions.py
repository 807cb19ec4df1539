"""Submitted records and dual bounds of an instance, checked in exact arithmetic: nothing rests on who sends them.

A record obeys the rules or not, and its objective is a sum of whole numbers. A bound comes with multipliers of the rows of
a linear relaxation; whatever they are, weak duality makes a bound of them (`dpopt.programs.duality`, statement and proof).
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpopt.comparison.instances import checked_record, read_instance
from dpopt.comparison.parts import shown
from dpopt.errors import ProgramError
from dpopt.files.codec import decode
from dpopt.files.json_files import read_json_object
from dpopt.models.best_responses.best_response import best_response
from dpopt.models.catalogue import instances
from dpopt.programs.duality import dual_bound, linear_relaxation
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.text import MPS_REPLACES, unlike
from dpopt.releases.solver_choice import formulation_named


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission: a record with its value (objective), multipliers with the bound that they prove, or both."""

    instance: str
    by: str
    on: dt.date
    how: str
    """Who found it, when, and by which solver within which limits."""
    value: int | None = None
    record: str | None = None
    """Codes of attributes, "3=5 7=1"; all others have code 0."""
    bound: int | None = None
    formulation: str = "per-literal"
    """That of the .mps file whose rows the multipliers belong to."""
    multipliers: Mapping[str, float] | None = None
    """By the name of the row, as solvers of that file (a minimization) give them; rows left out have 0."""


def check_submission(path: Path, file: Path | None = None) -> list[str]:
    """Return the findings about a submission in a JSON file; raise ProgramError with the reason if a claim is false.

    The instance is that of the catalogue with the name that is submitted, if no file of one is given.
    """
    what, header = f"the submission {path}", {"dpopt_submission": 1}
    sent = decode(
        Submission, read_json_object(path, what, ProgramError), what, ProgramError, header=header, partial=True
    )
    file = file or instances().get(sent.instance)
    if file is None or file.stem != sent.instance:
        raise ProgramError(f"there is no instance {sent.instance!r}; 'dpopt model list --json' lists the catalogue's")
    parts = (sent.record is None, sent.value is None, sent.bound is None, sent.multipliers is None)
    if parts[0] != parts[1] or parts[2] != parts[3] or all(parts):
        raise ProgramError("expected a record with its value, or multipliers with the bound that they prove, or both")
    known, found = read_instance(file), []
    if sent.value is not None:
        checked_record(sent.record, known.problem, sent.value)
        best = known.best_known
        news = "better than" if best is None or sent.value > best else "right, and no better than"
        found.append(f"{sent.instance}: the record of {sent.value:,} is {news} what is known: {shown(best)}")
    if sent.bound is not None:
        bound, best = _proven_bound(known.problem, sent), known.proven_bound
        if bound > sent.bound:
            raise ProgramError(f"the multipliers prove the bound {bound:,}; the submission claims {sent.bound:,}")
        news = "better than" if best is None or bound < best else "right, and no better than"
        found.append(f"{sent.instance}: the bound of {bound:,} is {news} what is proven: {shown(best)}")
    return found


def _proven_bound(problem: MaxCsp, sent: Submission) -> int:
    """Return the bound that the multipliers prove, rounded down, as every objective is whole."""
    model = best_response(problem, formulation_named(sent.formulation))
    names = unlike([name for block in model.rows.values() for name in block.names()], MPS_REPLACES)
    place, duals = {name: number for number, name in enumerate(names)}, np.zeros(len(names))
    for name, multiplier in (sent.multipliers or {}).items():
        if name not in place:
            raise ProgramError(
                f"there is no row {name!r:.60} in the {sent.formulation} program; the first is {names[0]!r}"
            )
        duals[place[name]] = -multiplier  # the file minimizes the negated objective
    proven = dual_bound(linear_relaxation(model.linear), duals)
    if proven is None:
        raise ProgramError("the multipliers prove nothing: they push a variable without a bound")
    return math.floor(proven)
