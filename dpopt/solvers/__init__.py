"""A program becomes a result: one file per solver, and the only place that imports solver libraries.

In       a `MaxCsp`, a `MixedIntegerProgram` or a `QuadraticProgram`, and `SolveLimits`.
Out      a `SolveResult`.
Rule     each file imports at most one solver library, inside a function. The local search runs in this process (numba), every
         other library in a child process of its own.
Next     a solver: one file with an adapter (`process/adapter.py` is the contract; translate, call, one total status table),
         one line in `registry.SOLVERS` with what it needs (`Requirement`); the conformance tests in tests/solvers
         take it up by its capabilities: best responses, mixed-integer, linear and quadratic programs.

| file | what it holds |
|---|---|
| registry.py, outside.py | which solvers there are; how those from outside are tried, and asked with an end to the waiting |
| child.py | the process that a solver runs in |
| cp_sat.py, maxsat_rc2.py | solvers that take weighted clauses as they are |
| math_opt.py, scipy_highs.py, gurobi.py, pulp_cbc.py, pulp_other.py, glpk.py | mixed-integer and linear programs |
| cvxpy_convex.py | linear and quadratic programs through CVXPY |
| local_search/ | local search for `MaxCsp`, dpopt's own solver |
| process/ | solvers in processes of their own, with limits that hold |
"""

from __future__ import annotations

from dpopt.solvers.registry import available_solvers as available_solvers
from dpopt.solvers.registry import get_solver as get_solver
from dpopt.solvers.registry import solver_names as solver_names
