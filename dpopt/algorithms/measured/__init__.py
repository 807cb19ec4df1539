"""noise, projection and adaptive: queries are measured with noise, and records fitted to them.

| file | what it holds |
|---|---|
| plan.py, planning.py | the plans, the way to them from a budget; marginals that may be selected |
| driver.py | the measurements, made or read again, and what is released of them |
| fitting.py | records fitted to noisy counts |
| simulation.py | the errors that a plan is predicted to have |
"""
