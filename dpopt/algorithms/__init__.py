"""Drivers: plan, run, release; short, in the paper's order.

In: a schema, a workload, a budget, a table behind the curator, a solver. Out: a release folder that is publishable at every
instant, and the same as values. May import every other room but `dpopt.cli`. A driver's control flow depends on the plan and
on released values only. A new algorithm is a driver file here, a plan type, and a line in `dpopt.algorithms.run`.
"""
