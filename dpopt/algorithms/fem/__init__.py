"""FEM and sepFEM: records that answer selected queries best, once a public perturbation is added.

Source: Vietri et al. 2020.

| file | what it holds |
|---|---|
| plan.py | the plans, and the way to them from a budget |
| driver.py | the rounds, played or read again, and what they release |
| responder.py | the perturbed best responses |
| simulation.py | the errors that a plan is predicted to have |
"""
