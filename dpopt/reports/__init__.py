"""A release as a page for people: request, spending, content and, for the owner, its distance from the table.

In: a finished release, its folder, or a file that answers queries; for the owner, the table. Out: one page of HTML
(`dpopt.html_pages`). Exact figures come from `dpopt.algorithms.after.judgement`; nothing here sees a record of the table.

| file | what it holds |
|---|---|
| report.py | a release, or a file that answers queries, to a page |
| sections.py | what each section of a report shows |
| words.py | guarantees and charges in plain words |
| charts.py | numbers to bars, histograms and maps: what the template draws |
"""
