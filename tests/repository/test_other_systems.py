"""What dpopt does where Python lacks what only POSIX has: the main jobs run with such modules and calls out of its reach.

No other system is at hand here. So each process gets a `sitecustomize` that gives the modules of dpopt another `os`, `sys`,
`signal` and `psutil` than all other libraries: without the names that Windows lacks, and with folders that cannot be opened.
What this cannot show is on the page of known limits.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command_line import FEW, demonstration
from tests.source_code import ROOT

MISSING_MODULES = ("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty")
MISSING_NAMES = {
    "os": (
        "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "SCHED_OTHER", "WNOHANG", "chown", "fchmod", "fork", "getegid",
        "geteuid", "getgid", "getloadavg", "getpgid", "getuid", "kill", "killpg", "lchown", "mkfifo", "pread", "pwrite",
        "register_at_fork", "sched_getaffinity", "sched_setaffinity", "sched_yield", "setpgid", "setsid", "statvfs", "sync",
        "sysconf", "uname", "wait", "waitid",
    ),
    "signal": ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "alarm", "pthread_sigmask"),
    "psutil": ("RLIMIT_AS", "RLIM_INFINITY"),
}  # fmt: skip
REPLACED = {"os": {"name": "nt"}, "sys": {"platform": "win32"}, "signal": {}, "psutil": {}}

SITE = f"""
import builtins, os, sys, types

MISSING_MODULES, MISSING_NAMES, REPLACED = {MISSING_MODULES!r}, {MISSING_NAMES!r}, {REPLACED!r}


class Other(types.ModuleType):
    def __init__(self, real):
        super().__init__(real.__name__)
        object.__setattr__(self, "_real", real)

    def __getattr__(self, name):
        module = self._real.__name__
        if name in MISSING_NAMES.get(module, ()):
            raise AttributeError(f"module {{module!r}} has no attribute {{name!r}} here")
        if name in REPLACED[module]:
            return REPLACED[module][name]
        return getattr(self._real, name)

    def __setattr__(self, name, value):
        setattr(self._real, name, value)


def open_no_folder(path, *arguments, **options):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", os.fspath(path))
    return os.open(path, *arguments, **options)


def locking(file, mode, number):
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


REPLACED["os"]["open"] = open_no_folder
others = {{"msvcrt": types.SimpleNamespace(LK_NBLCK=2, locking=locking)}}
real_import = builtins.__import__


def other_import(name, globals=None, locals=None, fromlist=(), level=0):
    asking = (globals or {{}}).get("__name__", "")
    spec = (globals or {{}}).get("__spec__")
    asking = spec.name if asking == "__main__" and spec is not None else asking
    if asking == "dpopt.compilation" and name == "sys":  # its kernels call the system that is there
        return real_import(name, globals, locals, fromlist, level)
    if (asking == "dpopt" or asking.startswith("dpopt.")) and level == 0:
        if name.partition(".")[0] in MISSING_MODULES:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        if name in REPLACED or name in others:
            if name not in others:
                others[name] = Other(real_import(name))
            return others[name]
    return real_import(name, globals, locals, fromlist, level)


builtins.__import__ = other_import
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """Return the environment of processes in which dpopt finds another system."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    paths = [str(site), os.environ.get("PYTHONPATH", ""), str(ROOT)]  # of two copies of dpopt the tested one
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def run(elsewhere: dict[str, str], code: str, folder: Path) -> str:
    """Run code in a new process, in a folder, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=elsewhere,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commands(elsewhere: dict[str, str], folder: Path, *calls: list[str]) -> str:
    """Run the command line, one call after the other, in a new process and return what it printed."""
    code = f"""
import sys
from dpopt.cli.main import application, main
for sys.argv[1:] in {calls[:-1]!r}:
    try:
        application()
    except SystemExit as ended:
        if ended.code:
            raise
sys.argv[1:] = {calls[-1]!r}
main()  # ends the process
"""
    return run(elsewhere, code, folder)


def test_the_other_system_is_another(elsewhere: dict[str, str], tmp_path: Path) -> None:
    code = """
import importlib.util, sys
from pathlib import Path
source = '''
import os, signal, sys
found = [hasattr(os, "killpg"), hasattr(os, "getpid"), hasattr(signal, "SIGKILL"), os.name, sys.platform]
try:
    import fcntl
except ImportError:
    found.append("no fcntl")
try:
    os.open(".", os.O_RDONLY)
except PermissionError:
    found.append("no folder")
'''
scope = {"__name__": "dpopt.example", "__spec__": None}
exec(source, scope)
import os, fcntl
print([*scope["found"], os.name])
"""
    found = run(elsewhere, code, tmp_path)
    assert found.strip() == str([False, True, False, "nt", "win32", "no fcntl", "no folder", "posix"])


@pytest.mark.slow
def test_a_release_is_evaluated_and_replayed_and_a_run_with_a_foreign_solver_is_resumed(
    elsewhere: dict[str, str], tmp_path: Path
) -> None:
    """A part of the table of the demonstration. The run is cut within a round, as a kill of an earlier version leaves it."""
    made = demonstration(FEW)[1]
    people = (made / "people.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "people.csv").write_text("".join(people[:2001]), encoding="utf-8")
    asked = ["people.csv", "--schema", str(made / "schema.json"), "--workload", "marginals:2", "--epsilon", "1"]
    asked += ["--delta", "1e-9", "--no-predict", "--out"]
    how = ["--algorithm", "dualquery", "--rounds", "4", "--solver", "cp-sat", "--log", "log.jsonl"]
    commands(
        elsewhere,
        tmp_path,
        ["release", *asked, "fitted", "--algorithm", "projection", "--records", "500"],
        ["evaluate", "fitted", "people.csv"],
        ["replay", "fitted", "-o", "again"],
        ["release", *asked, "whole", *how],
    )
    for file in (tmp_path / "fitted").iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes(), file.name
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    shutil.copytree(whole, cut)
    lines = (whole / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    (cut / "transcript.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]) + lines[len(lines) // 2][:9])
    (cut / ".transcript.jsonl.lock").touch()
    for name in ("release.json", "synthetic.csv"):
        (cut / name).unlink()
    commands(elsewhere, tmp_path, ["resume", "cut", "people.csv"])
    assert json.loads((cut / "release.json").read_text())["solvers"][0].startswith("cp-sat")
    assert sorted(path.name for path in cut.iterdir()) == sorted(path.name for path in whole.iterdir())
    logged = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert logged[-1]["event"] == "finish"
    assert all(line["peak_bytes"] > 1e6 for line in logged if line["event"] == "end")


def test_a_solver_and_what_it_started_end_where_no_session_can(elsewhere: dict[str, str], tmp_path: Path) -> None:
    """The child is ended by its parent, and by itself where its parent was killed."""
    code = """
import subprocess, sys, time
import psutil
from dpopt.machine import kill_with_children
shell = subprocess.Popen([sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"],
    stdin=subprocess.PIPE)
process = psutil.Process(shell.pid)
while not process.children():
    time.sleep(0.02)
started = process.children()
kill_with_children(shell.pid)
shell.wait()
print(psutil.wait_procs(started, timeout=20)[1])
"""
    assert run(elsewhere, code, tmp_path).strip() == "[]"
