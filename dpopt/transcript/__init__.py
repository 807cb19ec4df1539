"""Values that have crossed the privacy boundary, and the journal that keeps them.

In: values that `dpopt.private` drew or added noise to, charged first. Out: the same values, plain, frozen and public,
in memory and on file. Released values are constructed in `dpopt.private` and here, where a journal is read back, and
nowhere else (a test walks the syntax trees). A new kind of released value is a `Released` type in `released.py`; its
fields are its JSON form.

| file | what it holds |
|---|---|
| continued_file.py | a file that later runs continue, by whatever name, with one lock |
| journal.py | the journal: an append-only file of charge, draw and record |
| past.py | an earlier run, or a growing release, read from it |
| budget_ledger.py, budget_contents.py | the owner's budget over many releases, on file; what it holds, as values |
| released.py | sampled queries, noisy answers, selections of every kind, and where noisy binary searches ended |
"""
