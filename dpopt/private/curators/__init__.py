"""The curators: each is the door of one family of algorithms to the records.

In: a dataset, a ledger, what is asked. Out: released values, each charged before it is drawn.

| file | what it holds |
|---|---|
| door.py | the order of every release: charge, draw, journal |
| dualquery_curator.py, fem_curator.py, dqrs_curator.py | the curators of DualQuery and its relatives |
| measuring_curator.py | the curator of algorithms that measure counts and select marginals |
| multiplicative_curator.py | the curator of multiplicative weights |
| size_curator.py | the curator of the number of records, where it is private and not declared |
| bin_curator.py | the curator of histograms and degrees |
| conjunction_curator.py | the curator of summaries: noisy counts of conjunctions |
| sanitizer_curator.py | the curator of the generic sanitizer |
| halfspace_curator.py | the curator of halfspaces |
| list_curator.py | the curator of tables of decision lists |
| interval_curator.py, split_curator.py | the curators that search: ends of intervals, medians of boxes |
| net_curator.py | the curator of the net mechanism and SmallDB |
"""
