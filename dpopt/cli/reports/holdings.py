"""The content of a file or folder that dpopt wrote: one table of kinds, for `dpopt inspect`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpopt.algorithms.planned import read_planned
from dpopt.algorithms.registry import read_plan
from dpopt.algorithms.release_folder import read_begun
from dpopt.algorithms.replay import read_release
from dpopt.errors import DpoptError, ReleaseFolderError
from dpopt.files.json_files import read_json_object
from dpopt.files.reading import damage_as, open_file
from dpopt.polynomials.minimax import read_solution
from dpopt.queries.workloads.workload import workload_from_json
from dpopt.releases.folder_files import PLAN, RELEASE, REQUEST, SCHEMA, TRANSCRIPT, read_json
from dpopt.releases.kept_records import round_rows
from dpopt.schema.schema import Schema
from dpopt.synopses.any_synopsis import read_synopsis
from dpopt.synopses.histograms.prefixes import PREFIXES
from dpopt.transcript.budget_ledger import BudgetLedger
from dpopt.transcript.journal import read_journal


@dataclass(frozen=True)
class Held:
    """The content in words; the spending on it, if it states any; for a synopsis how its models were solved."""

    holds: str
    says: tuple[str, ...] = ()
    privacy: Mapping[str, Any] | None = None
    solved: tuple[str, ...] | None = None
    rounds: tuple[Mapping[str, Any], ...] | None = None
    """The rounds of a run of DualQuery, as `dpopt.releases.kept_records` lists them."""


def _count(key: str, what: str) -> Callable[[Path, dict[str, Any]], str]:
    return lambda _, found: f"{len(found[key]):,} {what}"


def _workload(path: Path, found: dict[str, Any]) -> str:
    beside = path.with_name(SCHEMA)
    return repr(workload_from_json(found, Schema.read(beside))) if beside.exists() else str(found.get("workload", ""))


def _planned(path: Path, found: dict[str, Any]) -> str:
    asked = read_planned(path) if "schema" in found else read_begun(path.parent)
    terms = getattr(asked, "terms", None)
    return f"{len(asked.workload):,} queries{'' if terms is None else f', {terms.budget().describe()}'}"


def _plan(_: Path, found: dict[str, Any]) -> str:
    plan = read_plan({key: value for key, value in found.items() if key not in {"output", "statement"}})
    return f"{plan.algorithm}, planned for {plan.size:,} records, {plan.budget.describe()}"


_JSON: Mapping[str, tuple[str, Callable[[Path, dict[str, Any]], str]]] = {
    "dpopt_request": ("what a release was asked for ('dpopt plan -o', request.json)", _planned),
    "dpopt_plan": ("plan of a release folder", _plan),
    "dpopt_release": ("statement of a release folder", lambda _, found: str(found["algorithm"])),
    "dpopt_reweighting": ("weights of the records of a release", lambda _, found: f"gap {found['gap']}"),
    "dpopt_schema": ("schema", lambda path, _: repr(Schema.read(path))),
    "dpopt_workload": ("workload", _workload),
    "dpopt_polynomial": ("polynomial", lambda path, _: repr(read_solution(path))),
    "dpopt_certify": ("bounds of the rounds of a release", _count("rounds", "rounds")),
    "dpopt_compare": ("comparison of solvers", _count("rows", "results")),
    "seconds": ("seconds of the stages of a run; NOT private", _count("seconds", "stages")),
}
"""Files of JSON by the key that identifies them: their kind, and how to describe their content."""
_TEXTS = {
    b"<!doctype html>": "page for people (HTML)",
    b'{"event": "': "log of a run; NOT private",
    b"\\ ": "optimization model (LP file)",
    b"* ": "optimization model (MPS file)",
    b'name: "': "optimization model (CP-SAT)",
    b"NAME": "optimization model (MPS file)",
    b"DPOPTBIT": "wide table of bits; NOT private",
    b"\x89PNG": "picture",
    b"%PDF": "picture",
    b"<?xml": "picture",
}
"""Other files, by their first bytes."""


def held_in(path: Path) -> Held:  # noqa: PLR0911  one for each form of file
    """Return the content of a file or folder of dpopt; no privacy is spent, and no private table is read."""
    if path.is_dir():
        return _folder(path)
    try:
        with open_file(path) as file:
            start = file.read(4096)
    except OSError as problem:
        raise ReleaseFolderError(f"cannot read {path}: {problem.strerror}") from problem
    with damage_as(ReleaseFolderError, f"{path} is damaged"):
        if start.startswith(b"PK") and not any(name in start for name in (b"indices", b"indptr", b"weights")):
            return _synopsis(path)
        if start.startswith(b'{"') and b'"dpopt_budget"' in start:
            paid = BudgetLedger(path)
            paid.contents()  # refuses a damaged file
            return Held("budget over many releases", (repr(paid),))
        if start.startswith(b'{"') and b'"entry"' in start:
            return _journal(path)
        if start.lstrip().startswith(b"{") and not start.startswith(b'{"event'):
            found: dict[str, Any] = read_json_object(path, "file", ReleaseFolderError)
            for key, (what, said) in _JSON.items():
                if key in found:
                    return Held(what, (said(path, found),), found.get("privacy"))
    for mark, what in _TEXTS.items():
        if start[: len(mark)].lower() == mark.lower():
            return Held(what, (f"{path.stat().st_size:,} bytes",))
    if (path.parent / TRANSCRIPT).exists():
        whole = _folder(path.parent)
        return replace(whole, holds=f"{path.name} of a {whole.holds}")
    raise ReleaseFolderError(
        f"dpopt cannot say what {path} holds; name a file that it wrote, a release folder, or a folder with some of "
        f"them"
    )


def _synopsis(path: Path) -> Held:
    made = read_synopsis(path)
    return Held(made.WHAT, (repr(made),), made.privacy, tuple(made.solved_in_words()))


def _journal(path: Path) -> Held:
    found = read_journal(path)
    if not found.entries:
        raise ReleaseFolderError(f"{path} is damaged: its first line is not whole; restore it from a copy")
    if found.entries[0].get("kind") == PREFIXES:
        return _synopsis(path)
    torn = ", and a part of one that was torn" if found.torn else ""
    return Held("transcript of a run", (f"{len(found.entries):,} entries{torn}",))


def _folder(folder: Path) -> Held:
    begun, go_on = "release folder of a run that has not ended", f"go on with 'dpopt resume {folder} TABLE'"
    if (folder / REQUEST).exists():
        return Held(begun, (_planned(folder / REQUEST, {}), go_on))
    if (folder / RELEASE).exists() or (folder / TRANSCRIPT).exists():
        made = read_release(folder)
        rounds = tuple(round_rows(made.played, made.job.plan.solver)) or None
        if (folder / RELEASE).exists():
            return Held("release folder", (repr(made),), made.statement["privacy"], rounds=rounds)
        return Held(begun, (_plan(folder, read_json(folder / PLAN)), go_on), rounds=rounds)
    found = []
    for path in sorted(folder.iterdir()):
        with suppress(DpoptError):
            one = held_in(path)
            found.append(f"{path.name}: {'; '.join((one.holds, *one.says))}")
    if not found:
        raise ReleaseFolderError(f"{folder} holds nothing that dpopt wrote; name a file or folder of a release")
    return Held("folder", tuple(found))
