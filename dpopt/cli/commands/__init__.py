"""The commands of a release of records, and those about schemas, solvers and the demonstration.

| file | what it holds |
|---|---|
| plan.py, release.py, demo.py | `dpopt plan`; `release` and `resume`; `demo` |
| schema.py | `dpopt schema infer` and `schema check`, and what the owner sees of rules |
| inspect.py, certify.py, compare.py | `dpopt replay`, `evaluate` and `solvers`; `certify`; `compare` |
| model.py | `dpopt model list`, `show`, `export` and `solve` |
| reweight.py | `dpopt reweight`: maximum-likelihood weights for a finished run |
"""
