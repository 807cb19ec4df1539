"""The process of one release: ``python -m dpopt.studio.worker TASK``; `dpopt.studio.tables` wrote the file TASK.

It says in a file beside the task how far it is. It may be killed at any moment: what was drawn by then is on file and
paid, and another process continues from there. It ends with the studio, however that ends: by then its standard input
is closed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import dpopt
from dpopt.errors import DpoptWarning, named_as_in, spoken
from dpopt.files.json_files import read_json_object
from dpopt.files.written_files import whole_file
from dpopt.machine import kill_with_children
from dpopt.releases.progress import Progress

SECONDS_APART, ROWS_SHOWN = 0.3, 8


class Written(Progress):
    """Progress that is written to a file, from which the page is made."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path, self._last = path, 0.0
        self._state: dict[str, Any] = {"stage": "starting", "share": None, "done": [], "notes": []}

    def note(self, text: str) -> None:
        """Keep the note."""
        self._state["notes"].append(spoken(text))
        self._write(now=True)

    def warning(self, what: DpoptWarning) -> None:
        """Keep the warning."""
        self.note(f"warning: {what}")

    def verdict(self, text: str) -> None:
        """Keep the verdict on the release."""
        self._state["verdict"] = text
        self._write(now=True)

    owner_note = note  # the file is the owner's

    def begin(self, stage: str) -> None:
        """Keep which stage has begun."""
        super().begin(stage)
        self._state |= {"stage": stage, "share": None}
        self._write(now=True)

    def moved(self, done: float, text: str) -> None:
        """Keep how much of the stage is done."""
        self._state["share"] = done
        self._write()

    def end(self, stage: str) -> None:
        """Keep that the stage has ended."""
        super().end(stage)
        self._state["done"].append(f"{stage}: {self.seconds[stage]:.1f} s")
        self._write(now=True)

    def _write(self, *, now: bool = False) -> None:
        if not now and time.monotonic() - self._last < SECONDS_APART:
            return
        self._last = time.monotonic()
        with suppress(OSError), whole_file(self._path, private=True) as file:  # some systems refuse while it is read
            file.write(json.dumps(self._state).encode())


def main(task: Path) -> int:
    """Carry out a task; return 0 if all of it was done, else leave `problem.txt` next to it."""
    asked: dict[str, Any] = read_json_object(task, "task", dpopt.DpoptError)
    progress = Written(task.with_name("progress.json"))
    out, table = Path(asked["out"]), asked["table"]
    try:
        budget = None if asked["budget"] is None else dpopt.BudgetLedger(asked["budget"])
        if asked["resumed"]:
            finished = dpopt.resume(out, table, progress=progress, budget=budget)
        else:
            finished = dpopt.release(
                table, plan=asked["plan"], out=out, progress=progress, budget=budget, **asked["reading"]
            )
        progress.verdict(finished.verdict)
        for name, rows, what in (("public.html", None, "to publish"), ("owner.html", table, "with the table")):
            progress.begin(f"writing the report {what}")
            dpopt.report(finished, rows, out=task.with_name(name))
            progress.end(f"writing the report {what}")
        progress.begin("comparing with the table")
        with whole_file(task.with_name("summary.json"), private=True) as file:
            file.write(json.dumps(_summary(finished, table), default=str).encode())
        progress.end("comparing with the table")
    except (dpopt.DpoptError, OSError, MemoryError) as problem:
        said = str(problem) or "there is not enough memory"
        with whole_file(task.with_name("problem.txt"), private=True) as file:
            file.write(said.encode())
        return 2
    return 0


def _summary(finished: dpopt.SyntheticRelease, table: str) -> dict[str, Any]:
    """Return the spending, the figures with the largest errors, and the first rows. Not private."""
    rows = finished.to_pandas().head(ROWS_SHOWN).astype(object)
    return {
        "spent": {**finished.statement["privacy"], "charges": None},
        "weakest": [*map(spoken, dpopt.evaluate(finished, table).words)],
        "columns": [*rows.columns],
        "rows": rows.where(rows.notna(), "").to_numpy().tolist(),
    }


def _end_with_the_studio() -> None:
    while os.read(0, 1):
        pass
    kill_with_children(os.getpid())


if __name__ == "__main__":
    Thread(target=_end_with_the_studio, daemon=True).start()
    with named_as_in("studio"):
        status = main(Path(sys.argv[1]))
    sys.exit(status)
