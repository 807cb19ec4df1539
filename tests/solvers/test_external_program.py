"""Programs that adapters start: every line is heard when it is printed, and nothing is left behind."""

from __future__ import annotations

import sys
import time

import pytest

from dpopt.solvers.process.external_program import run


def test_lines_are_heard_as_they_come_and_returned_together() -> None:
    heard: list[tuple[str, float]] = []
    code = "import sys, time; print('one', flush=True); time.sleep(0.6); print('two', file=sys.stderr)"
    text = run([sys.executable, "-c", code], lambda line: heard.append((line, time.perf_counter())))
    assert text == "one\ntwo\n"
    assert [line for line, _ in heard] == ["one\n", "two\n"]
    assert heard[1][1] - heard[0][1] > 0.3


def test_bytes_that_are_no_text_do_no_harm() -> None:
    code = r"import sys; sys.stdout.buffer.write(b'caf\xe9\n')"
    assert run([sys.executable, "-c", code], lambda line: None).startswith("caf")


def test_a_program_that_is_not_there_raises() -> None:
    with pytest.raises(FileNotFoundError):
        run(["no-such-program-anywhere"], lambda line: None)


def test_what_is_heard_may_raise_without_leaving_the_program_behind() -> None:
    def refuse(line: str) -> None:
        raise ValueError(line)

    with pytest.raises(ValueError, match="one"):
        run([sys.executable, "-c", "print('one')"], refuse)
