"""A distribution over a universe, fitted to noisy answers by multiplicative weights.

| file | what it holds |
|---|---|
| universe.py | a product universe in memory |
| fit.py | the distribution on it that is learnt; some weighted cells in place of millions |
| answers.py, kernels.py | its answers to all queries; the compiled loops over cells |
"""
