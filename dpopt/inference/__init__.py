"""Fits to noisy answers: weighted feasible records, distributions, consistent trees and sequences.

In       a `FitProblem`: queries with noisy values (shares of the records), rules, allowed codes; `FitSettings`.
Out      `Fitted`: weighted feasible records, the objective, and a bound on how much better any records could fit.
Next     another way to fit: one file here that takes a `FitProblem` and returns a `Fitted`; the mathematics in
models/projection.

| file | what it holds |
|---|---|
| halfspace_regression.py | weights with which sides of known halfspaces estimate the side of another one |
| distribution/ | a distribution over a universe, fitted to noisy answers by multiplicative weights |
| shrinkage.py, shrinkage_kernels.py | noisy cells drawn towards predictions by empirical Bayes, with posterior variances |
| interactions.py | what marginals of more attributes say beyond those of fewer: predictions, scales, counts after shrinkage |
| histograms/ | consistent histograms, trees, grids and sorted counts from noisy ones |
| records/ | synthetic records whose answers are near noisy ones |
"""

from __future__ import annotations

from dpopt.inference.records.columns.column_generation import generate_columns
from dpopt.inference.records.fit import fit, fit_records
from dpopt.inference.records.problem import FitProblem, FitProgress, FitSettings, Fitted, FitTerm
from dpopt.inference.records.start import estimated_one_way

__all__ = [
    "FitProblem",
    "FitProgress",
    "FitSettings",
    "FitTerm",
    "Fitted",
    "estimated_one_way",
    "fit",
    "fit_records",
    "generate_columns",
]
