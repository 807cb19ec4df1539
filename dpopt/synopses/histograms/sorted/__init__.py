"""Sorted counts and degree sequences.

| file | what it holds |
|---|---|
| sorted_of_table.py | from what a user says to what is released |
| release_sorted.py | from exact counts behind their door to a release |
| sorted_counts.py | the release: sorted noisy counts, and what is made of them |
"""
