"""Runs that are stopped from outside: by Ctrl-C, by a kill, by a second process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dpopt.machine import lock_file
from dpopt.schema import Schema
from tests.algorithms.small_runs import SCHEMA, write_table
from tests.cli.command_line import COMMAND, inputs, refuse, start, succeed, words

ROUNDS = 40
PATIENCE = 60.0


def slow_release(folder: Path) -> list[object]:
    """Return a release whose rounds take long enough to stop it between them: many sweeps of the local search."""
    table, schema = inputs(folder)
    size = [
        *words("--algorithm dualquery --neighbours replace --epsilon 1e5 --delta 1e-6 --rounds"),
        ROUNDS,
        *words("--draws 20 --work 30000 --values-share 0 --weights"),
    ]
    where = ["--schema", schema, "--workload", "marginals:2", "--out", folder / "out", "--no-predict"]
    return ["release", table, *where, *size]


def records(folder: Path) -> int:
    """Return the number of records in the transcript."""
    transcript = folder / "out" / "transcript.jsonl"
    return transcript.read_text().count('"kind":"record"') if transcript.exists() else 0


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is true while the process still runs."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


def stopped(
    process: subprocess.Popen[str], condition: Callable[[], bool], how: signal.Signals = signal.SIGINT
) -> tuple[int, str, str]:
    """Stop a process once something is true; return exit code, output and messages."""
    try:
        wait_until(condition, process)
        process.send_signal(how)
        output, messages = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, output, messages


def stop(folder: Path, how: signal.Signals) -> tuple[int, str]:
    """Start a slow release, stop it after its third record, and return exit code and messages."""
    code, output, messages = stopped(start(*slow_release(folder)), lambda: records(folder) >= 3, how)
    assert output == ""
    assert not (folder / "out" / "release.json").exists()
    assert 3 <= records(folder) < ROUNDS
    return code, messages


def check_finished(folder: Path) -> None:
    """Check that a run has ended, was charged once for each round, and is replayed byte for byte."""
    entries = [json.loads(line)["entry"] for line in (folder / "out" / "transcript.jsonl").read_text().splitlines()]
    for kind in ("charge", "draw", "record"):
        numbers = [entry["round"] for entry in entries if entry["kind"] == kind]
        assert numbers == list(range(1, ROUNDS + 1))
    privacy = json.loads((folder / "out" / "release.json").read_text())["privacy"]
    assert len(privacy["charges"]) == ROUNDS
    assert privacy["private"] is True
    succeed("replay", folder / "out", "-o", folder / "again")
    assert {path.name for path in (folder / "again").iterdir()} == {path.name for path in (folder / "out").iterdir()}
    for path in (folder / "out").iterdir():
        assert (folder / "again" / path.name).read_bytes() == path.read_bytes()


def test_a_run_that_is_interrupted_says_how_to_go_on_and_goes_on(tmp_path: Path) -> None:
    code, messages = stop(tmp_path, signal.SIGINT)
    assert code == 130
    assert messages.splitlines()[-1] == (f"interrupted; continue with 'dpopt resume {tmp_path / 'out'} TABLE'")
    assert "Traceback" not in messages
    before = (tmp_path / "out" / "transcript.jsonl").read_bytes()
    text = succeed("resume", tmp_path / "out", tmp_path / "people.csv", "--timings", tmp_path / "t.json")
    assert f"then publish every file in {tmp_path / 'out'}." in text
    assert (tmp_path / "out" / "transcript.jsonl").read_bytes().startswith(before)
    assert "playing rounds" in json.loads((tmp_path / "t.json").read_text())["seconds"]
    check_finished(tmp_path)
    assert "has ended" in refuse("resume", tmp_path / "out", tmp_path / "people.csv")


def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    code, _ = stop(tmp_path, signal.SIGKILL)
    assert code == -signal.SIGKILL
    succeed("resume", tmp_path / "out", tmp_path / "people.csv", "--quiet")
    check_finished(tmp_path)


def test_only_one_process_resumes_a_run(tmp_path: Path) -> None:
    stop(tmp_path, signal.SIGKILL)
    before = records(tmp_path)
    first = start("resume", tmp_path / "out", tmp_path / "people.csv", "--quiet")
    try:
        wait_until(lambda: records(tmp_path) > before, first)
        first.send_signal(signal.SIGSTOP)  # it cannot end before the second one looks
        text = refuse("resume", tmp_path / "out", tmp_path / "people.csv")
        first.send_signal(signal.SIGCONT)
        assert "another process is writing transcript.jsonl" in text
        output, messages = first.communicate(timeout=PATIENCE)
    finally:
        first.kill()
        first.wait()
    assert (first.returncode, output, messages) == (0, "", "")
    check_finished(tmp_path)


def test_a_run_that_is_interrupted_before_it_begins_has_spent_nothing(tmp_path: Path) -> None:
    """Another process is writing the budget from which it would be paid, so the run waits for that."""
    budget, log = tmp_path / "budget", tmp_path / "log"
    succeed("budget", "create", budget, *words("--epsilon 1e6 --neighbours replace"))
    with budget.open("r+b") as writing:
        assert lock_file(writing.fileno())
        process = start(*slow_release(tmp_path), "--budget", budget, "--log", log)
        code, _, messages = stopped(process, lambda: log.exists() and b'"end", ' in log.read_bytes())
    assert code == 130
    assert messages.splitlines()[-1].startswith("interrupted")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [["solvers", "--json"], ["--version"]])
def test_the_module_is_the_command(words: list[str]) -> None:
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == succeed(*words)


SWALLOWED = """
import signal
import numpy as np
from dpopt.cli.interruption import listen
from dpopt.cli.reports.progress import TerminalProgress

