"""Halfspaces of points, and public projections.

| file | what it holds |
|---|---|
| halfspaces.py, kernels.py | public projections of points, directions, queries of halfspaces; weighted sides |
"""
