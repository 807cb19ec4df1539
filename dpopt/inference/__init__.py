"""Noisy answers become records: those whose answers lie as near to them as those of any distribution on legal records can.

In       a `FitProblem`: queries with noisy values (shares of the records), rules, allowed codes; `FitSettings`.
Out      `Fitted`: weighted legal records, the objective, and how much nearer any records could come.
Imports  `dpopt.errors`, `dpopt.queries`, `dpopt.programs`, `dpopt.formulations`, `dpopt.solvers`; numpy. No records of persons.
Next     another way to fit: one file here that takes a `FitProblem` and returns a `Fitted`; the mathematics in
models/projection.

| file | what it holds |
|---|---|
| fit.py | the one call: the record search, then column generation where rounds are asked for |
| problem.py, settings.py, fitted.py | what is fitted, how, and what comes out |
| record_search.py, pool.py, start.py, laws.py | N records, each in turn the best response to all others; where they start |
| column_generation.py, master.py, columns.py | weighted records, their best weights, a proof |
| pricing.py, solver_pricing.py | the next record: by search, by enumeration, by a solver |
| rounding.py | weights as numbers of rows |
| bookkeeping.py, table_layout.py, monomial_layout.py, clause_layout.py | the queries of a problem as arrays for the kernels |
| legal_layout.py, choices.py | its rules and codes likewise |
| table_kernels.py | what a code costs in marginals |
| monomial_kernels.py, clause_kernels.py | what it costs in clauses of up to three literals, and in others |
| search_kernels.py, legal_sweep_kernels.py | sweeps over records, without and with rules |
| halfspace_regression.py | sides of known halfspaces to weights for another one |
| multiplicative_universe.py, multiplicative_fit.py | a product universe in memory; the distribution on it that is learnt |
| multiplicative_answers.py, multiplicative_kernels.py | its answers to all queries; the compiled loops over cells |
| multiplicative_support.py | some weighted cells in place of millions |
| interval_partition.py, interval_partition_kernels.py | the best intervals for the bins of a histogram |
| histograms/ | noisy counts of trees and sequences to consistent ones |
| pricing_kernels.py, column_kernels.py, law_kernels.py | descents of single records, columns, one-way sums |
"""

from __future__ import annotations

from dpopt.inference.column_generation import generate_columns
from dpopt.inference.fit import fit
from dpopt.inference.fitted import FitProgress, Fitted
from dpopt.inference.laws import estimated_laws
from dpopt.inference.problem import FitProblem, FitTerm
from dpopt.inference.record_search import fit_records
from dpopt.inference.settings import FitSettings

__all__ = [
    "FitProblem",
    "FitProgress",
    "FitSettings",
    "FitTerm",
    "Fitted",
    "estimated_laws",
    "fit",
    "fit_records",
    "generate_columns",
]
