"""The command line: options in, folders, tables and messages for people out.

May import every other room; typer and rich live here only. One file per command (or pair of commands); `application.py` holds
the application and turns errors into messages. A new command is a file with one function decorated by `command`, imported in
`main.py`, and a line in the README.

| file | what it holds |
|---|---|
| main.py, application.py, options.py | the entry point; the application and its errors; options that commands share |
| plan.py, release.py, demo.py | `dpopt plan`; `release` and `resume`; `demo` |
| schema.py, rule_report.py | `dpopt schema infer` and `schema check`, and what the owner is told of rules |
| inspect.py, certify.py, compare.py | `dpopt replay`, `evaluate` and `solvers`; `certify`; `compare` |
| reports.py, reports_compare.py, performance_picture.py, progress.py, told.py | what commands print, draw and log |
"""
