"""noise and projection: the counts of a workload are measured with noise, and records are fitted to them.

| file | what it holds |
|---|---|
| algorithm.py | the algorithms: their plans, measurements, predictions and proofs |
| plan.py, planning.py | the parameters of a plan; noise and smoothing from a budget; marginals that may be selected |
| stages.py | what is measured of marginals order by order; which precision each set of attributes is worth |
| figures.py | figures that the owner said to matter: what they need, and the widths to expect |
| residuals.py, known.py | stages of residuals, measured or read again; what the measurements so far say of all sets |
| fitting.py | records fitted to noisy counts; the measured marginals of one and two attributes |
| expected.py | the errors that residuals are expected to have, before and after they are measured |
"""
