"""pmw and mwem: a distribution that learns from selected and measured queries.

| file | what it holds |
|---|---|
| algorithm.py | the algorithm as a value of `dpopt.algorithms.registry` |
| plan.py, planning.py | the plans and their universe, and the way to them from a budget |
| learner.py | the distribution that learns |
| driver.py | the rounds, played or read again, and what they release; a plan for public populations |
"""
