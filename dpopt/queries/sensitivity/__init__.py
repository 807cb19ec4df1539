"""By how much one record moves the counts of clauses.

| file | what it holds |
|---|---|
| clauses.py, tables.py, dual.py, kernels.py, sensitivity_limits.py | by how much one record moves the counts of clauses; the compiled loops |
"""
