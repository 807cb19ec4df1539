"""Public records and choices that plans are simulated on.

| file | what it holds |
|---|---|
| population.py | the public population of predictions |
| mentioned_attributes.py | which attributes a workload speaks of |
| public_choice.py | public random choices, each with its own stream |
| demo_population.py | the demonstration's people |
"""
