"""Records and weights of records from answers.

| file | what it holds |
|---|---|
| consistent_records.py | what the noisy counts of a summary leave possible for an answer |
| projection.py | the projection of noisy answers over given records; which of their weights to round up |
| max_entropy.py | the distribution of largest entropy that agrees with noisy answers up to their noise |
| reweighting.py | maximum-likelihood weights for the records of DualQuery |
| small_database.py | the m records nearest to given answers, and what bounds them from below |
"""
