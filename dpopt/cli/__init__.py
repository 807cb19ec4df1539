"""The command line: options in, folders, tables and messages for people out.

May import every other room; typer and rich live here only. One file per command (or pair of commands); `application.py` holds
the application and turns errors into messages. A new command is a file with one function decorated by `command`, imported in
`main.py`, and a line in the README.
"""
