"""For the owner, NOT private: errors against the truth, and broken rules.

| file | what it holds |
|---|---|
| errors.py | for the owner, NOT private: errors against the truth, broken rules |
"""
