"""The state of one table: its draft, rules, plan, the process of its release, and the result.

A table lies in a private folder of the running studio, which is removed at its end, and releases in a folder of the
user's, which stays: what was paid for is never removed.
"""

from __future__ import annotations

import json
import secrets
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import dpopt
from dpopt.errors import DpoptError, PlanError, SchemaError
from dpopt.files.json_files import read_json_object
from dpopt.files.written_files import whole_file
from dpopt.html_pages.page import page
from dpopt.machine import kill_with_children
from dpopt.studio.forms import ColumnForm, rules_of

BESIDE = 1.0, 0.3, 3.0  # parts of epsilon for which errors are predicted, that of the plan first
ON_INVALID = {
    "": "the release is refused",
    "clip": "clip: numbers outside the bins go to the nearest bin; other values refuse the release",
    "other": "other: they count as the column's 'other' value, or as missing",
    "drop": "drop: their row is left out",
    "clip,other": "clip numbers to the nearest bin; other values count as 'other', or as missing",
    "clip,drop": "clip numbers to the nearest bin; a row with another value is left out",
}
"""Treatments of values that do not fit, as keywords of a release and as words."""
STEPS = {"steps.sh": "studio_steps.sh", "steps.ipynb": "studio_steps.json"}  # files, and their templates
ENDINGS = (".csv", ".csv.gz", ".tsv", ".txt", ".parquet", ".xlsx", ".sav", ".dta", ".sas7bdat")


def ending_of(name: str) -> str:
    """Return the ending of a file's name, by which it is read."""
    lower = name.lower()
    for ending in sorted(ENDINGS, key=len, reverse=True):
        if lower.endswith(ending):
            return ending
    raise PlanError(f"a table is a file that ends with one of {', '.join(ENDINGS)}; found {Path(name).name!r}")


@dataclass(slots=True)
class FormEntries:
    """The owner's entries, as typed; kept so that a form shows them again."""

    n: str = ""
    epsilon: str = "1"
    delta: str = ""
    workload: str = ""
    person: str = ""
    rows_per_person: str = ""
    budget: str = ""
    on_invalid: str = ""
    n0: str = ""
    figures: str = ""
    target: str = ""

    def reading(self) -> dict[str, Any]:
        """Return the unit of privacy, and the treatment of values that do not fit, as a release takes them."""
        person, rows = self.person.strip(), self.rows_per_person.strip()
        repairs = {"on_invalid": self.on_invalid} if self.on_invalid else {}
        if not person and not rows:
            return repairs
        if not person or not rows:
            raise PlanError(
                "to protect persons give both: the column that names a person, and the most rows of one person"
            )
        return {"person": person, "rows_per_person": _whole("the most rows of one person", rows), **repairs}

    def terms(self) -> dict[str, Any]:
        """Return the terms of a plan."""
        size = _whole("the number of records", self.n0 or self.n)
        found: dict[str, Any] = {"n0" if self.n0.strip() else "n": size}
        found |= self.reading()
        if self.delta.strip():
            found["delta"] = _number("delta", self.delta)
        return found | {"epsilon": _number("epsilon", self.epsilon)}

    def wanted(self) -> dict[str, Any]:
        """Return the workload, and the figures and the column that matter, where they are given."""
        lines = filter(None, map(str.strip, self.figures.splitlines()))
        found = {"workload": self.workload.strip(), "figures": [*lines], "target": self.target}
        return {name: one for name, one in found.items() if one}


def _number(what: str, text: str) -> float:
    try:
        found = float(text.encode("ascii"))
    except ValueError:
        raise PlanError(f"{what}: expected a number with a point, such as 1.5, found {text!r}") from None
    if not 0 <= found < 1e15:
        raise PlanError(f"{what}: expected a number from 0 on, found {text!r}")
    return found


def _whole(what: str, text: str) -> int:
    digits = text.replace(",", "").replace(" ", "")  # between thousands
    if not (digits.isascii() and digits.isdigit()):
        raise PlanError(f"{what}: expected a whole number, such as 45000, found {text!r}")
    return int(_number(what, digits))


