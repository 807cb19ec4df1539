"""Families of polynomials, one for each possible record.

| file | what it holds |
|---|---|
| family.py, family_moves.py | a polynomial for each possible record; by how much it can change |
| symmetric_family.py, table_family.py, function_family.py | the three kinds of such families |
"""
