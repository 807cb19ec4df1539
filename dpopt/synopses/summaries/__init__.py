"""summaries: noisy counts of conjunctions of a few literals, which answer queries of many literals through polynomials.

| file | what it holds |
|---|---|
| summary_plan.py, budget_spread.py, noise_bounds.py | what is measured, how the budget is spread, how far noise goes |
| alternatives.py, error_goals.py | what other releases promise; sufficient numbers where a plan is not accurate enough |
| release_summary.py | from a table to a summary; its file |
| summary.py, ways.py, summary_answer.py | queries, as functions of how many literals hold; their answers |
| consistent_interval.py | what the noisy counts leave possible for an answer |
"""