@dataclass(slots=True)
class Table:
    """A table of this studio; its name may hold anything, and its pages are addressed by a random key."""

    key: str
    name: str
    path: Path
    place: Path  # the private folder for what belongs to it
    draft: dpopt.SchemaDraft
    schema: dpopt.Schema | None = None  # once the draft has been reviewed
    rules: str = ""  # as they were typed
    accepted: set[int] = field(default_factory=set)  # numbers of proposals of the draft, from 1
    reviewed: list[dict[str, Any]] = field(default_factory=list)
    asked: FormEntries = field(default_factory=FormEntries)
    plan: dpopt.Planned | None = None
    curve: list[dict[str, Any]] = field(default_factory=list)  # predicted errors for several epsilon
    because: str = ""
    advised: float | None = None  # the epsilon that `because` speaks for
    planning: int = 0  # the generation that is being planned; 0 if none is
    trouble: str = ""  # why the last planning has failed
    out: Path | None = None  # the folder of the release
    process: subprocess.Popen[bytes] | None = None  # of the release
    stopped: bool = False  # by the owner
    generation: int = 0  # of columns, rules and plan: it grows whenever one of them changes
    begun: dpopt.Schema | None = None  # of the release that was begun, as is `paid_from`
    paid_from: FormEntries = field(default_factory=FormEntries)
    changing: Lock = field(default_factory=Lock)  # held while one of these changes or a process is started

    @classmethod
    def opened(cls, path: Path, name: str, place: Path) -> Table:
        """Return a table with the draft of its schema; a column that names people with several rows is to be protected."""
        draft = dpopt.infer_schema(path)
        person = next((column.name for column in draft.columns if column.type == "unit of privacy"), "")
        return cls(secrets.token_urlsafe(9), name, path, place, draft, asked=FormEntries(person=person))

    def columns(self, *, drafted: bool = False) -> list[ColumnForm]:
        """Return the forms of all columns: as reviewed, or else as drafted."""
        declared = _declared(self.draft.schema if drafted or self.schema is None else self.schema)
        return [ColumnForm.of(column.name, declared.get(column.name)) for column in self.draft.columns]

    def review(self, columns: list[ColumnForm], seen: int) -> None:
        """Take the columns of a form as the schema that the owner has reviewed; rules that were declared stay."""
        drafted, names = _declared(self.draft.schema), {column.name for column in columns if column.kept}
        lengths = tuple(self.draft.dates.values())
        dates = _declared(dpopt.Schema(lengths)) if lengths else {}
        kept = []
        for column in (one for one in columns if one.kept):
            made = column.attribute(drafted.get(column.name))
            alone = made.get("after", column.name) not in names and column.name in dates
            kept.append(dates[column.name] if alone else made)
        if not kept:
            raise SchemaError("no column is kept; keep one at least")
        with self.changing:
            self._declare(kept, self.rules, self.accepted, seen)

    def rule(self, text: str, seen: int, accepted: set[int] | None = None) -> None:
        """Take rules, one JSON object on each line, and the numbers of the proposals that hold in general."""
        with self.changing:
            if self.schema is None:
                raise SchemaError("review the columns first")
            self._declare(self.reviewed, text, accepted or set(), seen)
            self.rules = text

    def _declare(self, attributes: list[dict[str, Any]], rules: str, accepted: set[int], seen: int) -> None:
        self._check(seen)
        if self.state == "running":
            raise PlanError("a release of this table is running with the columns as they are; stop it first")
        obj = {**self.draft.schema.to_json(), "draft": False, "attributes": attributes}
        proposed = [one.to_json(accept=i in accepted) for i, one in enumerate(self.draft.proposals, 1)]
        self.schema = dpopt.Schema.from_json({**obj, "proposed": proposed, "rules": rules_of(rules)})
        self.reviewed, self.accepted, self.plan, self.trouble = attributes, accepted, None, ""
        self.generation += 1

    def _check(self, seen: int) -> None:
        if seen != self.generation:
            raise PlanError(
                "the columns, the rules or the plan changed after this page was shown, perhaps in another tab; check "
                "them, and send the page again"
            )

    def begin_plan(self, asked: FormEntries) -> None:
        """Begin to plan a release and to predict errors for other epsilon; `planning` is 0 when that has ended."""
        with self.changing:
            if self.schema is None:
                raise SchemaError("review the columns first")
            self.generation += 1
            self.asked, self.plan, self.curve, self.planning, self.trouble = asked, None, [], 0, ""
            given = (self.schema, asked.wanted(), asked.terms(), self.generation)
            self.planning = self.generation
        Thread(target=copy_context().run, args=(self._plan, *given), daemon=True).start()

    def _plan(self, schema: dpopt.Schema, wanted: dict[str, Any], terms: dict[str, Any], begun: int) -> None:
        beside: list[dpopt.Planned] = []
        trouble = "the planning ended without a message, perhaps for lack of memory"
        try:
            algorithm = dpopt.Auto(figures=wanted.get("figures"), target=wanted.get("target"))
            for part in BESIDE:
                changed: Any = {**terms, "epsilon": float(f"{terms['epsilon'] * part:.6g}")}
                workload = beside[0].request.workload if beside else wanted.get("workload")
                beside.append(made := dpopt.plan(schema, workload, algorithm=algorithm, **changed))
                if self.planning == begun:
                    self.curve = sorted([*self.curve, _errors(made.row)], key=lambda row: float(row["epsilon"]))
            with self.changing:
                self._check(begun)
                self.advised, self.because = dpopt.recommended_epsilon(beside)
                self.plan, trouble = beside[0], ""  # last: a page shows the plan with its advice
        except DpoptError as problem:
            trouble = str(problem)
        finally:
            if self.planning == begun:
                self.trouble, self.planning = trouble, 0  # a page reads them in the other order

    def steps(self, file: str) -> str:
        """Return a file that does the steps of this table again: its schema, commands, or a notebook."""
        if self.schema is None or self.plan is None:
            raise PlanError("plan the release first")
        if file == "schema.json":
            return json.dumps(self.schema.to_json(), ensure_ascii=False, indent=1)
        terms = {**self.asked.terms(), **self.asked.wanted()}
        return steps_of(file, self.name, terms, self.asked.reading(), self.asked.budget)

    def start(self, folder: Path, seen: int, *, resumed: bool = False) -> None:
        """Start the process of the release, or of its continuation."""
        with self.changing:  # a button that is pressed twice starts one release
            if self.state == "running":
                raise PlanError("a release of this table is running; wait until it ends, or stop it")
            if resumed and not self.can_continue:
                raise PlanError("there is no release to continue")
            if resumed and self.schema != self.begun:
                raise PlanError(
                    "the columns or rules changed after this release began, and it would continue with the earlier ones; "
                    "plan a new release"
                )
            if not resumed:
                self._check(seen)
                if self.plan is None:
                    raise PlanError("plan the release first")
                self.begun, self.out, self.paid_from = self.schema, new_folder(folder, self.name), self.asked
                self.plan.save(self.place / "plan.json")
            for name in ("problem.txt", "progress.json"):
                (self.place / name).unlink(missing_ok=True)
            paths = {"table": self.path, "plan": self.place / "plan.json", "out": self.out}
            told = {**paths, "budget": self.paid_from.budget or None, "reading": self.paid_from.reading()}
            with whole_file(task := self.place / "task.json", private=True) as file:
                file.write(json.dumps({**told, "resumed": resumed}, default=str).encode())
            self.stop()  # closes what belongs to the last one
            self.stopped = False
            self.process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
                [sys.executable, "-m", "dpopt.studio.worker", str(task)],
                stdin=subprocess.PIPE,  # closed by the system when the studio ends: then the process ends itself
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def stop(self) -> None:
        """End the process; the draws so far are on file and paid."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.stopped = True
            kill_with_children(self.process.pid)
            self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()

    @property
    def state(self) -> str:
        """One of "planning", "running", "done", "stopped", "failed"."""
        if self.process is None:
            return "planning"
        code = self.process.poll()
        if code is None:
            return "running"
        return "done" if code == 0 else "stopped" if self.stopped else "failed"

    @property
    def can_continue(self) -> bool:
        """Whether the run has left a folder from which it goes on."""
        return self.out is not None and (self.out / "transcript.jsonl").exists() and self.state != "done"

    def progress(self) -> Mapping[str, Any]:
        """Return how far the process is: "stage", "share", "done", "notes"."""
        with suppress(PlanError):
            found: dict[str, Any] = read_json_object(self.place / "progress.json", "progress", PlanError)
            return found
        return {"stage": "starting", "share": None, "done": [], "notes": []}

    def problem(self) -> str:
        """Return why the process failed."""
        with suppress(OSError):
            return (self.place / "problem.txt").read_bytes().decode("utf-8", "replace")
        return "the process ended without a message, perhaps for lack of memory"


def _declared(schema: dpopt.Schema) -> dict[str, dict[str, Any]]:
    """Return the attributes of a schema by name, as its JSON has them."""
    listed: Any = schema.to_json()["attributes"]
    return {one["name"]: one for one in listed}


def _errors(row: Mapping[str, Any]) -> dict[str, Any]:
    baselines = {name: one["mean_error"] for name, one in row["baselines"].items()}
    least = min(baselines, key=lambda name: baselines[name], default=None)
    return {**row, "baseline": None if least is None else baselines[least], "baseline_name": least}


def new_folder(folder: Path, name: str) -> Path:
    """Return a folder that is not there yet, named after the table in plain letters."""
    plain = "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in name.lower()).strip("-")
    number, stem = 1, (plain[:40].strip("-") or "table")
    while (folder / f"{stem}-{number}").exists():
        number += 1
    return folder / f"{stem}-{number}"


def steps_of(file: str, name: str, plan: Mapping[str, Any], release: Mapping[str, Any], budget: str) -> str:
    """Return a file of `STEPS` for a table of this name, given the keywords of `dpopt.plan` and `dpopt.release`."""
    filters: dict[str, Callable[..., str]] = {
        "options": _options,
        "keywords": _keywords,
        "quoted": shlex.quote,
        "written": repr,
    }
    return page(STEPS[file], filters, name=name, plan=plan, release=release, budget=budget)


def _options(given: Mapping[str, Any]) -> str:
    texts = {name: "questions.txt" if isinstance(one, list) else str(one) for name, one in given.items()}
    return "".join(f" --{name.replace('_', '-')} {shlex.quote(text)}" for name, text in texts.items())


def _keywords(given: Mapping[str, Any]) -> str:
    return "".join(f", {name}={one!r}" for name, one in given.items())
