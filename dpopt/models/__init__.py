"""Optimization models as programs with names, to print, change, export and solve.

In       mathematics: values, weights, queries; and values that the curator released (`SampledQueries`).
Out      `Model` (a program with the names of its page), and readings of results (`read_record`).
Next     a new model: its page models/<name>/README.md with labelled formulas first, then one file here whose blocks
         carry the same labels, and a line in catalogue.py; tests/models keeps them in step.

>>> import dpopt
>>> dpopt.models.isotonic_regression([2, 1]).solve().value["s"].tolist()
[1.5, 1.5]

| file | what it holds |
|---|---|
| model.py, catalogue.py | a model, to print, solve and write; all models by name |
| model_size.py | what a model of a release will ask of a solver, said before |
| halfspace_debiasing.py | biased estimates from random projections, combined for the least worst bias |
| best_linear_answer.py | by which numbers noisy counts add up to an answer |
| optimal_mechanism.py | the matrix of the mechanism of least expected loss, in whole numbers, with its proof |
| shrinkage.py | the empirical prior by which noisy cells are drawn towards predictions |
| best_responses/ | the best response to weighted queries, as programs, with bounds |
| histograms/ | consistent histograms, sorted counts, degrees and intervals |
| noise_budgets/ | how much of a budget each measurement gets |
| polynomials/ | polynomials near given values, and those that answer queries |
| records/ | records and weights of records from answers |
"""

from __future__ import annotations

from dpopt.models.best_linear_answer import best_linear_answer as best_linear_answer
from dpopt.models.best_responses.best_response import best_response as best_response
from dpopt.models.best_responses.best_response import read_record as read_record
from dpopt.models.best_responses.best_response import round_program as round_program
from dpopt.models.best_responses.max_csp_as_mip import AsMip as AsMip
from dpopt.models.best_responses.max_csp_as_mip import accepting_max_csp as accepting_max_csp
from dpopt.models.best_responses.max_csp_as_mip import max_csp_as_mip as max_csp_as_mip
from dpopt.models.best_responses.max_csp_as_mip import point_from_record as point_from_record
from dpopt.models.best_responses.max_csp_as_mip import record_from_point as record_from_point
from dpopt.models.best_responses.own_formulation import OwnFormulation as OwnFormulation
from dpopt.models.best_responses.pairwise_lifting import pairwise_lifting as pairwise_lifting
from dpopt.models.best_responses.perturbed_response import perturbed_response as perturbed_response
from dpopt.models.best_responses.presolved import Presolved as Presolved
from dpopt.models.best_responses.rewarded_clauses import Formulation as Formulation
from dpopt.models.catalogue import CATALOGUE as CATALOGUE
from dpopt.models.catalogue import CatalogueEntry as CatalogueEntry
from dpopt.models.catalogue import build_model as build_model
from dpopt.models.halfspace_debiasing import halfspace_debiasing as halfspace_debiasing
from dpopt.models.histograms.graphical_sequence import graphical_relaxation as graphical_relaxation
from dpopt.models.histograms.graphical_sequence import graphical_sequence as graphical_sequence
from dpopt.models.histograms.grid_consistency import grid_consistency as grid_consistency
from dpopt.models.histograms.interval_partition import interval_partition as interval_partition
from dpopt.models.histograms.isotonic_regression import isotonic_median_regression as isotonic_median_regression
from dpopt.models.histograms.isotonic_regression import isotonic_regression as isotonic_regression
from dpopt.models.histograms.tree_consistency import tree_consistency as tree_consistency
from dpopt.models.histograms.tree_consistency import whole_tree_consistency as whole_tree_consistency
from dpopt.models.model import Model as Model
from dpopt.models.model import Solution as Solution
from dpopt.models.noise_budgets.continual_counting import continual_counting as continual_counting
from dpopt.models.noise_budgets.hierarchy_budgets import hierarchy_budgets as hierarchy_budgets
from dpopt.models.noise_budgets.level_budgets import level_budgets as level_budgets
from dpopt.models.noise_budgets.noise_allocation import noise_allocation as noise_allocation
from dpopt.models.noise_budgets.residual_allocation import residual_allocation as residual_allocation
from dpopt.models.noise_budgets.strategy import strategy as strategy
from dpopt.models.optimal_mechanism import optimal_mechanism as optimal_mechanism
from dpopt.models.polynomials.answer_polynomial import answer_polynomial as answer_polynomial
from dpopt.models.polynomials.approximation_plus_noise import approximation_plus_noise as approximation_plus_noise
from dpopt.models.polynomials.coefficient_budget import coefficient_budget as coefficient_budget
from dpopt.models.polynomials.coefficient_budget import limited_coefficients as limited_coefficients
from dpopt.models.polynomials.decision_lists import decision_lists as decision_lists
from dpopt.models.polynomials.minimax_polynomial import minimax_polynomial as minimax_polynomial
from dpopt.models.records.consistent_records import consistent_records as consistent_records
from dpopt.models.records.max_entropy import max_entropy as max_entropy
from dpopt.models.records.projection import projection as projection
from dpopt.models.records.reweighting import reweighting as reweighting
from dpopt.models.records.small_database import small_database as small_database
from dpopt.models.shrinkage import shrinkage as shrinkage
