"""By how much one record moves the counts of clauses.

| file | what it holds |
|---|---|
| clauses.py | by how much one record moves the counts of clauses |
| kernels.py | the compiled loops |
"""
