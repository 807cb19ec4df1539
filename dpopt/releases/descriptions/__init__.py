"""The description of a release in words, from released values alone.

| file | what it holds |
|---|---|
| pair_errors.py | what released values say of columns and their pairs: errors, rows beside unrelated columns |
| verdict.py | what a release is good for and what not, before all else that is said of it |
| description.py | what is said of a release: guarantee, warnings, citation |
| readme.py | README.txt of a release folder |
"""
