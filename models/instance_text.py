"""An instance of the catalogue as the text of its .toml file; `dpopt.comparison.instances` reads it back."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from dpopt.comparison.instances import Instance
from dpopt.programs.max_csp import MaxCsp
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit

LAST = "tolerance = 0.0"  # the line after what is known
_HOW = re.compile("record: (.*); bound: (.*); proven bound: (.*)")


def dated(words: str) -> str:
    """Return who found something, and the day on which it is written down."""
    return f"{words}, {dt.date.today():%Y-%m-%d}"  # noqa: DTZ011  the finder's own day


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known of a larger instance, who says so, and since when.

    `bound`: no record can be better, as some solver reports (within its tolerance). `proven`: the same, by a proof whose
    every number was computed in exact arithmetic, outside the solver.
    """

    record: NDArray[np.int32]
    best: int
    found_by: str
    bound: int
    bound_by: str
    proven: int
    proven_by: str

    @classmethod
    def first(cls, problem: MaxCsp, record: NDArray[np.int32], found_by: str) -> Known:
        """Return what is known by a record alone."""
        most, by = problem.upper_bound(), dated("the sum of the positive weights")
        return cls(record, problem.objective(record), found_by, most, by, most, by)

    @classmethod
    def of(cls, instance: Instance) -> Known:
        """Return what a file states."""
        match = _HOW.fullmatch(str(instance.stated["how_known"]))
        proven = instance.stated["proven_bound"]
        assert match is not None
        assert instance.record is not None
        assert instance.best_known is not None
        assert instance.bound is not None
        assert isinstance(proven, int)
        found, bounded, shown = match.groups()
        return cls(instance.record, instance.best_known, found, instance.bound, bounded, proven, shown)

    def lines(self) -> list[str]:
        """Return the lines of the file."""
        if self.best == self.bound:
            values = [f"optimum = {self.best}"]
        else:
            values = [f"best_known = {self.best}", f"bound = {self.bound}"]
        how = f"record: {self.found_by}; bound: {self.bound_by}; proven bound: {self.proven_by}"
        return [
            *values,
            f"proven_bound = {self.proven}",
            f"how_known = {json.dumps(how)}",
            f'record = "{text_from_record(self.record)}"',
        ]


def text_from_clauses(clauses: Clauses, weights: NDArray[np.int64], accepted: Sequence[int] | None = None) -> str:
    """Return the text from which `dpopt.comparison.instances.clauses_from_text` reads these, with the same agreed numbers."""
    lines = []
    for row, weight in enumerate(weights.tolist()):
        used = clauses.attributes[row] >= 0
        literals = [
            f" {attribute}{'' if sign else '!'}{'' if value == 1 else f'={value}'}"
            for attribute, value, sign in zip(
                clauses.attributes[row][used].tolist(),
                clauses.values[row][used].tolist(),
                clauses.signs[row][used].tolist(),
                strict=True,
            )
        ]
        mask = int(clauses.accepted[row])
        numbers = [number for number in range(len(literals) + 1) if mask >> number & 1]
        agreed = [len(literals)] if accepted is None else sorted(set(accepted))
        own = "" if numbers == agreed else f" :{','.join(map(str, numbers))}"
        lines.append(f"{weight}{''.join(literals)}{own}\n")
    return "".join(lines)


def text_from_record(record: NDArray[np.int32]) -> str:
    """Return the text from which `record_from_text` reads this record."""
    named = np.flatnonzero(record)
    return " ".join(
        f"{attribute}" if code == 1 else f"{attribute}={code}"
        for attribute, code in zip(named.tolist(), record[named].tolist(), strict=True)
    )


def with_known(text: str, known: Known) -> str:
    """Return the text of a file with other lines on what is known."""
    title, _, rest = text.partition("\n")
    return "\n".join([title, *known.lines(), LAST + rest.partition(LAST)[2]])


def instance_text(title: str, problem: MaxCsp, known: Known, stated: Mapping[str, object]) -> str:
    """Return the text of a file: a title, what is known, further keys, the problem."""
    accepted = _agreed_numbers(problem.clauses)
    clauses = text_from_clauses(problem.clauses, problem.weights, accepted)
    lines = [f"# {title}", *known.lines(), LAST]
    lines += [f"{key} = {json.dumps(value)}" for key, value in stated.items()]
    lines += [f'fingerprint = "{problem.fingerprint()}"', "", "[problem]", f'sizes = "{_sizes(problem.sizes)}"']
    if accepted is not None:
        lines.append(f"accepted = {json.dumps(accepted)}")
    lines.append(f'clauses = """\n{clauses}"""')
    if problem.rules.number_of_rules:
        lines += ["", "[problem.rules]", *_rules(problem.rules)]
    return "\n".join(lines) + "\n"


def _agreed_numbers(clauses: Clauses) -> list[int] | None:
    """Return the accepted numbers that all clauses share; None if they are conjunctions, or not all alike."""
    widths = clauses.widths()
    if np.unique(widths).size != 1 or np.unique(clauses.accepted).size != 1:
        return None
    width, mask = int(widths[0]), int(clauses.accepted[0])
    return None if mask == 1 << width else [number for number in range(width + 1) if mask >> number & 1]


def _sizes(sizes: NDArray[np.int32]) -> str:
    runs = [(size, len(list(run))) for size, run in groupby(sizes.tolist())]
    return " ".join(str(size) if count == 1 else f"{count}*{size}" for size, count in runs)


def _rules(rules: ThresholdCircuit) -> list[str]:
    names = [f"names = {json.dumps(rules.names)}"]
    arrays = [field.name for field in fields(rules)][1:]
    return names + [f"{name} = {json.dumps(getattr(rules, name).tolist(), separators=(',', ':'))}" for name in arrays]
