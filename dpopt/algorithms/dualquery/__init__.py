"""DualQuery: from a budget to a plan, and from drawn queries to records.

Source: Gaboardi et al. 2014.

| file | what it holds |
|---|---|
| algorithm.py | the algorithm as a value of `dpopt.algorithms.registry` |
| plan.py, planning.py | the plan, and the way to it from a budget |
| accuracy.py | what a plan promises, and what bounds on the rounds prove of a run |
| simulation.py | what a plan is predicted to do, on wide tables too |
| driver.py | the rounds, played or read again; what they certify |
| free_attributes.py | the values of attributes that no drawn query mentions |
"""
