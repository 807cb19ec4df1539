"""Rows of mixed-integer programs: clauses, cliques of clauses, and rules.

| file | what it holds |
|---|---|
| clause_rows.py | rows of clauses, kind by kind |
| clique_rows.py | rows of clauses with a literal in common |
| rule_rows.py | rows of hard rules |
"""
