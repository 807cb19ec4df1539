"""The cost of privacy: charges, composition theorems, conversions, ledger.

Comes in: parameters of mechanisms (step, draws, rounds, public n; noise scales) and a budget. No records, no
    queries, no answers.
Goes out: `Charge`s, totals in epsilon, delta and rho that are never below the exact value, and a `Ledger` that
    checks before it spends.
To add a mechanism: a function that returns its `Charge` (kind, parameter, relation, theorem), in a file of its
    own.
To add a composition theorem: a member of `Accountant`, its case in `ChargeColumns.epsilon`, and its numbers in
    tests/accounting.

Every number holds under one neighbouring relation, and every charge names it.

| file | what it holds |
|---|---|
| relations.py, charges.py | which tables are neighbours; what one mechanism costs |
| accountants.py | from charges to a total: five composition theorems |
| many_releases.py | what several releases cost together, each chosen after those before it; the owner's budget |
| budget.py, ledger.py | a budget, and the cost of charges by it; plans reserved whole and spent charge by charge |
| conversions.py | from rho-zCDP to (epsilon, delta) and back, and from mu-GDP; sums never below the exact value |
| dualquery.py | what the draws of DualQuery cost; how many rounds fit a budget |
| selections.py | selections by the exponential mechanism: of candidates; one for each round of FEM |
| matrices.py | draws from a matrix of whole weights, for a count with few values |
| measurements.py | integer noise: on counts, among them all one-way marginals; on the number of records |
"""
