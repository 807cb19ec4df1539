"""Sorted counts and degree sequences.

| file | what it holds |
|---|---|
| release_sorted.py | from a table, counts or edges to sorted counts |
| sorted_counts.py | the release: sorted noisy counts, and what is made of them |
"""
