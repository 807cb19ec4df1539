"""Public records and choices that plans are simulated on.

| file | what it holds |
|---|---|
| population.py | the public populations of predictions, also for wide tables; which attributes a workload mentions |
| demo_population.py | the demonstration's people |
"""
