"""Wide tables of zeros and ones, from whatever they are kept in to columns that counting takes.

In: sparse matrices, Matrix Market files, baskets, pairs of user and item, bit files. Out: `SparseColumns` or `BitColumns`,
whose memory grows with the ones (or is a bit for each cell), never an array of records times columns. A new layout is a reader
that gives one of the two, a member of `Layout`, and a line in `dpopt/private/readers/read_binary_table.py`.

| file | what it holds |
|---|---|
| bit_file_table.py | a bit file as a table, mapped into memory |
| matrices.py | sparse matrices of SciPy, in memory and in npz files |
| matrix_market.py | Matrix Market files |
| text_blocks.py, fields.py, text_kernels.py | text files block by block; fields of lines; the compiled loops |
| items.py | texts or numbers of items to columns; what is none, told with its line |
| baskets.py, pairs.py | one record on each line; one pair of user and item on each line |
| listing.py, listing_kernels.py | items of records to records of items |
| bit_file.py, bit_table.py | bits column by column: on file, in memory |
"""
