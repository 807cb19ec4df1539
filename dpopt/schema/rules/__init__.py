"""Rules on records: declared in the schema, in JSON or in Python, and compiled to the circuit that solvers read.

In       formulas over literals, counts and comparisons; short forms (combinations, dependencies, orderings).
Out      `Rule`, its description in words, its JSON form; `compile_rules`, which gives a `ThresholdCircuit`.

| file | what it holds |
|---|---|
| threshold_circuit.py, circuit_kernels.py | the circuit: hard rules as solvers read them |
| rule.py, formula.py, values.py, builders.py | rules as users declare them, and short functions that make them |
| rule_json.py | their JSON form, read strictly and written canonically |
| condition_text.py | conditions in text, as questions have them |
| compile_rules.py, translation.py | rules to gates: the passage, formula by formula, form by form |
| nodes.py, code_sets.py | what gates are made of: monotone nodes, sets of codes, exact comparisons |

To add a form of rules: a type in rule.py or formula.py, its keys in rule_json.py, its nodes in translation.py, its
meaning in plain Python in tests/schema/rules/rule_examples.py, and a line in docs/how-to/rules.md.
"""
