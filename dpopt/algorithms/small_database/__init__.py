"""SmallDB: a small database is drawn among all of its size.

| file | what it holds |
|---|---|
| algorithm.py | the algorithm: its plan, its one draw, its prediction and proof |
| plan.py | the parameters of a plan |
| universe.py | the databases that are drawn from |
| accuracy.py | how close the best small database is, and the drawn one |
| simulation.py | databases of public populations, drawn by Markov chains |
"""
