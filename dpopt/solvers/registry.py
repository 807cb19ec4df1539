"""Which solvers there are, in order, and how to get one by name.

The table holds import strings: a solver's file is imported when the solver is first asked for, its library only in
its child process. Solvers from outside register under the entry-point group `dpopt.solvers`; each entry names a
callable without arguments that returns a `Solver` (wrap an adapter in `InChildProcess` if it loads a library).
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from dpopt.errors import SolverUnavailableError
from dpopt.programs.solver import Availability, AvailabilityStatus, Solver
from dpopt.solvers.adapter import Adapter

ENTRY_POINTS = "dpopt.solvers"
AUTO = "auto"
DEFAULT = "local-search"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A library that a solver needs: at_least <= version < below, where given; whole numbers between dots."""

    module: str
    distribution: str
    at_least: tuple[int, ...] = ()
    below: tuple[int, ...] = ()

    def availability(self) -> Availability:
        """Look the library up without importing it."""
        if importlib.util.find_spec(self.module) is None:
            return Availability(
                AvailabilityStatus.NOT_INSTALLED, f"{self.module} is not installed; {self._remedy()}"
            )
        try:
            text = importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return Availability(AvailabilityStatus.AVAILABLE, f"{self.module}, version unknown")
        found = version_numbers(text)
        if found < self.at_least or (self.below and found >= self.below):
            explanation = f"{self.distribution} {text} is installed; {self._remedy()}"
            return Availability(AvailabilityStatus.WRONG_VERSION, explanation)
        return Availability(AvailabilityStatus.AVAILABLE, f"{self.distribution} {text}")

    def specifier(self) -> str:
        """Return the requirement as pip reads it."""
        bounds = [
            f"{sign}{'.'.join(map(str, at))}" for sign, at in ((">=", self.at_least), ("<", self.below)) if at
        ]
        return self.distribution + ",".join(bounds)

    def _remedy(self) -> str:
        return f"run: python -m pip install '{self.specifier()}'"


@dataclass(frozen=True, slots=True)
class Entry:
    """A solver of this package: where its class is, and the library it needs.

    With a requirement the class is an `Adapter`, run in a child process; without one it is a `Solver` itself.
    """

    path: str
    requirement: Requirement | None = None


SOLVERS: dict[str, Entry] = {
    "local-search": Entry("dpopt.solvers.local_search:LocalSearch"),
    "cp-sat": Entry("dpopt.solvers.cp_sat:CpSat", Requirement("ortools", "ortools", at_least=(9, 15))),
    "highs": Entry("dpopt.solvers.scipy_highs:ScipyHighs", Requirement("scipy", "scipy", at_least=(1, 13))),
    # PuLP 4 no longer bundles CBC.
    "cbc": Entry("dpopt.solvers.pulp_cbc:PulpCbc", Requirement("pulp", "pulp", at_least=(3, 3), below=(4,))),
}


def solver_names() -> tuple[str, ...]:
    """Return the names of all registered solvers, those of this package first, then others by name."""
    outside = sorted(
        {point.name for point in importlib.metadata.entry_points(group=ENTRY_POINTS)} - set(SOLVERS)
    )
    return (*SOLVERS, *outside)


def available_solvers() -> tuple[str, ...]:
    """Return the names of the solvers that can run here."""
    return tuple(name for name in solver_names() if get_solver(name).availability().available)


def get_solver(name_or_solver: str | Solver) -> Solver:
    """Return the solver of that name; a solver object is returned as it is. "auto" is the local search.

    The same name gives the same object, so that its child process is kept. Whether the solver can run here is told
    by its `availability()`. A solver of mixed-integer programs takes a MaxCsp once it is wrapped by
    `dpopt.formulations.accepting_max_csp`.

    Raises
    ------
    SolverUnavailableError
        No solver has this name, or the entry point of an outside solver cannot be loaded.
    """
    if not isinstance(name_or_solver, str):
        return name_or_solver
    return _named(DEFAULT if name_or_solver == AUTO else name_or_solver)


@functools.cache
def _named(name: str) -> Solver:
    if name in SOLVERS:
        return _of_entry(name, SOLVERS[name])
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        if point.name == name:
            return _of_entry_point(point)
    known = solver_names()
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise SolverUnavailableError(
        f"there is no solver {name!r}{hint}; there are {', '.join(known)}, and {AUTO}"
    )


def _of_entry(name: str, entry: Entry) -> Solver:
    from dpopt.solvers.child_process import InChildProcess

    if entry.requirement is None:
        return cast("Callable[[], Solver]", load(entry.path))()
    adapter = load(entry.path)()
    return InChildProcess(
        entry.path,
        name=name,
        capabilities=adapter.capabilities,
        availability=entry.requirement.availability,
    )


def _of_entry_point(point: importlib.metadata.EntryPoint) -> Solver:
    try:
        solver: Solver = point.load()()
    except Exception as problem:
        raise SolverUnavailableError(
            f"the solver {point.name!r} is registered as {point.value!r}, which does not load: "
            f"{type(problem).__name__}: {problem}"
        ) from problem
    return solver


def load(path: str) -> Callable[[], Adapter]:
    """Import "module:Class" and return the class."""
    module, _, name = path.partition(":")
    return cast("Callable[[], Adapter]", getattr(importlib.import_module(module), name))


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the leading whole numbers of a version: "9.15.6755" gives (9, 15, 6755), "4.0.0a12" gives (4, 0, 0)."""
    numbers = []
    for part in text.split("."):
        digits = "".join(character for character in part if character.isdigit()) if part.isdigit() else part
        leading = len(digits) - len(digits.lstrip("0123456789"))
        if leading == 0:
            break
        numbers.append(int(digits[:leading]))
        if leading < len(digits):
            break
    return tuple(numbers)
