"""What a file of this room offers for a foreign library: a class that runs inside a child process."""

from __future__ import annotations

from typing import Protocol

from dpopt.programs.limits import SolveLimits
from dpopt.programs.results import Limit, Point, SolveResult, Termination
from dpopt.programs.solver import Capability, Program

Verdict = tuple[Termination, Limit | None]
"""What one native status means: the values of an adapter's status table."""

HEADER = 8
"""Bytes of the length, big-endian, that goes before each pickle between parent and child."""

UNKNOWN_STATUS: Verdict = (Termination.FAILED, None)
"""What a status means that the table does not know: never a success. Its text goes into `native_status`."""


class Adapter(Protocol):
    """Translates a program, calls the library, maps the status. `dpopt.solvers.process.child_process` does the rest.

    The library is imported inside `solve`. What the answer claims is verified by the caller; `seconds` is measured
    there too. An exception becomes a FAILED result.
    """

    @property
    def name(self) -> str:
        """Name in the registry."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the library accepts and gives."""
        ...

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a program of a kind named in `capabilities`."""
        ...
