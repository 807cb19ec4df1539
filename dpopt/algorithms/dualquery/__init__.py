"""DualQuery: from a budget to a plan, and from drawn queries to records.

Source: Gaboardi et al. 2014.

| file | what it holds |
|---|---|
| algorithm.py | the algorithm: its plan, prediction, proof and rounds, played or read again |
| rounds.py | a round: its best response, its free attributes, its certificate |
| plan.py | the parameters of a plan, and how rounds, draws and step are fitted into a budget |
| accuracy.py | the accuracy theorem |
| simulation.py | the rounds on public populations, of wide tables too |
"""
