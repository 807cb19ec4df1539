"""The curators: each is the door of one family of algorithms to the records.

In: a dataset, a ledger, what is asked. Out: released values, each charged before it is drawn.

| file | what it holds |
|---|---|
| door.py | the order of every release: charge, draw, journal; the table of selections, and the one way to make one |
| dualquery_curator.py, fem_curator.py | the curators of DualQuery and its relatives |
| measuring_curator.py | the curator of algorithms that measure counts and select marginals |
| multiplicative_curator.py | the curator of multiplicative weights |
| counting_curator.py | the curator of noisy counts of all kinds, and the table of measurements that it makes |
| prefix_curator.py | the curators of sums in order, all paid for first: prefixes that grow, and rounds |
| searching_curator.py | the curator that also searches: ends of intervals, medians of boxes |
| net_curator.py | the curators of one selection: the net mechanism and SmallDB, and one count drawn from a matrix |
"""
