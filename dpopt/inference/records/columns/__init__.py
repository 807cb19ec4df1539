"""Records found one by one by column generation: a master problem with weights, and pricing for the next record.

| file | what it holds |
|---|---|
| column_generation.py, columns.py | weighted records, their best weights, a proof |
| pricing.py | the next record: by search, by enumeration, by a solver |
| column_kernels.py | descents of single records and columns |
"""
