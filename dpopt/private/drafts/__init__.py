"""Drafts of schemas, made from a table for its owner to review. Not private: they are for the owner alone.

| file | what it holds |
|---|---|
| infer_schema.py | from a table to a draft with a line for each column |
| guess_reading.py | how a text file is written: proposed once, then declared |
| guess_attribute.py | what a column is, why, and what to check |
| scales.py | the order of answers on a scale, and of texts that begin with numbers |
| few_rows.py | what fewer than five rows decide |
| guess_dates.py | the form of dates, and bins by their span |
| column_values.py | the values of a column, its type, and the unit of one of durations |
| guess_lengths.py | dates that follow others: lengths, or a rule |
| guess_rules.py | what holds in every row: rules, sums and orders to be accepted |
| unused_columns.py | columns that a schema does not name, and may name people |
| edges.py | bins that follow the shape of the numbers |
"""
