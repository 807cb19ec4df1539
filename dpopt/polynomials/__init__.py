"""Best polynomial approximations of symmetric predicates, each with a proof that none is better.

In       a target (OR, AND, "at least r of k", any table of values), a degree or an error, a solver to begin with.
Out      `Polynomial` with exact rational coefficients, in a `Solution` with its `Witness`; sensitivities. All public.
Next     another problem on coefficients: its linear program in `dpopt.models`, its page in models/, and one file here
         that states it as a `Problem`; `verify` then checks its certificates as they are.

>>> import dpopt, fractions
>>> dpopt.polynomials.chebyshev_degree(16, fractions.Fraction(1, 10))
6

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
| comparison.py | any polynomial certified; constructions beside the least error; how far one record moves coefficients |
| decision_lists.py | coefficients for rows that are decision lists, and their exact error |
"""

from __future__ import annotations

from dpopt.polynomials.certificates import Problem as Problem
from dpopt.polynomials.certificates import Solution as Solution
from dpopt.polynomials.certificates import Witness as Witness
from dpopt.polynomials.certificates import verify as verify
from dpopt.polynomials.coefficient_budgets import least_coefficients as least_coefficients
from dpopt.polynomials.coefficient_budgets import least_error_within as least_error_within
from dpopt.polynomials.coefficient_budgets import least_predicted_error as least_predicted_error
from dpopt.polynomials.comparison import Certified as Certified
from dpopt.polynomials.comparison import certify as certify
from dpopt.polynomials.comparison import constructions_beside_best as constructions_beside_best
from dpopt.polynomials.constructions import chebyshev_degree as chebyshev_degree
from dpopt.polynomials.constructions import chebyshev_error as chebyshev_error
from dpopt.polynomials.constructions import chebyshev_polynomial as chebyshev_polynomial
from dpopt.polynomials.constructions import sherstov_polynomial as sherstov_polynomial
from dpopt.polynomials.exact_optimum import exact_solution as exact_solution
from dpopt.polynomials.minimax import LeastDegree as LeastDegree
from dpopt.polynomials.minimax import best_polynomial as best_polynomial
from dpopt.polynomials.minimax import least_degree as least_degree
from dpopt.polynomials.minimax import minimax_problem as minimax_problem
from dpopt.polynomials.minimax import verify_least_degree as verify_least_degree
from dpopt.polynomials.polynomial import Basis as Basis
from dpopt.polynomials.polynomial import Polynomial as Polynomial
from dpopt.polynomials.solver_answers import SolverAnswer as SolverAnswer
from dpopt.polynomials.solver_answers import solver_answer as solver_answer
from dpopt.polynomials.targets import Target as Target
