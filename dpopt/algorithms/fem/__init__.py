"""FEM: records that answer selected queries best, once a public perturbation is added.

Source: Vietri et al. 2020.

| file | what it holds |
|---|---|
| algorithm.py | the algorithm: its plan, prediction and rounds |
| plan.py | the parameters of a plan, and the ranges that a budget covers |
| responder.py | the perturbed best responses |
"""
