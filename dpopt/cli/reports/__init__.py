"""What commands print: tables, progress and notes.

| file | what it holds |
|---|---|
| declared.py | what a user declares of a table: a schema file, or the columns of a wide one; its layout |
| reports.py, reports_compare.py | what commands print: tables, answers from histograms, privacy |
| progress.py, reporting.py | progress on the terminal; where else a long run reports |
"""
