"""Local search for `MaxCsp`: dpopt's own solver.

| file | what it holds |
|---|---|
| search.py, layout.py | the local search, with and without rules |
| kernels.py, rules_kernels.py | its compiled loops, without rules, and with rules and moves that repair what they break |
"""
