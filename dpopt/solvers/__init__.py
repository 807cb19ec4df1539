"""A program becomes a result: one file per solver, and the only place that imports solver libraries.

In       a `MaxCsp` or a `MixedIntegerProgram`, and `SolveLimits`.
Out      a `SolveResult`.
Imports  `dpopt.errors`, `dpopt.queries`, `dpopt.programs`; numpy; in each file at most one solver library, inside a
         function. The local search runs in this process (numba); every other library in a child process of its own.
Next     a solver: one file with an adapter (`adapter.py` is the contract; translate, call, one total status table),
         one line in `registry.SOLVERS`; tests/solvers/test_conformance.py takes it up by itself.
"""

from __future__ import annotations

from dpopt.solvers.registry import available_solvers, get_solver, solver_names

__all__ = ["available_solvers", "get_solver", "solver_names"]
