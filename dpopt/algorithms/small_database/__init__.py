"""SmallDB: a small database is drawn among all of its size.

| file | what it holds |
|---|---|
| algorithm.py | the plan and the algorithm: its one draw, its prediction by Markov chains, its proof |
| universe.py | the databases that are drawn from |
| accuracy.py | how close the best small database is, and the drawn one |
"""
