"""pmw and mwem: a distribution that learns from selected and measured queries.

| file | what it holds |
|---|---|
| algorithm.py | the algorithms: their plans, rounds, predictions and proofs |
| plan.py, planning.py | the parameters of a plan and its universe; rounds, ranges and noise from a budget |
| learner.py | the distribution that learns |
"""
