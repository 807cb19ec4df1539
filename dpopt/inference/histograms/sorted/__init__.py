"""Sorted counts and degree sequences from noisy ones.

| file | what it holds |
|---|---|
| isotonic.py, kernels.py, degree_sequences.py, monotone_posterior.py | nearest nondecreasing sequences; degree sequences that a graph can have; the nearest one: relaxed with cuts, rounded and mended; nondecreasing sequences by the law of the noise |
"""
