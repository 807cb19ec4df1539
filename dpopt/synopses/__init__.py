"""Releases that answer queries by themselves and hold no records.

In: a private table, a public declaration, a budget. Out: a file that answers queries, with errors. Each folder has a plan, a
release, and the answers of one kind.

| file | what it holds |
|---|---|
| decision_lists/ | tables whose rows are decision lists |
| halfspaces/ | halfspaces of points |
| histograms/ | histograms of ordered columns |
| intervals/ | partitions into intervals and boxes |
| sanitizers/ | the generic sanitizer of polynomials |
| summaries/ | noisy conjunctions that answer by polynomials |
"""
