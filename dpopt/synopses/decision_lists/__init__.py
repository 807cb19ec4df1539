"""decision_lists: tables whose rows are decision lists, answered at every point from noisy counts of conjunctions.

| file | what it holds |
|---|---|
| list_plan.py | what is measured with how much noise; the plan with the least predicted error |
| release_lists.py | from a file of decision lists to a summary |
| list_summary.py | the summary and its answers at points; its file, those of declarations and of points |
"""
