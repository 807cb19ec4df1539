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
| measured_residuals.py | what was measured as residuals of all sets, from which sums of records follow |
| interactions.py | what marginals of more attributes say beyond those of fewer: predictions, scales, counts after shrinkage |
| coarse_tables.py | what columns in at most four parts say of each other: predictions of all cells |
| histograms/ | consistent histograms, trees, grids and sorted counts from noisy ones |
| records/ | synthetic records whose answers are near noisy ones |
"""
