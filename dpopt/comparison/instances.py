"""Instances of the catalogue in models/: a best-response problem as a TOML file.

A file states ``problem.sizes`` (number of codes of each attribute) and ``problem.clauses``, a list of tables:

    weight     whole number, not 0
    literals   list of [attribute, "=" or "!=", code], attributes and codes numbered from 0
    negated    true for the negation of the conjunction (default false)
    accepted   list of the numbers of true literals that make the clause true, in place of `negated`

Larger instances are compact: sizes are text such as "20 3 8*2" (c*n: c attributes of n codes), clauses are text with a
line for each: its weight, its literals "attribute=code" or "attribute!=code" (without "=code": code 1), and the
accepted numbers of true literals after a colon, where they are not those that ``problem.accepted`` gives for the whole
text:

    2 17=3 20! 35=0
    -1 4 17!=3 :0,1

``problem.rules`` are hard rules, one array for each parameter of
`dpopt.schema.rules.threshold_circuit.ThresholdCircuit`.

Beside the problem stands what is known of it: ``optimum`` and ``how_known``; where the optimum is not known,
``best_known`` and ``bound`` (no record can be better); and ``record``, a record of that objective ("3=5 7": all other
attributes have code 0). Other keys (how the instance was made, fingerprints) are kept as they are.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError, SchemaError, WorkloadError
from dpopt.files.codec import decode
from dpopt.files.reading import read_text
from dpopt.programs.max_csp import LARGEST_TOTAL_WEIGHT, MaxCsp
from dpopt.queries.clauses import LARGEST_WIDTH, Clauses
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit

_LINE = re.compile(r"(-?\d{1,18})((?: \d{1,9}(?:!?=\d{1,9}|!)?)*)(?: :((?:\d{1,2}(?:,\d{1,2})*)?))?")
_LITERAL = re.compile(r"(\d+)(!?)(?:=(\d+))?")
_RECORD = re.compile(r"(?:\d{1,9}(?:=\d{1,9})?(?:\s+|$))*")


_Parsed: TypeAlias = tuple[int, list[tuple[int, bool, int]], Sequence[int] | None]
"""Weight, literals (attribute, whether it has the code, code), accepted numbers of true literals; None: all."""


def clauses_from_text(text: str, accepted: Sequence[int] | None) -> tuple[Clauses, NDArray[np.int64]]:
    """Return the clauses of a text, and their weights (m,); clauses that name no numbers accept these, or are AND."""
    parsed = []
    for row, line in enumerate(text.strip("\n").splitlines()):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ProgramError(f"clause {row} is {line!r:.60}; expected a weight and literals such as '2 17=3 20!=5'")
        weight, found, own = match.groups()
        numbers = accepted if own is None else [int(number) for number in own.split(",") if number]
        literals = [(int(name), not negated, int(code or 1)) for name, negated, code in _LITERAL.findall(found)]
        parsed.append((int(weight), literals, numbers))
    return _clauses(parsed)


def record_from_text(text: str, attributes: int) -> NDArray[np.int32]:
    """Return the record (d,) that a text of "attribute=code" gives; attributes that it leaves out have code 0."""
    if _RECORD.fullmatch(text.strip()) is None:
        raise ProgramError(f"a record is text such as '3=5 7=1'; found {text!r:.60}")
    record = np.zeros(attributes, dtype=np.int32)
    for attribute, _, code in _LITERAL.findall(text):
        if int(attribute) >= attributes:
            raise ProgramError(f"the record names attribute {attribute}; there are {attributes}")
        record[int(attribute)] = int(code or 1)
    return record


def _clauses(parsed: Sequence[_Parsed]) -> tuple[Clauses, NDArray[np.int64]]:
    """Return clauses and their weights (m,)."""
    widths = np.array([len(literals) for _, literals, _ in parsed], dtype=np.int64)
    width = max(1, int(widths.max(initial=0)))
    if width > LARGEST_WIDTH:
        raise ProgramError(f"clause {int(widths.argmax())} has more than {LARGEST_WIDTH} literals")
    used = np.arange(width) < widths[:, None]
    flat = [literal for _, literals, _ in parsed for literal in literals]
    attributes = np.full(used.shape, -1, dtype=np.int32)
    values, signs = np.zeros(used.shape, dtype=np.int32), np.zeros(used.shape, dtype=np.bool_)
    attributes[used] = [attribute for attribute, _, _ in flat]
    values[used] = [code for _, _, code in flat]
    signs[used] = [equal for _, equal, _ in flat]
    masks = []
    for row, (_, literals, accepted) in enumerate(parsed):
        numbers = [len(literals)] if accepted is None else accepted
        if any(not 0 <= number <= len(literals) for number in numbers):
            raise ProgramError(f"clause {row}: accepted numbers of true literals lie between 0 and {len(literals)}")
        masks.append(sum(1 << number for number in set(numbers)))
    weights = np.array([weight for weight, _, _ in parsed], dtype=np.int64)
    return Clauses(attributes, values, signs, np.array(masks, dtype=np.uint32)), weights


LARGEST_TOTAL = 10_000_000
"""Codes of all attributes together."""
_SIZES = re.compile(r"(?:(\d{1,9})\*)?(\d{1,9})")


@dataclass(frozen=True, slots=True)
class _ClauseTable:
    """A clause as a file states it in a table."""

    weight: int
    literals: tuple[tuple[int, Literal["=", "!="], int], ...]
    negated: bool | None = None
    accepted: tuple[int, ...] | None = None

    def parsed(self, number: int) -> _Parsed:
        """Return weight, literals and accepted numbers of true literals; `number` of the clause, for messages."""
        if self.negated is not None and self.accepted is not None:
            raise ProgramError(f"clause {number}: accepted stands in place of negated; give one of them")
        if abs(self.weight) >= LARGEST_TOTAL_WEIGHT:
            raise ProgramError(f"clause {number}: the weight is 2**62 or more; scale the weights down")
        for attribute, _, code in self.literals:
            if not (0 <= attribute < LARGEST_TOTAL and 0 <= code < LARGEST_TOTAL):
                raise ProgramError(
                    f"clause {number}: attributes and codes are numbered from 0 to less than {LARGEST_TOTAL:,}; found "
                    f"{attribute} and {code}"
                )
        literals = [(attribute, relation == "=", code) for attribute, relation, code in self.literals]
        return self.weight, literals, range(len(literals)) if self.negated else self.accepted


@dataclass(frozen=True, slots=True, eq=False)
class _ProblemTable:
    """The problem as a file states it."""

    sizes: str | tuple[int, ...]
    clauses: str | tuple[_ClauseTable, ...]
    accepted: tuple[int, ...] | None = None
    rules: ThresholdCircuit = NO_RULES


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A best-response problem and its known values."""

    name: str
    """Name of the file without its ending."""
    problem: MaxCsp
    """The problem."""
    optimum: int | None
    """Its optimum, where that is known."""
    best_known: int | None
    """The largest known objective: the optimum, or the one that the file states."""
    stated: Mapping[str, object]
    """Everything else in the file."""
    bound: int | None = None
    """The smallest known bound on all objectives: the optimum, or the one that the file states."""
    record: NDArray[np.int32] | None = None
    """Shape (d,). A record of the largest known objective, where the file states one."""

    @property
    def proven_bound(self) -> int | None:
        """The smallest bound that is proven in exact arithmetic, where the file states one."""
        return _whole_or_none(dict(self.stated), "proven_bound")


