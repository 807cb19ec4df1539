"""Polynomials near given values, and polynomials that answer queries.

| file | what it holds |
|---|---|
| minimax_polynomial.py, coefficient_budget.py, approximation_plus_noise.py | polynomials near values, small coefficients |
| answer_polynomial.py | polynomials that answer queries of summaries |
| decision_lists.py | coefficients of decision lists: error and noise together |
"""
