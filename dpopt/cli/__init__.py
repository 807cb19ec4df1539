"""The command line: options in, folders, tables and messages for people out.

May import every other room; typer and rich live here only. One file per command (or pair of commands); `application.py` holds
the application and turns errors into messages. A new command is a file with one function decorated by `command`, imported in
`main.py`, and a line in the README.

| file | what it holds |
|---|---|
| main.py, application.py, options.py | the entry point; the application and its errors; options that commands share |
| declared.py | what a user declares of a table: a schema file, or the columns of a wide one; its layout |
| budget.py | `dpopt budget create` and `show`: the owner's budget over many releases |
| plan.py, release.py, demo.py | `dpopt plan`; `release` and `resume`; `demo` |
| schema.py, rule_report.py | `dpopt schema infer` and `schema check`, and what the owner is told of rules |
| inspect.py, certify.py, compare.py | `dpopt replay`, `evaluate` and `solvers`; `certify`; `compare` |
| reweight.py | `dpopt reweight`: likelier weights for a finished run |
| histogram.py, grid.py | `dpopt histogram` and `dpopt grid`: counts of ordered bins, over one column and over several |
| sorted.py, degrees.py, sorted_export.py | `dpopt sorted` and `dpopt degrees`; the export that they share |
| intervals.py | `dpopt intervals`: intervals and boxes of nearly equal counts |
| summary.py, lists.py, halfspaces.py | `dpopt summary`, `dpopt lists`, `dpopt halfspaces`: one release for many queries |
| polynomial.py, polynomial_table.py | `dpopt polynomial`; a table of least degrees as a CSV file |
| reports.py, reports_compare.py, answers.py, spent.py | what commands print: tables, answers from histograms, privacy |
| halfspaces_report.py, intervals_report.py, polynomial_report.py | the same for the commands of these names |
| performance_picture.py, polynomial_picture.py | pictures of comparisons and of polynomials |
| histogram_picture.py, grid_picture.py, intervals_picture.py | pictures of released counts; nothing of the truth in them |
| picture_file.py | what pictures share: labels of bins, and the file |
| progress.py, told.py, interruption.py | progress on the terminal; where else a long run is told; Ctrl-C that a library drops |
| shown_warnings.py | warnings on privacy, on the terminal |
"""
