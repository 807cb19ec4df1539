"""Partitions found on the private side: intervals of nearly equal numbers of records, and boxes cut at noisy medians.

| file | what it holds |
|---|---|
| interval_settings.py, limits.py | what a user may say beside the table; limits of the numbers in it |
| interval_plan.py, interval_planning.py, interval_theorem.py | plans of intervals; the paper's theorem, corrected |
| split_plan.py, split_planning.py | plans of boxes cut at noisy medians |
| any_partition_plan.py, noise_reach.py | plans on file; how far noise goes |
| against_trees.py | what a tree of counts would do with the same budget |
| partition_of_table.py | from what a user says to what is released |
| release_intervals.py, release_split.py | from exact counts behind their door to intervals; to boxes |
| partition.py, partition_release.py, partition_table.py | boxes and their cuts; the release and its answers; as CSV files |
| joined_bins.py | the bins of a released histogram joined into intervals |
"""
