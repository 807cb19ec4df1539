"""halfspaces: noisy sides of randomly projected points, which answer for any halfspace how many records lie in it.

| file | what it holds |
|---|---|
| halfspace_plan.py, planning.py | which projections, the signed sums of sides that are measured; plans from a budget |
| bias_sample.py | how far estimates are off on public points |
| release_halfspaces.py | which columns are coordinates; from a table behind its door to released halfspaces |
| halfspaces.py | the release and its answers; its files; query vectors from a file |
| estimators.py | the weights of signed sums in an answer; the theorems, corrected |
"""
