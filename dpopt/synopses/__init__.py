"""Releases that answer queries and hold no records.

In: a private table, a public declaration, a budget. Out: a file that answers queries, with errors. Each folder has a
plan, a release, and the answers of one kind.

| file | what it holds |
|---|---|
| release.py | the one path of all kinds: refuse, plan, read, reserve, measure; what a user may say of any of them |
| synopsis.py | what every kind is, and its file |
| solved.py | estimates that are models, solved by a solver that the user names |
| any_synopsis.py | the table of kinds; a file whose kind is not known |
| sufficient.py | least records and budgets that a wanted error needs |
| release_answers.py | questions answered by releases of records and by histograms |
| optimal_count.py | one small count by the mechanism of least expected loss |
| decision_lists/ | tables whose rows are decision lists |
| halfspaces/ | halfspaces of points |
| histograms/ | histograms of ordered columns |
| intervals/ | partitions into intervals and boxes |
| sanitizers/ | the generic sanitizer of polynomials |
| summaries/ | noisy conjunctions that answer by polynomials |
"""
