"""Random draws: noise, exponential mechanisms, and where their randomness comes from.

| file | what it holds |
|---|---|
| selection_distribution.py | the exact distribution of a selection |
| noise.py, randomness.py | integer noise, by OpenDP; the words of the operating system, for all other draws |
| net/ | exact draws from nets of databases |
"""
