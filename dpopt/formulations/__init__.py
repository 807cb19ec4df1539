"""Mathematics becomes a program: one file per model of the catalogue in models/.

In       queries, and values that the curator released (`SampledQueries`).
Out      programs (`MaxCsp`, `MixedIntegerProgram`), and readings of results (`read_record`).
Imports  `dpopt.errors`, `dpopt.queries`, `dpopt.transcript`, `dpopt.programs`; numpy, scipy.sparse. No solver, no records.
Next     a new model: its page models/<name>/README.md with labelled formulas first, then one file here whose comments
         carry the same labels; tests/models keeps the two in step. A solver-independent reading goes beside it.

| file | what it holds |
|---|---|
| best_response.py, reading.py | a round's draw as a `MaxCsp`; the record read off a result |
| perturbed_response.py | the same for FEM and sepFEM, where the best response is perturbed |
| formulation.py, max_csp_as_mip.py, max_csp_points.py | a `MaxCsp` as a mixed-integer program, and the way back |
| rewarded_clauses.py, row_blocks.py, literal_keys.py | what rows are made from: u_j, blocks of rows, literals as numbers |
| clause_rows.py, counted_rows.py, parity_rows.py | rows of clauses, kind by kind |
| clique_rows.py, exclusive_clauses.py | rows of clauses with a literal in common |
| rule_rows.py, implications.py | rows of hard rules |
| pairwise_lifting.py, pair_tables.py, relaxation_bound.py | bounds from linear programs |
| noise_allocation.py | how much of a budget each marginal gets; solved by its own steps, proven without a solver |
| level_budgets.py | how much of a budget each level of a tree over bins gets; likewise |
| hierarchy_budgets.py, noise_precisions.py | the same for a hierarchy that a user declares; what a part of a budget buys |
| tree_consistency.py, isotonic_regression.py, graphical_sequence.py | what `dpopt.inference.histograms` solves fast |
| as_mip.py, presolved.py, sums_of_parts.py | solvers of mixed-integer programs as those of `MaxCsp`; presolve before any |
| minimax_polynomial.py, coefficient_budget.py, approximation_plus_noise.py | polynomials near values, with small coefficients |
| answer_polynomial.py, mixed_answer_polynomial.py, error_and_noise_search.py | polynomials that answer queries of summaries |
| consistent_records.py | what the noisy counts of a summary leave possible for an answer |
| decision_lists.py | coefficients of decision lists: error and noise together |
| projection_master.py, column_pricing.py | the projection of noisy answers over given records; its pricing as a best response |
| max_entropy.py | the distribution of largest entropy that agrees with noisy answers up to their noise |
| reweighting.py | the likeliest weights for the records of DualQuery |
| small_database.py | the m records nearest to given answers, and what bounds them from below |
| whole_multiplicities.py | which weights of records to round up |
| interval_partition.py | the best partition of bins into a number of intervals |
| halfspace_debiasing.py | biased estimates from random projections, combined for the least worst bias |
| instances.py, clause_text.py | instances of the catalogue in models/, read from files |
"""

from __future__ import annotations

from dpopt.formulations.as_mip import AsMip, accepting_max_csp
from dpopt.formulations.best_response import best_response
from dpopt.formulations.formulation import Formulation
from dpopt.formulations.max_csp_as_mip import max_csp_as_mip
from dpopt.formulations.max_csp_points import point_from_record, record_from_point
from dpopt.formulations.pairwise_lifting import pairwise_lifting
from dpopt.formulations.presolved import Presolved
from dpopt.formulations.reading import read_record

__all__ = [
    "AsMip",
    "Formulation",
    "Presolved",
    "accepting_max_csp",
    "best_response",
    "max_csp_as_mip",
    "pairwise_lifting",
    "point_from_record",
    "read_record",
    "record_from_point",
]
