"""histograms: plans, releases and answers of histograms over ordered bins, and of sorted counts.

| file | what it holds |
|---|---|
| histogram_settings.py | what a user may say beside the table; whole numbers in options |
| range_workload.py, hierarchy_ranges.py | which ranges are to be answered well |
| worst_ranges.py | which ranges of blocks have the largest predicted variance |
| counts_plan.py, tree_plan.py | what all plans give; what those of trees give; plans on file |
| histogram_plan.py, hierarchy_plan.py | the plans: over bins, over a declared hierarchy |
| counted_table.py | exact counts of a table behind their door |
| histogram_of_table.py | from what a user says to what is released |
| release_histogram.py | from exact counts behind their door to a release |
| histogram.py | the releases: noisy counts, and what is made of them |
| estimates.py | the estimates that a user may choose from, by name |
| histogram_files.py, histogram_table.py | the files of releases; released counts as CSV files |
| grids/ | histograms of several columns: grids of cells |
| sorted/ | sorted counts and degree sequences |
"""
