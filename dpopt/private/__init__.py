"""The trusted side: records and exact answers live here and nowhere else.

In: a table, a workload, a ledger. Out, through a `Door` only: released values, charged first. A new mechanism is a
method of a curator (a `Door` of one family of algorithms), whose docstring states neighbouring relation, sensitivity,
theorem and the test that checks it, and a kind of charge in `dpopt.accounting`. What compares with the truth
(`evaluation`) returns a type that is marked not private and is for the owner, demonstrations and experiments.

| file | what it holds |
|---|---|
| curators/ | the doors to the records: one curator for each family of algorithms |
| drafts/ | schemas drafted from a table, for its owner to review |
| engines/ | counting on tables in memory, in files, or on the workers of a cluster |
| evaluation.py | for the owner, NOT private: errors against the truth, broken rules |
| marginal_comparison.py | the same: columns and pairs, real beside synthetic; scores |
| measurements/ | what is to be measured with noise, and its exact value |
| mechanisms/ | random draws: noise, exponential mechanisms, randomness |
| readers/ | reading private tables, each record independently |
| record_comparison.py | the same: train on synthetic, test on real; real and synthetic told apart |
| selections/ | exact scores and weights that exponential mechanisms select by |
| tables/ | tables as curators hold them, closed to everyone else |
"""
