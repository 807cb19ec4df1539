"""Best polynomial approximations of symmetric predicates, each with a proof that none is better.

In       a target (OR, AND, "at least r of k", any table of values), a degree or an error, a solver to begin with.
Out      `Polynomial` with exact rational coefficients, in a `Solution` with its `Witness`; sensitivities. All public.
Next     another problem on coefficients: its linear program in `dpopt.models`, its page in models/, and one file here
         that states it as a `Problem`; `verify` then checks its certificates as they are.

| file | what it holds |
|---|---|
| targets.py | what is approximated; "at least r of k" as a sum of disjunctions |
| polynomial.py | polynomials in three bases, exact |
| certificates.py | problems, solutions, witnesses, and `verify`, which trusts nothing |
| minimax.py | levelled errors and exchange; best approximations and least degrees, their tables and files |
| coefficient_budgets.py | least coefficients for an error; least error with noise |
| exact_optimum.py | linear programs solved exactly, starting from the point of a solver |
| solver_answers.py | the polynomial of a solver, judged in exact arithmetic |
| constructions.py | constructions of the papers, by Chebyshev and Sherstov |
| comparison.py | any polynomial certified; constructions beside the least error |
| decision_lists.py | coefficients for rows that are decision lists, and their exact error |
| sensitivities.py | by how much one record changes the counts of each expansion |
"""

from __future__ import annotations

from dpopt.polynomials.certificates import Problem, Solution, Witness, verify
from dpopt.polynomials.coefficient_budgets import least_coefficients, least_error_within, least_predicted_error
from dpopt.polynomials.comparison import Certified, certify, constructions_beside_best
from dpopt.polynomials.constructions import chebyshev_degree, chebyshev_error, chebyshev_polynomial, sherstov_polynomial
from dpopt.polynomials.exact_optimum import exact_solution
from dpopt.polynomials.minimax import LeastDegree, best_polynomial, least_degree, minimax_problem, verify_least_degree
from dpopt.polynomials.polynomial import Basis, Polynomial
from dpopt.polynomials.solver_answers import SolverAnswer, solver_answer
from dpopt.polynomials.targets import Target

__all__ = [
    "Basis",
    "Certified",
    "LeastDegree",
    "Polynomial",
    "Problem",
    "Solution",
    "SolverAnswer",
    "Target",
    "Witness",
    "best_polynomial",
    "certify",
    "chebyshev_degree",
    "chebyshev_error",
    "chebyshev_polynomial",
    "constructions_beside_best",
    "exact_solution",
    "least_coefficients",
    "least_degree",
    "least_error_within",
    "least_predicted_error",
    "minimax_problem",
    "sherstov_polynomial",
    "solver_answer",
    "verify",
    "verify_least_degree",
]
