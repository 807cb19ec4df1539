"""The distributions of exponential mechanisms: exact scores and weights.

| file | what it holds |
|---|---|
| selection.py, kernels.py | what is selected, and its exact scores; exact draws from exponential weights |
| query_weights.py | the query player of DualQuery |
| query_selection.py | the query player of FEM and of multiplicative weights |
"""
