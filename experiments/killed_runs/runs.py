"""One run from its beginning to its end, however often it is killed on the way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from experiments.killed_runs.parts import Inputs, Part
from experiments.killed_runs.protocol import Snapshot, problems_of_folder, problems_of_run
from experiments.tables import ROOT

MOST_STARTS = 60


@dataclass(frozen=True, slots=True)
class Kill:
    """Where a process is killed: so many seconds after its beginning, or at a step of its writing (`stopping`).

    With `reserved`, the seconds begin with the first line of the transcript: before it there is nothing to lose.
    """

    after: float | None = None
    reserved: bool = False
    at: int | None = None
    how: str = "before"


NEVER = Kill()


class Forks:
    """Runs `dpopt` in forks of a process that has loaded it; kills at steps and at instants."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Where PYTHONSAFEPATH leaves out the folder that Python stands in, the process must still find this package.
        path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
        self._server = subprocess.Popen(
            [sys.executable, "-m", "experiments.killed_runs.stopping"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.communicate()

    def run(self, words: Sequence[str], out: Path, kill: Kill = NEVER) -> int:
        """Run a command to its end or to its kill; return its exit code, -9 if it was killed."""
        order = {
            "words": list(words),
            "folder": str(out),
            "at": kill.at,
            "how": kill.how,
            "after": kill.after,
            "notes": str(self._folder / "steps"),
            "said": str(self._folder / "said"),
        }
        if self._server.stdin is None or self._server.stdout is None:
            raise RuntimeError("the process that runs dpopt has no pipes")
        print(json.dumps(order), file=self._server.stdin, flush=True)
        return int(json.loads(self._server.stdout.readline())["code"])

    @property
    def steps(self) -> list[str]:
        """The kinds of the steps that the last run went through."""
        return (self._folder / "steps").read_text(encoding="ascii").split()

    @property
    def said(self) -> str:
        """What the last run said."""
        return (self._folder / "said").read_text(encoding="utf-8", errors="replace")


class Processes:
    """Runs `dpopt` as a process from its beginning, with the import of libraries, where it is to be killed at an instant.

    What is not killed, the rest of a run and its replay, goes to forks, which is faster.
    """

    def __init__(self, forks: Forks) -> None:
        self._forks = forks
        self._said: str | None = None
        self.began = 0.0

    @property
    def said(self) -> str:
        """What the last run said."""
        return self._forks.said if self._said is None else self._said

    def run(self, words: Sequence[str], out: Path, kill: Kill = NEVER) -> int:
        """Run a command to its end or to its kill; return its exit code, -9 if it was killed."""
        if kill.after is None:
            self._said = None
            return self._forks.run(words, out, kill)
        return self.start(words, kill.after, out if kill.reserved else None)

    def start(self, words: Sequence[str], after: float | None = None, out: Path | None = None) -> int:
        """Run a command in a process of its own, and kill it after so many seconds; return its exit code.

        The seconds begin when the transcript in `out` does, if that is given; `began` is the moment.
        """
        process = subprocess.Popen(  # noqa: S603  its arguments are written in this repository
            [sys.executable, "-m", "dpopt", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.began = time.perf_counter()
        while out is not None and process.poll() is None and not Snapshot.of(out).whole:
            self.began = time.perf_counter()
            time.sleep(0.001)
        try:
            self._said = process.communicate(timeout=after)[0]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            self._said = process.communicate()[0]
        return process.returncode


@dataclass(slots=True)
class Ended:
    """A run that came to its end."""

    kills: int = 0
    """How many of its processes were killed."""
    begun_anew: int = 0
    """How many of them had not begun: nothing was on file, and nothing spent."""
    torn: int = 0
    """How many left a part of a line."""
    lost: int = 0
    """Rounds that were given up, or draws that are left out."""
    problems: list[str] = field(default_factory=list)
    """What is wrong with it."""


def run_to_the_end(runner: Forks | Processes, inputs: Inputs, part: Part, out: Path, kills: Sequence[Kill]) -> Ended:
    """Release, kill, resume, kill, resume ... until the run has ended, and check it and its folder."""
    ended, snapshots = Ended(), []
    for number in range(MOST_STARTS):
        begun = out.exists() and _has_begun(out)
        if not begun:
            ended.begun_anew += number > 0
            shutil.rmtree(out, ignore_errors=True)
        words = inputs.resume(out) if begun else inputs.release(part, out)
        code = runner.run(words, out, kills[number] if number < len(kills) else NEVER)
        if code == 0:
            break
        if code != -signal.SIGKILL:
            ended.problems.append(f"{words[0]} ended with {code}: {runner.said.strip()[-300:]}")
            return ended
        ended.kills += 1
        snapshots.append(Snapshot.of(out))
        ended.torn += bool(snapshots[-1].torn)
        if (out / "release.json").exists():
            break
    if not (out / "release.json").exists():
        ended.problems.append(f"not ended after {MOST_STARTS} starts")
        return ended
    final = Snapshot.of(out)
    statement = json.loads((out / "release.json").read_text(encoding="utf-8"))
    ended.lost = final.lost()
    ended.problems += problems_of_run(snapshots, final, statement) + problems_of_folder(out)
    ended.problems += _problems_of_replay(runner, out)
    return ended


def _has_begun(out: Path) -> bool:
    """Return whether anything is on file that a resumed run continues; without it nothing can have been spent."""
    transcript = out / "transcript.jsonl"
    if (out / "plan.json").exists():
        return True
    if transcript.exists() and transcript.stat().st_size:
        raise RuntimeError(f"{out} holds a transcript and no plan")
    return False


def _problems_of_replay(runner: Forks | Processes, out: Path) -> list[str]:
    with _away(out.with_name(f"{out.name}-replayed")) as copy:
        code = runner.run(["replay", str(out), "-o", str(copy)], copy)
        return [] if code == 0 else [f"replay ended with {code}: {runner.said.strip()[-300:]}"]


@contextmanager
def _away(folder: Path) -> Iterator[Path]:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def seconds_of(runner: Processes, inputs: Inputs, part: Part, out: Path, *, reserved: bool) -> float:
    """Return how long an unbroken run takes, the second time; from its first line on, if `reserved`."""
    seconds = 0.0
    for _ in range(2):
        shutil.rmtree(out, ignore_errors=True)
        if runner.start(inputs.release(part, out), out=out if reserved else None):
            raise RuntimeError(f"the unbroken run failed: {runner.said}")
        seconds = time.perf_counter() - runner.began
    shutil.rmtree(out)
    return seconds
