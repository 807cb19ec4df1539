"""histograms: noisy counts of trees and sequences to consistent ones.

In       a `Tree` with a noisy value and a variance for each node, or a noisy sequence; public parameters.
Out      the consistent values that are nearest to them, and how much they still vary.
Imports  `dpopt.errors`, `dpopt.queries`, `dpopt.programs`; numpy, scipy. No records, no solver.
Next     another inference: one file here, its general program in `dpopt.models`, its page in models/.

| file | what it holds |
|---|---|
| interval_partition.py, interval_partition_kernels.py | the best intervals for the bins of a histogram |
| tree_least_squares.py, tree_kernels.py, mean_variance.py | least squares over a tree in two passes; variances of ranges; the mean variance of ranges as a function of each level's noise, with its slopes; the same without negative bins, exact; without negative bins, each node divided anew: wide ranges stay unbiased |
| integer_tree.py, integer_kernels.py | the same in whole numbers, exact, with a certificate |
| grid_least_squares.py | several columns, any shapes of blocks measured; the same without negative cells, each block halved anew |
| sorted/ | sorted counts and degree sequences from noisy ones |
"""
