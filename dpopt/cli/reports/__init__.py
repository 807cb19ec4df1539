"""The output of commands: tables, progress and notes.

| file | what it holds |
|---|---|
| rows.py | rows of figures: a table, a file of them, or a picture |
| declared.py | what a user declares of a table: a schema file, or the columns of a wide one; its layout |
| reports.py, reports_compare.py | what commands print: tables, answers from histograms, privacy |
| holdings.py | what files and folders of dpopt hold, one table of kinds |
| progress.py | progress on the terminal |
| reporting.py | where else a long run reports: the log of a run |
"""
