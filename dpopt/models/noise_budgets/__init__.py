"""How much of a budget each measurement gets.

| file | what it holds |
|---|---|
| noise_allocation.py | how much of a budget each marginal gets; solved by its own steps, proven without a solver |
| residual_allocation.py | how precisely each residual of marginals is measured, with a prior; solved by bisection |
| level_budgets.py | how much of a budget each level of a tree over bins gets |
| hierarchy_budgets.py | the same for a hierarchy that a user declares |
| level_descent.py | the search that solves both, and what a part of a budget buys |
| strategy.py | which sums are measured: the least variance of any workload, by a semidefinite program or own steps |
| least_variance.py | bounds on that in closed form, however many bins there are |
| continual_counting.py | how prefixes that grow are factored, with the least largest variance; its bound |
| budget_program.py | the one program of levels, marginals and residuals; budgets that a named solver finds, checked |
"""
