"""The trusted side: records and exact answers live here and nowhere else.

In: a table, a workload, a ledger. Out, through `Curator` only: released values, charged first. May import
`dpopt.transcript`, `dpopt.accounting`, `dpopt.queries` and `dpopt.errors`; it reaches no program, formulation or solver.
A new mechanism is a method of the curator whose docstring states neighbouring relation, sensitivity, theorem and the test
that checks it, and a kind of charge in `dpopt.accounting`. What compares with the truth (`evaluation`) returns a type that is
marked not private and is for the owner, demonstrations and experiments.
"""
