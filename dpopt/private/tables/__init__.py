"""Tables as curators hold them, closed to everyone else.

| file | what it holds |
|---|---|
| closed.py | what lets nothing be read off a holder of records; records beside a declaration, and their counts |
| dataset.py | the encoded records; what may be known of them in public |
| bin_counts.py | exact counts of bins, degrees and finer bins of numeric columns |
| list_table.py | a table of decision lists |
"""
