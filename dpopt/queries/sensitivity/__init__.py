"""By how much one record moves the counts of clauses.

| file | what it holds |
|---|---|
| clauses.py, tables.py, dual.py, kernels.py | by how much one record moves the counts of clauses; the compiled loops |
"""
