"""Solvers in processes of their own, with limits that hold.

| file | what it holds |
|---|---|
| requirement.py | what a solver needs to run here |
| adapter.py, child_process.py, external_program.py | the contract of an adapter; how it is run in a process; how programs that are called as commands are run; incumbents over time; programs without variables |
"""
