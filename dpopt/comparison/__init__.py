"""Solvers and formulations compared on the same best-response problems, with equal limits. Public values only.

In       instances of the catalogue or rounds of a transcript (compare.py), solvers and formulations by name, limits.
Out      a `Comparison`: one row for each pair, with exact values and what was found out about each claim; tables and profiles.

| file | what it holds |
|---|---|
| compare.py | cases from files and transcripts; every contestant on every case, each in a process of its own |
| parts.py | what a comparison is made of, and which claims of a row are false |
| tables.py | results.json, results.csv, the summary; the profile that the picture shows |
| instances.py | instances of the catalogue in models/, read from files |
"""
