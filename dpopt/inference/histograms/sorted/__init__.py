"""Sorted counts and degree sequences from noisy ones.

| file | what it holds |
|---|---|
| isotonic.py, isotonic_kernels.py | nearest nondecreasing sequences |
| degree_sequences.py, degree_kernels.py | degree sequences that a graph can have |
| graphical_relaxation.py, graphical_repair.py | the nearest one: relaxed with cuts, rounded and mended |
| monotone_posterior.py, monotone_posterior_kernels.py | nondecreasing sequences by the law of the noise |
"""
