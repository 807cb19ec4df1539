"""noise and projection: what a workload counts is measured with noise, and records fitted to it.

| file | what it holds |
|---|---|
| algorithm.py | the algorithm as a value of `dpopt.algorithms.registry` |
| plan.py, planning.py | the plan, the way to it from a budget; marginals that may be selected |
| stages.py, allocation.py | what is measured of marginals order by order; which precision each set of attributes is worth |
| driver.py | the measurements of counts, made or read again, and what is released of them |
| residuals.py, known.py | the same for residuals; what the measurements so far say of all sets |
| fitting.py | records fitted to noisy counts |
| released_marginals.py | what was measured of one and two attributes, with the deviation of its noise |
| simulation.py, expected.py | the errors that a plan is predicted to have; those of residuals, also given what was measured |
"""
