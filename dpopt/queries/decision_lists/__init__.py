"""Rows that are decision lists.

| file | what it holds |
|---|---|
| families.py, coefficients.py, kernels.py | rows that are decision lists; what they count in conjunctions |
"""
