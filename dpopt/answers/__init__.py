"""Answers with intervals: counts, shares, means, quantiles and regressions from the measurements of releases.

| file | what it holds |
|---|---|
| questions.py | the language of questions; those whose answers every release shows |
| estimates.py | sums over records: their unbiased estimates and covariances |
| intervals.py | intervals of sums, ratios, differences and quantiles |
| answer.py | from a question to its sums and its answers |
| regression.py | linear regressions from pairs of columns |
"""
