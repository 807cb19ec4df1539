"""Tables as curators hold them, closed to everyone else.

| file | what it holds |
|---|---|
| closed.py | what lets nothing be read off a holder of records |
| dataset.py, public_facts.py | the encoded records; what may be known of them in public |
| bin_counts.py | exact counts of bins and degrees |
| list_table.py | a table of decision lists |
| declared.py | records beside the declaration of what is measured of them, and counts that are made once |
"""
