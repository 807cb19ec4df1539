"""The solvers, in order, the requirements of each, and how to get one by name.

The table holds import strings: a solver's file is imported when the solver is first asked for, its library only in its
child process. After the table come what else PuLP finds (`pulp-gurobi`), then solvers from outside, which register
under the entry-point group `dpopt.solvers`; each entry names a callable without arguments that returns a `Solver` (wrap
an adapter in `InChildProcess` if it loads a library).
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import cast

from dpopt.errors import PlanError, SolverUnavailableError, meant
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Solver
from dpopt.solvers.process.adapter import Adapter, remove_left_folders

LICENCE_SECONDS = 30.0
"""How long a library may look for its licence."""


@dataclass(frozen=True, slots=True)
class Library:
    """A library with at_least <= version < below, if given; whole numbers between dots.

    `stage` is what follows for pip after the numbers of `at_least`, of a library that has pre-releases only (".dev17");
    `why` is what is wrong with other versions.
    """

    module: str
    distribution: str
    at_least: tuple[int, ...] = ()
    below: tuple[int, ...] = ()
    stage: str = ""
    why: str = ""

    def availability(self) -> Availability:
        """Look the library up without importing it."""
        if importlib.util.find_spec(self.module) is None:
            return Availability(AvailabilityStatus.NOT_INSTALLED, f"{self.module} is not installed; {self._remedy()}")
        try:
            text = _installed_version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return Availability(AvailabilityStatus.AVAILABLE, f"{self.module}, version unknown")
        found = version_numbers(text)
        if found < self.at_least or (self.below and found >= self.below):
            why = f", {self.why}" if self.why else ""
            explanation = f"{self.distribution} {text} is installed{why}; {self._remedy()}"
            return Availability(AvailabilityStatus.WRONG_VERSION, explanation)
        return Availability(AvailabilityStatus.AVAILABLE, f"{self.distribution} {text}")

    def specifier(self) -> str:
        """Return the requirement as pip reads it."""
        bounds = [
            f"{sign}{'.'.join(map(str, at))}{stage}"
            for sign, at, stage in ((">=", self.at_least, self.stage), ("<", self.below, ""))
            if at
        ]
        return self.distribution + ",".join(bounds)

    def _remedy(self) -> str:
        return f"run: python -m pip install '{self.specifier()}'"


@dataclass(frozen=True, slots=True)
class ProgramOnPath:
    """A program that pip cannot bring; `remedy` is the command that does."""

    program: str
    remedy: str

    def availability(self) -> Availability:
        """Look for the program on the PATH."""
        place = shutil.which(self.program)
        if place is None:
            return Availability(
                AvailabilityStatus.NOT_INSTALLED, f"{self.program} is not on the PATH; run: {self.remedy}"
            )
        return Availability(AvailabilityStatus.AVAILABLE, place)


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence, which `code` finds or fails to find; it runs in a process of its own, once."""

    library: str
    code: str

    def availability(self) -> Availability:
        """Let the library look for its licence."""
        problem = _last_words(self.code)
        if problem is None:
            return Availability(AvailabilityStatus.AVAILABLE, "with a licence")
        return Availability(AvailabilityStatus.NO_LICENCE, f"{self.library} finds no licence: {problem}")


Requirement = Library | ProgramOnPath | Licence
"""Something that can be there or not; the error for a missing one names the command that installs it."""


