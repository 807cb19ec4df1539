"""Measurements: the values that get noise, and their exact computation.

| file | what it holds |
|---|---|
| measurement.py | counts of queries, the number of records: what is to be measured, with how much noise |
| noisy_counts.py | where exact counts become noisy ones |
| bin_measurement.py | what is measured of histograms and degrees, and of numeric columns within their bins |
| conjunction_measurement.py | what is measured of conjunctions, of decision lists |
| sanitizer_sums.py | sums of the coefficients of records' polynomials |
| wave_sums.py, kernels.py | weighted sums over all bins; compiled loops |
| halfspace_measurement.py | what is measured of points, and its cost |
"""
