"""A released summary of decision lists: noisy counts of conjunctions, and answers at points with their bounds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import comb, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TranscriptError, WorkloadError
from dpopt.files.array_files import read_array, read_columns
from dpopt.files.codec import decode
from dpopt.files.json_files import json_object, parse_json
from dpopt.files.reading import read_text
from dpopt.queries.decision_lists.families import DeclaredRows, ListFamily
from dpopt.synopses.decision_lists.list_plan import BETA, ListPlan
from dpopt.synopses.synopsis import PlannedSynopsis


@dataclass(frozen=True, slots=True)
class ListAnswer:
    """Which share of the rows gives 1 at a point."""

    value: float
    """The estimate, between 0 and 1."""
    bound: float
    """How far it is off at most, with the probability `confidence`: the sum of the next and of the noise. Under
    add-remove for tables of at most n0 rows."""
    approximation: float
    """The polynomial's part of the error, for any table."""
    standard_error: float
    """That of the noise, or a little more."""
    confidence: float


@dataclass(frozen=True, eq=False, repr=False)
class ListSummary(PlannedSynopsis):
    """Noisy counts of conjunctions under differential privacy. Everything it holds may be published."""

    KEY = "dpopt_list_summary"
    WHAT = "summary of decision lists"
    MADE_BY = "'dpopt lists release'"
    PLAN = ListPlan
    plan: ListPlan
    noisy: tuple[NDArray[np.int64], ...]
    """The noisy counts of each counted size, in the order of `dpopt.queries.decision_lists.kernels`."""
    privacy: Mapping[str, Any]

    def __post_init__(self) -> None:
        for size, counts in zip(self.plan.sizes, self.noisy, strict=True):
            expected = self.plan.coefficients.conjunctions(size)
            if counts.shape != (expected,):
                raise TranscriptError(
                    f"found {counts.size:,} counts of conjunctions of {size} literals; expected {expected:,}"
                )

    def _error(self) -> tuple[str, float, bool]:
        return "shares of rows", self.plan.predicted, True

    def _contents(self) -> list[str]:
        family = self.plan.family
        return [f"{len(family.variables)} variables", f"{family.kind.value} of up to {family.length} literals"]

    def answer(self, point: str | NDArray[np.integer], *, confidence: float = 1.0 - BETA) -> ListAnswer:
        """Return which share of the rows gives 1 at a point, with its bound.

        Parameters
        ----------
        point : str or (m,) integers
            "x1=1,x2=0,..." with every variable, m digits, or an array of bits.
        """
        given = self.plan.family.point(point) if isinstance(point, str) else np.asarray(point)
        value = self.answers(given[None], cut=True)[0]
        return ListAnswer(
            value=float(value),
            bound=self.bound(confidence),
            approximation=self.plan.approximation,
            standard_error=self._standard_error,
            confidence=confidence,
        )

    def answers(self, points: NDArray[np.integer], *, cut: bool = True) -> NDArray[np.float64]:
        """Return the share of rows that give 1 at each of many points, bits (q, m); (q,), `cut` at 0 and 1 or not."""
        from dpopt.queries.decision_lists.kernels import values_at

        found = values_at(self._polynomial, self.plan.family.checked(points)) * self.plan.unit
        return np.asarray(np.clip(found, 0.0, 1.0) if cut else found, dtype=np.float64)

    def bound(self, confidence: float = 1.0 - BETA, points: int = 1) -> float:
        """Return a bound on the errors of answers at this number of points, for all of them with this probability."""
        if not 0.0 < confidence < 1.0 or points < 1:
            raise WorkloadError(
                f"the confidence must lie between 0 and 1, and be for one point at least; found {confidence!r} and "
                f"{points}"
            )
        return self.plan.approximation + self.plan.noise(1.0 - confidence, points)

    @property
    def _standard_error(self) -> float:
        each = self.plan.shares * (1.0 if self.plan.gaussian else sqrt(2.0))
        numbers = [comb(len(self.plan.family.variables), size) for size in self.plan.sizes]
        return sqrt(float(np.array(numbers, dtype=np.float64) @ each**2))

    @cached_property
    def _polynomial(self) -> list[NDArray[np.int64]]:
        from dpopt.queries.decision_lists.kernels import polynomial_in_bits

        counts = [np.zeros(0, dtype=np.int64)] * (self.plan.sizes[-1] + 1)
        for size, noisy in zip(self.plan.sizes, self.noisy, strict=True):
            counts[size] = noisy
        return polynomial_in_bits(counts, len(self.plan.family.variables))


_LOOKS_LIKE_A_FILE = (".txt", ".json", ".csv", "/", "\\")


def read_declaration(
    given: str | os.PathLike[str], length: int | None = None, kind: str | None = None, changes: int | None = None
) -> ListFamily:
    """Return the declared family: names in a text, or a file that has them, and numbers that the file may have.

    Names stand with commas between them ("x1..x30" for a range), or in a file: JSON with the keys variables, k, kind
    and changes, or text with one name on each line. Where the file says something else than the arguments, it is an
    error.
    """
    options = {"k": length, "kind": kind, "changes": changes}
    stated: dict[str, Any] = {"variables": os.fspath(given)}
    if Path(given).is_file():
        place = f"the declaration of variables {os.fspath(given)!r}"
        text = read_text(given, place, WorkloadError)
        stated = {"variables": text.split()}
        if text.lstrip().startswith("{"):
            stated = json_object(parse_json(text, place, WorkloadError), place, WorkloadError)
    elif any(part in os.fspath(given) for part in _LOOKS_LIKE_A_FILE):
        raise WorkloadError(f"there is no file {given}; expected names with commas between them, or a file of them")
    for key, value in options.items():
        if value is not None and stated.setdefault(key, value) != value:
            raise WorkloadError(f"{given} says {key} = {stated[key]!r}, and {value!r} was asked for; leave one out")
    if stated.get("k") is None:
        raise WorkloadError("the largest number of literals of a row is public and has to be declared: give --k")
    declared = decode(DeclaredRows, stated, "the declaration of rows", WorkloadError, partial=True)
    return ListFamily.of(declared.variables, declared.k, declared.kind, declared.changes)


def read_points(path: str | os.PathLike[str], family: ListFamily) -> NDArray[np.uint8]:
    """Read points, (q, m): a CSV file whose first line names every variable, in any order, or an .npy array of bits."""
    if Path(path).suffix == ".npy":
        return family.checked(read_array(path, f"{path} holds no points", WorkloadError))
    return family.checked(read_columns(path, family.variables, WorkloadError, named=True))
