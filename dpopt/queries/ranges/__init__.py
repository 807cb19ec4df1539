"""Ranges and boxes of ordered bins, and trees over bins.

| file | what it holds |
|---|---|
| bins.py, tree.py | the bins of a histogram; trees over them; hierarchies that a user declares |
| weighted_ranges.py | which ranges of bins matter; how they lie in blocks |
| waves.py | weighted sums of all bins that answer ranges and prefixes with the least variance |
| grids.py | grids of cells over several columns; boxes that divide them; boxes as text |
"""
