"""Histograms of several columns: grids of cells.

| file | what it holds |
|---|---|
| box_workload.py | which boxes are to be answered well |
| grid_plan.py | the plan of several columns |
| release_grid.py | from a table to a histogram of several columns |
| grid_histogram.py | the release of several columns: least squares of cells, variances of boxes, and its model |
"""
