"""Partitions found on the private side: intervals of nearly equal numbers of records, and boxes cut at noisy medians.

| file | what it holds |
|---|---|
| partition_plan.py | what plans of intervals and of boxes have in common |
| interval_plan.py | plans of intervals |
| split_plan.py | plans of boxes cut at noisy medians |
| against_trees.py | the errors of a tree of counts with the same budget |
| release_intervals.py | from counts behind their door to intervals and boxes; from a table to their release |
| partition.py, partition_release.py | boxes and their cuts; the release and its answers; as CSV files |
| joined_bins.py | the bins of a released histogram joined into intervals |
"""
