"""The interface of every synopsis, and its file: an .npz archive with a statement and arrays of noisy numbers."""

from __future__ import annotations

import csv
import io
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, make_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.statement import Planned, spending_in_words, stated_privacy
from dpopt.arrays import freeze, frozen
from dpopt.errors import DpoptError, PlanError, ReleaseFolderError, TranscriptError, WorkloadError
from dpopt.files.array_files import ArrayFile, open_arrays
from dpopt.files.codec import decode, encode
from dpopt.files.json_files import json_list, json_object, parse_json, refuse_unknown_keys
from dpopt.files.written_files import check_new, whole_file
from dpopt.html_pages.shown import Shown
from dpopt.models.model import Solution
from dpopt.programs.solver import Solver
from dpopt.queries.ranges.bins import as_today
from dpopt.releases.declared_size import Total, contradiction
from dpopt.releases.descriptions.description import notes_of
from dpopt.releases.descriptions.verdict import Note, verdict_of_answers
from dpopt.releases.plan import refuse_removed
from dpopt.synopses.solved import Inference, Solved, solved_by

_PLAN = "the plan"


class SynopsisPlan:
    """A frozen dataclass, stored with every field, and with derived figures for people who read the file."""

    __slots__ = ()
    budget: Budget
    relation: NeighbouringRelation

    def derived(self) -> dict[str, Any]:
        """Return derived figures, as JSON."""
        return {"neighbours": self.budget.neighbours(self.relation)}

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {**encode(self), **self.derived()}

    @classmethod
    def from_json(cls, given: object) -> Self:
        """Read the output of `to_json`; derived figures are computed again."""
        stated = json_object(given, _PLAN, PlanError)
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]  # each plan is a dataclass
        plan = decode(cls, {name: stated[name] for name in names if name in stated}, _PLAN, PlanError)
        refuse_unknown_keys(stated, [*names, *plan.derived()], _PLAN, PlanError)
        return plan


_STATEMENT, _NOISY, _SOLVED = "statement", "noisy", "solved"
_MOST_BYTES, _LONGEST_STATEMENT = 2**32, 2**26  # of all arrays of a file, unpacked; of the statement
_DAMAGED = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError)


