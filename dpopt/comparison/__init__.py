"""Solvers and formulations held against each other on the same best-response problems, with equal limits. Public values only.

Comes in: instances of the catalogue or rounds of a transcript (cases.py), solvers and formulations by name, limits.
Goes out: a `Comparison`: one row for each pair, with exact values and what was found out about each claim; tables and profiles.
May import: what `dpopt.algorithms` may.

| file | what it holds |
|---|---|
| compare.py, one_run.py | every contestant on every case; one of them on one case, in a process of its own |
| parts.py, cases.py | what a comparison is made of; cases from files and from transcripts |
| judge.py | which claims a row, or another solver's row, contradicts |
| tables.py, performance_profile.py | results.json, results.csv, the summary; the profile that the picture shows |
| instances.py, clause_text.py | instances of the catalogue in models/, read from files |
"""
