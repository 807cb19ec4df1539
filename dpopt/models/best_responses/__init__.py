"""The best response to weighted queries: a `MaxCsp`, mixed-integer programs for it, and bounds.

| file | what it holds |
|---|---|
| best_response.py | a round's draw as a `MaxCsp`; the record read off a result |
| perturbed_response.py | the same for FEM and sepFEM, where the best response is perturbed |
| row_blocks.py, max_csp_as_mip.py, rewarded_clauses.py, presolved.py | a `MaxCsp` as a mixed-integer program, and the way back; what rows are made from: rewarded clauses u_j, blocks of rows; solvers of mixed-integer programs as those of `MaxCsp`; presolve before any |
| pairwise_lifting.py, relaxation_bound.py | bounds from linear programs |
| column_pricing.py | the pricing of a projection as a best response |
| rows/ | rows of clauses, cliques and rules |
"""
