"""Records found one by one by column generation: a master problem with weights, and pricing for the next record.

| file | what it holds |
|---|---|
| pool.py | the records found so far |
| column_generation.py, master.py, columns.py | weighted records, their best weights, a proof |
| pricing.py, solver_pricing.py | the next record: by search, by enumeration, by a solver |
| pricing_kernels.py, column_kernels.py | descents of single records and columns |
"""