class Synopsis(Shown, ABC):
    """A release that answers queries without records. Everything it holds may be published."""

    KEY: ClassVar[str]
    """Whose value in the statement is 1, the version."""
    WHAT: ClassVar[str]
    """Its name, in words."""
    MADE_BY: ClassVar[str]
    """The command or function that releases it."""
    DECLARED: ClassVar[Mapping[str, Any]] = {}
    """The type of each field that the codec reads and writes, such as bins."""
    privacy: Mapping[str, Any]
    """The spending, charge by charge."""
    solved: tuple[Solved, ...] = ()
    """A solver's answers to the estimates that are models, if the release named one; the first is the default estimate.
    """

    @abstractmethod
    def _contents(self) -> list[str]:
        """Return its content, in short phrases."""

    def _error(self) -> tuple[str, float, bool] | None:
        """Return the kind of its answers, their predicted error, and whether that is a share; None if unknown."""
        return None

    @property
    def verdict(self) -> str:
        """The verdict: good and bad uses of the release in a sentence, from public and released values alone."""
        return verdict_of_answers(self._error())

    def _said(self) -> list[str]:
        return [*self._contents(), *(note.brief for note in self.notes()), *spending_in_words(self.privacy)]

    def totals(self) -> list[Total]:
        """Return the number of records by the noisy numbers; nothing if they determine none."""
        return []

    @property
    def contradiction(self) -> dict[str, Any] | None:
        """The number of records by the noisy numbers if they contradict the declared one; else None."""
        return contradiction(self.privacy, self.totals())

    def notes(self) -> list[Note]:
        """Return the warnings for a reader, such as a wrong number of records."""
        return notes_of({"privacy": self.privacy, "accuracy": {"size": self.contradiction}}, errors="leave that out")

    def inferences(self) -> Mapping[str, Inference]:
        """Return the estimates that are models, by name."""
        return {}

    def solved_by(self, solver: str | Solver, seconds: float | None = None) -> Self:
        """Return the release with its models solved by a solver; `closed-form` is one. Costs no privacy.

        Where the solver fails dpopt's own method stands in, and `solved` says so.
        """
        found = solved_by(self.inferences(), solver, seconds)
        return replace(self, solved=found)  # type: ignore[type-var]  # each kind is a dataclass

    def solution(self, estimate: str) -> Solution | None:
        """Return a solver's answer to an estimate, with its certificate: objective, violation and proven gap.

        Where the closed form stands in, it is that one's; None where there is no solution of the model.
        """
        known = self.inferences()
        for one in self.solved:
            if one.estimate == estimate and (not one.note or known[estimate].size.closed_form):
                return one.solution(known[estimate].model())
        return None

    def solved_in_words(self) -> list[str]:
        """Return a line for each estimate that a solver was asked for: by whom, and its gap to the optimum."""
        lines = []
        for one in self.solved:
            found = self.solution(one.estimate)
            parts = [f"{one.estimate}, asked of {one.solver}: {one.note}"] if one.note else []
            parts += [] if found is None else [f"{one.estimate} by {found}"]
            lines.append("; ".join(parts))
        return lines

    @cached_property
    def _found(self) -> dict[str, NDArray[np.float64]]:
        """The estimates as a solver found them, but for those where dpopt's own method stands in."""
        known, found = self.inferences(), {}
        for one in self.solved:
            if one.estimate not in known:
                refuse_removed("estimate", one.estimate)
                raise TranscriptError(f"found {one.estimate!r} solved; expected one of {', '.join(known)}")
            if not one.note:
                inference = known[one.estimate]
                found[one.estimate] = freeze(np.array(inference.read(one.values(inference.model()))))
        return found

    @classmethod
    def _of_statement(cls, stated: Mapping[str, Any], noisy: tuple[NDArray[np.int64], ...]) -> Self:
        """Return the release of a statement and its noisy numbers, with a solver's answers to them."""
        released = cls.of_parts(stated, noisy)
        if _SOLVED not in stated:
            return released
        parts = json_list(stated[_SOLVED], _SOLVED, TranscriptError)
        kept = [decode(Solved, one, _SOLVED, TranscriptError) for one in parts]
        if not kept:
            raise TranscriptError("found nothing solved; leave the key out")
        again: Self = replace(released, solved=tuple(kept))  # type: ignore[type-var]  # each kind is a dataclass
        _ = again._found
        return again

    def own_statement(self) -> dict[str, Any]:
        """Return the statement of this kind besides its privacy, as JSON: the declared fields."""
        return encode(self._declaration()(*(getattr(self, name) for name in self.DECLARED)))

    @classmethod
    def declared_in(cls, stated: Mapping[str, Any]) -> dict[str, Any]:
        """Return the declared fields of a statement by name."""
        parts = {name: stated[name] for name in cls.DECLARED if name in stated}
        parts |= {name: as_today(parts[name]) for name in {"axes", "bins"} & parts.keys()}
        found: dict[str, Any] = vars(decode(cls._declaration(), parts, f"the {cls.WHAT}", WorkloadError))
        return found

    @classmethod
    def known_keys(cls) -> tuple[str, ...]:
        """Return the entries of a statement, and of the JSON form of everything kept."""
        solved = () if cls.inferences is Synopsis.inferences else (_SOLVED,)
        return (cls.KEY, "privacy", *cls.DECLARED, _NOISY, *solved)

    @classmethod
    def _declaration(cls) -> type[Any]:
        return make_dataclass(f"Declared{cls.__name__}", cls.DECLARED.items())

    @abstractmethod
    def noisy_arrays(self) -> tuple[NDArray[np.int64], ...]:
        """Return the measured values."""

    @classmethod
    @abstractmethod
    def of_parts(cls, stated: Mapping[str, Any], noisy: tuple[NDArray[np.int64], ...]) -> Self:
        """Return the release of a statement and the measured values; raises its parts' errors if they are damaged."""

    def statement(self) -> dict[str, Any]:
        """Return all but the noisy numbers, as JSON."""
        solved = {_SOLVED: [encode(one) for one in self.solved]} if self.solved else {}
        return {self.KEY: 1, "privacy": dict(self.privacy), **self.own_statement(), **solved}

    def to_json(self) -> dict[str, Any]:
        """Return all that is kept, as JSON."""
        return {**self.statement(), _NOISY: [values.tolist() for values in self.noisy_arrays()]}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """Read the output of `to_json`; estimates are computed again."""
        cls._check_version(given)
        try:
            return cls._of_statement(given, tuple(frozen(values, np.int64) for values in given[_NOISY]))
        except _DAMAGED as error:
            if isinstance(error, TranscriptError):
                raise
            raise TranscriptError(f"the {cls.WHAT} on file is damaged: {error}") from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it as one .npz file, whole or not at all; a file that is there is not replaced."""
        target = Path(path)
        check_new(target)
        arrays: dict[str, Any] = {f"{_NOISY}_{place}": values for place, values in enumerate(self.noisy_arrays())}
        arrays[_STATEMENT] = np.frombuffer(json.dumps(self.statement()).encode(), dtype=np.uint8)
        with whole_file(target) as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read the output of `write`; the stated privacy is validated by its own plan."""
        source = _source(path, f"a {cls.WHAT} (--out of {cls.MADE_BY})")
        place = f"{source} is no {cls.WHAT}, or damaged"
        with open_arrays(source, place, TranscriptError, _MOST_BYTES) as stored:
            try:
                stated = _statement(stored)
                cls._check_version(stated)
                names = (f"{_NOISY}_{number}" for number in range(_number_of_arrays(stored)))
                return cls._of_statement(stated, tuple(_numbers(stored, name) for name in names))
            except DpoptError as problem:
                raise TranscriptError(f"{place}: {problem}") from problem

    @classmethod
    def _check_version(cls, stated: Mapping[str, Any]) -> None:
        if stated.get(cls.KEY) != 1:
            raise TranscriptError(f"found no {cls.WHAT} of this version; expected a file of {cls.MADE_BY}")
        refuse_unknown_keys(stated, cls.known_keys(), f"the {cls.WHAT}", TranscriptError)


