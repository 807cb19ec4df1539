"""A program becomes a result: one file per solver, and the only place that imports solver libraries.

In       a `MaxCsp`, a `MixedIntegerProgram` or a `QuadraticProgram`, and `SolveLimits`.
Out      a `SolveResult`.
Imports  `dpopt.errors`, `dpopt.queries`, `dpopt.programs`; numpy; in each file at most one solver library, inside a
         function. The local search runs in this process (numba); every other library in a child process of its own.
Next     a solver: one file with an adapter (`adapter.py` is the contract; translate, call, one total status table),
         one line in `registry.SOLVERS` with what it needs (`requirement.py`); the conformance tests in tests/solvers
         take it up by its capabilities: best responses, mixed-integer, linear and quadratic programs.

| file | what it holds |
|---|---|
| registry.py, requirement.py | which solvers there are, and what each needs to run here |
| adapter.py, child_process.py, child.py, end_with_parent.py | the contract of an adapter; the process that it runs in |
| local_search.py, annealing.py, local_search_rules.py, local_search_layout.py | the local search, with and without rules |
| local_search_kernels.py, local_search_rules_kernels.py | its compiled loops, without and with rules |
| compound_move_kernels.py, legal_search_kernels.py | compiled: moves that repair what they break; search in legal records |
| cp_sat.py, cp_sat_rules.py, maxsat_rc2.py, maxsat_encoding.py | solvers that take weighted clauses as they are |
| math_opt.py, scipy_highs.py, gurobi.py, pulp_cbc.py, pulp_other.py, glpk.py | mixed-integer and linear programs |
| external_program.py, solver_folder.py | how programs that are called as commands are run; the folder of their files |
| cvxpy_convex.py, cvxpy_status.py | linear and quadratic programs through CVXPY |
| history.py, without_variables.py | incumbents over time; programs without variables |
"""

from __future__ import annotations

from dpopt.solvers.registry import available_solvers, get_solver, solver_names

__all__ = ["available_solvers", "get_solver", "solver_names"]
