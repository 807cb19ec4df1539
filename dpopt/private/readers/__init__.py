"""Reading private tables: each record independently of the others, by a public schema and a declared form.

| file | what it holds |
|---|---|
| read_lists.py | rows that are decision lists |
| read_table.py, open_table.py | reading a table, whatever it is kept in; workbooks of Excel, files of SPSS, Stata and SAS |
| table_sources.py | what a table is kept in; files that must not change while they are read |
| table_reading.py, reading_help.py | how a table is read, as its owner declares it; public; what its options mean |
| csv_source.py, parquet_source.py | CSV and Parquet files |
| text_fields.py, text_kernels.py | text files block by block; the fields of their lines; the compiled loops |
| read_fields.py | some fields of all rows, as texts or numbers |
| read_numbers.py | counts that were made already; points of R^d, scaled and rounded |
| read_lengths.py | columns that are lengths after others, taken apart row by row |
| read_edges.py | the edges of a graph |
| read_binary_table.py | wide tables, whatever their layout |
| arrow_types.py | what columns of each Arrow type are read as; seconds of dates, numbers of durations |
| batch_reader.py | codes batch by batch; which rows are counted: those that fit, K of a person |
| encode.py, domain_codes.py, table_problems.py | values to codes; what does not fit the schema; numbers, for the owner |
| binary/ | wide tables of zeros and ones |
"""
