"""Synthetic records whose answers are near noisy ones.

In: noisy answers with their weights, rules. Out: records, or weights of records.

| file | what it holds |
|---|---|
| fit.py | the one call: the record search, then column generation where rounds are asked for |
| start.py | the first records, one-way marginals, and what a record may look like |
| feasible_layout.py | rules and allowed codes as arrays for the kernels |
| problem.py | what is fitted, how, and what comes out |
| rounding.py | weights as numbers of rows |
| bookkeeping.py, layouts.py | the queries of a problem as arrays for the kernels |
| table_kernels.py | what a code costs in marginals; sums of one-way marginals |
| clause_kernels.py | what it costs in clauses of up to three literals, and in others |
| sweep_kernels.py | sweeps over records, without and with rules |
| team.py | the threads that sweep together |
| columns/ | column generation: the master problem and the pricing of the next record |
"""
