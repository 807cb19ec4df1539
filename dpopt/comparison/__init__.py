"""Solvers and formulations compared on the same best-response problems, with equal limits. Public values only.

Comes in: instances of the catalogue or rounds of a transcript (cases.py), solvers and formulations by name, limits.
Goes out: a `Comparison`: one row for each pair, with exact values and what was found out about each claim; tables and profiles.
May import: what `dpopt.algorithms` may.

| file | what it holds |
|---|---|
| compare.py | every contestant on every case, each in a process of its own |
| parts.py, cases.py | what a comparison is made of, and which claims of a row are not so; cases from files and transcripts |
| tables.py | results.json, results.csv, the summary; the profile that the picture shows |
| instances.py | instances of the catalogue in models/, read from files |
"""
