"""Noisy counts of trees and sequences become consistent ones.

In       a `Tree` with a noisy value and a variance for each node, or a noisy sequence; public parameters.
Out      the consistent values that are nearest to them, and how much they still vary.
Next     another inference: one file here, its general program in `dpopt.models`, its page in models/.

| file | what it holds |
|---|---|
| interval_partition.py | the best intervals for the bins of a histogram |
| tree_least_squares.py, tree_kernels.py | least squares over a tree; its values divided anew; variances of ranges |
| mean_variance.py | the mean variance of ranges as a function of each level's noise, with its slopes |
| kernels.py | compiled loops of interval_partition.py and shrunken_halves.py |
| grid_least_squares.py | several columns, any shapes of blocks measured, with or without negative cells |
| shrunken_halves.py | cells by empirical Bayes in the basis of their halves, with errors of boxes |
| halves_in_rounds.py | the same for blocks measured in rounds, and which of them to divide next |
| closed_forms.py | the closed forms of `dpopt.models.histograms`, with the duals that prove them |
| prefix_factors.py | prefixes that grow: a triangular strategy in whole numbers, and its answers |
| sorted/ | sorted counts and degree sequences from noisy ones |
"""
