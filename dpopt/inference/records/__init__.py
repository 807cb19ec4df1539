"""Synthetic records whose answers are near noisy ones.

In: noisy answers with their weights, rules. Out: records, or weights of records.

| file | what it holds |
|---|---|
| fit.py | the one call: the record search, then column generation where rounds are asked for |
| problem.py, settings.py, fitted.py | what is fitted, how, and what comes out |
| record_search.py, start.py, laws.py | N records, each in turn the best response to all others; their start; one-way laws |
| rounding.py | weights as numbers of rows |
| bookkeeping.py, table_layout.py, monomial_layout.py, clause_layout.py | the queries of a problem as arrays for the kernels |
| legal_layout.py, choices.py | its rules and codes likewise |
| table_kernels.py | what a code costs in marginals |
| monomial_kernels.py, clause_kernels.py | what it costs in clauses of up to three literals, and in others |
| search_kernels.py, legal_sweep_kernels.py | sweeps over records, without and with rules |
| law_kernels.py | sums of one-way marginals |
| columns/ | column generation: the master problem and the pricing of the next record |
"""