class Interrupted(type):
    def __getattr__(cls, name):
        signal.raise_signal(signal.SIGINT)
        raise AttributeError(name)

class Value(metaclass=Interrupted):
    pass

listen()
np.ndim(Value())
print("NumPy has dropped it", flush=True)
with TerminalProgress() as progress:
    try:
        {step}
    except KeyboardInterrupt:
        print("heard")
    progress.begin("the next stage")
    print("once")
"""


@pytest.mark.parametrize("step", ["begin('a stage')", "round(1, 2, 0.5)", "share(0.5)", "step(1, 2, 'a table')"])
def test_an_interruption_that_a_library_drops_is_heard_at_the_next_step(step: str) -> None:
    script = SWALLOWED.replace("{step}", f"progress.{step}")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["NumPy has dropped it", "heard", "once"], done.stderr


def test_a_process_that_ignores_interruptions_goes_on_to_ignore_them() -> None:
    script = (
        "import signal; from dpopt.cli.interruption import listen; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "listen(); signal.raise_signal(signal.SIGINT); print('not interrupted')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "not interrupted\n"


# A file that an option names by mistake stays as it is: nothing is written over a table, a schema or a release.

RELEASE = "release {table} --schema {schema} --epsilon 1 --n0 300 --no-predict --workload marginals:1"
PREFIXES = "--schema {schema} --column smoker --steps 1"
WRITES: Sequence[tuple[str, str]] = (
    (RELEASE + " -o {new} --timings", ""),
    (RELEASE + " -o {new} --log", ""),
    (RELEASE + " -o", ""),
    ("plan --schema {schema} --n 300 --epsilon 1 --no-predict -o", ""),
    ("polynomial --k 3 --degree 1 -o", ""),
    ("schema infer {table} -o", ""),
    ("budget create --epsilon 1", ""),
    ("prefixes release {table} --rho 1 " + PREFIXES + " -o", ""),
    ("prefixes grow", "{table} " + PREFIXES),
    ("histogram release {table} --schema {schema} --column smoker --epsilon 1 -o", ""),
)
"""Commands that write, as the words before and after the name of the file."""


@pytest.mark.parametrize("write", WRITES, ids=lambda write: " ".join(write[0].split()[:2] + write[0].split()[-1:]))
@pytest.mark.parametrize("named", ["table", "schema", "one line"])
def test_no_command_writes_over_another_file(tmp_path: Path, write: tuple[str, str], named: str) -> None:
    Schema.write(SCHEMA, tmp_path / "s.json")
    places = {
        "table": write_table(tmp_path),
        "schema": tmp_path / "s.json",
        "one line": tmp_path / "one.json",
        "new": tmp_path / "new",
    }
    places["one line"].write_text('{"dpopt_schema": 1}')
    before = places[named].read_bytes()
    words = [part.format(**places) for part in (write[0], "{" + named + "}", write[1])]
    refuse(" ".join(words))
    assert places[named].read_bytes() == before
    assert not (tmp_path / "new").exists()


def test_what_a_command_wrote_it_replaces(tmp_path: Path) -> None:
    Schema.write(SCHEMA, tmp_path / "s.json")
    for times in range(2):
        succeed(f"plan --schema {tmp_path}/s.json --n0 300 --epsilon 1 --no-predict -o {tmp_path}/plan.json")
        succeed(f"polynomial --k 3 --degree 1 -o {tmp_path}/polynomial.json")
        succeed(
            f"release {write_table(tmp_path)} --plan {tmp_path}/plan.json -o {tmp_path}/{times} --timings "
            f"{tmp_path}/t.json"
        )
