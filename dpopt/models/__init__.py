"""Optimization models as programs with names, to print, change, export and solve.

In       mathematics: values, weights, queries; and values that the curator released (`SampledQueries`).
Out      `Model` (a program with the names of its page), and readings of results (`read_record`).
Next     a new model: its page models/<name>/README.md with labelled formulas first, then one file here whose blocks
         carry the same labels, and a line in catalogue.py; tests/models keeps them in step.

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

from dpopt.models.best_linear_answer import best_linear_answer
from dpopt.models.best_responses.best_response import best_response, read_record, round_program
from dpopt.models.best_responses.max_csp_as_mip import (
    AsMip,
    accepting_max_csp,
    max_csp_as_mip,
    point_from_record,
    record_from_point,
)
from dpopt.models.best_responses.pairwise_lifting import pairwise_lifting
from dpopt.models.best_responses.perturbed_response import perturbed_response
from dpopt.models.best_responses.presolved import Presolved
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.models.catalogue import CATALOGUE, CatalogueEntry, build_model
from dpopt.models.halfspace_debiasing import halfspace_debiasing
from dpopt.models.histograms.graphical_sequence import graphical_relaxation, graphical_sequence
from dpopt.models.histograms.grid_consistency import grid_consistency
from dpopt.models.histograms.interval_partition import interval_partition
from dpopt.models.histograms.isotonic_regression import isotonic_median_regression, isotonic_regression
from dpopt.models.histograms.tree_consistency import tree_consistency, whole_tree_consistency
from dpopt.models.model import Model, Solution
from dpopt.models.noise_budgets.continual_counting import continual_counting
from dpopt.models.noise_budgets.hierarchy_budgets import hierarchy_budgets
from dpopt.models.noise_budgets.level_budgets import level_budgets
from dpopt.models.noise_budgets.noise_allocation import noise_allocation
from dpopt.models.noise_budgets.residual_allocation import residual_allocation
from dpopt.models.noise_budgets.strategy import strategy
from dpopt.models.optimal_mechanism import optimal_mechanism
from dpopt.models.polynomials.answer_polynomial import answer_polynomial
from dpopt.models.polynomials.approximation_plus_noise import approximation_plus_noise
from dpopt.models.polynomials.coefficient_budget import coefficient_budget, limited_coefficients
from dpopt.models.polynomials.decision_lists import decision_lists
from dpopt.models.polynomials.minimax_polynomial import minimax_polynomial
from dpopt.models.records.consistent_records import consistent_records
from dpopt.models.records.max_entropy import max_entropy
from dpopt.models.records.projection import projection
from dpopt.models.records.reweighting import reweighting
from dpopt.models.records.small_database import small_database
from dpopt.models.shrinkage import shrinkage

__all__ = [
    "CATALOGUE",
    "AsMip",
    "CatalogueEntry",
    "Formulation",
    "Model",
    "Presolved",
    "Solution",
    "accepting_max_csp",
    "answer_polynomial",
    "approximation_plus_noise",
    "best_linear_answer",
    "best_response",
    "build_model",
    "coefficient_budget",
    "consistent_records",
    "continual_counting",
    "decision_lists",
    "graphical_relaxation",
    "graphical_sequence",
    "grid_consistency",
    "halfspace_debiasing",
    "hierarchy_budgets",
    "interval_partition",
    "isotonic_median_regression",
    "isotonic_regression",
    "level_budgets",
    "limited_coefficients",
    "max_csp_as_mip",
    "max_entropy",
    "minimax_polynomial",
    "noise_allocation",
    "optimal_mechanism",
    "pairwise_lifting",
    "perturbed_response",
    "point_from_record",
    "projection",
    "read_record",
    "record_from_point",
    "residual_allocation",
    "reweighting",
    "round_program",
    "shrinkage",
    "small_database",
    "strategy",
    "tree_consistency",
    "whole_tree_consistency",
]
