"""FEM: records that answer selected queries best, once a public perturbation is added.

Source: Vietri et al. 2020.

| file | what it holds |
|---|---|
| algorithm.py | the algorithm as a value of `dpopt.algorithms.registry` |
| plan.py | the plans, and the way to them from a budget |
| driver.py | the rounds, played or read again, and what they release; a plan for public populations |
| responder.py | the perturbed best responses |
"""
