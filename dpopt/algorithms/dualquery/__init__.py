"""DualQuery: from a budget to a plan, and from drawn queries to records.

Source: Gaboardi et al. 2014.

| file | what it holds |
|---|---|
| algorithm.py | the algorithm: its plan, prediction, proof and rounds, played or read again |
| plan.py, planning.py | the parameters of a plan, and how rounds, draws and step are fitted into a budget |
| accuracy.py | what a plan promises, and what bounds on the rounds prove of a run |
| simulation.py | the rounds on public populations, of wide tables too |
| free_attributes.py | the values of attributes that no drawn query mentions |
"""
