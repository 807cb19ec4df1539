"""DualQuery and DQRS: from a budget to a plan, and from drawn queries to records.

Source: Gaboardi et al. 2014 (DualQuery); Vietri et al. 2020 (DQRS).

| file | what it holds |
|---|---|
| plan.py, planning.py, budget_fit.py | the plan, and the way to it from a budget |
| accuracy.py, simulation.py, binary_simulation.py | what a plan promises and is predicted to do, on wide tables too |
| driver.py, statement.py | the rounds, played or read again; what they certify |
| dqrs_plan.py | DQRS, which draws fewer queries anew |
| free_attributes.py | the values of attributes that no drawn query mentions |
| certified_accuracy.py | what bounds on the rounds prove of a run |
"""
