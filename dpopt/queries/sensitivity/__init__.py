"""By how much one record moves the counts of clauses.

| file | what it holds |
|---|---|
| clauses.py | by how much one record moves the counts of clauses |
| kernels.py | clauses by their sets of attributes, and the compiled loops over them |
"""
