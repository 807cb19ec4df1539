"""A program becomes a result: one file per solver, and the only place that imports solver libraries.

In       a `MaxCsp`, a `MixedIntegerProgram` or a `QuadraticProgram`, and `SolveLimits`.
Out      a `SolveResult`.
Imports  `dpopt.errors`, `dpopt.queries`, `dpopt.programs`; numpy; in each file at most one solver library, inside a
         function. The local search runs in this process (numba); every other library in a child process of its own.
Next     a solver: one file with an adapter (`adapter.py` is the contract; translate, call, one total status table),
         one line in `registry.SOLVERS` with what it needs (`requirement.py`); the conformance tests in tests/solvers
         take it up by its capabilities: best responses, mixed-integer, linear and quadratic programs.
"""

from __future__ import annotations

from dpopt.solvers.registry import available_solvers, get_solver, solver_names

__all__ = ["available_solvers", "get_solver", "solver_names"]
