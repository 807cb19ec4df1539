"""histograms: plans, releases and answers of histograms over ordered bins, and of sorted counts.

| file | what it holds |
|---|---|
| range_workload.py | which ranges are to be answered well, also under a hierarchy; those with the largest variance |
| counts_plan.py, tree_plan.py | what all plans give; what those of trees give; plans on file |
| histogram_plan.py, hierarchy_plan.py | the plans: over bins, over a declared hierarchy |
| wave_plan.py | the plan that measures waves in place of blocks |
| in_rounds.py | blocks measured in rounds, the largest first, none with few records divided further |
| least_possible.py | how near a plan is to the least variance that can be |
| release_histogram.py | from a table, or from counts, to a histogram |
| released_counts.py | a release over one axis or several: estimates, answers to boxes, cells as CSV files |
| histogram.py | the release of one column: quantiles, ranges, and its models |
| prefixes.py | prefixes that grow: answered as steps pass, in a journal |
| estimates.py | the estimates that a user may choose from, by name |
| grids/ | histograms of several columns: grids of cells |
| sorted/ | sorted counts and degree sequences |
"""
