"""The commands of synopses: plan, release, answer and export.

| file | what it holds |
|---|---|
| histograms.py | `dpopt histogram` and `dpopt grid`: counts of ordered bins, over one column and over several |
| count.py | `dpopt count`: one small count, with the least expected loss |
| prefixes.py | `dpopt prefixes`: counts up to each step, as the steps pass |
| sorted.py | `dpopt sorted` and `dpopt degrees` |
| shared.py | a kind and how its commands are made (`Kind`), the options of all kinds, and how they report |
| intervals.py | `dpopt intervals`: intervals and boxes of nearly equal counts |
| summary.py, lists.py, halfspaces.py | `dpopt summary`, `dpopt lists`, `dpopt halfspaces`: one release for many queries |
| polynomial.py | `dpopt polynomial`; a table of least degrees as a CSV file |
| polynomial_report.py | the same for the commands of these names |
"""
