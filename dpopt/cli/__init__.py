"""The command line: options in, folders, tables and messages for people out.

typer and rich live here only. One file per command (or pair of commands); `application.py` holds the application and
turns errors into messages. A new command is a file with one function decorated by `command`, imported in `main.py`, and
a line in the README.

| file | what it holds |
|---|---|
| main.py, options.py | the entry point; options that commands share |
| model_source.py | options that say of what a model is built |
| application.py | the application and its errors; warnings on privacy, on the terminal |
| interruption.py | Ctrl-C that a library drops, noticed at the next step |
| budget.py | `dpopt budget create`, `show` and `forget`: the owner's budget over many releases |
| commands/ | the commands of a release of records, of schemas and of solvers |
| pictures.py | pictures of what was released or compared, in the style of pictures.mplstyle |
| reports/ | what commands print: tables, progress, notes |
| synopses/ | the commands of synopses: plan, release, answer, export |
"""
