"""How many records satisfy each query: exact counts on arrays, by whatever kernel is the cheapest.

In: columns or records as arrays, queries. Out: counts. The private side counts records with it, everyone else public ones.

| file | what it holds |
|---|---|
| binary_columns.py, binary_kernels.py | columns of zeros and ones, as lists of ones or as bits |
| bit_records.py | public records of zeros and ones as bits |
| counting.py | counting clauses on columns, however they are kept |
| bitmaps.py, bitmap_counts.py, set_count_kernels.py | columns of bits in tiles; counting on them, singly or by sets |
| sparse_counts.py, sparse_clause_kernels.py, sparse_count_kernels.py | counting on columns that are lists of ones |
| resolved_kernels.py | clauses over columns, in sets |
| subset_kernels.py | all conjunctions of few literals, counted |
| answers.py | answers on cells by where they come from: records, the uniform distribution |
| kernels.py, packing_kernels.py, compiled.py | bit packing, counting, satisfaction |
| marginal_kernels.py, answer_kernels.py | counting by cells; answers on records with weights |
"""
