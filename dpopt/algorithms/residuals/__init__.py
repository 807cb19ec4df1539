"""residuals: marginals are measured order by order, where they say most beyond what is known, and records fitted to them.

| file | what it holds |
|---|---|
| plan.py | the plan, and the way to it from a budget |
| allocation.py | which precision each set of attributes is worth, given what is known of it |
| known.py | what the measurements so far say of all sets, and the problem of fitting records to it |
| expected.py | which errors to expect: before anything is measured, and given what was |
| driver.py | the measurements, made or read again, and what is released of them |
"""
