"""The best response to weighted queries: a `MaxCsp`, mixed-integer programs for it, and bounds.

| file | what it holds |
|---|---|
| best_response.py | a round's draw as a `MaxCsp`, a model in the hand; the record read off a result |
| perturbed_response.py | the same for FEM, where the best response is perturbed |
| max_csp_as_mip.py | a `MaxCsp` as a mixed-integer program, the way back, and solvers of those as solvers of `MaxCsp` |
| own_formulation.py | a round as somebody's function writes it, in PuLP, CVXPY, CP-SAT or MathOpt |
| row_names.py | the page of a best response, and the labels of its rows |
| rewarded_clauses.py | the ways to write rows; rewarded clauses u_j |
| presolved.py | presolve before any solver |
| portfolio.py | an exact solver that begins from the record of a search |
| pairwise_lifting.py, relaxation_bound.py | bounds from linear programs |
| column_pricing.py | the pricing of a projection as a best response |
| rows/ | rows of clauses, cliques and rules |
"""