def read_instance(path: Path) -> Instance:
    """Read one instance."""
    if not path.is_file():
        raise ProgramError(f"{path} is no file that can be read (a folder, a device, or a link to nothing)")
    text = read_text(path, f"{path}", ProgramError)
    try:
        stated: dict[str, object] = tomllib.loads(text)
    except RecursionError:
        raise ProgramError(f"{path} is no instance: its lists or tables are nested too deeply") from None
    except ValueError as problem:  # no TOML, or a number of thousands of digits
        raise ProgramError(f"{path} is no TOML file: {problem}") from problem
    try:
        program = _problem(stated.pop("problem", {}))
        optimum, best, bound = _known(stated)
        record = checked_record(stated.pop("record", None), program, best)
    except (ProgramError, SchemaError, WorkloadError, ValueError, TypeError, OverflowError) as problem:
        raise ProgramError(f"{path}: {problem}") from problem
    except (RecursionError, MemoryError) as problem:
        raise ProgramError(f"{path} is too large or nested too deeply: {type(problem).__name__}") from None
    return Instance(path.stem, program, optimum, best, stated, bound, record)


def _problem(stated: object) -> MaxCsp:
    given = decode(_ProblemTable, stated, "problem", ProgramError, partial=True)
    if isinstance(given.clauses, str):
        clauses, weights = clauses_from_text(given.clauses, given.accepted)
    elif given.accepted is None:
        clauses, weights = _clauses([row.parsed(number) for number, row in enumerate(given.clauses)])
    else:
        raise ProgramError("problem.accepted goes with clauses as text only")
    return MaxCsp(_sizes(given.sizes), clauses, weights, given.rules)


