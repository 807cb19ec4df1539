"""Conjunctions of few literals, and monomials.

| file | what it holds |
|---|---|
| literals.py | conjunctions of a few literals by number; the literals of a summary, and queries in words |
| monomials.py | monomials in 0/1 variables |
"""
