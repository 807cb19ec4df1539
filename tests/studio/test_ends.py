"""However a studio ends, what was private goes, and what it started ends with it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

pytest.importorskip("uvicorn", reason="the studio's libraries are not installed: pip install 'dpopt[studio]'")

from dpopt.studio.application import Studio

_SLOW_DRAFT = """
import sys, time, dpopt.studio.tables as tables
tables.dpopt.infer_schema = lambda path: (print("drafting", flush=True), time.sleep(600))
from dpopt.cli.main import main
sys.argv = ["dpopt", "studio", "--no-browser", "--folder", sys.argv[1]]
main()
"""


def eventually(holds: Callable[[], bool], seconds: float = 30) -> bool:
    for _ in range(int(seconds * 20)):
        if holds():
            return True
        time.sleep(0.05)
    return holds()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], tuple[subprocess.Popen[str], str]]]:
    """Return what starts a studio whose drafts never end, with a temporary folder of its own, and returns its address."""
    begun = []
    (tmp_path / "tmp").mkdir()

    def starts() -> tuple[subprocess.Popen[str], str]:
        command = [sys.executable, "-c", _SLOW_DRAFT, str(tmp_path / "releases")]
        environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
        running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
        begun.append(running)
        assert running.stdout is not None
        lines = "".join(running.stdout.readline() for _ in range(4))
        return running, re.findall(r"http://127\.0\.0\.1:\d+/\?token=\S+", lines)[0]

    yield starts
    for running in begun:
        running.kill()
        running.wait()
        assert running.stdout is not None
        running.stdout.close()


def sends_a_table(address: str) -> subprocess.Popen[bytes]:
    """Send a table as a browser does, from a process of its own."""
    program = f"""
import http.client, re, urllib.request
answer = urllib.request.urlopen({address!r})
cookie = answer.headers["set-cookie"].split(";")[0]
base = re.search(r'href="(/[^"]+)/"', answer.read().decode())[1]
host = {address!r}.split("/")[2]
ask = http.client.HTTPConnection(host)
body = b'--x\\r\\nContent-Disposition: form-data; name="file"; filename="a.csv"\\r\\n\\r\\na\\n1\\n\\r\\n--x--\\r\\n'
ask.request("POST", base + "/tables", body, {{"cookie": cookie, "origin": "http://" + host,
    "content-type": "multipart/form-data; boundary=x"}})
ask.getresponse()
"""
    return subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("drafting", [False, True])
def test_a_signal_removes_what_is_private(
    start: Callable[[], tuple[subprocess.Popen[str], str]], tmp_path: Path, name: str, drafting: bool
) -> None:
    running, address = start()
    assert len(list((tmp_path / "tmp").glob("dpopt-studio-*"))) == 1
    if drafting:
        with sends_a_table(address) as sending:
            assert running.stdout is not None
            assert running.stdout.readline() == "drafting\n"
            assert list((tmp_path / "tmp").rglob("table.csv"))
            running.send_signal(getattr(signal, name))
            assert running.wait(30) == 0
            sending.wait(30)
    else:
        running.send_signal(getattr(signal, name))
        assert running.wait(30) == 0
    assert not list((tmp_path / "tmp").glob("dpopt-studio-*"))


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_what_a_killed_studio_left_goes_when_the_next_one_starts(
    start: Callable[[], tuple[subprocess.Popen[str], str]], tmp_path: Path
) -> None:
    running, address = start()
    with sends_a_table(address) as sending:
        assert running.stdout is not None
        assert running.stdout.readline() == "drafting\n"
        running.kill()
        running.wait(30)
        sending.wait(30)
    assert len(list((tmp_path / "tmp").rglob("table.csv"))) == 1
    alive, _ = start()
    start()
    assert not list((tmp_path / "tmp").rglob("table.csv"))
    assert len(list((tmp_path / "tmp").glob("dpopt-studio-*"))) == 2  # of the two that live
    assert alive.poll() is None


def test_folders_of_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other, target, stale = tmp_path / "dpopt-studio-link", tmp_path / "kept", tmp_path / "dpopt-studio-old"
    target.mkdir()
    (target / "mine.txt").write_text("kept")
    stale.mkdir()
    other.symlink_to(target)
    plain, named_so = tmp_path / "dpopt-studio-file", tmp_path / "dpopt-studio-notes" / "mine.txt"
    plain.write_text("kept")
    named_so.parent.mkdir()
    named_so.write_text("kept")
    Studio(tmp_path / "releases").close()
    assert (target / "mine.txt").read_text() == plain.read_text() == named_so.read_text() == "kept"
    assert not stale.exists()
    if hasattr(os, "getuid"):
        stale.mkdir()
        monkeypatch.setattr("os.getuid", lambda: stale.stat().st_uid + 1)
        Studio(tmp_path / "releases").close()
        assert stale.exists()


def test_a_release_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """The worker's own children too; whatever kills the parent, the system closes the pipe."""
    program = """
import subprocess, sys, time
code = '''
import subprocess, sys, time
import dpopt.studio.worker as worker
worker.Thread(target=worker._end_with_the_studio, daemon=True).start()
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
time.sleep(600)
'''
child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        numbers = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(map(psutil.pid_exists, numbers))
        parent.kill()
        parent.wait()
        assert eventually(lambda: not any(map(alive, numbers)))


def test_the_worker_of_a_killed_studio_does_not_finish(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("smoker\n" + "yes\nno\n" * 500)
    program = f"""
import time, pathlib
from dpopt.studio.tables import FormEntries, Table
folder = pathlib.Path({str(tmp_path)!r})
table = Table.opened(folder / "people.csv", "people", folder)
table.review(table.columns(), table.generation)
table.begin_plan(FormEntries(n="1000", workload="marginals:1"))
while table.planning:
    time.sleep(0.05)
table.start(folder / "releases", table.generation)
print(table.process.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        number = int(parent.stdout.readline())
        assert alive(number)
        parent.kill()
        parent.wait()
        assert eventually(lambda: not alive(number), 60)
    assert not (tmp_path / "public.html").exists()


def alive(number: int) -> bool:
    """Return whether a process runs, and is not only waiting to be asked how it ended."""
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
