"""A schema drafted from a table, for its owner to correct.

| file | what it holds |
|---|---|
| schema.py, columns.py, edges.py | a schema drafted from the table, for the owner to correct |
"""
