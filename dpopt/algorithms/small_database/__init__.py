"""SmallDB: a small database is drawn among all of its size.

| file | what it holds |
|---|---|
| algorithm.py | the algorithm as a value of `dpopt.algorithms.registry` |
| plan.py, planning.py | the plan, and the way to it from a budget |
| universe.py | the databases that are drawn from |
| driver.py | the selection, made or read again, and what it releases |
| accuracy.py | what a plan promises |
| simulation.py | what a plan is predicted to do |
"""
