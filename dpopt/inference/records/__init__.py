"""Synthetic records whose answers are near noisy ones.

In: noisy answers with their weights, rules. Out: records, or weights of records.

| file | what it holds |
|---|---|
| fit.py, start.py, legal_layout.py | the one call: the record search, then column generation where rounds are asked for; N records, each in turn the best response to all others; their start; one-way laws; its rules and codes likewise |
| problem.py | what is fitted, how, and what comes out |
| rounding.py | weights as numbers of rows |
| bookkeeping.py, layouts.py | the queries of a problem as arrays for the kernels |
| table_kernels.py | what a code costs in marginals; sums of one-way marginals |
| clause_kernels.py | what it costs in clauses of up to three literals, and in others |
| sweep_kernels.py | sweeps over records, without and with rules |
| columns/ | column generation: the master problem and the pricing of the next record |
"""
