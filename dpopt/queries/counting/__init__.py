"""How many records satisfy each query: exact counts on arrays, by whatever kernel is the cheapest.

In: columns or records as arrays, queries. Out: counts. The private side counts records with it, everyone else public
ones.

| file | what it holds |
|---|---|
| binary_columns.py | columns of zeros and ones, as lists of ones or as bits; public records as bits |
| packing_kernels.py | bit packing |
| counting.py | counting clauses on columns, however they are kept |
| bitmaps.py, compiled.py | columns of bits in tiles; counting on them, singly or by sets |
| sparse_kernels.py | counting on columns that are lists of ones |
| resolved_kernels.py | clauses over columns, in sets |
| subset_kernels.py | all conjunctions of few literals, counted |
| answers.py | answers on cells by where they come from: records, the uniform distribution |
| kernels.py, marginal_kernels.py | counting clauses and cells, satisfaction, answers on records with weights |
"""
