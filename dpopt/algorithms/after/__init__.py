"""What can be made of a finished release of DualQuery, at no cost of privacy.

| file | what it holds |
|---|---|
| certify.py | bounds for its rounds, and what they prove |
| reweighted_release.py | maximum-likelihood weights for its records; the release with them |
"""
