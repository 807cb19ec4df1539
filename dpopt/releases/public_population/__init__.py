"""Public records and choices that plans are simulated on.

| file | what it holds |
|---|---|
| population.py, public_table.py, binary_population.py | the public populations of predictions, also for wide tables |
| mentioned_attributes.py | which attributes a workload mentions |
| public_choice.py | public random choices, each with its own stream |
| demo_population.py | the demonstration's people |
"""
