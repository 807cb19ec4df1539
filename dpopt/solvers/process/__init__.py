"""Solvers in processes of their own, with limits that hold.

| file | what it holds |
|---|---|
| requirement.py | what a solver needs to run here |
| adapter.py, child_process.py | the contract of an adapter, incumbents over time; how it is run in a process |
| external_program.py | how programs that are called as commands are run, and end with this one |
"""
