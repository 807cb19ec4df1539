"""Local search for `MaxCsp`: dpopt's own solver.

| file | what it holds |
|---|---|
| search.py, annealing.py, rules.py, layout.py | the local search, with and without rules |
| kernels.py, rules_kernels.py | its compiled loops, without and with rules; compiled: moves that repair what they break; search in legal records |
"""
