"""Workloads: sets of queries, and the texts and files that name them.

| file | what it holds |
|---|---|
| workload.py, short_forms.py, families.py, explicit.py | short forms and JSON files, and their queries |
| items.py | random conjunctions over items of known popularity |
"""
