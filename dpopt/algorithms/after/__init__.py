"""Post-processing of a finished release, at no further cost of privacy.

| file | what it holds |
|---|---|
| certify.py | bounds for the rounds of DualQuery, and what they prove |
| certified.py | `dpopt.certify`: the same as a value |
| about_target.py | for the owner: a column within groups, and a regression, beside the table |
| judgement.py | what a report for the owner says of it and its table; NOT private |
| reweighted_release.py | maximum-likelihood weights for the records of DualQuery; the release with them |
"""
