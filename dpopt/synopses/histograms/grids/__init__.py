"""Histograms of several columns: grids of cells.

| file | what it holds |
|---|---|
| box_workload.py | which boxes are to be answered well |
| grid_plan.py | the plan of several columns |
| grid_of_table.py | from what a user says to what is released |
| release_grid.py | from exact counts behind their door to a release |
| grid_histogram.py | the release: noisy counts of cells, and what is made of them |
| grid_table.py | released cells as CSV files |
"""
