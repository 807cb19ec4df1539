"""The commands of synopses: plan, release, answer and export.

| file | what it holds |
|---|---|
| histogram.py, grid.py | `dpopt histogram` and `dpopt grid`: counts of ordered bins, over one column and over several |
| sorted.py, degrees.py | `dpopt sorted` and `dpopt degrees`; the export that they share |
| intervals.py | `dpopt intervals`: intervals and boxes of nearly equal counts |
| summary.py, lists.py, halfspaces.py | `dpopt summary`, `dpopt lists`, `dpopt halfspaces`: one release for many queries |
| polynomial.py | `dpopt polynomial`; a table of least degrees as a CSV file |
| intervals_report.py, polynomial_report.py | the same for the commands of these names |
"""
