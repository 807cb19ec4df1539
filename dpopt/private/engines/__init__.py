"""Counting on tables wherever they are: in memory, in files, or on the workers of a cluster.

| file | what it holds |
|---|---|
| exact_counts.py | the one place from which curators get exact counts |
| fine_counts.py | counts of finer bins of numeric columns, by any engine |
| open_dataset.py | which engine counts on a table: memory, stream or Dask |
| streamed_table.py | tables left in their files, counted by batches |
| table_digest.py | by what a run that goes on knows its table again; for its owner |
| distributed_table.py, dask_workers.py | parts counted by workers; the only file with Dask |
"""
