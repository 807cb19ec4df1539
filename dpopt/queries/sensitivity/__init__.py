"""By how much one record moves the counts of clauses.

| file | what it holds |
|---|---|
| clauses.py | by how much one record moves the counts of clauses |
| kernels.py, sensitivity_limits.py | the compiled loops, and how wide tables may be |
"""
