"""Rows of mixed-integer programs: clauses, cliques of clauses, and rules.

| file | what it holds |
|---|---|
| literal_keys.py | literals as numbers |
| clause_rows.py, counted_rows.py, parity_rows.py | rows of clauses, kind by kind |
| clique_rows.py, exclusive_clauses.py | rows of clauses with a literal in common |
| rule_rows.py, implications.py | rows of hard rules |
"""
