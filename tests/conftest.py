"""What all tests share: which dpopt is tested, solvers that must not be missing, data sets, Hypothesis.

The installed dpopt is tested. `python -m pytest` puts the checkout in front of every installed package; here it is moved
behind them. If nothing is installed, the checkout is tested. If what is installed differs from the checkout, the run ends at
once: testing a stale copy would say nothing.
"""

from __future__ import annotations

import contextlib
import filecmp
import gc
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_DATA = ROOT.parent / "shared" / "data"


def _move_checkout_last() -> None:
    sys.path[:] = [entry for entry in sys.path if Path(entry or os.curdir).resolve() != ROOT]
    sys.path.append(str(ROOT))


def _tested_folder() -> Path:
    specification = importlib.util.find_spec("dpopt")
    if specification is None or specification.origin is None:
        raise pytest.UsageError("dpopt is neither installed nor in the checkout")
    return Path(specification.origin).resolve().parent


def _python_files(folder: Path, named: str = "") -> dict[str, Path]:
    return {named + path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")}


def _differing_files(tested: Path) -> list[str]:
    """Return the Python files in which the tested copy differs from the checkout.

    An installed copy holds the catalogue `models/` of the checkout as its folder `pages`, and `experiments/` in `papers`.
    """
    there, here = _python_files(tested), _python_files(ROOT / "dpopt")
    if tested != ROOT / "dpopt":
        here |= _python_files(ROOT / "models", "pages/") | _python_files(ROOT / "experiments", "papers/experiments/")
    changed = {name for name in there.keys() & here if not filecmp.cmp(there[name], here[name], shallow=False)}
    return sorted((there.keys() ^ here) | changed)


def _hear_signals() -> None:
    """Undo what a shell's `&` without job control and `nohup` do: processes started so ignore Ctrl-C, or a closed terminal.

    All that they start would ignore it, too.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


_hear_signals()
if os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1") != "1":
    # Threads of several processes on the same cores wait for each other: twice the time, and up to fifty times in BLAS, whose
    # threads spin. Tests of threads name their number.
    os.environ.setdefault("DPOPT_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Never the real home: processes that tests start inherit it.
os.environ["DPOPT_STATE"] = tempfile.mkdtemp(prefix="dpopt-state-")
_move_checkout_last()
# Planted defects are recognised by what a check's `assert` says.
pytest.register_assert_rewrite("tests.boundary.defects")
TESTED = _tested_folder()
settings.register_profile("dpopt", deadline=None, print_blob=True)
settings.load_profile("dpopt")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --require-solvers."""
    parser.addoption(
        "--require-solvers",
        default="",
        metavar="NAMES",
        help="solvers whose tests must run, separated by commas, or 'all': where one is missing, its tests fail "
        "instead of being skipped",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test a stale copy, and names of solvers that do not exist; give child processes the tested copy."""
    differing = _differing_files(TESTED)
    if differing:
        raise pytest.UsageError(
            f"the installed dpopt in {TESTED} is not that of the checkout; files that differ, {len(differing)} in all: "
            f"{', '.join(differing[:3])}. Install the checkout again with "
            "\"python -m pip install '.[test]'\", or once for all with \"python -m pip install -e '.[test]'\""
        )
    named = _required_solvers(config) - {"all"}
    if named and not named <= set(_solver_names()):
        raise pytest.UsageError(
            f"--require-solvers names {', '.join(sorted(named))}; there are {', '.join(_solver_names())}"
        )
    if not hasattr(config, "workerinput"):  # workers are started with it
        kept = tempfile.TemporaryDirectory(prefix="dpopt-tests-")
        os.environ["DPOPT_TESTS_FOLDER"] = kept.name
        config.add_cleanup(kept.cleanup)
        _keep_kernels(config)
        # Else each of hundreds of child processes compiles dpopt anew; kernels are kept beside the modules in any case.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONSAFEPATH"] = "1"
    os.environ["PYTHONPATH"] = os.pathsep.join([str(TESTED.parent), *filter(None, [os.environ.get("PYTHONPATH")])])


def _keep_kernels(config: pytest.Config) -> None:
    """Take the machine code that an earlier run left for new copies of dpopt, and leave it there for the next one.

    Compiling all kernels takes minutes. numba knows by a hash of their sources which of the kept ones still hold.
    """
    from tests.source_code import copy_kernels

    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpopt" / "kernels"
    place = os.environ.get("DPOPT_KERNELS") or str(usual)
    if place == "none" or next(TESTED.rglob("*.nbi"), None) is not None:
        return

    def leave() -> None:
        with contextlib.suppress(OSError):  # another run may do the same
            new = tempfile.mkdtemp(dir=place)
            for folder in compiled:
                copy_kernels(Path(new) / folder.name, folder)
            shutil.rmtree(kept, ignore_errors=True)
            Path(new).replace(kept)

    kept, compiled = Path(place) / str(sys.implementation.cache_tag), (TESTED, ROOT / "experiments")
    with contextlib.suppress(OSError):
        Path(place).mkdir(parents=True, exist_ok=True)
        for folder in compiled:
            copy_kernels(folder, kept / folder.name)
    config.add_cleanup(leave)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected, and then leave out what stays: millions of objects, a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_report_header() -> list[str]:
    """Say which copy of dpopt is tested and where data sets are looked for."""
    kind = "checkout" if TESTED == ROOT / "dpopt" else "installed"
    data = _data_folder()
    return [f"dpopt: {kind}, {TESTED}", f"data: {data}" + ("" if data.is_dir() else " (not there)")]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose solver is missing, or fail it where the solver is required."""
    required = _required_solvers(item.config)
    for marker in item.iter_markers("solver"):
        (name,) = marker.args
        explanation = _missing(name)
        if explanation is None:
            continue
        if required & {name, "all"}:
            pytest.fail(f"--require-solvers asks for {name}: {explanation}", pytrace=False)
        pytest.skip(explanation)


@pytest.fixture(scope="session", autouse=True)
def wait_for_no_disk() -> Iterator[None]:
    """Let files be flushed to the disk by the system when it likes: runs are killed here, machines are not.

    Tests that count flushes, or kill a run at one, put their own in place of this one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of the evaluation data sets: DPOPT_DATA, or shared/data next to the checkout."""
    folder = _data_folder()
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}; set DPOPT_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Top folder of the checkout: documents, configuration and the sources as text."""
    return ROOT


def _data_folder() -> Path:
    return Path(os.environ.get("DPOPT_DATA", DEFAULT_DATA))


def _required_solvers(config: pytest.Config) -> set[str]:
    text: str = config.getoption("--require-solvers")
    return {name.strip() for name in text.split(",") if name.strip()}


def _solver_names() -> tuple[str, ...]:
    from dpopt.solvers.registry import solver_names

    return tuple(solver_names())


def _missing(name: str) -> str | None:
    """Return why a solver cannot run here, or None if it can."""
    from dpopt.solvers.registry import get_solver

    availability = get_solver(name).availability()
    return None if availability.available else availability.explanation