def availability_of(requirements: Sequence[Requirement]) -> Availability:
    """Return the first missing requirement, else that all are met, in words."""
    found = []
    for requirement in requirements:
        availability = requirement.availability()
        if not availability.available:
            return availability
        found.append(availability.explanation)
    return Availability(AvailabilityStatus.AVAILABLE, ", ".join(found))


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the leading whole numbers of a version: "9.15.6755" gives (9, 15, 6755), "4.0.0a12" gives (4, 0, 0)."""
    leading = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, leading[0].split("."))) if leading else ()


@functools.cache  # reading it takes longer than many a small program; whoever changes it begins a new process
def _installed_version(distribution: str) -> str:
    return importlib.metadata.version(distribution)


@functools.cache
def _last_words(code: str) -> str | None:
    """Run Python code in a new process; None if it succeeds, else the last line that it printed."""
    try:
        done = subprocess.run(  # noqa: S603  # our own interpreter and code
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LICENCE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {LICENCE_SECONDS:g} s"
    if done.returncode == 0:
        return None
    return next(reversed(done.stderr.strip().splitlines()), f"exit code {done.returncode}")


ENTRY_POINTS = "dpopt.solvers"
AUTO = "auto"
DEFAULT = "local-search"
PULP = "pulp-"
BREAKDOWNS = (Exception, SystemExit, GeneratorExit)
"""Errors that foreign code can raise without ending dpopt; KeyboardInterrupt comes from the user."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A solver of this package: its module (see `load`), and its requirements.

    With requirements it is an `Adapter`, run in a child process; without any it is a `Solver` itself. `through_files`:
    the library works through temporary files.
    """

    path: str
    requirements: tuple[Requirement, ...] = ()
    through_files: bool = False


_ORTOOLS = Library("ortools", "ortools", at_least=(9, 15))
_CVXPY = Library("cvxpy", "cvxpy", at_least=(1, 6))
_PULP = Library("pulp", "pulp", at_least=(3, 3), below=(4,))  # PuLP 4 no longer bundles CBC
_PULP_NEEDS: dict[str, tuple[Requirement, ...]] = {
    # ERGO-Code/HiGHS: issues 3002, 3043, 3073, 3094; mixed-integer programs only, so that cvxpy-highs may use any version.
    "pulp-highs": (Library("highspy", "highspy", at_least=(1, 15), why="and HiGHS 1.14 calls wrong solutions optimal"),)
}

_CONVEX, _MATH_OPT = "dpopt.solvers.cvxpy_convex:CvxpyConvex", "dpopt.solvers.math_opt:MathOpt"
SOLVERS: dict[str, Entry] = {
    "local-search": Entry("dpopt.solvers.local_search.search:LocalSearch"),
    "cp-sat": Entry("dpopt.solvers.cp_sat:CpSat", (_ORTOOLS,)),
    "highs": Entry("dpopt.solvers.scipy_highs:ScipyHighs", (Library("scipy", "scipy", at_least=(1, 13)),)),
    "cbc": Entry("dpopt.solvers.pulp_cbc:PulpCbc", (_PULP,), through_files=True),
    "glpk": Entry("dpopt.solvers.glpk:Glpk", (ProgramOnPath("glpsol", "apt install glpk-utils"),), through_files=True),
    "gscip": Entry(f"{_MATH_OPT}:gscip", (_ORTOOLS,)),
    "mathopt-highs": Entry(f"{_MATH_OPT}:mathopt-highs", (_ORTOOLS,)),
    "glop": Entry(f"{_MATH_OPT}:glop", (_ORTOOLS,)),
    "pdlp": Entry(f"{_MATH_OPT}:pdlp", (_ORTOOLS,)),
    "clarabel": Entry(f"{_CONVEX}:clarabel", (_CVXPY, Library("clarabel", "clarabel"))),
    "osqp": Entry(f"{_CONVEX}:osqp", (_CVXPY, Library("osqp", "osqp"))),
    "scs": Entry(f"{_CONVEX}:scs", (_CVXPY, Library("scs", "scs"))),
    "cvxpy-highs": Entry(f"{_CONVEX}:cvxpy-highs", (_CVXPY, Library("highspy", "highspy"))),
    "gurobi": Entry(
        "dpopt.solvers.gurobi:Gurobi",
        (
            Library("gurobipy", "gurobipy", at_least=(12,)),
            Licence("gurobipy", "import gurobipy; gurobipy.Env(params={'OutputFlag': 0})"),
        ),
    ),
    "rc2": Entry("dpopt.solvers.maxsat_rc2:Rc2", (Library("pysat", "python-sat", at_least=(1, 9), stage=".dev17"),)),
}


def solver_names() -> tuple[str, ...]:
    """Return the names of all registered solvers: those of this package, those that PuLP finds, then others by name."""
    known = (*SOLVERS, *_found_by_pulp())
    return (*known, *sorted(set(outside(ENTRY_POINTS)) - set(known)))


def outside(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """Return the objects that packages register as entry points of a group, by name; of two with one name, the first."""
    points = importlib.metadata.entry_points(group=group)
    return {point.name: point for point in reversed([*points])}


def available_solvers() -> tuple[str, ...]:
    """Return the names of the solvers that can run here. One from outside that does not load, or does not say, cannot."""
    return tuple(name for name in solver_names() if _can_run(name))


def whether_it_runs(solver: Solver) -> Availability:
    """Return whether a solver can run here; one from outside that breaks down when it is asked cannot."""
    try:
        answer: object = solver.availability()
    except BREAKDOWNS as problem:
        why = f"asking it raised {type(problem).__name__}; report that to its authors"
        return Availability(AvailabilityStatus.NOT_INSTALLED, why)
    if isinstance(answer, Availability):
        return answer
    why = f"asked whether it can run, it gave a {type(answer).__name__}; report that to its authors"
    return Availability(AvailabilityStatus.NOT_INSTALLED, why)


def require_available(solver: Solver) -> Solver:
    """Return the solver; refuse one that cannot run here."""
    availability = whether_it_runs(solver)
    if not availability.available:
        raise SolverUnavailableError(f"the solver {solver.name!r} cannot run here: {availability.explanation}")
    return solver


def _can_run(name: str) -> bool:
    try:
        return whether_it_runs(get_solver(name)).available
    except SolverUnavailableError:
        return False


def get_solver(name_or_solver: str | Solver) -> Solver:
    """Return the solver of that name; a solver object is returned as it is. "auto" is the local search.

    The same name gives the same object, so that its child process is kept. Whether the solver can run here is found by
    its `availability()`. A solver of mixed-integer programs takes a MaxCsp once it is wrapped by
    `dpopt.models.accepting_max_csp`. What solvers of killed processes left in the folder for temporary files is
    removed.

    Raises
    ------
    SolverUnavailableError
        No solver has this name, or the entry point of an outside solver cannot be loaded.
    """
    if not isinstance(name_or_solver, str):
        name, able = (getattr(name_or_solver, one, None) for one in ("name", "capabilities"))
        if not isinstance(name, str) or not isinstance(able, AbstractSet):
            expected = "a solver of your own has a name, which is a text, and a set of capabilities"
            raise PlanError(f"{expected}; found a {type(name_or_solver).__name__} without them")
        return name_or_solver
    remove_left_folders()
    return _named(DEFAULT if name_or_solver == AUTO else name_or_solver)


@functools.cache
def _named(name: str) -> Solver:
    if name in SOLVERS:
        return _of_entry(name, SOLVERS[name])
    if name.startswith(PULP) and name in _found_by_pulp():
        path = f"dpopt.solvers.pulp_other:PulpOther:{_found_by_pulp()[name]}"
        entry = Entry(path, (_PULP, *_PULP_NEEDS.get(name, ())), through_files=True)
        return _of_entry(name, entry)
    if name in (registered := outside(ENTRY_POINTS)):
        return _of_entry_point(registered[name])
    known = solver_names()
    there = f"there are {', '.join(known)}, and {AUTO}"
    raise SolverUnavailableError(f"there is no solver {name!r}; {there}{meant(name, known)}")


def _of_entry(name: str, entry: Entry) -> Solver:
    from dpopt.solvers.process.child_process import InChildProcess

    if not entry.requirements:
        return cast("Callable[[], Solver]", load(entry.path))()
    adapter = load(entry.path)()
    return InChildProcess(
        entry.path,
        name=name,
        capabilities=adapter.capabilities,
        availability=functools.partial(availability_of, entry.requirements),
        through_files=entry.through_files,
    )


def _of_entry_point(point: importlib.metadata.EntryPoint) -> Solver:
    registered = f"the solver {point.name!r} is registered as {point.value!r}"
    try:
        solver: Solver = point.load()()
        fault = _fault(solver)
    except BREAKDOWNS as problem:
        raise SolverUnavailableError(
            f"{registered}, which does not load: {type(problem).__name__}: {problem}"
        ) from problem
    if fault is not None:
        raise SolverUnavailableError(f"{registered}, which gives a {type(solver).__name__} {fault}")
    return solver


def _fault(solver: Solver) -> str | None:
    """Return the fault in the members, name and capabilities of a foreign solver; nothing of it has been checked."""
    missing = [name for name in _MEMBERS if not hasattr(solver, name)]
    if missing:
        return f"without {', '.join(missing)}; a solver has {', '.join(_MEMBERS)} (dpopt.programs.Solver)"
    name: object = solver.name
    capabilities: object = solver.capabilities
    if not isinstance(name, str):
        return f"whose name is {name!r:.40}, and no text"
    if not isinstance(capabilities, frozenset) or not all(isinstance(one, Capability) for one in capabilities):
        return f"whose capabilities are {capabilities!r:.40}, and no frozenset of Capability"
    return None


_MEMBERS = ("name", "capabilities", "availability", "solve")


@functools.cache
def _found_by_pulp() -> dict[str, str]:
    """Return the solvers that PuLP finds beyond the table, by registered name; looked up once, in a process of its own."""
    if not _PULP.availability().available:
        return {}
    find = cast("Callable[[], dict[str, str]]", load("dpopt.solvers.pulp_other:found_by_pulp"))
    return find()


def load(path: str) -> Callable[[], Adapter]:
    """Import "module:name" and return the named object; for "module:name:word", its call with that word."""
    module, name, word = (*path.split(":"), "")[:3]
    found = cast("Callable[[], Adapter]", getattr(importlib.import_module(module), name))
    if not word:
        return found
    return functools.partial(cast("Callable[[str], Adapter]", found), word)
