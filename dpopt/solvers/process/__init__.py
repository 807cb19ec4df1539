"""Solvers in processes of their own, with limits that hold.

| file | what it holds |
|---|---|
| adapter.py | the contract of an adapter, incumbents over time; programs that are called as commands, their folders |
| child_process.py | how an adapter is run in a process |
"""
