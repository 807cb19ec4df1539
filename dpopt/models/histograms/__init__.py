"""The programs that `dpopt.inference.histograms` solves by closed forms.

| file | what it holds |
|---|---|
| tree_consistency.py, isotonic_regression.py, graphical_sequence.py | what `dpopt.inference.histograms` solves fast |
| grid_consistency.py | the same for blocks of a grid, which need not lie one in another |
| interval_partition.py | the best partition of bins into a number of intervals |
"""
