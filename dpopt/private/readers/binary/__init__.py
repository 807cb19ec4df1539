"""Wide tables of zeros and ones, from whatever they are kept in to columns that counting takes.

In: sparse matrices, Matrix Market files, baskets, pairs of user and item, bit files. Out: `SparseColumns` or
`BitColumns`, whose memory grows with the ones (or is a bit for each cell), never an array of records times columns. A
new layout is a reader that gives one of the two, a member of `Layout`, and a line in
`dpopt/private/readers/read_binary_table.py`.

| file | what it holds |
|---|---|
| matrices.py | sparse matrices of SciPy, in memory and in npz files; Matrix Market files |
| item_files.py | baskets, one record on each line; pairs of user and item on each line |
| sparse_columns.py | items of records to records of items |
| bit_file.py | bits column by column: on file, mapped into memory, and in memory |
"""
