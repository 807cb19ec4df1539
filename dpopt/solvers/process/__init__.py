"""Solvers in processes of their own, with limits that hold.

| file | what it holds |
|---|---|
| requirement.py | what a solver needs to run here |
| adapter.py, child_process.py, end_with_parent.py | the contract of an adapter; how it is run in a process |
| external_program.py | how programs that are called as commands are run |
| history.py | incumbents over time; programs without variables |
"""
