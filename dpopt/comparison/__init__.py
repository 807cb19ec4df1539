"""Solvers and formulations compared on the same best responses or models, with equal limits. Public values only.

In       instances of the catalogue, rounds of transcripts or models, names of solvers, formulations, limits.
Out      a `Comparison`: one row for each pair, with exact values and a verdict on each claim; tables and profiles.

| file | what it holds |
|---|---|
| compare.py | cases from files and transcripts; every contestant on every case, each in a process of its own |
| comparing.py | `dpopt.compare`: the same from Python |
| papers.py | `dpopt.reproduce`: figures of papers, by the experiments in a process of their own |
| plans.py | `dpopt.sweep`: plans for several rounds, draws and steps, side by side |
| releases.py | whole releases of one public table, by each solver with common random numbers |
| problems.py | what is compared on: weighted clauses or a model, each solved and assessed in its own way |
| parts.py | what a comparison is made of, and which claims of a row are false |
| tables.py | results.json, results.csv, leaderboard.md, the summary; the profile that the picture shows |
| submissions.py | records and bounds that are submitted to the benchmark, checked in exact arithmetic |
| instances.py | instances of the catalogue in models/, read from files |
"""
