"""What `dpopt.inference.histograms` solves fast, as programs.

| file | what it holds |
|---|---|
| tree_consistency.py, isotonic_regression.py, graphical_sequence.py | what `dpopt.inference.histograms` solves fast |
| interval_partition.py | the best partition of bins into a number of intervals |
"""