def _known(stated: dict[str, object]) -> tuple[int | None, int | None, int | None]:
    """Return optimum, best known objective and bound."""
    optimum, best = _whole_or_none(stated, "optimum"), _whole_or_none(stated, "best_known")
    bound = _whole_or_none(stated, "bound")
    if optimum is not None:
        return optimum, optimum, optimum
    if best is not None and bound is not None and bound < best:
        raise ProgramError(f"the bound {bound} is below the best known objective {best}")
    return None, best, bound


def _sizes(stated: str | tuple[int, ...]) -> NDArray[np.int32]:
    if not isinstance(stated, str):
        _check_total(sum(max(1, size) for size in stated))
        return np.array(stated, dtype=np.int32)
    parts = [_SIZES.fullmatch(part) for part in stated.split()]
    if None in parts:
        raise ProgramError("problem.sizes is a list of whole numbers, or text such as '20 3 8*2'")
    numbers = [match.groups("1") for match in parts if match is not None]
    _check_total(sum(int(count) * max(1, int(size)) for count, size in numbers))
    return np.repeat(np.array([int(size) for _, size in numbers], dtype=np.int32), [int(count) for count, _ in numbers])


def _check_total(codes: int) -> None:
    """Refuse, before anything is allocated, more codes than any solver could take."""
    if codes > LARGEST_TOTAL:
        raise ProgramError(f"problem.sizes gives {codes:,} codes in all; an instance has at most {LARGEST_TOTAL:,}")


def checked_record(stated: object, program: MaxCsp, best: int | None) -> NDArray[np.int32] | None:
    """Return the record that a file states, once its objective is the one stated."""
    if stated is None:
        return None
    if not isinstance(stated, str):
        raise ProgramError(f"record is text such as '3=5 7=1'; found {stated!r:.40}")
    record = record_from_text(stated, program.number_of_attributes)
    broken = program.broken_rules(record)
    if broken:
        raise ProgramError(f"the record breaks the rule {broken[0]!r}")
    objective = program.objective(record)
    if objective != best:
        raise ProgramError(f"the record has objective {objective}; stated is {best}")
    return record


def _whole_or_none(stated: dict[str, object], key: str) -> int | None:
    value = stated.pop(key, None)
    if value is None or type(value) is int:
        if value is not None and abs(value) >= LARGEST_TOTAL_WEIGHT:
            raise ProgramError(f"{key} is 2**62 or more in size, which no objective is")
        return value
    raise ProgramError(f"{key} is a whole number; found {value!r:.40}")
