"""Pages in HTML for people: self-contained, light and dark, readable on a telephone and on paper.

In: the name of a template and its values. Out: one text that needs nothing else, no network above all. The style and
the frame of every page stand in base.html; a new page is a template beside it that extends it. Values are escaped,
whatever they hold.

| file | what it holds |
|---|---|
| page.py | a template and values to a page |
| shown.py | values in a line, and as a small table in notebooks |

Templates: base.html is the frame and the style of every page; draft.html the review of a drafted schema,
draft_columns.html its table alone, as notebooks show it; report.html a release, with or without its table, with the
marks of report_charts.html.
"""
