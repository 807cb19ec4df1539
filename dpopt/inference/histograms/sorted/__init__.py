"""Sorted counts and degree sequences from noisy ones.

| file | what it holds |
|---|---|
| isotonic.py | nearest nondecreasing sequences |
| degree_sequences.py | degree sequences that a graph can have; the nearest one: relaxed with cuts, rounded and repaired |
| monotone_posterior.py, kernels.py | nondecreasing sequences by the distribution of the noise; the compiled loops |
"""
