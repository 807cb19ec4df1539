"""halfspaces: noisy sides of randomly projected points, which answer for any halfspace how many records lie in it.

| file | what it holds |
|---|---|
| halfspace_plan.py, planning.py | which projections, what is measured of them; plans from a budget |
| bias_sample.py, halfspace_theory.py | how far estimates are off on public points; the theorems, corrected |
| declared_columns.py, query_file.py | which columns are coordinates, and their scaling; query vectors from a file |
| release_halfspaces.py | from a table behind its door to released halfspaces |
| halfspaces.py | the release and its answers; its files |
| side_sums.py | released numbers to signed sums of sides; bins of angles that are not below 0 |
| estimators.py | the weights of signed sums in an answer |
"""