class PlannedSynopsis(Synopsis):
    """A synopsis that keeps its plan, and the measurements of each of its levels or sizes."""

    PLAN: ClassVar[type[Any]]
    """The class of its plan."""
    plan: Planned
    noisy: tuple[NDArray[np.int64], ...]

    @classmethod
    def known_keys(cls) -> tuple[str, ...]:
        """Return the entries of a statement, including the plan."""
        return ("plan", *super().known_keys())

    @classmethod
    def read_plan(cls, given: Any) -> Planned:
        """Return the plan on file; whatever its reader raises."""
        plan: Planned = cls.PLAN.from_json(given)
        return plan

    def own_statement(self) -> dict[str, Any]:
        """Return the declared fields, and the plan, as JSON."""
        return {**super().own_statement(), "plan": self.plan.to_json()}

    def noisy_arrays(self) -> tuple[NDArray[np.int64], ...]:
        """Return the noisy numbers."""
        return self.noisy

    @classmethod
    def of_parts(cls, stated: Mapping[str, Any], noisy: tuple[NDArray[np.int64], ...]) -> Self:
        """Return the release of a statement and its noisy numbers."""
        plan = cls.read_plan(stated["plan"])
        privacy = stated_privacy(stated["privacy"], plan)
        return cls(plan=plan, noisy=noisy, privacy=privacy, **cls.declared_in(stated))  # type: ignore[call-arg]


def key_of(path: str | os.PathLike[str], keys: frozenset[str]) -> str:
    """Return which of these keys the statement of a file has."""
    source = _source(path, "the file of a release (--out)")
    with open_arrays(source, f"{source} is no release, or damaged", TranscriptError, _MOST_BYTES) as stored:
        found = sorted(keys.intersection(_statement(stored)))
    if len(found) != 1:
        raise TranscriptError(f"{source} is not a release of this version; expected the file of a release (--out)")
    return found[0]


def write_rows(path: str | os.PathLike[str], header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file, whole or not at all."""
    with whole_file(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(header)
        lines.writerows(rows)
        text.flush()
        text.detach()


def _source(path: str | os.PathLike[str], expected: str) -> Path:
    source = Path(path)
    if not source.is_file():
        reason = "it is a folder" if source.is_dir() else "there is no such file"
        raise ReleaseFolderError(f"cannot read {source}: {reason}; expected {expected}")
    return source


def _statement(stored: ArrayFile) -> dict[str, Any]:
    shape, kind = stored.header(_STATEMENT)
    if kind != np.uint8 or len(shape) != 1 or shape[0] > _LONGEST_STATEMENT:
        raise TranscriptError(
            f"the statement has the type {kind} and the shape {shape}; expected at most {_LONGEST_STATEMENT:,} bytes "
            f"of text"
        )
    text = bytes(stored.array(_STATEMENT)).decode()
    return json_object(parse_json(text, "its statement", TranscriptError), "it", TranscriptError)


def _number_of_arrays(stored: ArrayFile) -> int:
    number = 0
    while f"{_NOISY}_{number}" in stored:
        number += 1
    return number


def _numbers(stored: ArrayFile, name: str) -> NDArray[np.int64]:
    shape, kind = stored.header(name)
    if kind != np.int64:
        raise TranscriptError(f"found {name!r} of the type {kind} and the shape {shape}; expected int64")
    return freeze(stored.array(name))
